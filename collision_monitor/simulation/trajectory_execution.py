# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Execution of trajectories as in the joint_trajectory_controller of ros2_control.

The speed scale of a monitor slows down or stops the time of a trajectory. Without messages from the
monitor the scale is 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from collision_monitor.errors import TrajectoryError
from collision_monitor.motion.points import Rows, checked_points, checked_rows
from collision_monitor.motion.trajectory import Trajectory

# Smaller scales are 0: a scale proportional to the distance never reaches 0.
STANDSTILL = 1e-3


class SpeedScale:
    """The last speed scale of a monitor, and whether it is still valid."""

    def __init__(self, enabled: bool, timeout: float) -> None:
        """``enabled``: whether it is used; it is 0 after ``timeout`` s without a message."""
        self.enabled = enabled
        self.timeout = timeout
        self._value, self._received = 0.0, -math.inf

    def update(self, value: float, now: float) -> None:
        """Store a received value: at most 1, and 0 if it is not finite."""
        value = min(value, 1.0) if math.isfinite(value) else 0.0
        self._value = value if value >= STANDSTILL else 0.0
        self._received = now

    def at(self, now: float) -> float:
        """The scale, 0 to 1; 1 if it is not enabled."""
        if not self.enabled:
            return 1.0
        return 0.0 if self.is_silent(now) else self._value

    def is_silent(self, now: float) -> bool:
        """Whether no message was received for longer than the timeout."""
        return now - self._received > self.timeout

    def reason(self, now: float) -> str:
        """Why it is 0 now; empty if it is not."""
        if self.at(now) > 0.0:
            return ""
        if self._received == -math.inf:
            return "no speed scale received yet"
        if self.is_silent(now):
            silence = now - self._received
            return f"no speed scale for {silence:.2f} s, {self.timeout:g} s are allowed"
        return "the speed scale is 0"


@dataclass(frozen=True, eq=False)
class Command:
    """A trajectory for some joints.

    Attributes:
        joint_names: of the columns.
        times: (n,) seconds after the start, increasing.
        positions: (n, joints) radians or metres; ``velocities`` and ``accelerations`` of the same
            shape, or None.
        start: start time on the clock, s; None means now.
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
    """Create a command from checked values.

    Args:
        robot_joints: all joints of the robot.
        joint_names: of the columns; a subset of the joints of the robot.
        times: of each point, seconds after the start.
        positions: for each point one number for each joint.
        velocities: the same, or empty.
        accelerations: the same, or empty; they need velocities.
        start: when it begins on the clock, s.

    Raises:
        TrajectoryError: invalid names, numbers or times.
    """
    names = tuple(joint_names)
    clock, table = checked_points(robot_joints, names, times, positions)
    rates = [
        checked_rows(field, rows, names) if any(map(len, rows)) else None
        for field, rows in (("velocities", velocities), ("accelerations", accelerations))
    ]
    for field, rows in zip(("velocities", "accelerations"), rates, strict=True):
        if rows is not None and len(rows) != len(table):
            raise TrajectoryError(f"has {field} of {len(rows)} points, and {len(table)} points")
    if start is not None and not math.isfinite(start):
        raise TrajectoryError(f"is to start at {start} s; a finite time is needed")
    if rates[1] is not None and rates[0] is None:
        raise TrajectoryError("has accelerations without velocities: give both, or positions alone")
    return Command(names, clock, table, *rates, start)


class Phase(Enum):
    """State of a command."""

    WAITING = "waiting for its start"
    MOVING = "moving"
    DONE = "its last point has been commanded"
    REPLACED = "replaced by a newer trajectory for its joints"
    DROPPED = "dropped"


class Run:
    """A command being executed; ``elapsed`` is its own time in seconds."""

    def __init__(self, command: Command, columns: np.ndarray) -> None:
        self.command = command
        self.columns = columns
        self.phase = Phase.WAITING
        self.elapsed = 0.0
        self.trajectory: Trajectory | None = None
        self._offset = 0.0  # start of the command in the time of the trajectory

    def begin(self, late: float, position: np.ndarray, rate: np.ndarray) -> None:
        """Begin ``late`` s after its start, from the current targets of its joints.

        A first point after the start is reached from these targets; one at time 0 is used directly.
        """
        c = self.command
        times, tables = c.times, [c.positions, c.velocities, c.accelerations]
        if times[0] > late:
            times = np.r_[late, times]
            here = [position, rate, np.zeros_like(rate)]
            tables = [
                None if table is None else np.vstack([first, table])
                for first, table in zip(here, tables, strict=True)
            ]
        self.trajectory = Trajectory.through(c.joint_names, times, *tables)
        self._offset = times[0]
        self.elapsed, self.phase = late, Phase.MOVING

    def setpoint(self) -> np.ndarray:
        """Current targets of its joints."""
        return self.trajectory.positions(np.array([self.elapsed - self._offset]))[0]


class TrajectoryExecution:
    """Targets of all joints over time.

    A joint follows the last command with it. A command that shares a joint with older ones replaces
    them when it starts; their other joints hold.
    """

    def __init__(self, joint_names: Sequence[str], position: np.ndarray) -> None:
        """``position`` (nq,): target of all joints until a command starts."""
        self.joint_names = tuple(joint_names)
        self._column = {name: k for k, name in enumerate(joint_names)}
        self.runs: list[Run] = []
        self.hold(position)

    def hold(self, position: np.ndarray) -> None:
        """Clear all commands; stay at ``position`` (nq,)."""
        for run in self.runs:
            run.phase = Phase.DROPPED
        self.runs = []
        self.setpoints = np.array(position, dtype=float)
        self._rate = np.zeros(len(self.setpoints))

    def accept(self, command: Command, now: float) -> Run:
        """Accept a command at ``now`` s on the clock.

        Raises:
            TrajectoryError: it has already ended.
        """
        start = now if command.start is None else command.start
        if start + command.times[-1] < now:
            raise TrajectoryError(
                f"ended {now - start - command.times[-1]:.3g} s ago: its start {start:.3f} s is "
                f"too far before the present {now:.3f} s"
            )
        run = Run(command, np.array([self._column[name] for name in command.joint_names]))
        self.runs.append(run)
        if start <= now:
            self._begin(run, now - start)
        return run

    def drop(self, run: Run) -> None:
        """End a command; its joints hold their current targets."""
        if run in self.runs:
            self.runs.remove(run)
            run.phase = Phase.DROPPED

    def _begin(self, run: Run, late: float) -> None:
        mine = set(run.columns.tolist())
        for other in list(self.runs):
            older = other is not run and other.phase is Phase.MOVING
            if older and mine & set(other.columns.tolist()):
                other.phase = Phase.REPLACED
                self.runs.remove(other)
        run.begin(late, self.setpoints[run.columns], self._rate[run.columns])

    def advance(self, now: float, dt: float, scale: float) -> np.ndarray:
        """Advance by ``dt`` s to ``now`` on the clock; returns targets of all joints (nq,).

        ``scale``: speed of trajectories, 1 as commanded, 0 stopped.
        """
        before = self.setpoints.copy()
        for run in list(self.runs):
            if run.phase is Phase.WAITING:
                if run.command.start > now:
                    continue
                self._begin(run, 0.0)
            run.elapsed += scale * dt
            self.setpoints[run.columns] = run.setpoint()
            if run.elapsed >= run.command.times[-1]:
                run.phase = Phase.DONE
                self.runs.remove(run)
        self._rate = (self.setpoints - before) / dt
        return self.setpoints

    @property
    def moving(self) -> bool:
        """Whether a command is being executed."""
        return any(run.phase is Phase.MOVING for run in self.runs)
