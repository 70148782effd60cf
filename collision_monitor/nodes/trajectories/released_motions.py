# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The motions that the self_collision node has sent: whether one is being executed, and of whom."""

from __future__ import annotations

from collections.abc import Callable

from collision_monitor.nodes.trajectories.follow_joint_trajectory import RelayedGoal
from collision_monitor.self_collision.trajectory_filter import TrajectoryFilter


class ReleasedMotions:
    """The goals of the last two motions, and the filter that follows them.

    Attributes:
        filter: of the robot; None without one.
        goal: of the last motion; None if it has none.
        serial: number of the request of the last motion.
    """

    def __init__(self, seconds: Callable[[], float]) -> None:
        """``seconds``: time of the clock of stamps."""
        self._seconds = seconds
        self.filter: TrajectoryFilter | None = None
        self.goal: RelayedGoal | None = None
        self._goal_before: RelayedGoal | None = None
        self.serial = 0

    @property
    def is_open(self) -> bool:
        """Whether the last motion is being executed, as its controller reports."""
        return self.goal is not None and self.goal.sent is not None and not self.goal.done

    @property
    def are_running(self) -> bool:
        """Whether a motion is being executed, as its controller or the joints show."""
        return self.is_open or self.filter.running(self._seconds())

    def release(self, goal: RelayedGoal | None, serial: int) -> None:
        """Report that a motion is sent; without a goal, it is for the topic."""
        self._goal_before, self.goal, self.serial = self.goal, goal, serial

    def end(self, goal: RelayedGoal) -> bool:
        """Report that a goal has ended; returns whether it was that of the last motion."""
        if goal is not self.goal or self.filter is None:
            return False
        if goal.sent is None:  # never executed: the previous motion may be active
            self.goal = self._goal_before
            self.filter.restore_previous()
        last = goal if goal.sent is not None else self.goal
        # A trajectory whose controller fails may still be executed.
        if last is not None and last.done and not last.refused:
            self.filter.mark_finished()
        return True
