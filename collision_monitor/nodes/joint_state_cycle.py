# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""One cycle of the collision_monitor node: a joint state, with those that wait, becomes a state."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from rclpy.node import Node

from collision_monitor.errors import JointStateError
from collision_monitor.monitoring.joint_state_buffer import JointState
from collision_monitor.monitoring.monitor import Monitor, MonitorState
from collision_monitor.monitoring.watchdogs import FUTURE_SECONDS, Watchdogs
from collision_monitor.nodes.recorder import Recorder
from collision_monitor.nodes.robot_topics import JointStateSource, RobotTopics


class JointStates:
    """Reads joint states with their age by the clock of the node, and has a monitor process them.

    Attributes:
        recorder: to which joint states go; None without recording.
    """

    def __init__(self, node: Node, robots: RobotTopics, watchdogs: Watchdogs) -> None:
        """Start without a message.

        Args:
            node: provides the clock.
            robots: the subscriptions.
            watchdogs: of the monitor.
        """
        self._node, self._robots, self._watchdogs = node, robots, watchdogs
        self._time_is_simulated = node.get_clock().ros_time_is_active
        self.recorder: Recorder | None = None

    def pass_over(self, source: JointStateSource, data: bytes) -> None:
        """Count and record a joint state."""
        self._watchdogs.messages += 1
        if self.recorder is not None:
            self.recorder.joint_state(data, source.topic)

    def read(self, source: JointStateSource, data: bytes) -> JointState:
        """Count, record and read a joint state, with its lag.

        Raises:
            JointStateError: the bytes are not a joint state.
        """
        self.pass_over(source, data)  # after the states of earlier ones
        now = time.monotonic()
        message = source.read(data, now)
        self._watchdogs.publishers.report_message(source.topic, now, message.names)
        return message._replace(lag=self.lag(message.stamp, now))

    def lag(self, stamp: float, now: float) -> float:
        """Age of a message with this stamp, seconds; see `ClockWatch.lag`."""
        clock = self.seconds(), now, self._time_is_simulated
        return self._watchdogs.clock.lag(stamp, *clock)

    def watch(self, monitor: Monitor | None) -> float | None:
        """Report clock and publishers, a few times a second; simulated time, None without it."""
        self._time_is_simulated = self._node.get_clock().ros_time_is_active  # slow
        seconds, now = self.seconds(), time.monotonic()
        self._watchdogs.clock.update(seconds, now, self._time_is_simulated)
        if self._robots.watch_publishers(self._watchdogs.publishers, now) and monitor is not None:
            monitor.report_other_publishers(now)
        return seconds if self._time_is_simulated else None

    def seconds(self) -> float:
        """Time of the node, seconds; system time is read directly, which is faster."""
        if self._time_is_simulated:
            return 1e-9 * self._node.get_clock().now().nanoseconds
        return time.time()

    def process(
        self,
        monitor: Monitor,
        source: JointStateSource,
        data: bytes,
        start: float,
        process_scene: Callable[[], None],
    ) -> tuple[MonitorState, float]:
        """The state after a serialized joint state that was received at ``start``, seconds.

        If others wait, all are merged, scene messages that wait are processed, and the newest is
        checked. Also returns the age at ``start`` of that message; NaN if it is unknown.
        """
        try:
            if self._watchdogs.cycles.is_behind(start):
                for newer in self._robots.waiting():
                    self._merge(monitor, source, data)
                    source, data = newer
                process_scene()
            joint_state = self.read(source, data)
        except JointStateError as error:
            return monitor.reject(error, time.monotonic()), math.nan
        state = monitor.process(joint_state)
        if joint_state.stamp > 0.0 and joint_state.lag >= -FUTURE_SECONDS:
            return state, joint_state.lag + start - joint_state.now
        return state, math.nan

    def _merge(self, monitor: Monitor, source: JointStateSource, data: bytes) -> None:
        """Process a joint state without a query; faults are reported with the next state."""
        try:
            monitor.merge(self.read(source, data))
        except JointStateError as error:
            monitor.reject(error, time.monotonic())
