# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What the demo sends, hears and shows: a controller without a robot, the monitor, the page."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from collision_monitor.monitoring.monitor import Level
from collision_monitor.motion.trajectory import Motion
from collision_monitor.nodes.common.messages import LATCHED
from collision_monitor.viewer.clearance_display import NodeReport
from collision_monitor.viewer.page import Page

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
        self._publisher = node.create_publisher(JointState, "joint_states", qos_profile_sensor_data)
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


class StateListener:
    """Subscribes to a monitor; keeps its last values, and the least distance since `restart`."""

    def __init__(self, node: Node, monitor: str = "collision_monitor") -> None:
        """``monitor``: name of the monitor node, relative to the namespace of ``node``."""
        self.distance = math.nan
        self.level, self.message = "silent", ""
        self.values: dict[str, str] = {}
        self.received = 0
        self.nearest: tuple[float, float, str] = (math.inf, 0.0, "")  # distance, when, links
        self.speed_scale = 0.0
        self.scale_at = -math.inf  # time.monotonic() of the last speed scale
        self._arrivals: deque[float] = deque(maxlen=200)
        node.create_subscription(
            Float64, f"{monitor}/min_distance", self._on_distance, qos_profile_sensor_data
        )
        node.create_subscription(Float64, f"{monitor}/speed_scale", self._on_scale, 10)
        node.create_subscription(DiagnosticStatus, f"{monitor}/state", self._on_state, LATCHED)

    def restart(self) -> None:
        """Forget the least distance."""
        self.nearest = (math.inf, 0.0, "")

    @property
    def knows_distance(self) -> bool:
        """Whether the last distance is a number: NaN means unknown."""
        return math.isfinite(self.distance)

    @property
    def links(self) -> str:
        """The nearest two links of the last state."""
        a, b = self.values.get("link_a", ""), self.values.get("link_b", "")
        return f"{a} - {b}" if a and b else ""

    def rate(self, now: float) -> float:
        """Distances per second over the last second."""
        recent = [t for t in self._arrivals if now - t <= 1.0]
        return (len(recent) - 1) / (recent[-1] - recent[0]) if len(recent) > 1 else 0.0

    def _on_distance(self, message: Float64) -> None:
        now = time.monotonic()
        self.distance = message.data
        self.received += 1
        self._arrivals.append(now)
        if message.data < self.nearest[0]:
            self.nearest = (message.data, now, self.links)

    def _on_scale(self, message: Float64) -> None:
        self.speed_scale, self.scale_at = message.data, time.monotonic()

    def _on_state(self, message: DiagnosticStatus) -> None:
        self.level, self.message = Level(message.level[0]).name, message.message
        self.values = {item.key: item.value for item in message.values}


class DemoPage:
    """The browser page, loaded and run in its own thread.

    It shows the motion; a user can take control of the robot.
    """

    def __init__(self, make: Callable[[], Page], joint_names: Sequence[str]) -> None:
        """``make`` loads the robot and serves the page; ``joint_names``: order of positions."""
        self._make, self._names = make, tuple(joint_names)
        self._order: list[int] = []
        self.page: Page | None = None
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="page", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            page = self._make()
            self._order = [page.joint_names.index(name) for name in self._names]
            self.page = page
            page.run()
        except Exception as error:  # reported by the demo, which continues without a page
            self.error = error

    @property
    def loading(self) -> bool:
        """Whether the page is still being loaded."""
        return self.page is None and self.error is None

    @property
    def by_hand(self) -> bool:
        """Whether a user controls the robot."""
        return self.page is not None and self.page.by_hand

    def exchange(
        self, positions: Sequence[float], state: StateListener, step: str = ""
    ) -> list[float]:
        """Show ``positions`` and the state of the monitor; returns the positions to publish.

        ``step``: of the demo, shown before the message of the monitor.

        These are ``positions``, or those of the page while a user controls the robot.
        """
        page = self.page
        if page is None:
            return list(positions)
        rate = state.rate(time.monotonic())
        text = f"{step}: {state.message}" if step else state.message
        page.show_report(NodeReport(state.level, state.distance, rate, text))
        if page.by_hand:
            return page.configuration[self._order].tolist()
        q = page.configuration.copy()
        q[self._order] = positions
        page.follow(q)
        return [float(value) for value in positions]

    def close(self) -> None:
        """Stop the server; a page that is still loading ends with the process."""
        if self.page is not None:
            self.page.close()
            self._thread.join(timeout=5.0)
