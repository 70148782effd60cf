# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states from a topic: a subscription, what waits at it, and who publishes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from collision_monitor.errors import JointStateError

# Sensor data's, but for the depth: of several publishers with some of the joints each none is
# lost while a cycle lasts. What waits is taken at once, so none of it makes the next one late.
_QOS = QoSProfile(
    depth=100, reliability=ReliabilityPolicy.BEST_EFFORT, durability=DurabilityPolicy.VOLATILE
)
_MOST = 200  # taken at once: messages that come faster than they can be taken must end somewhere


class JointStateReader:
    """Reads names, positions, velocities and stamp from serialized sensor_msgs/JointState."""

    def __init__(self, prefix: str = "") -> None:
        """``prefix``: put before all names that messages have."""
        self._prefix = prefix
        self._last: list[str] = []
        self._names: list[str] = []

    def read(
        self, data: bytes
    ) -> tuple[list[str], tuple[float, ...], float, tuple[float, ...]]:
        """(names, positions, stamp in seconds, velocities) of one message.

        The list of names is the same object for the same names: do not change it. Velocities
        are none where there are not as many as positions.

        Raises:
            JointStateError: the bytes are no such message.
        """
        try:
            message = deserialize_message(data, JointState)
        except Exception as error:  # whatever the middleware raises for bytes that are no message
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise JointStateError(f"unreadable joint state: {reason}", "unreadable") from None
        if message.name != self._last:
            self._last = message.name
            self._names = [self._prefix + name for name in message.name]
        positions, velocities = tuple(message.position), tuple(message.velocity)
        stamp = message.header.stamp
        return (
            self._names, positions, stamp.sec + 1e-9 * stamp.nanosec,
            velocities if len(velocities) == len(positions) else (),
        )  # fmt: skip


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
        """Subscribe.

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
            # As executors do; an executor that looks for these later finds nothing.
            with self._subscription.handle:
                found = self._subscription.handle.take_message(JointState, True)
            if found is None:
                return
            yield found[0]

    def publishers(self) -> int:
        """Number of publishers."""
        if self._count is None:  # before Jazzy
            return self._node.count_publishers(self._subscription.topic_name)
        return self._count()

    def destroy(self) -> None:
        """Unsubscribe."""
        self._node.destroy_subscription(self._subscription)
