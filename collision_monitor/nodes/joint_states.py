# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states: subscribed, read with their age, and processed by a monitor."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState as JointStateMessage

from collision_monitor.common.text import one_line
from collision_monitor.errors import JointStateError
from collision_monitor.model.loading import RobotSource
from collision_monitor.monitoring.joint_history import CLOCK_SECONDS
from collision_monitor.monitoring.joint_state_buffer import JointState
from collision_monitor.monitoring.monitor import Monitor, MonitorState
from collision_monitor.monitoring.publisher_watch import Publisher, PublisherWatch
from collision_monitor.monitoring.watchdogs import Watchdogs
from collision_monitor.nodes.common.executor import take_serialized
from collision_monitor.nodes.common.graph_watch import NAMES_SECONDS, node_of, why_unheard
from collision_monitor.nodes.common.messages import seconds_of
from collision_monitor.nodes.parameters.monitor_parameters import RobotPort
from collision_monitor.nodes.recorder import Recorder

# Deeper than for sensor data: with several publishers no joint state is lost during a cycle. All
# waiting messages are taken at once, so they do not delay the next.
_DEPTH = 100

# Events whose messages were taken are passed over for this part of the last cycle, and so many
# seconds, at most: one that comes when no message is left is not seen here.
_PASSED_SHARE, _PASSED_SECONDS = 0.25, 0.2


class JointStateSource:
    """The subscription to serialized messages of one topic.

    Attributes:
        topic: its name, as given.
    """

    def __init__(
        self,
        node: Node,
        callback: Callable[[JointStateSource, bytes], None],
        topic: str = "joint_states",
        prefix: str = "",
    ) -> None:
        """Subscribe.

        Args:
            node: the node.
            callback: called with this object and each message that `waiting` has not taken.
            topic: of joint states.
            prefix: prepended to all names in messages.
        """
        self._node, self.topic, self._prefix = node, topic, prefix
        self._received_names: list[str] = []
        self._names: list[str] = []
        profile = QoSProfile(
            depth=_DEPTH,
            reliability=ReliabilityPolicy.BEST_EFFORT,
            durability=DurabilityPolicy.VOLATILE,
        )
        self._subscription: Any = node.create_subscription(
            JointStateMessage, topic, partial(callback, self), profile, raw=True
        )
        self._count = getattr(self._subscription, "get_publisher_count", None)
        self._next_names = -math.inf

    def read(self, data: bytes, now: float) -> JointState:
        """The joint state of one message received at ``now``, without its lag.

        Equal lists of names are the same object: do not modify them.

        Raises:
            JointStateError: the bytes are not such a message.
        """
        try:
            message = deserialize_message(data, JointStateMessage)
        except Exception as error:  # any error of the middleware for invalid bytes
            text = f"unreadable joint state: {one_line(error)}"
            raise JointStateError(text, "unreadable") from None
        if message.name != self._received_names:
            self._received_names = message.name
            self._names = [self._prefix + name for name in message.name]
        return JointState(
            self._names,
            tuple(message.position),
            now,
            seconds_of(message.header.stamp),
            velocities=tuple(message.velocity),
        )

    def waiting(self) -> Iterator[bytes]:
        """Take the waiting messages, oldest first; at most as many as the queue holds."""
        for _ in range(_DEPTH):
            if (found := take_serialized(self._subscription)) is None:
                return
            yield found[0]

    def watch_publishers(self, watch: PublisherWatch, now: float) -> bool:
        """Report the publishers; return whether there are others than before.

        Their number is asked for at each call; their names if it has changed, and every half
        second.
        """
        is_other = watch.update(self.topic, self._number(), now)
        if is_other or now >= self._next_names:
            self._next_names = now + NAMES_SECONDS
            is_other |= watch.identify(self.topic, self._publishers(), now)
        return is_other

    def _number(self) -> int:
        if self._count is None:  # before Jazzy
            return self._node.count_publishers(self._subscription.topic_name)
        return self._count()

    def _publishers(self) -> list[Publisher]:
        found = self._node.get_publishers_info_by_topic(self._subscription.topic_name)
        return [
            Publisher(tuple(each.endpoint_gid), node_of(each))
            for each in found
            if not why_unheard(each, self._subscription)
        ]

    def destroy(self) -> None:
        """Unsubscribe."""
        self._node.destroy_subscription(self._subscription)


# Of joints of the scene, which belong to no robot, if robots have separate topics.
SCENE_JOINTS = RobotPort(RobotSource(""))


class JointStates:
    """All subscribed joint states.

    An executor calls back in the order of events, and each message is one, also one that `newest`
    has taken already. If each event brought the newest message and another long cycle, there would
    be more events after each cycle than before: timers, services and other topics would wait behind
    them, later and later. So as many events are passed over as messages were taken: what they bring
    is kept for the next.

    Attributes:
        recorder: to which they go; None without recording.
    """

    def __init__(
        self,
        node: Node,
        watchdogs: Watchdogs,
        received: Callable[[JointStateSource, bytes], None],
    ) -> None:
        """Start without subscriptions.

        Args:
            node: the node, which also provides the clock.
            watchdogs: of the monitor.
            received: called with the source and each serialized joint state.
        """
        self._node, self._watchdogs = node, watchdogs
        self._received = received
        self._sources: dict[str, JointStateSource] = {}  # by topic
        self._kept: deque[tuple[JointStateSource, bytes]] = deque()
        self._taken, self._passing_until = 0, -math.inf
        self._time_is_simulated = node.get_clock().ros_time_is_active
        self.recorder: Recorder | None = None

    def subscribe(self, ports: Sequence[RobotPort]) -> None:
        """Subscribe to the joint states of these robots."""
        for port in ports:
            if port.joint_states not in self._sources:
                self._sources[port.joint_states] = JointStateSource(
                    self._node, self._hear, port.joint_states, port.source.prefix
                )

    def unsubscribe(self) -> None:
        """End the subscriptions."""
        for source in self._sources.values():
            source.destroy()
        self._sources.clear()
        self._kept.clear()

    def _hear(self, source: JointStateSource, data: bytes) -> None:
        start = time.monotonic()
        if self._taken > 0 and start < self._passing_until:
            self._taken -= 1
            self._kept.append((source, data))
            return
        self._taken = 0
        self._received(source, data)
        end = time.monotonic()
        self._passing_until = end + min(_PASSED_SHARE * (end - start), _PASSED_SECONDS)

    def process_kept(self) -> None:
        """Process what was kept, if no further joint state has come; a few times a second."""
        if self._kept:
            self._hear(*self._kept.pop())

    def catch_up(self) -> None:
        """Process what waits, the newest alone, in a callback that has kept it waiting."""
        self._kept.extend(self.waiting())
        self._taken = 0
        self.process_kept()

    def waiting(self) -> Iterator[tuple[JointStateSource, bytes]]:
        """Take the waiting joint states, of each topic oldest first."""
        for source in self._sources.values():
            for data in source.waiting():
                yield source, data

    def pass_over(self, source: JointStateSource, data: bytes) -> None:
        """Count and record a joint state."""
        self._watchdogs.messages += 1
        if self.recorder is not None:
            self.recorder.joint_state(data, source.topic)

    def read(self, source: JointStateSource, data: bytes, monitor: Monitor | None) -> JointState:
        """Count, record and read a joint state for a monitor, with its lag.

        Raises:
            JointStateError: the bytes are not a joint state.
        """
        self.pass_over(source, data)  # after the states of earlier ones
        now = time.monotonic()
        message = source.read(data, now)
        # A message of efforts alone does not make its publisher one of the same joints.
        names = message.names if message.positions else ()
        if self._watchdogs.publishers.report_message(source.topic, now, names):
            self.watch(monitor)  # its publisher may be one that was not there a moment ago
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
        sources, watch = self._sources.values(), self._watchdogs.publishers
        if any([each.watch_publishers(watch, now) for each in sources]) and monitor is not None:
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
        process_scene: Callable[[bool], None],
    ) -> tuple[MonitorState, float]:
        """The state after a serialized joint state that was received at ``start``, seconds.

        If the node is behind, the `newest` is checked. Before, ``process_scene`` is called with
        whether it is. Also returns the age at ``start`` of the checked message; NaN if it is
        unknown.
        """
        source, data, is_behind = self.newest(monitor, source, data, start)
        process_scene(is_behind)
        try:
            joint_state = self.read(source, data, monitor)
        except JointStateError as error:
            return monitor.reject(error, time.monotonic()), math.nan
        state = monitor.process(joint_state)
        if joint_state.stamp > 0.0 and joint_state.lag >= -CLOCK_SECONDS:
            return state, joint_state.lag + start - joint_state.now
        return state, math.nan

    def newest(
        self, monitor: Monitor, source: JointStateSource, data: bytes, start: float
    ) -> tuple[JointStateSource, bytes, bool]:
        """The newest serialized joint state if the node is behind at ``start``; and whether it is.

        Call it at each one. Those before the newest are merged, without a query; their faults are
        reported with the next state.
        """
        is_behind = self._watchdogs.cycles.is_behind(start) or bool(self._kept)
        self._kept.append((source, data))
        source, data = self._kept.popleft()
        for newer in self._newer(is_behind):
            try:
                monitor.merge(self.read(source, data, monitor))
            except JointStateError as error:
                monitor.reject(error, time.monotonic())
            source, data = newer
        return source, data, is_behind

    def _newer(self, is_behind: bool) -> Iterator[tuple[JointStateSource, bytes]]:
        """Take the joint states that were kept, and if the node ``is_behind`` those that wait."""
        while self._kept:
            yield self._kept.popleft()
        for waiting in self.waiting() if is_behind else ():
            self._taken += 1
            yield waiting
