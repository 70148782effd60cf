# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Two real robots with motions of their own, and an object that moves beside them."""

import numpy as np
import pytest
from support.robots import robots

from collision_monitor import CollisionModel
from collision_monitor.fitting.shapes import FitSettings
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.robot.composed import Mounted, compose, compose_semantics
from collision_monitor.robot.poses import pose_from_xyz_rpy
from collision_monitor.robot.scene import load_scene
from collision_monitor.robot.srdf import load_srdf
from collision_monitor.robot.urdf import load_robot
from collision_monitor.verification.clearance.clearance_check import (
    CollisionVerdict,
    check_clearance,
)
from collision_monitor.verification.clearance.schedule import Schedule, Scheduled

WING = {
    "obstacles": [{"name": "wing", "type": "box", "size": [0.02, 1.2, 0.4],
                   "position": [0.0, 0.6, 0.0], "joint": "hinge"}],
    "joints": [{"name": "hinge", "type": "revolute", "axis": [0, 0, 1], "lower": -1.6, "upper": 1.6,
                "position": [0.45, -1.4, 0.5]}],
}  # fmt: skip
# Both reach forward and turn by about a quarter about their bases, one after the other.
UP = [0.0, -1.3, 1.2, -1.5, -1.57, 0.0]
TURN = [1.2, -1.0, 1.2, -1.5, -1.57, 0.0]


@pytest.fixture(scope="module")
def cell():
    files = robots.require("ur5")
    ur5 = load_robot(files.urdf, files.package_dirs)
    srdf = load_srdf(files.srdf, ur5)
    parts = [
        Mounted(ur5, "left_", pose_from_xyz_rpy((0.0, 0.5, 0.0)), semantics=srdf),
        Mounted(ur5, "right_", pose_from_xyz_rpy((0.0, -0.5, 0.0)), semantics=srdf),
    ]
    whole = compose(parts)
    return CollisionModel(
        whole, compose_semantics(parts), load_scene(WING, whole), FitSettings(1)
    )


def motion(cell, start, end, side):
    names = [name.removeprefix(side) for name in cell.joint_names if name.startswith(side)]
    return Trajectory.through(names, [0.0, 2.0], [start, end], np.zeros((2, 6)))


def sampled(cell, parts, starts, count=61):
    """The least distance over time and starts of the second part, (pairs,)."""
    schedule = Schedule(cell, parts)
    least = np.full(len(cell.pairs), np.inf)
    for start in starts:
        for time in np.linspace(schedule.begin, schedule.end, count):
            q = schedule.configuration(time, (0.0, start, *schedule.starts[2:]))
            least = np.minimum(least, cell.distances(q))
    return least


def test_the_start_of_the_second_robot_decides(cell):
    """The left arm leaves the middle while the right one enters it: with a delay they are apart."""
    left = Scheduled(motion(cell, [-t for t in TURN[:1]] + TURN[1:], UP, "left_"), prefix="left_")
    right = motion(cell, UP, TURN, "right_")
    across = [
        k
        for k, (a, b) in enumerate(cell.pairs)
        if {a.split("_")[0], b.split("_")[0]} == {"left", "right"}
    ]
    found = {}
    for low, high in ((-2.0, -1.0), (-1.0, 2.0), (2.5, 6.0), (-2.0, 6.0)):
        parts = [left, Scheduled(right, low, high, prefix="right_")]
        found[low, high] = check_clearance(cell, parts, bins=20)
        series = found[low, high].series
        least = sampled(cell, parts, np.linspace(low, high, 9))
        assert (least >= series.lower.min(axis=0)).all()
        best = {pair.links: pair.upper for pair in series.minima}
        for k in across:
            assert best[cell.pairs[k]] <= least[k] + 1.1e-3 + 0.01 * abs(least[k])
    nearest = {
        span: min(check.series.lower[:, across].min(axis=0)) for span, check in found.items()
    }
    assert nearest[-2.0, -1.0] < 0.0 < nearest[2.5, 6.0]
    assert nearest[-2.0, 6.0] == pytest.approx(min(nearest.values()), abs=5e-3)


def test_a_wing_that_turns_is_a_motion_like_any_other(cell):
    right = Scheduled(motion(cell, TURN, UP, "right_"), prefix="right_")
    for angle in (-1.2, 0.3):
        wing = Trajectory.through(("hinge",), [0.0, 2.0], [[-1.5], [angle]])
        found = check_clearance(cell, [right, wing], bins=20, held={"left_shoulder_pan_joint": 2.0})
        hits = [v for v in found.violations if "wing" in v.subject]
        schedule = Schedule(cell, [right, wing], {"left_shoulder_pan_joint": 2.0})
        times = np.linspace(0.0, 2.0, 801)
        wings = [k for k, pair in enumerate(cell.pairs) if "wing" in pair]
        least = [cell.distances(schedule.configuration(time))[wings].min() for time in times]
        assert found.series.lower[:, wings].min() <= min(least)
        assert bool(hits) == (angle > 0.0)
        if hits:
            assert found.verdict is CollisionVerdict.COLLIDES
            met = times[np.argmax(np.array(least) < 0.0)]
            assert min(v.first for v in hits) == pytest.approx(met, abs=4e-3)
