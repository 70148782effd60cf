# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Carries out trajectories as the joint_trajectory_controller of ros2_control does.

Their own time can go slower than the clock, or stand: that is how a monitor's speed scale acts.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np

from collision_monitor.errors import TrajectoryError
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.simulation.command import Command


class Phase(Enum):
    """What has become of a command."""

    WAITING = "waiting for its start"
    MOVING = "moving"
    DONE = "its last point has been commanded"
    REPLACED = "a newer trajectory for its joints took its place"
    DROPPED = "dropped"


class Run:
    """A command under way; ``elapsed`` seconds of its own time have passed."""

    def __init__(self, command: Command, columns: np.ndarray) -> None:
        self.command = command
        self.columns = columns
        self.phase = Phase.WAITING
        self.elapsed = 0.0
        self.trajectory: Trajectory | None = None
        self._offset = 0.0  # of the command's own times in the trajectory's

    def begin(self, late: float, position: np.ndarray, rate: np.ndarray) -> None:
        """Begin ``late`` s after its start, from where its joints are sent now.

        A first point later than that start is reached from here; one at time 0 is taken as it is.
        """
        c = self.command
        times, rows = c.times, [c.positions, c.velocities, c.accelerations]
        if times[0] > late:
            times = np.r_[late, times]
            here = [position, rate, np.zeros_like(rate)]
            rows = [
                None if table is None else np.vstack([first, table])
                for first, table in zip(here, rows, strict=True)
            ]
        self.trajectory = Trajectory.through(c.joint_names, times, *rows)
        self._offset = times[0]
        self.elapsed, self.phase = late, Phase.MOVING

    def wanted(self) -> np.ndarray:
        """Where its joints are to be now."""
        return self.trajectory.positions(np.array([self.elapsed - self._offset]))[0]


class TrajectoryExecution:
    """Where each joint is wanted, from moment to moment.

    A joint follows the last command that names it. A command that shares a joint with older ones
    takes their place when it begins; their other joints hold where they are.
    """

    def __init__(self, joint_names: Sequence[str], position: np.ndarray) -> None:
        """``position`` (nq,): where all joints are wanted until told otherwise."""
        self.joint_names = tuple(joint_names)
        self._column = {name: k for k, name in enumerate(joint_names)}
        self.hold(position)

    def hold(self, position: np.ndarray) -> None:
        """Forget all commands; stay at ``position`` (nq,)."""
        for run in getattr(self, "runs", []):
            run.phase = Phase.DROPPED
        self.runs: list[Run] = []
        self.wanted = np.array(position, dtype=float)
        self._rate = np.zeros(len(self.wanted))

    def accept(self, command: Command, now: float) -> Run:
        """Take on a command at ``now`` s on the clock.

        Raises:
            TrajectoryError: it ended before now.
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
        """End a command; its joints hold where they are wanted now."""
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
        run.begin(late, self.wanted[run.columns], self._rate[run.columns])

    def advance(self, now: float, dt: float, scale: float) -> np.ndarray:
        """Where all joints are wanted (nq,) after ``dt`` s that end at ``now`` on the clock.

        ``scale``: how fast trajectories go, 1 as they say, 0 not at all.
        """
        before = self.wanted.copy()
        for run in list(self.runs):
            if run.phase is Phase.WAITING:
                if run.command.start > now:
                    continue
                self._begin(run, 0.0)
            run.elapsed += scale * dt
            self.wanted[run.columns] = run.wanted()
            if run.elapsed >= run.command.times[-1]:
                run.phase = Phase.DONE
                self.runs.remove(run)
        self._rate = (self.wanted - before) / dt
        return self.wanted

    @property
    def moving(self) -> bool:
        """Whether a command is under way."""
        return any(run.phase is Phase.MOVING for run in self.runs)
