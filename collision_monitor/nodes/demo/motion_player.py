# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Plays a motion as joint states, as a robot's driver would send them."""

from __future__ import annotations

from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from collision_monitor.motion.motion import Motion


class MotionPlayer:
    """Sends one joint state a call; stands at the first row until it is started."""

    def __init__(self, node: Node, motion: Motion, seconds: float) -> None:
        """``seconds``: how long the whole motion takes, whatever its own times say."""
        self._node = node
        self._motion = motion
        self._speed = motion.duration / seconds if motion.duration > 0.0 else 0.0
        self._start: float | None = None
        self._message = JointState(name=list(motion.joint_names))
        self.publisher = node.create_publisher(JointState, "joint_states", qos_profile_sensor_data)
        self.sent = 0

    def start(self, now: float) -> None:
        """Begin to move; ``now`` on any steady clock, seconds."""
        self._start = now

    def time(self, now: float) -> float:
        """Where in the motion's own time the player is, seconds after its first row."""
        elapsed = 0.0 if self._start is None else (now - self._start) * self._speed
        return min(elapsed, self._motion.duration)

    def at_end(self, now: float) -> bool:
        """Whether the last row has been reached."""
        return self._start is not None and self.time(now) >= self._motion.duration

    def positions(self, now: float) -> list[float]:
        """Positions of this moment, in the order of the motion's joints."""
        return self._motion.at(self.time(now)).tolist()

    def send(self, now: float, positions: list[float] | None = None) -> None:
        """Publish the joint state of this moment, or other ``positions``."""
        self._message.header.stamp = self._node.get_clock().now().to_msg()
        self._message.position = self.positions(now) if positions is None else positions
        self.publisher.publish(self._message)
        self.sent += 1
