# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Where joint states come from: a subscription, what waits at it, and who publishes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from collision_monitor.nodes.joint_states.joint_state_reader import JointStateReader

# Sensor data's, but for the depth: of several publishers with some of the joints each none is
# lost while a cycle lasts. What waits is taken at once, so none of it makes the next one late.
_QOS = QoSProfile(
    depth=100, reliability=ReliabilityPolicy.BEST_EFFORT, durability=DurabilityPolicy.VOLATILE
)
_MOST = 200  # taken at once: messages that come faster than they can be taken must end somewhere


class JointStateSource:
    """The subscription to one topic, as bytes.

    Attributes:
        topic: its name, as given.
        reader: reads the bytes.
    """

    def __init__(
        self,
        node: Node,
        callback: Callable[[JointStateSource, bytes], None],
        topic: str = "joint_states",
        prefix: str = "",
    ) -> None:
        """Listen from now on.

        Args:
            node: whose subscription it is.
            callback: called with this and each message, unless `waiting` has taken it.
            topic: of joint states.
            prefix: as of `JointStateReader`.
        """
        self._node, self.topic = node, topic
        self.reader = JointStateReader(prefix)
        self._subscription: Any = node.create_subscription(
            JointState, topic, partial(callback, self), _QOS, raw=True
        )
        self._count = getattr(self._subscription, "get_publisher_count", None)

    def waiting(self) -> Iterator[bytes]:
        """Take the messages that have come in the meantime, oldest first."""
        for _ in range(_MOST):
            # What executors do; an executor that looks for these later finds nothing.
            with self._subscription.handle:
                found = self._subscription.handle.take_message(JointState, True)
            if found is None:
                return
            yield found[0]

    def publishers(self) -> int:
        """How many publishers there are."""
        if self._count is None:  # before Jazzy
            return self._node.count_publishers(self._subscription.topic_name)
        return self._count()

    def destroy(self) -> None:
        """End it."""
        self._node.destroy_subscription(self._subscription)
