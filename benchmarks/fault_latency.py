# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Time from a fault until the node reports it: the figures of docs/safety.md.

    python benchmarks/fault_latency.py [--repeats 10] [--json]

The node runs in its own process with defaults, on two balls on slides. Joint states are sent at 100
Hz until a fault is injected. The time is measured from just before the fault to the callback of the
new ~/state in the node of the sender, including the middleware in both directions. Between two
faults the node recovers. Times are those of a steady clock.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "test")]

import rclpy  # noqa: E402
from common.command_line import arguments  # noqa: E402
from diagnostic_msgs.msg import DiagnosticStatus  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import String  # noqa: E402
from support.robots.two_slides import JOINTS, URDF, apart  # noqa: E402
from support.ros.ros_domains import Domain  # noqa: E402

NAMES = [*JOINTS, "mast_joint"]
PERIOD = 0.01
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
EVERY = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)
PATIENCE = 30.0


class Cell:
    """A driver, and a subscriber of the state."""

    def __init__(self) -> None:
        self.node = rclpy.create_node("driver")
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.states: list[tuple[float, DiagnosticStatus]] = []
        self.node.create_subscription(
            DiagnosticStatus, "/collision_monitor/state",
            lambda message: self.states.append((time.monotonic(), message)), EVERY,
        )  # fmt: skip
        self.descriptions = self.node.create_publisher(String, "/robot_description", LATCHED)
        self.publishers = [self.driver()]

    def driver(self):
        """One more publisher of joint states."""
        return self.node.create_publisher(JointState, "/joint_states", 10)

    def send(
        self, gap: float = 0.5, names=NAMES, positions=None, ahead: float = 0.0, who: int = 0
    ) -> None:
        """One joint state."""
        message = JointState(name=list(names))
        message.position = [*apart(gap), 0.3] if positions is None else list(positions)
        now = self.node.get_clock().now().nanoseconds + int(ahead * 1e9)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(now, 10**9)
        self.publishers[who].publish(message)

    def until(self, condition: Callable[[DiagnosticStatus], bool], sending=None) -> float:
        """Listen until a state has it, and send at 100 Hz meanwhile; when it came."""
        end, seen = time.monotonic() + PATIENCE, len(self.states)
        while (now := time.monotonic()) < end:
            if sending is not None:
                sending()
            while (left := now + PERIOD - time.monotonic()) > 0.0:
                self.executor.spin_once(timeout_sec=left)
                for at, status in self.states[seen:]:
                    if condition(status):
                        self.states.clear()
                        return at
                seen = len(self.states)
        raise TimeoutError(f"not within {PATIENCE} s; last state: {self.states[-1:]}")

    def settle(self) -> None:
        """Wait until the node has recovered, and some time longer."""
        self.until(lambda s: s.level == DiagnosticStatus.OK, self.send)
        end = time.monotonic() + 0.3
        while time.monotonic() < end:
            self.send()
            self.executor.spin_once(timeout_sec=PERIOD)


def says(*texts: str) -> Callable[[DiagnosticStatus], bool]:
    """Whether the message of a state contains one of the texts."""
    return lambda status: any(text in status.message for text in texts)


def is_not_safe(status: DiagnosticStatus) -> bool:
    """ERROR or STALE."""
    return status.level in (DiagnosticStatus.ERROR, DiagnosticStatus.STALE)


def timed(cell: Cell, fault: Callable[[], None], condition, sending=None) -> float:
    """Seconds from the fault to a state that reports it."""
    start = time.monotonic()
    fault()
    return cell.until(condition, sending) - start


def faults(cell: Cell) -> dict[str, Callable[[], float]]:
    """By name, what puts it in and how long it took."""

    def silence() -> float:
        return timed(cell, cell.send, says("s old"))

    def partial() -> float:
        return timed(
            cell, cell.send, says("s old (mast_joint)"),
            lambda: cell.send(names=JOINTS, positions=apart(0.5)),
        )  # fmt: skip

    def sent(condition=is_not_safe, **message) -> Callable[[], float]:
        def measure() -> float:
            def send() -> None:
                cell.send(**message)

            return timed(cell, send, condition, send)

        return measure

    def set_back() -> float:
        elapsed = timed(cell, lambda: cell.send(ahead=-0.4), says("go back"))
        cell.settle()
        return elapsed

    def two_publishers() -> float:
        gaps = [0.5, 0.9]

        def send() -> None:
            gaps.reverse()
            cell.send(gaps[0])

        return timed(cell, send, says("two publishers"), send)

    def publisher_ends() -> float:
        def end() -> None:
            cell.node.destroy_publisher(cell.publishers.pop())

        elapsed = timed(cell, end, says("is gone"))
        cell.publishers.append(cell.driver())
        return elapsed

    def bad_description() -> float:
        def send() -> None:
            cell.descriptions.publish(String(data="<robot"))

        elapsed = timed(
            cell, send,
            lambda s: any(v.key == "description_refused" for v in s.values), cell.send,
        )  # fmt: skip
        cell.descriptions.publish(String(data=URDF))
        return elapsed

    return {
        "contact, for comparison": sent(gap=-0.01),
        "no data": silence,
        "partial data": partial,
        "NaN": sent(positions=[math.nan] * 5),
        "names and positions of different number": sent(positions=[0.0] * 3),
        "unknown joints alone": sent(names=["x"], positions=[0.0]),
        "stamp from the future": sent(ahead=30.0),
        "stamp going back 0.4 s": set_back,
        "clock set back 5 s": sent(ahead=-5.0),
        "two interleaving publishers": two_publishers,
        "publisher that ends": publisher_ends,
        "bad description": bad_description,
    }


def overload(repeats: int) -> dict[str, float]:
    """A node whose cycles take 40 ms, from the first joint state after a pause."""
    cell = Cell()
    slow = str(ROOT / "test/support/ros/slow_node.py"), "collision_monitor", "0.04"
    with node(*slow, deadline=0.02):
        cell.descriptions.publish(String(data=URDF))
        cell.until(says("clear"), cell.send)
        found = []
        for _ in range(repeats):
            cell.until(says("s old"))  # nothing waits any more
            found.append(timed(cell, cell.send, says("overloaded"), cell.send))
        return summary(found)


def node(*program: str, deadline: float | None = None):
    """The node under test in a process of its own."""
    words = [sys.executable, *program, "--ros-args"]
    if deadline is not None:
        words += ["-p", f"cycle_deadline:={deadline}"]

    class Running:
        def __enter__(self):
            self.said = tempfile.TemporaryFile()
            self.process = subprocess.Popen(
                words, stdout=self.said, stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )  # fmt: skip

        def __exit__(self, *_):
            self.process.terminate()
            try:
                self.process.wait(10.0)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    return Running()


def summary(found: list[float]) -> dict[str, float]:
    """Milliseconds."""
    return {"median_ms": 1e3 * statistics.median(found), "max_ms": 1e3 * max(found)}


def main() -> None:
    """Measure and print the table."""
    parser = arguments(__doc__)
    parser.add_argument("--repeats", type=int, default=10)
    options = parser.parse_args()
    with Domain() as domain:
        os.environ["ROS_DOMAIN_ID"] = str(domain.number)
        rclpy.init()
        results = {}
        with node("-m", "collision_monitor.nodes.collision_monitor"):
            cell = Cell()
            cell.descriptions.publish(String(data=URDF))
            for name, measure in faults(cell).items():
                found = []
                for _ in range(options.repeats):
                    cell.settle()
                    found.append(measure())
                results[name] = summary(found)
            cell.node.destroy_node()
        results["overload: a cycle of 40 ms where 20 are allowed"] = overload(options.repeats)
        rclpy.try_shutdown()
    if options.json:
        print(json.dumps(results, indent=2))
        return
    print("| fault | median (ms) | longest (ms) |\n|---|---|---|")
    for name, row in results.items():
        print(f"| {name} | {row['median_ms']:.1f} | {row['max_ms']:.1f} |")


if __name__ == "__main__":
    main()
