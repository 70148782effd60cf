# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Adjustments of the cases of the dual arm, worked out once."""

from functools import cache

from collision_monitor.motion import Motion, read_motion
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.self_collision import adjust
from support.robots.dual_arm_cases import JOINTS, ROOT, capsule_model

CLOSE = {"safe_distance": 0.1, "danger_distance": 0.05}
MOTION = read_motion(ROOT / "config/dual_arm_motion.csv")


def motion_of(case):
    return Motion(JOINTS, case.times, case.desired)


@cache
def adjusted(case, method="robust", **options):
    """An adjustment of a case; each is worked out once."""
    return adjust(
        capsule_model(case.offset), motion_of(case), safe_distance=case.safe - 0.1,
        danger_distance=case.danger - 0.1, method=method, **options,
    )  # fmt: skip


def path_of(motion):
    return Trajectory.through(motion.joint_names, motion.times, motion.positions)
