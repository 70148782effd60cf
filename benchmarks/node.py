# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Cost of the node compared with a bare node: CPU per joint state, latency, and start time.

    python benchmarks/node.py [--robots ur5,panda] [--blocks 8] [--seconds 1] [--starts] [--json]
    python benchmarks/node.py approach     # exact distances at 1 kHz, node_costs/narrow_phase.py
    python benchmarks/node.py markers      # processor time of markers, node_costs/markers.py
    python benchmarks/node.py swaps        # another robot, node_costs/description_swap.py

The peer is a bare rclpy node on the same executor that subscribes to joint states and
publishes a Float64 for each. Both run in processes of their own, in one ROS graph
that stays on this machine. Joint states of a slow motion, with stamps, go to one of them,
then to the other, block by block, so that a noisy machine is noisy to both; the one that
hears nothing waits. CPU is that of all threads of the process over its blocks (user and
kernel, from the scheduler's own account), figures are medians over blocks. Latency runs
from just before a joint state is published until ~/min_distance is in the callback of the
sender's node: both ways through the middleware, so what counts is the difference.

Starts: seconds from the start of the process until its first ~/min_distance that is a
number. Cold: nothing compiled and nothing fitted; fits kept: nothing compiled; warm: both
on disk.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"

import numpy as np  # noqa: E402
import rclpy  # noqa: E402
from common.command_line import (  # noqa: E402
    TITLES,
    arguments,
    choose,
    table_head,
    table_row,
)
from node_costs.processes import cpu_seconds, running  # noqa: E402
from rclpy.executors import Executor  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.qos import qos_profile_sensor_data  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64  # noqa: E402
from support.robots.robots import RobotFiles  # noqa: E402
from support.ros.ros_domains import Domain  # noqa: E402

from collision_monitor.nodes.common.executor import best_executor, run_node  # noqa: E402
from collision_monitor.nodes.common.messages import VALUES  # noqa: E402

OURS, BARE = "ours", "bare"
RATES = (1000, 100)


class BareNode(Node):
    """Subscribes and publishes, and does nothing in between."""

    def __init__(self) -> None:
        """Create one subscription and one publisher."""
        super().__init__("collision_monitor")
        self._publisher = self.create_publisher(Float64, "~/min_distance", VALUES)
        self.create_subscription(
            JointState, "joint_states", self._on_joint_state, qos_profile_sensor_data
        )

    def _on_joint_state(self, message: JointState) -> None:
        self._publisher.publish(Float64(data=message.position[0]))

    def failed(self, error: Exception) -> None:
        """End: nothing may fail here."""
        raise error

    def publish_stale(self, reason: str) -> None:
        """Publish nothing."""

    def close(self) -> None:
        """Publish nothing."""


def ours_command(files: RobotFiles) -> list[str]:
    """The node under test, with a robot by parameter."""
    folders = ", ".join(f'"{folder}"' for folder in files.package_dirs)
    parameters = [f"robot_description:={files.urdf}", f"package_dirs:=[{folders}]"]
    if files.srdf:
        parameters.append(f"robot_description_semantic:={files.srdf}")
    command = [sys.executable, "-m", "collision_monitor.nodes.collision_monitor", "--ros-args"]
    return command + [word for parameter in parameters for word in ("-p", parameter)]


class Driver:
    """Sends joint states as a driver does, and notes when answers come."""

    def __init__(self, files: RobotFiles) -> None:
        """One node with a publisher and a subscription for each namespace."""
        from collision_monitor.robot.bodies import rigid_bodies
        from collision_monitor.robot.urdf import load_robot

        bodies = rigid_bodies(load_robot(files.urdf, files.package_dirs))
        self.node = rclpy.create_node("driver")
        self.executor: Executor = best_executor()
        self.publishers, self.answers = {}, {OURS: [], BARE: []}
        for namespace in (OURS, BARE):
            self.publishers[namespace] = self.node.create_publisher(
                JointState, f"/{namespace}/joint_states", qos_profile_sensor_data
            )
            self.node.create_subscription(
                Float64,
                f"/{namespace}/collision_monitor/min_distance",
                self._listener(self.answers[namespace]),
                VALUES,
            )
        self.executor.add_node(self.node)
        self._message = JointState(name=list(bodies.joint_names))
        lower = np.array([joint.lower for joint in bodies.joints])
        upper = np.array([joint.upper for joint in bodies.joints])
        self._swing = np.minimum(0.3, 0.1 * (upper - lower))
        self._middle = np.clip(0.7, lower + self._swing, upper - self._swing)

    def close(self) -> None:
        """Leave the graph, so that the next driver is the only one."""
        self.node.destroy_node()

    @staticmethod
    def _listener(answers: list[float]) -> Callable[[Float64], None]:
        def hear(message: Float64) -> None:
            if not math.isnan(message.data):
                answers.append(time.perf_counter())

        return hear

    def send(self, namespace: str, phase: float) -> float:
        """Publish one joint state of a slow motion; the time just before."""
        message = self._message
        message.position = (self._middle + self._swing * math.sin(phase)).tolist()
        message.header.stamp = self.node.get_clock().now().to_msg()
        publisher, now = self.publishers[namespace], time.perf_counter()
        publisher.publish(message)
        return now

    def until_first(self, namespace: str, seconds: float = 120.0) -> float:
        """Send at 100 Hz until an answer comes; when it came."""
        answers = self.answers[namespace]
        answers.clear()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            self.send(namespace, 0.0)
            self.executor.spin_once(timeout_sec=0.01)
            if answers:
                return answers[0]
        raise TimeoutError(f"no answer from {namespace} within {seconds} s")

    def block(self, namespace: str, rate: int, seconds: float) -> tuple[list[float], int]:
        """(latencies in seconds, answers lost) of one block at ``rate`` Hz.

        Answers come in the order of questions; if one is lost, nobody knows whose the
        others are, and the block has no latencies.
        """
        answers, sent = self.answers[namespace], []
        self._drain(answers)
        begin = time.perf_counter()
        for k in range(int(rate * seconds)):
            due = begin + k / rate
            while (left := due - time.perf_counter()) > 0.0:
                self.executor.spin_once(timeout_sec=left)
            sent.append(self.send(namespace, 0.5 * k / rate))
        received = self._drain(answers)
        lost = len(sent) - len(received)
        if lost:
            return [], lost
        return [b - a for a, b in zip(sent, received, strict=True)], 0

    def _drain(self, answers: list[float]) -> list[float]:
        """What has come, after a tenth of a second of silence; nothing is left."""
        while True:
            count, end = len(answers), time.perf_counter() + 0.1
            while time.perf_counter() < end:
                self.executor.spin_once(timeout_sec=0.02)
            if len(answers) == count:
                received = answers.copy()
                answers.clear()
                return received


def run_blocks(driver: Driver, pids: dict[str, int], rate: int, count: int, seconds: float) -> dict:
    """CPU and latencies of both nodes at one rate."""
    cpu: dict[str, list[float]] = {OURS: [], BARE: []}
    latencies: dict[str, list[np.ndarray]] = {OURS: [], BARE: []}
    lost = {OURS: 0, BARE: 0}
    for k in range(count):
        for who in (OURS, BARE) if k % 2 else (BARE, OURS):
            before = cpu_seconds(pids[who])
            found, missing = driver.block(who, rate, seconds)
            cpu[who].append((cpu_seconds(pids[who]) - before) / int(rate * seconds) * 1e6)
            lost[who] += missing
            if found:
                latencies[who].append(np.array(found) * 1e6)
    result = {"rate_hz": rate, "lost": lost}
    for who in (OURS, BARE):
        result[who] = {"cpu_us": statistics.median(cpu[who])}
        for name, share in (("median_us", 50.0), ("p99_us", 99.0)):
            each = [float(np.percentile(block, share)) for block in latencies[who]]
            result[who][name] = statistics.median(each) if each else math.nan
    result["cpu_ratio"] = statistics.median(
        a / b for a, b in zip(cpu[OURS], cpu[BARE], strict=True)
    )
    for name in ("median_us", "p99_us"):
        result[f"more_{name}"] = result[OURS][name] - result[BARE][name]
    return result


def measure_running(files: RobotFiles, count: int, seconds: float) -> list[dict]:
    """Both nodes side by side at all rates."""
    driver = Driver(files)
    bare = [sys.executable, str(Path(__file__).resolve()), "--bare"]
    with running(ours_command(files), OURS) as ours, running(bare, BARE) as peer:
        pids = {OURS: ours.pid, BARE: peer.pid}
        for who in (OURS, BARE):
            driver.until_first(who)
            driver.block(who, RATES[0], 1.0)  # whatever is slow at first
        rates = [run_blocks(driver, pids, rate, count, seconds) for rate in RATES]
    driver.close()
    return rates


def measure_starts(files: RobotFiles) -> dict[str, float]:
    """Seconds until the first distance, with less and less to do."""
    driver = Driver(files)

    def seconds(cache: Path) -> float:
        begin = time.perf_counter()
        with running(ours_command(files), OURS, NUMBA_CACHE_DIR=str(cache)):
            return driver.until_first(OURS) - begin

    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        result = {"cold_s": seconds(cache)}
        for compiled in (cache / "collision_monitor").glob("kernels-*"):
            shutil.rmtree(compiled)
        result["fits_kept_s"] = seconds(cache)
        result["warm_s"] = statistics.median(seconds(cache) for _ in range(3))
    driver.close()
    return result


def rows_running(name: str, rates: list[dict]) -> list[str]:
    """Lines of the table of costs."""
    lines = []
    for r in rates:
        rate = f"{r['rate_hz'] // 1000} kHz" if r["rate_hz"] >= 1000 else f"{r['rate_hz']} Hz"
        cells = [f"{r[who]['cpu_us']:.0f}" for who in (BARE, OURS)] + [f"{r['cpu_ratio']:.1f}"]
        for who in (BARE, OURS):
            cells.append(f"{r[who]['median_us']:,.0f} / {r[who]['p99_us']:,.0f}")
        lines.append(table_row(f"{TITLES.get(name, name)}, {rate}", *cells))
    return lines


def main() -> None:
    """Measure and print tables."""
    parser = arguments(__doc__, ("ur5", "panda"))
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=1.0, help="length of a block")
    parser.add_argument("--starts", action="store_true", help="measure starts, too")
    parser.add_argument("--bare", action="store_true", help=argparse.SUPPRESS)
    options, others = parser.parse_known_args()
    if options.bare:
        run_node(BareNode, [sys.argv[0], *others])
        return
    if others:
        parser.error(f"unknown arguments: {' '.join(others)}")
    domain = Domain()
    os.environ.setdefault("ROS_DOMAIN_ID", str(domain.number))
    rclpy.init()
    results = {}
    if not options.json:
        print(f"{rclpy.get_rmw_implementation_identifier()}, {type(best_executor()).__name__}\n")
        print(
            table_head(
                "robot, rate", "CPU, bare", "CPU, node", "ratio", "bare: median / 99 %",
                "node: median / 99 %",
            )
        )  # fmt: skip
    for name, files in options.robots.items():
        result = {"rates": measure_running(files, options.blocks, options.seconds)}
        results[name] = result
        if not options.json:
            print(*rows_running(name, result["rates"]), sep="\n", flush=True)
    if options.starts:
        for name, files in options.robots.items():
            results[name]["starts"] = starts = measure_starts(files)
            if not options.json:
                print(
                    f"\nFirst distance, {name}: cold {starts['cold_s']:.1f} s, "
                    f"fits kept {starts['fits_kept_s']:.1f} s, warm {starts['warm_s']:.2f} s"
                )
    if options.json:
        print(json.dumps(results, indent=2))
    rclpy.try_shutdown()
    domain.release()


if __name__ == "__main__":
    choose(
        main, approach="node_costs.narrow_phase", markers="node_costs.markers",
        swaps="node_costs.description_swap",
    )  # fmt: skip
