# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A controller that executes motions at the speed that the monitor allows, without a robot."""

from __future__ import annotations

from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from collision_monitor.motion.trajectory import Motion

_SLOWING = 6.0  # seconds of the motion before its end at which it begins to slow down
_SLOWEST = 0.1  # of full speed


class SimulatedController:
    """Publishes joint states of a motion, whose time runs at the speed scale of the monitor.

    Attributes:
        time: in the motion, seconds after its first waypoint.
        sent: number of joint states.
    """

    def __init__(self, node: Node, motion: Motion) -> None:
        """It stands at the start of ``motion``."""
        self._node = node
        self._message = JointState(name=list(motion.joint_names))
        self._publisher = node.create_publisher(
            JointState, "joint_states", qos_profile_sensor_data
        )
        self._commands = node.create_publisher(JointTrajectory, "collision_monitor/command", 10)
        self._motion = motion
        self.time = 0.0
        self.sent = 0

    def take(self, motion: Motion) -> None:
        """Execute another motion of the same joints from its start."""
        self._motion, self.time = motion, 0.0

    def advance(self, seconds: float, scale: float) -> None:
        """Let the time of the motion pass by ``seconds``, backwards if negative, times ``scale``.

        It slows down towards both ends, as a robot does. A ``scale`` of NaN stops it.
        """
        if scale > 0.0:
            duration = self._motion.duration
            left = duration - self.time if seconds > 0.0 else self.time
            gentle = min(max(left / _SLOWING, _SLOWEST), 1.0)
            time = self.time + gentle * min(scale, 1.0) * seconds
            self.time = min(max(time, 0.0), duration)

    def announce(self, seconds: float) -> None:
        """Publish where it will go: its position after ``seconds`` of the motion, or before.

        From this the monitor knows that a stopped robot would move away.
        """
        point = JointTrajectoryPoint(positions=self._motion.at(self.time + seconds).tolist())
        message = JointTrajectory(joint_names=self._message.name, points=[point])
        self._commands.publish(message)

    @property
    def at_start(self) -> bool:
        """Whether it is at the first waypoint."""
        return self.time <= 0.0

    @property
    def at_end(self) -> bool:
        """Whether it has reached the last waypoint."""
        return self.time >= self._motion.duration

    def positions(self) -> list[float]:
        """Positions at the time of the motion, in the order of its joints."""
        return self._motion.at(self.time).tolist()

    def send(self, positions: list[float] | None = None) -> None:
        """Publish the joint state, or other ``positions``."""
        self._message.header.stamp = self._node.get_clock().now().to_msg()
        self._message.position = self.positions() if positions is None else positions
        self._publisher.publish(self._message)
        self.sent += 1
