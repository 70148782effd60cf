# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Joints that mimic others move along with a trajectory, and have limits of their own."""

from __future__ import annotations

import difflib

import numpy as np
from scipy.interpolate import PPoly

from collision_monitor.errors import TrajectoryError
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.robot.bodies import drive
from collision_monitor.robot.description import Robot


def with_followers(trajectory: Trajectory, robot: Robot) -> Trajectory:
    """The trajectory with all joints that follow its joints, where it does not name them itself.

    Raises:
        TrajectoryError: it names a joint twice, or one that the robot lacks or that cannot move.
    """
    joints = {joint.name: joint for joint in robot.joints if joint.moves}
    for name in trajectory.joint_names:
        if trajectory.joint_names.count(name) > 1:
            raise TrajectoryError(f"joint {name!r} is there twice")
        if name not in joints:
            close = difflib.get_close_matches(name, joints, 3, 0.4) or list(joints)[:8]
            raise TrajectoryError(
                f"robot {robot.name!r} has no joint {name!r} that moves; it has {', '.join(close)}"
            )
    names, columns = list(trajectory.joint_names), [trajectory.polynomial.c]
    for joint in joints.values():
        leader, gain, offset = drive(joint, joints)
        if joint.mimic is None or joint.name in names or leader not in trajectory.joint_names:
            continue
        column = gain * columns[0][:, :, [trajectory.joint_names.index(leader)]]
        column[-1] += offset
        names.append(joint.name)
        columns.append(column)
    polynomial = PPoly(np.concatenate(columns, axis=2), trajectory.times)
    return Trajectory(tuple(names), polynomial)
