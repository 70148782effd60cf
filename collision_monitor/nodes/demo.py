# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The demo on a ROS graph: a monitor in its own process, a motion player, and a status line."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64

from collision_monitor.monitoring.monitor import Level
from collision_monitor.motion.trajectory import Motion
from collision_monitor.nodes.common.messages import LATCHED
from collision_monitor.viewer.clearance_display import NodeReport
from collision_monitor.viewer.page import Page

_START_SECONDS = 300.0  # the first start compiles kernels and fits leaves
_DISCOVERY_SECONDS = 3.5
_WAITING_SECONDS = 3.0  # between lines until the robot is monitored
_PRINT_SECONDS = 0.1 if sys.stdout.isatty() else 1.0


class StateListener:
    """Subscribes to a monitor; records rates, levels and the minimum distance for a summary."""

    def __init__(self, node: Node, monitor: str = "collision_monitor") -> None:
        """``monitor``: name of the monitor node, relative to the namespace of ``node``."""
        self.distance = math.nan
        self.level, self.message = "silent", ""
        self.values: dict[str, str] = {}
        self.received = 0
        self.changes: list[tuple[float, str]] = []  # time.monotonic(), level
        self.nearest: tuple[float, float, str] = (math.inf, 0.0, "")  # distance, when, links
        self.seconds: Counter[str] = Counter()  # by level
        self._arrivals: deque[float] = deque(maxlen=200)
        node.create_subscription(
            Float64, f"{monitor}/min_distance", self._on_distance, qos_profile_sensor_data
        )
        node.create_subscription(DiagnosticStatus, f"{monitor}/state", self._on_state, LATCHED)

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
        if self._arrivals:
            self.seconds[self.level] += now - self._arrivals[-1]
        self._arrivals.append(now)
        if message.data < self.nearest[0]:
            self.nearest = (message.data, now, self.links)

    def _on_state(self, message: DiagnosticStatus) -> None:
        level = Level(message.level[0]).name
        if level != self.level:
            self.changes.append((time.monotonic(), level))
        self.level, self.message = level, message.message
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

    def exchange(self, positions: Sequence[float], state: StateListener) -> list[float]:
        """Show ``positions`` and the state of the monitor; returns the positions to publish.

        These are ``positions``, or those of the page while a user controls the robot.
        """
        page = self.page
        if page is None:
            return list(positions)
        rate = state.rate(time.monotonic())
        page.show_report(NodeReport(state.level, state.distance, rate, state.message))
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


class MotionPlayer:
    """Publishes a motion as joint states, one per call; stays at its start until `start`."""

    def __init__(self, node: Node, motion: Motion, seconds: float) -> None:
        """``seconds``: duration of the whole motion, regardless of its times."""
        self._node, self._motion = node, motion
        self._speed = motion.duration / seconds if motion.duration > 0.0 else 0.0
        self._start: float | None = None
        self._message = JointState(name=list(motion.joint_names))
        self.publisher = node.create_publisher(JointState, "joint_states", qos_profile_sensor_data)
        self.sent = 0

    def start(self, now: float) -> None:
        """Start the motion; ``now``: seconds of any steady clock."""
        self._start = now

    def time(self, now: float) -> float:
        """Time in the motion, seconds after its first row."""
        elapsed = 0.0 if self._start is None else (now - self._start) * self._speed
        return min(elapsed, self._motion.duration)

    def at_end(self, now: float) -> bool:
        """Whether the last row has been reached."""
        return self._start is not None and self.time(now) >= self._motion.duration

    def positions(self, now: float) -> list[float]:
        """Positions at ``now``, in the order of the joints of the motion."""
        return self._motion.at(self.time(now)).tolist()

    def send(self, now: float, positions: list[float] | None = None) -> None:
        """Publish the joint state at ``now``, or other ``positions``."""
        self._message.header.stamp = self._node.get_clock().now().to_msg()
        self._message.position = self.positions(now) if positions is None else positions
        self.publisher.publish(self._message)
        self.sent += 1


@contextmanager
def monitor_process(parameters: dict[str, str]) -> Iterator[subprocess.Popen]:
    """Context of the collision_monitor node in its own process."""
    command = [sys.executable, "-m", "collision_monitor.nodes.collision_monitor", "--ros-args"]
    for name, value in parameters.items():
        command += ["-p", f"{name}:={value}"]
    process = subprocess.Popen(command, start_new_session=True)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=10.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Demo:
    """Plays a motion to a monitor in another process, and prints what the monitor reports."""

    def __init__(
        self,
        node: Node,
        process: subprocess.Popen,
        motion: Motion,
        seconds: float,
        rate: float,
        make_page: Callable[[], Page] | None = None,
    ) -> None:
        """Arguments as of `run_demo`; ``process`` of the monitor."""
        self._node, self._process, self._motion = node, process, motion
        self._make_page = make_page
        self.page: DemoPage | None = None
        self._player = MotionPlayer(node, motion, seconds)
        self._state = StateListener(node)
        self._period = 1.0 / rate
        self._printed = 0.0
        self._first_level = "no state"
        self._began = self._due = time.monotonic()

    def _refuse_others(self) -> None:
        """Raise RuntimeError if there is another publisher of joint states: maybe a robot."""
        if self._node.count_publishers("joint_states") > 1:
            raise RuntimeError(
                "joint_states already has a publisher on this ROS graph, and the demo would mix "
                "in a robot that does not exist. Set another ROS_DOMAIN_ID."
            )

    def _step(self) -> None:
        """Publish one joint state, and receive messages until the next one is due."""
        if self._process.poll() is not None:
            raise RuntimeError(f"the monitor exited with code {self._process.returncode}")
        self._refuse_others()
        now = time.monotonic()
        positions = self._player.positions(now)
        if self.page is not None:
            positions = self.page.exchange(positions, self._state)
        self._player.send(now, positions)
        self._due = max(self._due + self._period, time.monotonic())
        while (left := self._due - time.monotonic()) > 0.0:
            rclpy.spin_once(self._node, timeout_sec=left)

    def _step_for(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._step()

    def _print(self, ending: str, least: float = _PRINT_SECONDS) -> None:
        now, state = time.monotonic(), self._state
        if now - self._printed < least:
            return
        self._printed = now
        distance = f"{state.distance:7.4f} m" if state.knows_distance else "unknown  "
        is_stale = state.level == "STALE"
        line = (
            f"t {self._player.time(now):5.1f} s | {state.rate(now):5.0f} Hz | {distance} | "
            f"{state.links:31s} | {state.level:5s} "
            f"{state.message if is_stale else state.values.get('action', '')}"
        )
        print(line.ljust(78), end=ending, flush=True)

    def run(self) -> None:
        """Wait for the monitor, play the motion once, and stay at its end for some time."""
        print("waiting for the monitor (the first start compiles kernels and fits leaves)")
        # Discover other publishers before the first joint state; meanwhile the monitor loads.
        while time.monotonic() - self._began < _DISCOVERY_SECONDS:
            rclpy.spin_once(self._node, timeout_sec=0.1)
            self._refuse_others()
        while not self._state.knows_distance:
            self._step()
            if time.monotonic() - self._began > _START_SECONDS:
                raise RuntimeError(
                    f"no distance from the monitor after {_START_SECONDS:.0f} s; "
                    f"its state: {self._state.level} {self._state.message}"
                )
        # Before it moves, kernels are compiled, the start pose is confirmed and a state is
        # received.
        end = time.monotonic() + _START_SECONDS
        while self._state.level == "STALE" and time.monotonic() < end:
            self._step()
            self._print("\n", _WAITING_SECONDS)
        if self._make_page is not None:
            self._load_page()
        self._first_level = self._state.level
        self._began = time.monotonic()
        self._player.start(self._began)
        while not self._player.at_end(time.monotonic()):
            self._step()
            self._print("\r" if sys.stdout.isatty() else "\n")
        self._step_for(0.5)
        self._print("\n", 0.0)

    def _load_page(self) -> None:
        """Load the page after the monitor has compiled common kernels; joint states continue."""
        print("loading the page")
        self.page = DemoPage(self._make_page, self._motion.joint_names)
        while self.page.loading:
            self._step()
        if self.page.error is not None:
            print(f"warning: no page: {self.page.error}", file=sys.stderr)

    def keep(self) -> None:
        """Continue as long as the page is served."""
        if self.page is None or self.page.page is None:
            return
        print(f"the page is served until Ctrl-C: {self.page.page.address.url}", flush=True)
        while self.page.error is None:
            self._step()
        print(f"error: the page has ended: {self.page.error}", file=sys.stderr)

    def summary(self) -> str:
        """Counts, the minimum distance, and the time in each level."""
        state = self._state
        distance, when, links = state.nearest
        levels = [level for when, level in state.changes if when >= self._began]
        seconds = ", ".join(f"{level} {spent:.1f} s" for level, spent in state.seconds.items())
        return (
            f"  {self._player.sent} joint states sent, {state.received} distances received\n"
            f"  nearest: {distance:.4f} m at t = {self._player.time(when):.1f} s, {links}\n"
            f"  state: {' -> '.join([self._first_level, *levels])}\n"
            f"  time in each: {seconds}"
        )


def run_demo(
    motion: Motion,
    parameters: dict[str, str],
    seconds: float,
    rate: float,
    make_page: Callable[[], Page] | None = None,
    keep: bool = False,
) -> int:
    """Run the demo; returns the exit code.

    Args:
        motion: of the robot.
        parameters: of the monitor.
        seconds: duration of the motion.
        rate: joint states per second.
        make_page: loads the robot and serves the page; called in its own thread.
        keep: whether to continue after the motion, for the page.
    """
    rclpy.init(args=[])
    node = rclpy.create_node("collision_monitor_demo")
    demo: Demo | None = None
    is_summarized = False
    try:
        with monitor_process(parameters) as process:
            demo = Demo(node, process, motion, seconds, rate, make_page)
            demo.run()
            print(f"summary\n{demo.summary()}", flush=True)
            is_summarized = True
            if keep:
                demo.keep()
        return 0
    except (KeyboardInterrupt, ExternalShutdownException, RuntimeError) as error:
        if isinstance(error, RuntimeError) and rclpy.ok():
            print(f"error: {error}", file=sys.stderr)
            return 1
        print("\nstopped")  # by a signal
        if demo is not None and not is_summarized:
            print(demo.summary())
        return 0
    finally:
        if demo is not None and demo.page is not None:
            demo.page.close()
        if rclpy.ok():
            node.destroy_node()
            rclpy.shutdown()
