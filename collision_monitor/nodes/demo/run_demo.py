# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The demo on a ROS graph: a monitor in its own process, a simulated controller, a status line."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from textwrap import indent

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node

from collision_monitor.common.compiled import LOG_SECONDS
from collision_monitor.common.text import text_table
from collision_monitor.errors import CollisionMonitorError
from collision_monitor.motion.trajectory import Motion
from collision_monitor.nodes.demo.demo_plan import Plan
from collision_monitor.nodes.demo.demo_topics import DemoPage, SimulatedController, StateListener
from collision_monitor.viewer.page import Page

_START_SECONDS = 300.0  # the first start compiles kernels and fits leaves
_DISCOVERY_SECONDS = 3.5
_PRINT_SECONDS = 0.1 if sys.stdout.isatty() else LOG_SECONDS
_SILENCE = 0.3  # seconds without a speed scale after which the controller stands
_STANDS = 0.02  # of full speed: slower is standing
_STOPPED_SECONDS = 1.0  # of standing until the motion counts as stopped
_AHEAD = 0.2  # seconds that an announced position is ahead
_BACK = 2.0  # how much faster it returns to the start


@dataclass
class Execution:
    """What happened while a motion was executed.

    ``least``: the least distance that the monitor published, metres, ``at`` which time of the
    motion, between which ``links``; ``arms``: the least distance between the arms, metres.
    """

    least: float = math.inf
    at: float = 0.0
    links: str = ""
    arms: float = math.inf
    arrived: bool = False


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
    """Executes the command and the adjusted motion, and prints what the monitor reports."""

    def __init__(
        self,
        node: Node,
        process: subprocess.Popen,
        plan: Callable[[Callable[[str], None]], Plan],
        seconds: float,
        rate: float,
        make_page: Callable[[Plan], Page] | None = None,
    ) -> None:
        """Arguments as of `run_demo`; ``process`` of the monitor."""
        self._node, self._process = node, process
        self._make_page = make_page
        self.page: DemoPage | None = None
        self._state = StateListener(node)
        self._seconds, self._period = seconds, 1.0 / rate
        self._printed = 0.0
        self._step_name = ""
        self._controller: SimulatedController | None = None
        self._plan: Plan | None = None
        self._problem: Exception | None = None
        self._planning = threading.Thread(
            target=self._make_plan, args=(plan,), name="plan", daemon=True
        )
        self._began = self._due = time.monotonic()

    def _make_plan(self, plan: Callable[[Callable[[str], None]], Plan]) -> None:
        try:
            self._plan = plan(self._say)
        except Exception as problem:  # raised by the main thread
            self._problem = problem

    def _say(self, text: str) -> None:
        print(text, flush=True)
        self._printed = time.monotonic()

    def _refuse_others(self) -> None:
        """Raise RuntimeError if there is another publisher of joint states: maybe a robot."""
        own = 0 if self._controller is None else 1
        if self._node.count_publishers("joint_states") > own:
            raise RuntimeError(
                "joint_states already has a publisher on this ROS graph, and the demo would mix "
                "in a robot that does not exist. Set another ROS_DOMAIN_ID."
            )

    def _check(self) -> None:
        if self._process.poll() is not None:
            raise RuntimeError(f"the monitor exited with code {self._process.returncode}")
        if self._problem is not None:
            raise self._problem
        self._refuse_others()

    def _step(self, speed: float = 0.0) -> float:
        """Publish a joint state, receive messages until the next one; returns the speed scale.

        ``speed``: seconds of the motion in a second, negative backwards.
        """
        self._check()
        now = time.monotonic()
        state, controller = self._state, self._controller
        scale = state.speed_scale if now - state.scale_at < _SILENCE else 0.0
        positions = controller.positions()
        if self.page is not None:
            positions = self.page.exchange(positions, state, self._step_name)
        controller.send(positions)
        self._due = max(self._due + self._period, time.monotonic())
        rclpy.spin_once(self._node, timeout_sec=0.0)  # also when it is late
        while (left := self._due - time.monotonic()) > 0.0:
            rclpy.spin_once(self._node, timeout_sec=left)
        if self.page is None or not self.page.by_hand:
            controller.advance((time.monotonic() - now) * speed, scale)
        return scale

    def _print(self, ending: str, least: float = _PRINT_SECONDS) -> None:
        now, state = time.monotonic(), self._state
        if now - self._printed < least:
            return
        self._printed = now
        distance = f"{state.distance:7.4f} m" if state.knows_distance else "unknown  "
        is_stale = state.level == "STALE"
        line = (
            f"t {self._controller.time:5.1f} s | {state.rate(now):5.0f} Hz | {distance} | "
            f"{state.links:31s} | {state.level:5s} "
            f"{state.message if is_stale else state.values.get('action', ''):8s} | "
            f"speed {state.speed_scale:4.2f}"
        )
        print(line.ljust(96), end=ending, flush=True)

    def _print_waiting(self) -> None:
        """Print once a second that it is not ready yet."""
        now = time.monotonic()
        if now - self._printed >= LOG_SECONDS:
            what = [] if self._plan is not None else ["verifying and adjusting the command"]
            if self._state.level in ("silent", "STALE"):
                message = f" ({self._state.message})" if self._state.message else ""
                what.append(f"waiting for the monitor{message}")
            self._say(f"  {now - self._began:3.0f} s: {', '.join(what)}")

    def run(self) -> list[tuple[str, Execution]]:
        """Plan, wait for the monitor, execute both motions; returns what happened."""
        self._await_plan()
        plan, speed = self._plan, self._plan.command.duration / self._seconds
        self._await_monitor()
        if self._make_page is not None:
            self._load_page()
        executions = []
        motions = (("command", plan.command), ("adjusted", plan.adjustment.motion))
        for number, (name, motion) in enumerate(motions, start=3):
            self._step_name = f"{number} execute the {name} motion" if number > 3 else (
                "3 execute the command"
            )  # fmt: skip
            print(f"{self._step_name}, by a controller that obeys ~/speed_scale", flush=True)
            executions.append((name, self._execute(motion, speed)))
            if motion is plan.command:
                self._return(_BACK * speed)
        return executions

    def _await_plan(self) -> None:
        print("the first start compiles kernels, about a minute", flush=True)
        # Discover other publishers before the first joint state; meanwhile the monitor loads.
        self._planning.start()
        while self._plan is None or time.monotonic() - self._began < _DISCOVERY_SECONDS:
            rclpy.spin_once(self._node, timeout_sec=0.1)
            self._check()
            self._print_waiting()
        self._controller = SimulatedController(self._node, self._plan.command)

    def _await_monitor(self) -> None:
        """Send joint states until distances are known and kernels compiled."""
        end = time.monotonic() + _START_SECONDS
        while not self._state.knows_distance or self._state.level in ("silent", "STALE"):
            self._step()
            self._print_waiting()
            if time.monotonic() > end:
                raise RuntimeError(
                    f"no distance from the monitor after {_START_SECONDS:.0f} s; "
                    f"its state: {self._state.level} {self._state.message}"
                )

    def _execute(self, motion: Motion, speed: float) -> Execution:
        """Execute a motion until it arrives or the monitor has stopped it."""
        state, controller = self._state, self._controller
        controller.take(motion)
        state.restart()
        result = Execution()
        moved = time.monotonic()
        while not controller.at_end:
            scale = self._step(speed)
            now = time.monotonic()
            # A silent monitor also makes it stand, but says no reason.
            if scale > _STANDS or state.level not in ("WARN", "ERROR"):
                moved = now
            elif now - moved > _STOPPED_SECONDS:
                break
            if state.nearest[0] < result.least:
                result.least, _, result.links = state.nearest
                result.at = controller.time
            positions = dict(zip(motion.joint_names, controller.positions(), strict=True))
            result.arms = min(result.arms, self._plan.arms_apart(positions))
            self._print("\r" if sys.stdout.isatty() else "\n")
        result.arrived = controller.at_end
        self._print("\n", 0.0)
        return result

    def _return(self, speed: float) -> None:
        """Return to the start, also at the speed that the monitor allows."""
        print("  back to the start: ~/command tells the monitor that it moves away", flush=True)
        while not self._controller.at_start:
            self._controller.announce(-_AHEAD * speed)
            self._step(-speed)
            self._print("\r" if sys.stdout.isatty() else "\n")
        self._print("\n", 0.0)

    def _load_page(self) -> None:
        """Load the page; joint states continue."""
        plan = self._plan
        self.page = DemoPage(lambda: self._make_page(plan), plan.command.joint_names)
        while self.page.loading:
            self._step()
        if self.page.error is not None:
            print(f"warning: no page: {self.page.error}", file=sys.stderr)

    def keep(self) -> None:
        """Continue as long as the page is served."""
        if self.page is None or self.page.page is None:
            return
        self._step_name = ""
        print(f"the page is served until Ctrl-C: {self.page.page.address.url}", flush=True)
        while self.page.error is None:
            self._step()
        print(f"error: the page has ended: {self.page.error}", file=sys.stderr)

    def summary(self, executions: list[tuple[str, Execution]]) -> str:
        """A table that compares the command, as verified and executed, with the adjusted motion."""
        plan, worst = self._plan, self._plan.verification.worst
        header = ("", "least distance", "at", "between", "arms apart", "largest change", "verdict")
        table = []
        if worst is not None:
            table.append((
                "command, verified", f"{worst.distance:.4f} m", f"{worst.time:.1f} s",
                " - ".join(worst.pair), "", "", plan.verification.verdict.value,
            ))  # fmt: skip
        for name, run in executions:
            verdict = "arrived" if run.arrived else "stopped before contact"
            if run.least <= 0.0:
                verdict = "in contact"
            table.append((
                f"{name}, executed", f"{run.least:.4f} m", f"{run.at:.1f} s", run.links,
                f"{run.arms:.4f} m", plan.change() if name == "adjusted" else "none", verdict,
            ))  # fmt: skip
        sent, received = self._controller.sent, self._state.received
        counts = f"{sent} joint states sent, {received} distances received"
        return indent(f"{text_table(header, table, left=len(header))}\n{counts}", "  ")


def run_demo(
    plan: Callable[[Callable[[str], None]], Plan],
    parameters: dict[str, str],
    seconds: float,
    rate: float,
    make_page: Callable[[Plan], Page] | None = None,
    keep: bool = False,
) -> int:
    """Run the demo; returns the exit code.

    Args:
        plan: verifies and adjusts the command; it is called in its own thread with a function that
            prints a line.
        parameters: of the monitor.
        seconds: duration of the command at full speed.
        rate: joint states per second.
        make_page: serves the page of the plan; called in its own thread.
        keep: whether to continue after the motions, for the page.
    """
    rclpy.init(args=[])
    node = rclpy.create_node("collision_monitor_demo")
    demo: Demo | None = None
    try:
        with monitor_process(parameters) as process:
            demo = Demo(node, process, plan, seconds, rate, make_page)
            executions = demo.run()
            print(f"summary\n{demo.summary(executions)}", flush=True)
            if keep:
                demo.keep()
        return 0
    except (KeyboardInterrupt, ExternalShutdownException):
        print("\nstopped")  # by a signal
        return 0
    except (RuntimeError, CollisionMonitorError) as error:
        if not rclpy.ok():
            print("\nstopped")
            return 0
        print(f"error: {error}", file=sys.stderr)
        return 1
    finally:
        if demo is not None and demo.page is not None:
            demo.page.close()
        if rclpy.ok():
            node.destroy_node()
            rclpy.shutdown()
