# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Points of a trajectory that was received: the one check of names, numbers and times."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain

import numpy as np

from collision_monitor.common.magnitudes import LARGEST_RATE, beyond_reason
from collision_monitor.errors import TrajectoryError

Rows = Sequence[Sequence[float]]


def checked_points(
    robot_joints: Collection[str],
    joint_names: Sequence[str],
    times: Sequence[float],
    positions: Rows,
) -> tuple[np.ndarray, np.ndarray]:
    """Times (n,), seconds, and positions (n, joints), radians or metres.

    Args:
        robot_joints: joints that may be named.
        joint_names: of the columns.
        times: for each point, seconds after the start.
        positions: for each point one number for each joint.

    Raises:
        TrajectoryError: invalid names, numbers or times; the message continues "the trajectory".
    """
    if not joint_names:
        raise TrajectoryError("names no joints")
    for k, name in enumerate(joint_names):
        if name in joint_names[:k]:
            raise TrajectoryError(f"names joint '{name}' twice")
        if name not in robot_joints:
            raise TrajectoryError(
                f"names '{name}', which the robot does not move; its joints are "
                f"{', '.join(robot_joints)}"
            )
    if not len(positions):
        raise TrajectoryError("has no points")
    table = checked_rows("positions", positions, joint_names)
    clock = np.array(times, dtype=float)
    if clock.shape != (len(table),):
        raise TrajectoryError(f"has {len(clock)} times for {len(table)} points")
    bad = np.flatnonzero(~np.isfinite(clock) | (clock < 0.0))
    if len(bad):
        raise TrajectoryError(
            f"point {bad[0]} is to be reached {clock[bad[0]]:g} s after the start; times begin at 0"
        )
    late = np.flatnonzero(np.diff(clock) <= 0.0)
    if len(late):
        k = int(late[0]) + 1
        raise TrajectoryError(
            f"point {k} is to be reached at {clock[k]:g} s, not after point {k - 1} at "
            f"{clock[k - 1]:g} s: times must increase"
        )
    return clock, table


def checked_rows(field: str, rows: Rows, joint_names: Sequence[str]) -> np.ndarray:
    """(n, joints) of one field of all points, such as ``velocities``.

    Raises:
        TrajectoryError: a row of another length, or a number that is not finite.
    """
    for k, row in enumerate(rows):
        if len(row) != len(joint_names):
            raise TrajectoryError(f"point {k} has {len(row)} {field} for {len(joint_names)} joints")
    table = np.fromiter(chain.from_iterable(rows), dtype=float).reshape(-1, len(joint_names))
    bad = np.argwhere(~np.isfinite(table))
    if len(bad):
        k, j = bad[0]
        raise TrajectoryError(
            f"point {k}: {field} of joint '{joint_names[j]}' are {table[k, j]:g}; a finite number "
            "is needed"
        )
    far = np.argwhere(np.abs(table) > LARGEST_RATE)
    if len(far):
        k, j = far[0]
        problem = beyond_reason(table[k, j], largest=LARGEST_RATE)
        raise TrajectoryError(f"point {k}: {field} of joint '{joint_names[j]}': {problem}")
    return table
