# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The space arm's four verifications, to the second, and what pinocchio and coal say of them."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from support.documented import commands
from support.geometry.reference import coal, pin
from support.robots.space_arm_story import (
    CONFIG,
    SCENE,
    STARBOARD_DEG,
    STORY,
    URDF,
    model,
    motion,
    result,
    settings,
)

from collision_monitor.__main__ import main
from collision_monitor.motion.motion_files import load_trajectory
from collision_monitor.motion.violation import Code
from collision_monitor.robot.inertials import read_inertials
from collision_monitor.robot.urdf import load_robot
from collision_monitor.verification import SimultaneousMotion, verify
from collision_monitor.verification.torques.dynamics import RobotDynamics
from collision_monitor.verification.verification import Verdict

pytestmark = pytest.mark.early

METHODS = commands((URDF.parents[1] / "docs/reports/methods.md").read_text(encoding="utf-8"))

UPRIGHT, _, ACROSS, _ = STORY
LIMIT, RATE = math.radians(260.0), math.radians(1.0)
TRACK = 0.02  # s between samples about a collision


def verified(chapter):
    """With torques for one of them."""
    return result(chapter, chapter is UPRIGHT)


class Station:
    """The URDF by pinocchio, the wings by hand, distances by coal."""

    def __init__(self, chapter) -> None:
        self.chapter = chapter
        folder = f"{URDF.parents[1]}/"
        urdf = URDF.read_text(encoding="utf-8").replace("package://collision_monitor/", folder)
        self.model = pin.buildModelFromXML(urdf)
        scene = yaml.safe_load(SCENE.read_text(encoding="utf-8"))
        for joint in scene["joints"]:
            place = pin.SE3(np.eye(3), np.array(joint["position"], dtype=float))
            assert joint["axis"] == [0, 1, 0]
            self.model.addJoint(0, pin.JointModelRY(), place, joint["name"])
        self.data = self.model.createData()
        kind = pin.GeometryType.COLLISION
        self.geometry = pin.buildGeomFromUrdfString(self.model, urdf, kind)
        self.owners = [self.model.frames[g.parentFrame].name for g in self.geometry.geometryObjects]
        self.wings = {one["name"]: one["joint"] for one in scene["obstacles"]}
        for one in scene["obstacles"]:
            if one["type"] == "box":
                shape = coal.Box(*one["size"])
            else:
                shape = coal.Cylinder(one["radius"], one["length"])
            turn = pin.rpy.rpyToMatrix(*one.get("rpy", [0.0, 0.0, 0.0]))
            place = pin.SE3(turn, np.array(one["position"], dtype=float))
            parent = self.model.getJointId(one["joint"])
            self.geometry.addGeometryObject(pin.GeometryObject(one["name"], parent, place, shape))
            self.owners.append(one["name"])
        checked = {frozenset(pair) for pair in model().pairs if any("arm_" in one for one in pair)}
        self.kept = [
            (i, j)
            for i in range(len(self.owners))
            for j in range(i)
            if frozenset((self.owners[i], self.owners[j])) in checked
        ]
        for i, j in self.kept:
            self.geometry.addCollisionPair(pin.CollisionPair(i, j))
        self.at = pin.GeometryData(self.geometry)
        self.motion = motion(chapter).trajectory

    def place(self, time: float) -> None:
        """Everything where it is at ``time``."""
        q = self.motion.positions(np.array([time]))[0]
        values = dict(zip(self.motion.joint_names, q, strict=True))
        values["port_wing"] = math.radians(self.chapter.wing)
        values["starboard_wing"] = math.radians(STARBOARD_DEG)
        full = np.zeros(self.model.nq)
        for name, value in values.items():
            full[self.model.joints[self.model.getJointId(name)].idx_q] = value
        pin.updateGeometryPlacements(self.model, self.data, self.geometry, self.at, full)

    def touching(self, time: float) -> set[frozenset[str]]:
        """Pairs of links that collide."""
        self.place(time)
        return {
            frozenset((self.owners[i], self.owners[j]))
            for k, (i, j) in enumerate(self.kept)
            if pin.computeCollision(self.geometry, self.at, k)
        }

    def leaf_distance(self, time: float, leaves: tuple[int, int]) -> float:
        """Metres between two leaves, capsules by coal."""
        self.place(time)
        pin.updateFramePlacements(self.model, self.data)
        shapes = []
        for leaf in (model().leaves[k] for k in leaves):
            way, length = leaf.p1 - leaf.p0, float(np.linalg.norm(leaf.p1 - leaf.p0))
            turn = np.eye(3)
            if length > 0.0:
                turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), way).matrix()
            if leaf.link in self.wings:
                base = self.data.oMi[self.model.getJointId(self.wings[leaf.link])]
            else:
                base = self.data.oMf[self.model.getFrameId(leaf.link)]
            at = base * pin.SE3(turn, 0.5 * (leaf.p0 + leaf.p1))
            placed = coal.Transform3s(at.rotation, at.translation)
            shapes += [coal.Capsule(leaf.radius, length), placed]
        return coal.distance(*shapes, coal.DistanceRequest(), coal.DistanceResult())

    def distance(self, time: float, pair: tuple[str, str]) -> float:
        """Metres between two links that are apart."""
        self.place(time)
        return min(
            pin.computeDistance(self.geometry, self.at, k).min_distance
            for k, (i, j) in enumerate(self.kept)
            if {self.owners[i], self.owners[j]} == set(pair)
        )


@pytest.mark.parametrize("chapter", STORY, ids=lambda chapter: chapter.name)
def test_the_verdict_is_that_of_the_story(chapter):
    found = verified(chapter)
    reasons = [(v.code, set(v.subject.split(" - "))) for v in found.violations]
    if chapter.collides is None:
        assert (found.verdict, reasons) == (Verdict.SAFE, [])
        return
    assert found.verdict is Verdict.NOT_SAFE
    assert reasons[0] == (Code.COLLISION, set(chapter.pair))
    first = found.violations[0]
    assert first.first == pytest.approx(chapter.collides, abs=0.03)
    assert first.value < 0.0 < first.worst - first.first
    # The motion goes on: other links meet the same part later.
    other = {name for name in first.subject.split(" - ") if not name.startswith("arm_")}
    for later in found.violations[1:]:
        assert other < set(later.subject.split(" - ")) and later.first > first.first
        assert later.code in (Code.COLLISION, Code.CLEARANCE_STOP, Code.CLEARANCE_WARN)


@pytest.mark.parametrize("chapter", (UPRIGHT, ACROSS), ids=lambda chapter: chapter.name)
def test_coal_sees_the_same_two_collide_first_at_the_same_time(chapter):
    station, first = Station(chapter), verified(chapter).violations[0].first
    for time in np.arange(0.0, first - 1.0, 4.0):
        assert not station.touching(time)
    times = np.arange(first - 0.5 * TRACK - 10 * TRACK, first + 2.0, TRACK)
    hits = [station.touching(time) for time in times]
    earliest = next(k for k, hit in enumerate(hits) if hit)
    assert abs(times[earliest] - first) <= TRACK
    assert hits[earliest] == {frozenset(chapter.pair)}


@pytest.mark.parametrize("chapter", STORY, ids=lambda chapter: chapter.name)
def test_coal_measures_what_the_envelopes_say(chapter):
    station, series = Station(chapter), verified(chapter).clearance.series
    column = [set(pair) for pair in series.pairs].index(set(chapter.pair))
    end = chapter.collides or series.edges[-1]
    for time in np.linspace(0.0, end - 0.5, 60):
        row = min(int(np.searchsorted(series.edges, time, "right")) - 1, len(series.edges) - 2)
        true = station.distance(time, chapter.pair)
        assert series.lower[row, column] <= true + 1e-6
    if chapter.collides is None:
        nearest = next(m for m in series.minima if set(m.pair) == set(chapter.pair))
        true = station.distance(nearest.time, chapter.pair)
        # Leaves enclose, so they are nearer; which leaves a fit ends with depends on the CPU.
        assert nearest.distance <= true + 1e-6
        measured = true if nearest.exact else station.leaf_distance(nearest.time, nearest.leaves)
        assert nearest.distance == pytest.approx(measured, abs=1e-5)
        assert all(not station.touching(time) for time in np.linspace(0.0, series.edges[-1], 60))


@pytest.mark.parametrize("chapter", STORY, ids=lambda chapter: chapter.name)
def test_angles_and_rates_keep_the_published_limits(chapter):
    check = verified(chapter).limits
    arm = slice(0, 7)
    assert [row.upper for row in check.limits[arm]] == pytest.approx([LIMIT] * 7)
    assert [row.lower for row in check.limits[arm]] == pytest.approx([-LIMIT] * 7)
    assert [row.velocity for row in check.limits[arm]] == pytest.approx([RATE] * 7, rel=1e-5)
    times = np.linspace(0.0, motion(chapter).trajectory.duration, 5000)
    rows = motion(chapter).trajectory.positions(times)[:, arm]
    assert np.abs(rows).max() < LIMIT
    assert 0.4 * RATE < np.abs(np.diff(rows, axis=0) / np.diff(times)[:, None]).max() < RATE


def test_torques_swing_to_nearly_twice_the_rigid_ones_and_stay_within_their_margins():
    check = verified(UPRIGHT).torques
    assert check.joint_names == model().joint_names[:7]
    for limits, torques, bands in (
        (check.link_limits, check.link_torques, check.link_bands),
        (check.motor_limits, check.motor_torques, check.motor_bands),
    ):
        assert np.isfinite(limits).all()
        assert (np.abs(torques) + bands <= limits).all()
        assert (bands >= 2.0).all()
    robot, names = load_robot(URDF), check.joint_names
    dynamics = RobotDynamics(robot, read_inertials(URDF), names, floating=True)
    sampled = motion(UPRIGHT).only(names).trajectory.sample(np.linspace(0.0, 10.0, 300))
    rows = zip(sampled.positions, sampled.velocities, sampled.accelerations, strict=True)
    rigid = np.abs([dynamics.torques(*row) for row in rows]).max(axis=0)
    swung = np.abs(check.link_torques[check.times < 10.0]).max(axis=0)
    assert 1.4 < swung[0] / rigid[0] < 2.2
    assert check.base is not None


def test_a_wing_that_turns_in_time_is_out_of_the_way_and_too_late_it_is_not():
    joints = [joint.name for joint in model().robot.joints]
    path = CONFIG / "motions/over_the_wing.yaml"
    arm = load_trajectory(path, model().robot, elsewhere=joints)
    assert arm.named == {*joints} & {*model().joint_names[:7]}, "wings may move beside it"
    held = {"starboard_wing": math.radians(STARBOARD_DEG)}
    path = CONFIG / "motions/wing_turning.yaml"
    wing = load_trajectory(path, model().robot, held=held, elsewhere=arm.named)
    assert wing.trajectory.duration == pytest.approx(50.0)
    late, early = (
        verify(
            model(), wing,
            replace(settings(torques=False), beside=[SimultaneousMotion(arm, start)]),
        )
        for start in (20.0, 0.0)
    )  # fmt: skip
    assert (late.verdict, late.violations) == (Verdict.SAFE, ())
    assert early.verdict is Verdict.NOT_SAFE
    assert early.violations[0].subject == " - ".join(UPRIGHT.pair)
    # Its edge meets the arm on the way.
    assert early.violations[0].first < verified(UPRIGHT).violations[0].first


@pytest.mark.slow
def test_the_documented_command_says_the_same_and_writes_a_report(tmp_path, monkeypatch, capsys):
    pytest.importorskip("jinja2")
    monkeypatch.chdir(URDF.parents[1])
    text = Path("docs/verify.md").read_text(encoding="utf-8").partition("## Four verifications")[2]
    # docs/reports/methods.md has the same command, with a hierarchy.
    words = METHODS["verify urdf/space_arm.urdf"]
    at = words.index("--hierarchy")
    assert words[at + 1] == "rss"
    assert commands(text)["verify urdf/space_arm.urdf"] == words[:at] + words[at + 2 :]
    report = tmp_path / words[-1]
    code = main([*words[2:-1], str(report)])
    out, _ = capsys.readouterr()
    assert code == 1
    assert out.startswith("Not safe: arm_link_7 - port_panel_1 collide from 59.99")
    page = report.read_text(encoding="utf-8")
    for word in ("torques of motors", "joint velocities", "data:image/png", "clearance-stop"):
        assert word in page
    for chapter in STORY:
        assert f"(verify_{chapter.name}.png)" in text
        if chapter.collides is not None:
            assert f"{verified(chapter).violations[0].first:.3f} s" in text
