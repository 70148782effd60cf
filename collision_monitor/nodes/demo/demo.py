# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The demo on a real ROS graph: a monitor in its own process, a player, and a live line."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from collision_monitor.motion.motion import Motion
from collision_monitor.nodes.demo.demo_page import DemoPage
from collision_monitor.nodes.demo.state_listener import Watcher
from collision_monitor.viewer.page import Page

# -- plays a motion as joint states, as a robot's driver would send them --


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


# A monitor that starts for the first time compiles its kernels.
_START_SECONDS = 300.0  # a slow machine compiles and fits that long
_DISCOVERY_SECONDS = 3.5
_PRINT_SECONDS = 0.1 if sys.stdout.isatty() else 1.0


@contextmanager
def monitor_process(parameters: dict[str, str]) -> Iterator[subprocess.Popen]:
    """The collision_monitor node in a process of its own, ended on the way out."""
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
    """Plays a motion to a monitor and tells what the monitor says."""

    def __init__(
        self,
        node: Node,
        motion: Motion,
        seconds: float,
        rate: float,
        make_page: Callable[[], Page] | None = None,
    ) -> None:
        """``make_page``: loads and serves the page that goes with it."""
        self._node = node
        self._motion = motion
        self._make_page = make_page
        self.page: DemoPage | None = None
        self._player = MotionPlayer(node, motion, seconds)
        self._watcher = Watcher(node)
        self._period = 1.0 / rate
        self._printed = 0.0
        self._first_level = "no state"
        self._began = time.monotonic()

    def _refuse_others(self) -> None:
        """RuntimeError where joint states come from elsewhere: theirs is a real robot."""
        if self._node.count_publishers("joint_states") > 1:
            raise RuntimeError(
                "joint_states already has a publisher on this ROS graph, and the demo would mix "
                "in a robot that does not exist. Set another ROS_DOMAIN_ID."
            )

    def _step(self, process: subprocess.Popen, due: float) -> float:
        """Send one state, hear what has come in; returns when the next is due."""
        if process.poll() is not None:
            raise RuntimeError(f"the monitor exited with code {process.returncode}")
        self._refuse_others()
        now = time.monotonic()
        positions = self._player.positions(now)
        if self.page is not None:
            positions = self.page.exchange(positions, self._watcher)
        self._player.send(now, positions)
        due = max(due + self._period, time.monotonic())
        while (left := due - time.monotonic()) > 0.0:
            rclpy.spin_once(self._node, timeout_sec=left)
        return due

    def _line(self, now: float) -> str:
        watcher = self._watcher
        distance = f"{watcher.distance:7.4f} m" if watcher.knows_distance else "unknown  "
        return (
            f"t {self._player.time(now):5.1f} s | {watcher.rate(now):5.0f} Hz | {distance} | "
            f"{watcher.links:31s} | {watcher.level:5s} {watcher.values.get('action', '')}"
        )

    def _print(self, now: float, ending: str) -> None:
        if now - self._printed >= _PRINT_SECONDS:
            self._printed = now
            print(self._line(now).ljust(78), end=ending, flush=True)

    def run(self, process: subprocess.Popen) -> None:
        """Wait for the monitor, play the motion once, stand at its end for a moment."""
        ending = "\r" if sys.stdout.isatty() else "\n"
        due = time.monotonic()
        print("waiting for the monitor (the first start compiles kernels and fits leaves)")
        # Say nothing until others would have been discovered; the monitor loads meanwhile.
        while time.monotonic() - self._began < _DISCOVERY_SECONDS:
            rclpy.spin_once(self._node, timeout_sec=0.1)
            self._refuse_others()
        while not self._watcher.knows_distance:
            due = self._step(process, due)
            if time.monotonic() - self._began > _START_SECONDS:
                raise RuntimeError(
                    f"no distance from the monitor after {_START_SECONDS:.0f} s; "
                    f"its state: {self._watcher.level} {self._watcher.message}"
                )
        if self._make_page is not None:
            due = self._load_page(process, due)
        # Let the pose be confirmed and the state come in before it moves.
        ready = time.monotonic() + _START_SECONDS
        while self._watcher.level == "STALE" and time.monotonic() < ready:
            due = self._step(process, due)
        self._first_level = self._watcher.level
        self._began = time.monotonic()
        self._player.start(self._began)
        while not self._player.at_end(time.monotonic()):
            due = self._step(process, due)
            self._print(time.monotonic(), ending)
        settled = time.monotonic() + 0.5
        while time.monotonic() < settled:
            due = self._step(process, due)
        self._printed = 0.0
        self._print(time.monotonic(), "\n")

    def _load_page(self, process: subprocess.Popen, due: float) -> float:
        """Load it now that the monitor has compiled what both need; joint states go on."""
        print("loading the page")
        self.page = DemoPage(self._make_page, self._motion.joint_names)
        while self.page.loading:
            due = self._step(process, due)
        if self.page.error is not None:
            print(f"warning: no page: {self.page.error}", file=sys.stderr)
        return due

    def keep(self, process: subprocess.Popen) -> None:
        """Go on for as long as the page does; whoever has the page has the robot."""
        if self.page is None or self.page.page is None:
            return
        print(f"the page is served until Ctrl-C: {self.page.page.address.url}", flush=True)
        due = time.monotonic()
        while self.page.error is None:
            due = self._step(process, due)
        print(f"error: the page has ended: {self.page.error}", file=sys.stderr)

    def summary(self) -> str:
        """What was sent and heard, level by level."""
        watcher = self._watcher
        distance, when, links = watcher.nearest
        levels = [level for when, level in watcher.changes if when >= self._began]
        lines = [
            f"{self._player.sent} joint states sent, {watcher.received} distances received",
            f"nearest: {distance:.4f} m at t = {self._player.time(when):.1f} s, {links}",
            "state: " + " -> ".join([self._first_level, *levels]),
            "time in each: "
            + ", ".join(f"{level} {seconds:.1f} s" for level, seconds in watcher.seconds.items()),
        ]
        return "\n".join(f"  {line}" for line in lines)


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
        motion: what the robot does.
        parameters: of the monitor.
        seconds: how long the motion takes.
        rate: joint states a second.
        make_page: loads the robot and serves the page, in a thread of its own.
        keep: whether it goes on behind the motion, for the page.
    """
    rclpy.init(args=[])
    node = rclpy.create_node("collision_monitor_demo")
    demo = Demo(node, motion, seconds, rate, make_page)
    told = False
    try:
        with monitor_process(parameters) as process:
            demo.run(process)
            print("summary")
            print(demo.summary(), flush=True)
            told = True
            if keep:
                demo.keep(process)
        return 0
    except RuntimeError as error:
        if rclpy.ok():
            print(f"error: {error}", file=sys.stderr)
            return 1
        print("\nstopped" if told else "\nstopped\n" + demo.summary())  # by a signal
        return 0
    except (KeyboardInterrupt, ExternalShutdownException):
        print("\nstopped" if told else "\nstopped\n" + demo.summary())
        return 0
    finally:
        if demo.page is not None:
            demo.page.close()
        if rclpy.ok():
            node.destroy_node()
            rclpy.shutdown()
