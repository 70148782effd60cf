# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""All checks of a motion come to one verdict; many motions, in processes and on a Dask cluster."""


import numpy as np
import pytest
from support.files.made_verifications import SETTINGS, model, motion
from support.robots.one_joint import ONE
from support.robots.toys import joint, link

from collision_monitor import CollisionModel
from collision_monitor.errors import ExecutorError
from collision_monitor.model.thresholds import Rule, Thresholds
from collision_monitor.motion.motion_files import LoadedMotion
from collision_monitor.motion.trajectory import Motion, Trajectory
from collision_monitor.motion.violation import Code, Violation
from collision_monitor.robot.inertials import read_inertials
from collision_monitor.robot.limits import JointLimits
from collision_monitor.verification import (
    Settings,
    SimultaneousMotion,
    Torques,
    verify,
    verify_many,
)
from collision_monitor.verification.torques.actuators import Drive, Drives
from collision_monitor.verification.verification import Verdict, by_urgency, verdict_of

FAST = Settings(exact=False)
FOLD = (0.0, 3.1, 3.1)  # the chain onto itself
MANY = [motion(ends, f"{k}.csv") for k, ends in enumerate([(0.3, 0.3, 0.3), FOLD, (0.3, 0.3, 0.3)])]


def test_a_motion_that_keeps_clear_is_safe():
    said = []
    result = verify(model(), motion((0.3, 0.3, 0.3)), SETTINGS, lambda what, _: said.append(what))
    assert said[0] == "limits of joints" and len(set(said)) > 1  # the quick ones first
    assert (result.verdict, result.violations) == (Verdict.SAFE, ())
    assert [(check.name, bool(check.skipped)) for check in result.checks] == [
        ("distances between links", False), ("joint limits", False), ("torques", True),
        ("Cartesian line", True),
    ]  # fmt: skip
    assert result.worst.distance == pytest.approx(model().distance(result.worst.q).distance)


def test_tables_and_trajectories_of_some_joints_are_verified_without_a_file():
    names, times, rows = ("j3", "j1"), np.array([2.0, 7.0]), np.array([[0.0, 0.0], [0.3, 0.2]])
    whole = Trajectory.through(("j1", "j2", "j3"), times, [[0.0, 0.5, 0.0], [0.2, 0.5, 0.3]])
    expected = verify(model(), LoadedMotion(whole, (), (), "motion.csv"), SETTINGS).worst
    for given in (
        Motion(names, times, rows, held={"j2": 0.5}),
        Trajectory.through((*names, "j2"), times, np.column_stack([rows, [0.5, 0.5]])),
    ):
        result = verify(model(), given, SETTINGS)
        assert (result.verdict, result.duration) == (Verdict.SAFE, 5.0)
        assert result.worst.distance == expected.distance
    held = verify(model(), Motion(names, times, rows), SETTINGS)
    assert "motion: joints that are not named are held: j2 at 0" in held.notes
    unknown = verify(model(), Motion(("elbow",), times, rows[:, :1]), SETTINGS)
    assert unknown.verdict is Verdict.NOT_CHECKED
    assert unknown.reason.startswith("motion: robot 'toy' has no joint 'elbow'")


@pytest.mark.parametrize(
    ("given", "settings", "reason"),
    [
        ({"held": {"elbow": 0.5}}, SETTINGS, "motion: held: robot 'toy' has no joint 'elbow'"),
        ({"held": {"j2": np.nan}}, SETTINGS, "motion: held: j2 at nan is beyond"),
        ({"held": {"j2": "0.5"}}, SETTINGS, "motion: held: '0.5' for 'j2' is not a number"),
        ({"positions": [[0.0], [0.3, 0.2]]}, SETTINGS, "positions are not an array of numbers"),
        ({"times": ["soon", "late"]}, SETTINGS, "times are not an array of numbers"),
        ({}, Settings(limits={"j0": JointLimits(-1.0, 1.0)}), "limits: robot 'toy' has no joint"),
    ],
)
def test_what_would_be_passed_over_is_named(given, settings, reason):
    motion = {"times": [0.0, 1.0], "positions": [[0.0, 0.0], [0.3, 0.2]], **given}
    result = verify(model(), Motion(("j3", "j1"), **motion), settings)
    assert result.verdict is Verdict.NOT_CHECKED
    assert result.reason.startswith(reason)


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        (Settings(limits={"j1": JointLimits(velocity=0.01)}, exact=False), Code.JOINT_VELOCITY),
        (Settings(Thresholds(stop=1.79), exact=False), Code.CLEARANCE_STOP),
    ],
)
def test_each_check_alone_makes_a_motion_unsafe(settings, code):
    result = verify(model(), motion((0.3, 0.3, 0.3)), settings)
    assert result.verdict is Verdict.NOT_SAFE
    assert {v.code for v in result.violations if not v.warning} == {code}


@pytest.mark.parametrize("exact", [True, False])
def test_all_pairs_may_be_measured_by_their_shapes(exact):
    given = motion((0.3, 0.3, 0.3))
    found = verify(model(), given, Settings(exact=exact, every_pair_exact=True)).clearance
    assert found.series.exact.all()
    assert not verify(model(), given, Settings()).clearance.series.exact.all()
    worst = found.series.minima[0]
    q = given.trajectory.positions(np.array([worst.time]))[0]
    assert worst.distance == pytest.approx(model().distance(q, exact=True).distance, abs=1e-9)


def test_a_warning_leaves_a_motion_safe():
    settings = Settings(Thresholds(warn=1.79), exact=False)
    result = verify(model(), motion((0.3, 0.3, 0.3)), settings)
    assert result.verdict is Verdict.SAFE
    assert {v.code for v in result.violations} == {Code.CLEARANCE_WARN}


def test_violations_found_while_a_command_was_made_count():
    given = motion((0.3, 0.3, 0.3))
    violation = Violation(Code.SINGULARITY, "tip", 1.0, 1.0, 0.0, 0.01, "")
    line = LoadedMotion(given.trajectory, (violation,), (), "line.yaml", along_line=True)
    result = verify(model(), line, SETTINGS)
    assert (result.verdict, result.violations) == (Verdict.NOT_SAFE, (violation,))
    assert all(not check.skipped for check in result.checks if check.name == "Cartesian line")


def test_motions_beside_each_other_meet_only_when_their_times_do():
    """j1 folds and unfolds, j2 as well; the ends meet where both are folded at once."""
    bend = 1.9
    both, one = (model().distances(np.array(q))[2] for q in ((bend, bend, 0.0), (bend, 0.0, 0.0)))
    threshold = Thresholds(rules=(Rule("l3 l0", stop=0.5 * (both + one)),))

    def folding(*names):
        rows = [[0.0] * len(names), [bend] + [0.0] * (len(names) - 1), [0.0] * len(names)]
        trajectory = Trajectory.through(names, [0.0, 2.0, 4.0], rows)
        return LoadedMotion(trajectory, (), (), names[0], named=frozenset(names))

    verdicts = []
    for start in (20.0, 0.0, 4.0):
        beside = [SimultaneousMotion(folding("j2"), start)]
        settings = Settings(threshold, exact=False, beside=beside)
        verdicts.append(verify(model(), folding("j1", "j3"), settings).verdict)
    assert verdicts == [Verdict.SAFE, Verdict.NOT_SAFE, Verdict.SAFE]
    settings = Settings(exact=False, beside=[SimultaneousMotion(folding("j2"), 2e8)])
    result = verify(model(), folding("j1", "j3"), settings)
    assert result.verdict is Verdict.NOT_CHECKED
    assert result.reason.startswith("j2: a trajectory cannot start at 200000000.0 s: starts are")
    settings = Settings(exact=False, beside=[SimultaneousMotion(folding("j2", "j1"))])
    reason = verify(model(), folding("j1", "j3"), settings).reason
    assert reason == "joint 'j1' is moved by j1 and by j2: leave it out of one of them"


@pytest.mark.parametrize(
    ("begin", "start", "noted"),
    [
        (1_700_000_003.5, 0.0, "it begins 3.5 s after it: give 3.5 as its start"),
        (1_699_999_999.0, 0.0, "it begins 1 s before it: give -1 as its start"),
        (1_700_000_003.5, 2.0, ""),
        (1_700_000_000.0, 0.0, ""),
        (0.0, 0.0, ""),
    ],
    ids=["later", "earlier", "start given", "at once", "another clock"],
)
def test_another_time_in_the_file_of_a_motion_beside_is_noted(begin, start, noted):
    def one(name, begin):
        trajectory = Trajectory.through((name,), [0.0, 2.0], [[0.0], [0.1]])
        named = frozenset([name])
        return LoadedMotion(trajectory, (), (), f"{name}.csv", named=named, begin=begin)

    settings = Settings(exact=False, beside=[SimultaneousMotion(one("j2", begin), start)])
    result = verify(model(), one("j1", 1_700_000_000.0), settings)
    told = [note for note in result.notes if note.startswith("j2.csv: begins at 0 s")]
    assert len(told) == bool(noted) and all(noted in note for note in told)


def test_joints_known_to_the_motion_beside_stand_there_unless_the_motion_knows_better():
    def one(moved, **held):
        names = (moved, *held)
        rows = [[0.0, *held.values()], [0.3, *held.values()]]
        trajectory = Trajectory.through(names, [0.0, 2.0], rows)
        return LoadedMotion(
            trajectory, (), (), moved, named=frozenset([moved]), known=frozenset(held)
        )

    for held, expected in (({}, 0.4), ({"j3": 0.7}, 0.7)):
        settings = Settings(exact=False, beside=[SimultaneousMotion(one("j2", j3=0.4))])
        assert verify(model(), one("j1", **held), settings).worst.q[2] == expected


POST = {"name": "post", "type": "sphere", "radius": 0.1, "position": [0, -3, 0]}


def torque_case(scene, drives, more="", limits=None):
    """An arm of 2 kg that turns by 0.5 rad in 2 s, with all joints of the scene: for `verify`."""
    pytest.importorskip("pinocchio")
    text = ONE.replace("</robot>", f"{more}</robot>")
    one = CollisionModel.from_urdf(text, scene=scene)
    ends = [[0.0] * len(one.joint_names), [0.5] * len(one.joint_names)]
    given = LoadedMotion(Trajectory.through(one.joint_names, [0.0, 2.0], ends), (), (), "m.csv")
    torques = Torques(read_inertials(text), drives)
    return one, given, Settings(exact=False, limits=limits, torques=torques)


def test_joints_of_a_scene_move_no_mass_and_do_not_keep_torques_from_being_checked():
    door = {"name": "door", "type": "revolute", "axis": [0, 0, 1], "lower": 0.0, "upper": 1.0}
    panel = {"name": "panel", "type": "box", "size": [1, 1, 1], "position": [9, 0, 0]}
    turning = {"joints": [door], "obstacles": [POST, {**panel, "joint": "door"}]}
    drives = Drives(default=Drive(stiffness=1e4, damping=9.0))
    peaks = []
    for around in ({"obstacles": [POST]}, turning):
        result = verify(*torque_case(around, drives))
        assert result.torques is not None, result.reason
        assert result.torques.joint_names == ("j",)
        peaks.append([peak.value for peak in result.torques.peaks])
        assert ("door" in " ".join(result.notes)) == (around is turning)
    assert peaks[0] == peaks[1]


@pytest.mark.parametrize(
    ("drives", "codes"),
    [
        (Drives(), [Code.LINK_TORQUE]),
        (Drives(default=Drive(rotor_inertia=1.0)), [Code.LINK_TORQUE, Code.MOTOR_TORQUE]),
    ],
)
def test_torques_without_drives_are_told_once_and_what_is_not_monitored_is_told(drives, codes):
    seen = (
        '<link name="seen"><visual><geometry><sphere radius="1"/></geometry></visual></link>'
        + joint("fixed", "arm", "seen", "fixed")
    )
    limits = {"j": JointLimits(effort=0.1)}
    result = verify(*torque_case({"obstacles": [POST]}, drives, seen, limits))
    assert [v.code for v in result.violations] == codes
    assert any("'seen'" in note and "not monitored" in note for note in result.notes)


def test_the_drive_of_a_joint_that_the_robot_lacks_is_not_passed_over():
    """A misspelt name would take the margin out of the check."""
    for name in ("J", "follower"):
        follower = '<mimic joint="j"/>'
        more = link("hand") + joint("follower", "arm", "hand", extra=follower)
        result = verify(*torque_case({"obstacles": [POST]}, Drives({name: Drive()}), more))
        assert result.verdict is Verdict.NOT_CHECKED
        assert f"drives: '{name}' is none of the robot's joints" in result.reason
        assert result.reason.endswith("these are j")


def violation(code=Code.COLLISION, first=1.0, warning=False, subject="a - b"):
    """One that says nothing special."""
    return Violation(code, subject, first, first, 0.0, 0.0, "m", warning)


def test_exit_codes_are_those_that_are_documented():
    assert [verdict.exit_code for verdict in Verdict] == [0, 1, 2]


@pytest.mark.parametrize("code", list(Code))
def test_every_reason_makes_a_motion_unsafe_unless_it_only_warns(code):
    assert verdict_of([violation(code)]) is Verdict.NOT_SAFE
    assert verdict_of([violation(code, warning=True)]) is Verdict.SAFE
    assert verdict_of([]) is Verdict.SAFE


def test_collisions_come_first_and_then_what_is_unsafe_and_then_the_earlier():
    rows = [
        violation(first=9.0), violation(Code.JOINT_JERK, first=0.0),
        violation(first=2.0), violation(first=0.0, warning=True),
    ]  # fmt: skip
    assert [(v.warning, v.first) for v in by_urgency(rows)] == [
        (False, 2), (False, 9), (False, 0), (True, 0),
    ]  # fmt: skip


def verdicts(results):
    """What matters of each: motion, verdict, nearest distance."""
    return [(r.source, r.verdict, r.worst.distance) for r in results]


@pytest.fixture(scope="module")
def expected():
    """The answers one by one."""
    results = [verify_many(model(), [one], FAST)[0] for one in MANY]
    assert [r.verdict for r in results] == [Verdict.SAFE, Verdict.NOT_SAFE, Verdict.SAFE]
    return verdicts(results)


def test_processes_give_the_same_answers_in_order_and_name_what_they_cannot_check(
    expected, monkeypatch
):
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    told = []
    lost = Trajectory.through(("no_joint",), [0.0, 1.0], [[0.0], [1.0]])
    given = [*MANY[:2], LoadedMotion(lost, (), (), "bad"), MANY[2]]
    results = verify_many(model(), given, FAST, progress=lambda *step: told.append(step))
    assert told == [(f"{k} of 4 motions verified", k / 4) for k in range(5)]
    bad = results.pop(2)
    assert verdicts(results) == expected
    assert (bad.verdict, bad.worst) == (Verdict.NOT_CHECKED, None)
    assert "no_joint" in bad.reason


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_answers(expected):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        assert verdicts(verify_many(model(), MANY, FAST, address)) == expected


@pytest.mark.parametrize(
    ("executor", "says"),
    [
        ("dask://127.0.0.1:1", "no Dask scheduler answers"),
        ("spark://here", "is not dask://host:port"),
        ("dask://", "is not dask://host:port"),
    ],
)
def test_a_cluster_that_is_not_there_is_named(executor, says):
    with pytest.raises(ExecutorError, match=says):
        verify_many(model(), MANY, FAST, executor, connect_seconds=1.0)
