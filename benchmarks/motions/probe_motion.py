# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The published motion of the probe arm past an obstacle, and the same for a real UR5.

All joints share one double S of 9.5 s with an acceleration time of 0.3317 of it; the points are
0.1 s apart, from 1 to 95 (Gao Jiacai, Li Lihong, Yuan Gang, Computer Simulation 39(6), 2022).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from motions.two_level_as_printed import Box, Tip
from scipy.interpolate import PPoly

from collision_monitor import CollisionModel
from collision_monitor.motion.trajectory import Trajectory

PROBE_ARM = Path(__file__).resolve().parents[2] / "urdf" / "probe_arm.urdf"
START = np.radians([-30.0, -120.0, 120.0, -130.0, 120.0, 0.0])
END = np.radians([-90.0, -90.0, 180.0, -90.0, 90.0, 50.0])
DURATION, CRUISE = 9.5, 0.1575  # s; part of the way in a second
STEP, POINTS = 0.1, 95
SIZE = np.array([0.037, 0.014, 0.006])
NEAR = np.array([0.250, -0.140, 0.108])  # centre of the obstacle that is nearly missed
CLEAR = np.array([0.250, -0.200, 0.050])  # of the obstacle that the motion passes with room
# Greatest distances of the tip from the axes: it is 0.145 m beside the plane of the arm, whose
# parts are 0.4, 0.35 and 0.102 m long.
REACHES = np.array([np.hypot(0.852, 0.145), 0.852, 0.452, 0.102, 0.0, 0.0])
# A real UR5 cannot fold its forearm as far as that, so it goes this part of the way; its obstacle
# is so far from where the hand is half way that leaves touch and shapes do not.
UR5_PART = 0.6
UR5_ASIDE = np.array([0.0, -0.0376, 0.0])
PRINTED_WAY = 0.50464  # m: no bound, the tip goes 0.611 m


def double_s(duration: float = DURATION, cruise: float = CRUISE) -> PPoly:
    """From 0 to 1 with a jerk that is constant over pieces; ``cruise`` the peak rate, 1/s."""
    ramp = duration - 1.0 / cruise
    half = 0.5 * ramp
    jerk = cruise / half**2
    times = np.array([0.0, half, ramp, duration - ramp, duration - half, duration])
    jerks = [jerk, -jerk, 0.0, -jerk, jerk]
    pieces, place, rate, acceleration = [], 0.0, 0.0, 0.0
    for step, j in zip(np.diff(times), jerks, strict=True):
        pieces.append([j / 6.0, acceleration / 2.0, rate, place])
        place += step * (rate + step * (acceleration / 2.0 + step * j / 6.0))
        rate += step * (acceleration + step * j / 2.0)
        acceleration += step * j
    return PPoly(np.array(pieces).T, times)


def trajectory(
    names: tuple[str, ...], start: np.ndarray = START, end: np.ndarray = END
) -> Trajectory:
    """The motion of joints ``names``."""
    s = double_s()
    coefficients = s.c[:, :, None] * (end - start)
    coefficients[-1] += start
    return Trajectory(names, PPoly(coefficients, s.x))


def points(motion: Trajectory) -> np.ndarray:
    """Interpolation points 1 to 95, (95, joints)."""
    return motion.positions(STEP * np.arange(1, POINTS + 1))


def box(center: np.ndarray) -> Box:
    """The obstacle, at ``center``."""
    pose = np.eye(4)
    pose[:3, 3] = center
    return Box(pose, SIZE)


def scene(center: np.ndarray) -> dict:
    """The obstacle as a scene."""
    return {"obstacles": [{"name": "obstacle", "type": "box", "size": SIZE.tolist(),
                           "position": center.tolist()}]}  # fmt: skip


def probe_arm(center: np.ndarray = NEAR, leaves: int = 1) -> CollisionModel:
    """The arm and the obstacle."""
    return CollisionModel.from_urdf(PROBE_ARM, scene=scene(center), max_leaves_per_link=leaves)


def tip(model: CollisionModel) -> Tip:
    """The tip of the probe."""
    return Tip(model, "tip", REACHES)
