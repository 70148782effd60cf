# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The motion on which the package's two arms meet: its table, and when what comes near.

Distances between the arms' centre lines come from Denavit-Hartenberg parameters, and are
known: Wu Changzheng et al., J. Shanghai Jiao Tong University 52(1), 2018, 45-53, report
self-collision for t = 41 to 59 s.
"""

import csv

import numpy as np
import pytest
from support.paths import ROOT
from support.robots.dual_arm_cases import JOINTS, PAPER, joint_centres, least_distances

from collision_monitor import CollisionModel
from collision_monitor.motion import read_motion

URDF = ROOT / "urdf/dual_arm.urdf"
MOTION = ROOT / "config/dual_arm_motion.csv"
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
def centre_lines(motion) -> np.ndarray:
    """Least distance (63,) of the right arm's joint-centre segments from the left arm's."""
    return least_distances(joint_centres(motion.positions, PAPER.offset))


def test_the_arms_come_as_near_as_published(centre_lines):
    published = {
        40: 0.229690, 41: 0.191436, 45: 0.076684, 50: 0.014067, 51: 0.015556, 59: 0.163280,
        60: 0.204544,
    }  # fmt: skip
    assert centre_lines[[*published]] == pytest.approx([*published.values()], abs=0.5e-6)
    assert centre_lines[62] == pytest.approx(0.2994, abs=0.5e-4)
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
    assert model.warnings == ()


def test_the_model_sees_the_arms_meet_when_they_do(model, motion, centre_lines):
    arms = between_arms(model)
    seen = np.array([model.distances(q)[arms].min() for q in motion.positions])
    # leaves enclose the meshes, and the meshes a capsule of radius 0.05 round each segment
    assert np.all(seen <= centre_lines - 0.1 + 1e-9)
    # nor are housings and their leaves thicker than 0.07
    assert np.all(seen >= centre_lines - 0.14)
    assert np.flatnonzero(seen < 0.0).tolist() == list(range(44, 58))
