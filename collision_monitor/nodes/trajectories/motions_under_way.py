# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The trajectory that is being adjusted in a thread, and those that were sent."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from collision_monitor.nodes.common.executor import steady_timer
from collision_monitor.nodes.trajectories.follow_joint_trajectory import RelayedGoal
from collision_monitor.nodes.trajectories.trajectory_messages import motion_message
from collision_monitor.self_collision.adjustment import Adjustment
from collision_monitor.self_collision.trajectory_filter import Job, TrajectoryFilter

_POLL_SECONDS = 0.005
# With its duration in seconds, and as a message, which is slow to create for many points.
Adjusted = tuple[Adjustment, float, JointTrajectory]


class Computing(NamedTuple):
    """The trajectory that is being adjusted, and the number of its request."""

    job: Job
    future: Future[Adjusted]
    serial: int


class Adjusting:
    """Adjusts the last trajectory that was submitted.

    Attributes:
        current: what is being adjusted, or waits for its start; None without any.
    """

    def __init__(
        self,
        node: Node,
        seconds: Callable[[], float],
        finished: Callable[[Job, Future[Adjusted], int], None],
    ) -> None:
        """Adjust nothing yet.

        Args:
            node: provides a timer.
            seconds: time of the clock of stamps.
            finished: called with a trajectory that is adjusted and due, or could not be adjusted.
        """
        self._seconds, self._finished = seconds, finished
        # The events executor of rclpy 7 has no guard conditions, so a thread cannot wake it.
        self._polling = steady_timer(node, _POLL_SECONDS, self.poll)
        self._polling.cancel()
        self._worker = ThreadPoolExecutor(1)
        self.current: Computing | None = None

    def restart(self) -> None:
        """Use another thread, for another robot; the previous one ends with its work."""
        self._worker.shutdown(wait=False)
        self._worker = ThreadPoolExecutor(1)

    def submit(self, trajectories: TrajectoryFilter, job: Job, serial: int) -> None:
        """Adjust this trajectory; `drop` the previous one first."""
        future = self._worker.submit(_work, trajectories, job)
        self.current = Computing(job, future, serial)
        self._polling.reset()

    def drop(self) -> Computing | None:
        """Forget the trajectory that is being adjusted; returns it."""
        dropped, self.current = self.current, None
        if dropped is not None:
            dropped.future.cancel()  # a running one ends soon; its result is ignored
            dropped.job.cancelled.set()
        return dropped

    def poll(self) -> None:
        """Hand over what is finished."""
        current = self.current
        if current is not None and current.future.done():
            if current.future.exception() is not None or current.job.is_due(self._seconds()):
                self.current = None
                self._finished(*current)
        if self.current is None:
            self._polling.cancel()


def _work(trajectories: TrajectoryFilter, job: Job) -> Adjusted:
    start = time.monotonic()
    adjustment = trajectories.adjust(job)
    return adjustment, time.monotonic() - start, motion_message(adjustment.motion)


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

    def follow_with(self, trajectories: TrajectoryFilter) -> None:
        """Follow motions with the filter of another robot, which continues from the last one."""
        if self.filter is not None:
            trajectories.take_over(self.filter)
        trajectories.is_open = self._is_open
        self.filter = trajectories

    def _is_open(self) -> bool:
        return self.goal is not None and self.goal.sent is not None and not self.goal.done

    @property
    def are_running(self) -> bool:
        """Whether a motion is being executed, as its controller or the joints show."""
        return self.filter.running(self._seconds())

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
