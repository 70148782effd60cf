# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The command adjust: what it is given, what it says and writes, and its exit codes.

The solver is not run here: `repulsion.adjustment` is replaced.
"""

import json
import sys
from types import ModuleType

import numpy as np
import pytest
from fake_adjustment import bent, straight
from toys import joint, link, robot

from collision_monitor.cli.main import main
from collision_monitor.errors import AdjustmentError
from collision_monitor.motion import Motion, read_motion
from collision_monitor.repulsion.arms import find_arms

SRDF = (
    '<robot name="toy"><group name="right_arm"><chain base_link="base" tip_link="right_2"/></group>'
    '<group name="left_arm"><chain base_link="base" tip_link="left_2"/></group></robot>'
)
LIMITS = """\
joint_limits:
  right_j1: {max_velocity: 0.5, max_acceleration: 3.0}
  left_j1: {max_velocity: 7.0, min_position: -1.5, max_position: 5.0}
"""


@pytest.fixture
def place(tmp_path):
    """A folder with a robot, its SRDF, a motion and limits."""
    parts = [link("base")]
    for side, x in (("right", "1 0 0"), ("left", "-1 0 0")):
        parts += [
            link(f"{side}_1"),
            link(f"{side}_2"),
            joint(f"{side}_j1", "base", f"{side}_1", xyz=x),
            joint(f"{side}_j2", f"{side}_1", f"{side}_2", kind="prismatic", xyz="0 1 0"),
        ]
    parts += [link("head"), joint("neck", "base", "head", xyz="0 0 1")]
    (tmp_path / "robot.urdf").write_text(robot(*parts))
    (tmp_path / "robot.srdf").write_text(SRDF)
    rows = [f"{t},{0.1 * t},{-0.1 * t},0,0\n" for t in range(5)]
    (tmp_path / "motion.csv").write_text("time,right_j1,left_j1,right_j2,left_j2\n" + "".join(rows))
    (tmp_path / "joint_limits.yaml").write_text(LIMITS)
    return tmp_path


@pytest.fixture
def solver(monkeypatch):
    """Stands for `adjust`; ``answer`` makes the answer, ``given`` is what it was called with."""

    class Solver(ModuleType):
        answer = staticmethod(bent)
        given = None

        def adjust(self, model, motion, arms=None, **options):
            self.given = {"model": model, "motion": motion, "arms": arms, **options}
            if isinstance(self.answer, Exception):
                raise self.answer
            found = find_arms(model.robot, model.semantics, arms)
            return self.answer(motion, found, options["method"])

    fake = Solver("collision_monitor.repulsion.adjustment")
    monkeypatch.setitem(sys.modules, fake.__name__, fake)
    return fake


def run(place, *options):
    """The exit code of the command."""
    return main(["adjust", str(place / "robot.urdf"), str(place / "motion.csv"), *options])


def refusal():
    """What comes out where the arms would have to pass through each other."""
    prefix = Motion(("right_j1",), np.array([0.0, 1.5]), np.zeros((2, 1)))
    return AdjustmentError(
        "the goal itself collides", 2, 2.5, ("right_2", "left_2"), -0.0125, prefix
    )


def test_the_adjusted_motion_is_written_and_reported(place, solver, capsys):
    output = place / "adjusted.csv"
    assert run(place, "--output", str(output)) == 0
    motion = read_motion(output)
    assert motion.joint_names == ("right_j1", "left_j1", "right_j2", "left_j2")
    assert motion.times.tolist() == [0, 2, 4, 6, 8]
    assert motion.positions[2].tolist() == [0.2 - 0.25, -0.2, 0.0, 0.0]
    out = capsys.readouterr().out
    for text in (
        "toy: adjusted, method robust",
        "right_arm (right), left_arm (left)",
        "t = 1 .. 3 s, waypoints 1 .. 3 of 5",
        "-14.32 deg: right_j1 at t = 2 s",
        "at most 30.0 mm right, 10.0 mm left",
        "before -0.0100 m at t = 2 s",
        "after  0.1000 m at t = 2 s, right_2 - left_2",
        "0.0995 m between the arms at every instant",
        "8 s, 4 s (100.0%) longer",
        str(output),
    ):
        assert text in out


def test_json_has_every_waypoint_and_no_infinity(place, solver, capsys):
    output = place / "adjusted.yaml"
    assert run(place, "--output", str(output), "--json") == 0
    result = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert result["result"] == "adjusted"
    assert result["output"] == str(output)
    assert result["window"]["first"] == {"waypoint": 1, "time": 1.0}
    assert result["largest_change"] == {
        "joint": "right_j1", "value": -0.25, "unit": "rad", "waypoint": 2, "time": 2.0,
    }  # fmt: skip
    assert result["clearance"]["after"]["pair"] == ["right_2", "left_2"]
    assert result["clearance"]["certified"] == 0.0995
    assert result["duration"] == {"before": 4.0, "after": 8.0}
    assert result["arms"]["left"] == {
        "name": "left_arm", "joints": ["left_j1", "left_j2"], "tip": "left_2",
    }  # fmt: skip
    points = result["per_waypoint"]
    assert [point["index_before"] for point in points] == [0.0, 0.02, None, 0.02, 0.0]
    assert [point["time"] for point in points] == [0, 2, 4, 6, 8]
    assert points[2]["joint_change"] == [-0.25, 0.0, 0.0, 0.0]
    assert read_motion(output).times.tolist() == [0, 2, 4, 6, 8]


def test_a_safe_motion_is_written_as_it_is(place, solver, capsys):
    solver.answer = straight
    assert run(place, "--output", str(place / "out.csv")) == 0
    out = capsys.readouterr().out
    assert "already safe" in out and "as before" in out and "largest change" not in out
    before, after = read_motion(place / "motion.csv"), read_motion(place / "out.csv")
    assert before.positions.tobytes() == after.positions.tobytes()
    assert run(place, "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["result"], result["window"], result["output"]) == ("already safe", None, None)


def test_no_adjustment_is_exit_code_1_the_reason_and_no_file(place, solver, capsys):
    solver.answer = refusal()
    output, plot = place / "adjusted.csv", place / "plot.png"
    assert run(place, "--output", str(output), "--plot", str(plot)) == 1
    printed = capsys.readouterr()
    assert not output.exists() and not plot.exists()
    assert "no safe adjustment, method robust: the goal itself collides" in printed.out
    assert "waypoint 2, t = 2.5 s: right_2 - left_2 at -0.0125 m" in printed.out
    assert "safe until  t = 1.5 s" in printed.out
    assert "not of this run" not in printed.err


def test_an_old_file_is_left_alone_and_called_old(place, solver, capsys):
    solver.answer = refusal()
    output = place / "adjusted.csv"
    output.write_text("of yesterday")
    assert run(place, "--output", str(output), "--json") == 1
    printed = capsys.readouterr()
    assert output.read_text() == "of yesterday"
    assert f"{output} is not of this run" in printed.err
    result = json.loads(printed.out)
    assert result == {
        "robot": "toy", "result": "no safe adjustment", "method": "robust",
        "reason": "the goal itself collides", "waypoint": 2, "time": 2.5,
        "pair": ["right_2", "left_2"], "distance": -0.0125, "safe_until": 1.5, "output": None,
    }  # fmt: skip


def test_a_refusal_without_a_pair_or_a_prefix_can_be_said_too(place, solver, capsys):
    solver.answer = AdjustmentError("limits", 0, 0.0)
    assert run(place) == 1
    assert "safe until  nowhere" in capsys.readouterr().out
    assert run(place, "--json") == 1
    result = json.loads(capsys.readouterr().out)
    assert (result["pair"], result["distance"], result["safe_until"]) == (None, None, None)


def test_options_reach_the_solver(place, solver, capsys):
    assert run(place) == 0
    given = solver.given
    defaults = ("safe_distance", "danger_distance", "method", "yielding", "tip_weight", "arms")
    assert [given[name] for name in defaults] == [0.1, 0.05, "robust", "both", 0.0, None]
    assert given["acceleration_limits"] is None and given["held"] == {}
    assert run(
        place, "--safe-distance", "0.2", "--danger-distance", "0.02", "--method", "published",
        "--yielding", "left", "--tip-weight", "3", "--arms", "base:left_2,base:right_2",
        "--q", "neck=0.5",
    ) == 0  # fmt: skip
    given = solver.given
    assert [given[name] for name in defaults] == [
        0.2, 0.02, "published", "left", 3.0, ("base:left_2", "base:right_2"),
    ]  # fmt: skip
    assert given["held"] == {"neck": 0.5}
    assert "base..right_2 (right), base..left_2 (left)" in capsys.readouterr().out


def test_the_srdf_beside_the_urdf_is_taken_and_named(place, solver, capsys):
    assert run(place) == 0
    assert f"SRDF {place / 'robot.srdf'} is taken" in capsys.readouterr().err
    assert set(solver.given["model"].semantics.groups) == {"right_arm", "left_arm"}
    other = place / "other.xml"
    other.write_text(SRDF.replace("right_arm", "arm_right").replace("left_arm", "arm_left"))
    assert run(place, "--srdf", str(other)) == 0
    assert "is taken" not in capsys.readouterr().err
    assert "arm_right" in solver.given["model"].semantics.groups


def test_a_broken_srdf_beside_the_urdf_is_passed_over_with_a_warning(place, solver, capsys):
    (place / "robot.srdf").write_text("<robot")
    assert run(place) == 0
    printed = capsys.readouterr()
    assert "robot.srdf, beside the URDF, is not used" in printed.err
    assert "base..right_2 (right)" in printed.out
    assert run(place, "--srdf", str(place / "robot.srdf")) == 2


def test_joints_that_the_motion_does_not_name_are_named(place, solver, capsys):
    assert run(place) == 0
    assert "held at zero, or at the nearer limit (--q sets them): neck" in capsys.readouterr().err
    assert run(place, "--q", "neck=0.1") == 0
    assert "held at" not in capsys.readouterr().err


def test_limits_tighten_those_of_the_robot(place, solver):
    assert run(place, "--limits", str(place / "joint_limits.yaml")) == 0
    model = solver.given["model"]
    limits = {
        name: (model.lower[k], model.upper[k], model.velocity_limits[k])
        for k, name in enumerate(model.joint_names)
    }
    assert limits["right_j1"] == (-2.0, 2.0, 0.5)
    assert limits["left_j1"] == (-1.5, 2.0, 1.0)
    assert solver.given["acceleration_limits"] == {"right_j1": 3.0}
    (place / "wrong.yaml").write_text(LIMITS.replace("-1.5", "4.0"))
    assert run(place, "--limits", str(place / "wrong.yaml")) == 2


def test_a_plot_is_drawn(place, solver):
    pytest.importorskip("matplotlib")
    plot = place / "plot.png"
    assert run(place, "--plot", str(plot)) == 0
    assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--output", "nowhere/out.csv"], "there is no folder"),
        (["--plot", "nowhere/out.png"], "there is no folder"),
        (["--output", "."], "it is a folder"),
        (["--output", "motion.csv"], "is the motion itself"),
        (["--q", "right_j1=1"], "--q: right_j1: the motion itself moves this"),
        (["--q", "nose=1"], "no joint 'nose'"),
        (["--limits", "none.yaml"], "none.yaml: no such file"),
        (["--arms", "right_arm,middle_arm"], "no group 'middle_arm'"),
        (["--plot", "plot.nonsense"], "plot.nonsense: no plot can be written as that; take one of"),
    ],
)
def test_input_that_cannot_be_used_is_exit_code_2(
    place, solver, capsys, monkeypatch, options, says
):
    monkeypatch.chdir(place)
    before = {path: path.read_bytes() for path in place.iterdir()}
    assert run(place, *options) == 2
    assert says in capsys.readouterr().err
    assert {path: path.read_bytes() for path in place.iterdir()} == before


@pytest.mark.parametrize(
    "options",
    [
        ["--safe-distance", "-1"],
        ["--danger-distance", "nan"],
        ["--arms", "right_arm"],
        ["--arms", "a,b,c"],
        ["--method", "magic"],
    ],
)
def test_options_that_mean_nothing_are_exit_code_2(place, solver, options):
    with pytest.raises(SystemExit) as caught:
        run(place, *options)
    assert caught.value.code == 2


def test_a_motion_that_cannot_be_read_is_exit_code_2(place, solver, capsys):
    (place / "motion.csv").write_text("time,right_j1\n0,nan\n")
    assert run(place) == 2
    assert "motion.csv:2: 'nan' under 'right_j1'" in capsys.readouterr().err
