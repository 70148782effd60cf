# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Verifications of a small robot: a safe motion, one that is not, one that cannot be checked."""

from functools import cache

from collision_monitor import CollisionModel
from collision_monitor.model.thresholds import Thresholds
from collision_monitor.motion.motion_files import LoadedMotion
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.verification import Settings, verify
from collision_monitor.verification.verification import Verification
from support.robots.toys import chain

SETTINGS = Settings(Thresholds(warn=0.02), exact=False)


@cache
def model() -> CollisionModel:
    """A chain of four links."""
    return CollisionModel.from_urdf(chain(4))


def motion(ends, name="motion.csv", seconds=5.0) -> LoadedMotion:
    """From zero to ``ends`` on a line."""
    names = model().joint_names
    trajectory = Trajectory.through(names, [0.0, seconds], [[0.0] * len(names), ends])
    return LoadedMotion(trajectory, (), ("a <note> & more",), name)


@cache
def safe() -> Verification:
    """Nothing comes near."""
    return verify(model(), motion((0.3, 0.3, 0.3)), SETTINGS)


@cache
def colliding() -> Verification:
    """The chain folds onto itself."""
    return verify(model(), motion((0.0, 3.1, 3.1), "fold <1>.csv"), SETTINGS)


@cache
def unchecked() -> Verification:
    """A joint that the robot lacks."""
    trajectory = Trajectory.through(("no_joint",), [0.0, 1.0], [[0.0], [1.0]])
    return verify(model(), LoadedMotion(trajectory, (), (), "bad.csv"), SETTINGS)
