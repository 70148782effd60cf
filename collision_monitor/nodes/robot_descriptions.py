# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Subscriptions to robot descriptions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from rclpy.node import Node
from rclpy.subscription import Subscription
from std_msgs.msg import String

from collision_monitor.common.safe_files import ReceivedText
from collision_monitor.model.loading import RobotSource
from collision_monitor.nodes.common.messages import LATCHED
from collision_monitor.nodes.parameters.monitor_parameters import RobotPort


class RobotDescriptions:
    """The descriptions of all robots, from parameters or topics.

    Attributes:
        ports: topics of each robot.
    """

    def __init__(
        self, node: Node, ports: Sequence[RobotPort], received: Callable[[], None]
    ) -> None:
        """Start without subscriptions; ``received`` is called for each received description."""
        self._node, self.ports, self._received = node, ports, received
        self._urdfs: dict[str, ReceivedText] = {}  # by name of the robot
        self._subscriptions: list[Subscription] = []

    def subscribe(self) -> None:
        """Subscribe to descriptions that are not given by parameters."""
        self._urdfs.clear()
        for port in self.ports:
            if not port.source.urdf:
                listener = partial(self._on_description, port.source.name)
                self._subscriptions.append(
                    self._node.create_subscription(
                        String, port.description_topic, listener, LATCHED
                    )
                )

    def _on_description(self, name: str, message: String) -> None:
        self._urdfs[name] = ReceivedText(message.data)
        self._received()

    @property
    def sources(self) -> tuple[RobotSource, ...]:
        """The robots; a URDF that was not received is empty."""
        return tuple(
            port.source if port.source.urdf
            else replace(port.source, urdf=self._urdfs.get(port.source.name, ""))
            for port in self.ports
        )  # fmt: skip

    def topic_of(self, name: str) -> str:
        """Topic of the description of a robot."""
        return next(p.description_topic for p in self.ports if p.source.name == name)

    @property
    def missing(self) -> list[str]:
        """Topics of descriptions that were not received."""
        return [
            port.description_topic
            for port in self.ports
            if not port.source.urdf and port.source.name not in self._urdfs
        ]

    def destroy(self) -> None:
        """End all subscriptions."""
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        self._subscriptions.clear()
