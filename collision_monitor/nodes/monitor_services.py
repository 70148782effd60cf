# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Services and the enable command of the collision_monitor node."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory

from collision_monitor.monitoring.monitor import Monitor
from collision_monitor.monitoring.speed_policy.latch import StopLatch
from collision_monitor.nodes.trajectories.trajectory_messages import seconds_of


class MonitorServices:
    """``~/enable``, ``~/reset``, ``~/acknowledge``, and the topic ``~/command``.

    Attributes:
        enabled: whether the behaviour is.
        latch: of all robots that this node monitors, one after another.
    """

    def __init__(
        self, node: Node, monitor: Callable[[], Monitor | None], changed: Callable[[], None]
    ) -> None:
        """``monitor`` as it is now; ``changed`` is called when the state may be another."""
        self._node, self._monitor, self._changed = node, monitor, changed
        self.enabled, self.latch = True, StopLatch()
        self._services = (
            node.create_service(SetBool, "~/enable", self._enable),
            node.create_service(Trigger, "~/reset", self._reset),
            node.create_service(Trigger, "~/acknowledge", self._acknowledge),
        )
        self._command = node.create_subscription(
            JointTrajectory, "~/command", self._on_command, 10
        )

    def destroy(self) -> None:
        """End everything."""
        for service in self._services:
            self._node.destroy_service(service)
        self._node.destroy_subscription(self._command)

    def attend(self, monitor: Monitor) -> None:
        """From now on it is this monitor that is enabled and held."""
        monitor.behaviour.enabled = self.enabled
        monitor.behaviour.latch = self.latch

    def _enable(self, request: SetBool.Request, answer: SetBool.Response) -> Any:
        self.enabled = request.data
        if (monitor := self._monitor()) is not None:
            monitor.behaviour.enabled = self.enabled
        answer.success = True
        disabled = "disabled: the robot is neither slowed nor stopped"
        answer.message = "enabled" if self.enabled else disabled
        log = self._node.get_logger()
        if self.enabled:
            log.info(answer.message)
        else:
            log.warning(answer.message)
        self._changed()
        return answer

    def _reset(self, request: Trigger.Request, answer: Trigger.Response) -> Any:
        answer.success, answer.message = self.latch.reset()
        self._node.get_logger().info(f"~/reset: {answer.message}")
        self._changed()
        return answer

    def _acknowledge(self, request: Trigger.Request, answer: Trigger.Response) -> Any:
        answer.success, answer.message = self.latch.acknowledge()
        self._node.get_logger().info(f"~/acknowledge: {answer.message}")
        self._changed()
        return answer

    def _on_command(self, message: JointTrajectory) -> None:
        """Take the way to the first point that is not where the robot is."""
        monitor = self._monitor()
        if monitor is None or monitor.buffer.doubt():
            return
        present = dict(
            zip(monitor.buffer.joint_names, monitor.buffer.q.tolist(), strict=True)
        )
        names = [name for name in message.joint_names if name in present]
        columns = [k for k, name in enumerate(message.joint_names) if name in present]
        for point in message.points:
            velocities = _velocities(point, columns, [present[name] for name in names])
            if any(velocities):
                monitor.behaviour.intention.update(names, velocities, time.monotonic())
                return
        monitor.behaviour.intention.update([], [], time.monotonic())


def _velocities(point: Any, columns: list[int], present: list[float]) -> list[float]:
    """Of a point of a trajectory, rad/s or m/s; what stands in it, or the way to it."""
    many = max(columns, default=-1)
    if len(point.velocities) > many and any(point.velocities):
        return [point.velocities[k] for k in columns]
    if len(point.positions) > many:
        seconds = max(seconds_of(point.time_from_start), 0.01)
        return [
            (point.positions[k] - q) / seconds for k, q in zip(columns, present, strict=True)
        ]
    return []
