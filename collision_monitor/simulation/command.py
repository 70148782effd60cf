# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What a controller is told to do, checked before anything moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from collision_monitor.errors import TrajectoryError
from collision_monitor.monitoring.joint_states.joint_state_buffer import name_some

Rows = Sequence[Sequence[float]]


@dataclass(frozen=True, eq=False)
class Command:
    """A trajectory for some joints.

    Attributes:
        joint_names: of the columns.
        times: (n,) seconds after the start, increasing.
        positions: (n, joints) radians or metres; ``velocities`` and ``accelerations`` alike, or
            None.
        start: when it begins on the clock, s; None means at once.
    """

    joint_names: tuple[str, ...]
    times: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray | None = None
    accelerations: np.ndarray | None = None
    start: float | None = None


def checked_command(
    robot_joints: Sequence[str],
    joint_names: Sequence[str],
    times: Sequence[float],
    positions: Rows,
    velocities: Rows = (),
    accelerations: Rows = (),
    start: float | None = None,
) -> Command:
    """A command that can be carried out.

    Args:
        robot_joints: all that there are.
        joint_names: of the columns; any part of the robot's joints.
        times: for each point seconds after the start.
        positions: for each point one number for each joint.
        velocities: for each point one number for each joint, or none at all.
        accelerations: likewise; they need velocities.
        start: when it begins on the clock, s.

    Raises:
        TrajectoryError: names, numbers or times that cannot be right.
    """
    names = tuple(joint_names)
    if not names:
        raise TrajectoryError("names no joints")
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise TrajectoryError(f"names joint '{twice}' twice")
    if unknown := [name for name in names if name not in set(robot_joints)]:
        raise TrajectoryError(
            f"names '{unknown[0]}', which the robot does not move; its joints are "
            f"{name_some(list(robot_joints), 20)}"
        )
    if not len(positions):
        raise TrajectoryError("has no points")
    clock = np.array(times, dtype=float)
    if clock.shape != (len(positions),):
        raise TrajectoryError(f"has {len(clock)} times for {len(positions)} points")
    if not (np.isfinite(clock).all() and clock[0] >= 0.0 and (np.diff(clock) > 0.0).all()):
        raise TrajectoryError(
            f"has times {name_some([f'{t:g}' for t in clock.tolist()], 6)}: they must begin at 0 "
            "or later, and increase"
        )
    table = _rows("positions", positions, names)
    rates = _rows_or_none("velocities", velocities, names)
    accelerations_table = _rows_or_none("accelerations", accelerations, names)
    if accelerations_table is not None and rates is None:
        raise TrajectoryError("has accelerations without velocities: give both, or positions alone")
    return Command(names, clock, table, rates, accelerations_table, start)


def _rows_or_none(what: str, rows: Rows, names: tuple[str, ...]) -> np.ndarray | None:
    return _rows(what, rows, names) if any(len(row) for row in rows) else None


def _rows(what: str, rows: Rows, names: tuple[str, ...]) -> np.ndarray:
    for k, row in enumerate(rows):
        if len(row) != len(names):
            raise TrajectoryError(f"point {k} has {len(row)} {what} for {len(names)} joints")
    table = np.array([list(row) for row in rows], dtype=float)
    bad = np.argwhere(~np.isfinite(table))
    if len(bad):
        k, j = bad[0]
        raise TrajectoryError(
            f"point {k}: {what} of joint '{names[j]}' are {table[k, j]}; a finite number is needed"
        )
    return table
