# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Subscriptions to robot descriptions and joint states."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState as JointStateMessage
from std_msgs.msg import String

from collision_monitor.common.safe_files import ReceivedText
from collision_monitor.common.text import one_line
from collision_monitor.errors import JointStateError
from collision_monitor.model.loading import RobotSource
from collision_monitor.monitoring.joint_state_buffer import JointState
from collision_monitor.monitoring.publisher_watch import Publisher, PublisherWatch
from collision_monitor.nodes.common.executor import take_serialized
from collision_monitor.nodes.common.messages import LATCHED, seconds_of
from collision_monitor.nodes.common.name_watch import NAMES_SECONDS, node_of
from collision_monitor.nodes.parameters.monitor_parameters import RobotPort

# Deeper than for sensor data: with several publishers no joint state is lost during a cycle. All
# waiting messages are taken at once, so they do not delay the next.
_DEPTH = 100
_MOST = 200  # maximum number of messages taken at once, if they arrive faster than that


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
        depth: int = _DEPTH,
    ) -> None:
        """Subscribe.

        Args:
            node: the node.
            callback: called with this object and each message that `waiting` has not taken.
            topic: of joint states.
            prefix: prepended to all names in messages.
            depth: of the queue, messages.
        """
        self._node, self.topic, self._prefix = node, topic, prefix
        self._received_names: list[str] = []
        self._names: list[str] = []
        self._subscription: Any = node.create_subscription(
            JointStateMessage, topic, partial(callback, self), _qos(depth), raw=True
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
        """Take the waiting messages, oldest first."""
        for _ in range(_MOST):
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
        return [Publisher(tuple(each.endpoint_gid), node_of(each)) for each in found]

    def destroy(self) -> None:
        """Unsubscribe."""
        self._node.destroy_subscription(self._subscription)


def _qos(depth: int) -> QoSProfile:
    """As for sensor data."""
    return QoSProfile(
        depth=depth,
        reliability=ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.VOLATILE,
    )


# Topic of joints of the scene, which belong to no robot, if robots have separate topics.
_SCENE_TOPIC = "joint_states"


class RobotTopics:
    """The subscriptions of all robots."""

    def __init__(
        self,
        node: Node,
        ports: Sequence[RobotPort],
        described: Callable[[], None],
        moved: Callable[[JointStateSource, bytes], None],
        depth: int = _DEPTH,
    ) -> None:
        """Start without subscriptions.

        Args:
            node: the node.
            ports: topics of each robot.
            described: called for each received description.
            moved: called with the source and each serialized joint state.
            depth: of the queues of joint states, messages.
        """
        self._node, self._ports, self._depth = node, ports, depth
        self._described, self._on_joint_state = described, moved
        self._urdfs: dict[str, ReceivedText] = {}  # by name of the robot
        self._descriptions: list[Subscription] = []
        self._joint_states: dict[str, JointStateSource] = {}

    def subscribe_descriptions(self) -> None:
        """Subscribe to descriptions that are not given by parameters."""
        self._urdfs.clear()
        for port in self._ports:
            if not port.source.urdf:
                listener = partial(self._on_description, port.source.name)
                self._descriptions.append(
                    self._node.create_subscription(
                        String, port.description_topic, listener, LATCHED
                    )
                )

    def _on_description(self, name: str, message: String) -> None:
        self._urdfs[name] = ReceivedText(message.data)
        self._described()

    @property
    def sources(self) -> tuple[RobotSource, ...]:
        """The robots; a URDF that was not received is empty."""
        return tuple(
            port.source if port.source.urdf
            else replace(port.source, urdf=self._urdfs.get(port.source.name, ""))
            for port in self._ports
        )  # fmt: skip

    def description_topic(self, name: str) -> str:
        """Topic of the description of a robot."""
        return next(p.description_topic for p in self._ports if p.source.name == name)

    @property
    def missing(self) -> list[str]:
        """Topics of descriptions that were not received."""
        return [
            port.description_topic
            for port in self._ports
            if not port.source.urdf and port.source.name not in self._urdfs
        ]

    def subscribe_joint_states(self) -> None:
        """Subscribe to the joint states of all robots."""
        for port in self._ports:
            self._subscribe(port.joint_states, port.source.prefix)

    def subscribe_scene_joints(self) -> None:
        """Subscribe to joints of the scene as well."""
        self._subscribe(_SCENE_TOPIC, "")

    def _subscribe(self, topic: str, prefix: str) -> None:
        if topic not in self._joint_states:
            self._joint_states[topic] = JointStateSource(
                self._node, self._on_joint_state, topic, prefix, self._depth
            )

    def waiting(self) -> Iterator[tuple[JointStateSource, bytes]]:
        """Take the waiting joint states, of each topic oldest first."""
        for source in self._joint_states.values():
            for data in source.waiting():
                yield source, data

    def watch_publishers(self, watch: PublisherWatch, now: float) -> bool:
        """Report the publishers of each topic; return whether there are others than before."""
        return any([source.watch_publishers(watch, now) for source in self._joint_states.values()])

    def unsubscribe_joint_states(self) -> None:
        """End the subscriptions to joint states."""
        for source in self._joint_states.values():
            source.destroy()
        self._joint_states.clear()

    def destroy(self) -> None:
        """End all subscriptions."""
        self.unsubscribe_joint_states()
        for subscription in self._descriptions:
            self._node.destroy_subscription(subscription)
        self._descriptions.clear()
