# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The motion on which the package's two arms meet: its table, and when what comes near.

Distances between the arms' centre lines come from pinocchio's kinematics and scipy's
bounded least squares, and are known: Wu Changzheng et al., J. Shanghai Jiao Tong
University 52(1), 2018, 45-53, report self-collision for t = 41 to 59 s.
"""

from __future__ import annotations

import csv

import numpy as np
import pytest
from support.geometry.segment_distance import segment_distance
from support.paths import ROOT

from collision_monitor import CollisionModel
from collision_monitor.motion import read_motion

URDF = ROOT / "urdf/dual_arm.urdf"
MOTION = ROOT / "config/dual_arm_motion.csv"
JOINTS = tuple(f"{side}_joint_{i}" for side in ("right", "left") for i in range(1, 8))
END = np.array([97.966, 84.403, 22.945, 87.889, 38.993, 79.501, -36.002])  # degrees at 50 s
END_4 = 147.889  # joint 4 at 62 s


def formula(t: int) -> np.ndarray:
    """The right arm's angles in radians."""
    degrees = END * min(t, 50) / 50
    degrees[3] += (END_4 - END[3]) * max(t - 50, 0) / 12
    return np.radians(degrees)


@pytest.fixture(scope="module")
def motion():
    return read_motion(MOTION)


def test_the_table_is_the_formula():
    with MOTION.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["time", *JOINTS]
    table = np.array(rows, dtype=float)
    assert table[:, 0].tolist() == list(range(63))
    right = np.array([formula(t) for t in range(63)])
    assert table[:, 1:8] == pytest.approx(right, rel=1e-14)
    assert np.array_equal(table[:, 8:], -table[:, 1:8])


@pytest.fixture(scope="module")
def arms(motion) -> np.ndarray:
    """Base, shoulder, elbow, wrist and tip of the right and the left arm, (63, 2, 5, 3)."""
    pin = pytest.importorskip("pinocchio", reason="pinocchio (PyPI: pin) is not installed")
    model = pin.buildModelFromUrdf(str(URDF))
    data = model.createData()
    places = [model.joints[model.getJointId(name)].idx_q for name in motion.joint_names]
    poses = []
    for row in motion.positions:
        q = pin.neutral(model)
        q[places] = row
        pin.framesForwardKinematics(model, data, q)
        for side in ("right", "left"):
            points = [data.oMi[model.getJointId(f"{side}_joint_{i}")] for i in (1, 2, 4, 6)]
            points.append(data.oMf[model.getFrameId(f"{side}_tool")])
            poses.append([point.translation.copy() for point in points])
    return np.array(poses).reshape(-1, 2, 5, 3)


@pytest.fixture(scope="module")
def centre_lines(arms) -> np.ndarray:
    """Least distance (63,) of the right arm's joint-centre segments from the left arm's."""
    parts = [(i, j) for i in range(4) for j in range(4)]
    return np.array(
        [
            min(segment_distance(right[i : i + 2], left[j : j + 2]) for i, j in parts)
            for right, left in arms
        ]
    )


@pytest.mark.parametrize(
    ("t", "expected", "digits"),
    [
        (40, 0.229690, 6),
        (41, 0.191436, 6),
        (45, 0.076684, 6),
        (50, 0.014067, 6),
        (51, 0.015556, 6),
        (59, 0.163280, 6),
        (60, 0.204544, 6),
        (62, 0.2994, 4),
    ],
)
def test_the_arms_come_as_near_as_published(centre_lines, t, expected, digits):
    assert abs(centre_lines[t] - expected) <= 0.5 * 10.0**-digits
    assert centre_lines.argmin() == 50


@pytest.fixture(scope="module")
def model() -> CollisionModel:
    """The robot and its scene, one leaf a shape: larger leaves than those of a tight fit."""
    return CollisionModel.from_urdf(
        URDF,
        srdf=ROOT / "urdf/dual_arm.srdf",
        scene=ROOT / "urdf/dual_arm_scene.yaml",
        max_leaves_per_link=1,
    )


def between_arms(model) -> np.ndarray:
    """Which pairs are of one link of each arm."""
    sides = [{a.split("_")[0], b.split("_")[0]} for a, b in model.pairs]
    return np.array([side == {"right", "left"} for side in sides])


def test_nothing_but_the_arms_meets(model, motion):
    others = ~between_arms(model)
    table = np.array([any(n.startswith(("table_", "part")) for n in p) for p in model.pairs])
    assert table.sum() == 10 * 14
    times = np.arange(0.0, motion.duration + 1e-9, 0.125)
    least = np.min([model.distances(motion.at(t)) for t in times], axis=0)
    assert least[table].min() >= 0.1
    # more than the demo's stop distance, also where each arm is folded back on itself at the end
    assert least[others].min() > 0.005


def test_the_motion_starts_clear(model, motion):
    start = model.distance(motion.positions[0])
    assert start.distance > 0.25
    assert model.contacts(motion.positions[0], margin=0.25) == []


def test_every_link_of_one_arm_is_checked_against_every_link_of_the_other(model):
    assert between_arms(model).sum() == 49
    assert model.warnings == ()


def test_the_model_sees_the_arms_meet_when_they_do(model, motion, centre_lines):
    arms = between_arms(model)
    seen = np.array([model.distances(q)[arms].min() for q in motion.positions])
    # leaves enclose the meshes, and the meshes a capsule of radius 0.05 round each segment
    assert np.all(seen <= centre_lines - 0.1 + 1e-9)
    # nor are housings and their leaves thicker than 0.07
    assert np.all(seen >= centre_lines - 0.14)
    assert np.flatnonzero(seen < 0.0).tolist() == list(range(44, 58))
