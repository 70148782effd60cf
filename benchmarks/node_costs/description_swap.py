# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Gaps in the distances of a node while another robot is loaded, and while it is replaced.

A process sends joint states at a constant rate, the node monitors them, and its description changes
regularly. The output has the longest times between two distances, by the stamps of the node:
without changes, while a description is loaded, and from the old robot to the new one.

    python benchmarks/node.py swaps --robot pr2 --rate 200 --swaps 5
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time

import numpy as np
from common.command_line import ROOT
from std_msgs.msg import Float64, String
from support.robots import robots
from support.ros.ros_graph import LATCHED, Graph, JointState, rclpy

from collision_monitor.robot.urdf import load_robot

_TOOL = (
    '<link name="swapped_{k}"><collision><geometry><sphere radius="0.02"/></geometry></collision>'
    '</link><joint name="to_swapped_{k}" type="fixed"><parent link="{parent}"/>'
    '<child link="swapped_{k}"/></joint></robot>'
)


def drive(names: list[str], rate: float) -> None:
    """Send joint states until the process is ended."""
    rclpy.init()
    node = rclpy.create_node("driver")
    publisher = node.create_publisher(JointState, "joint_states", 10)
    message = JointState(name=names, position=[0.1] * len(names))
    due = time.monotonic()
    while rclpy.ok():
        message.header.stamp = node.get_clock().now().to_msg()
        publisher.publish(message)
        due = max(due + 1.0 / rate, time.monotonic() - 0.05)
        time.sleep(max(0.0, due - time.monotonic()))


def main() -> None:
    """Print the longest gaps in milliseconds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robot", default="ur5", choices=robots.NAMES)
    parser.add_argument("--rate", type=float, default=200.0, help="joint states a second")
    parser.add_argument("--swaps", type=int, default=5)
    parser.add_argument("--narrow-phase", default="leaf", choices=("leaf", "auto"))
    parser.add_argument("--drive", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.drive:
        drive(options.drive, options.rate)
    files = robots.ROBOTS[options.robot]
    robot = load_robot(files.urdf, files.package_dirs)
    names = [j.name for j in robot.joints if j.moves and j.mimic is None]
    text = files.urdf.read_text(encoding="utf-8")
    graph = Graph()
    stamps: list[float] = []  # seconds, of distances that are known

    def heard(message: Float64, info: dict) -> None:
        if message.data == message.data:
            stamps.append(1e-9 * info["source_timestamp"])

    graph.node.create_subscription(Float64, "/collision_monitor/min_distance", heard, 1000)
    descriptions = graph.node.create_publisher(String, "robot_description", LATCHED)
    descriptions.publish(String(data=text))
    driver = subprocess.Popen(
        [
            sys.executable, "-m", "node_costs.description_swap", "--rate", str(options.rate),
            "--drive", *names,
        ],
        env=graph.environment, cwd=ROOT / "benchmarks",
    )  # fmt: skip
    try:
        graph.start(
            "-p", f"package_dirs:=[{','.join(map(str, files.package_dirs))}]",
            "-p", f"robot_description_semantic:={files.srdf or ''}",
            "-p", f"narrow_phase:={options.narrow_phase}", "-p", "joint_state_timeout:=10.0",
        )  # fmt: skip
        graph.until(lambda: stamps and graph.heard["pair_names"], 300.0)
        graph.spin(2.0)
        alone, loading, swaps, seconds = [], [], [], []
        for swap in range(options.swaps):
            first = len(stamps)
            graph.spin(4.0)
            alone.append(np.diff(stamps[first:]).max())
            first, pairs = len(stamps), len(graph.heard["pair_names"])
            began = time.time()
            tool = _TOOL.format(k=swap, parent=robot.root)
            descriptions.publish(String(data=text.replace("</robot>", tool)))
            # The names of pairs are the last thing that is said of a new robot.
            graph.until(lambda pairs=pairs: len(graph.heard["pair_names"]) > pairs, 300.0,
                        period=0.001)  # fmt: skip
            swapped = time.time()
            graph.spin(1.0)
            gaps, at = np.diff(stamps[first:]), np.array(stamps[first + 1 :])
            about = np.abs(at - swapped) < 0.1
            loading.append(gaps[~about & (at < swapped)].max())
            swaps.append(gaps[about].max())
            seconds.append(swapped - began)
        print(
            f"{options.robot}, {options.rate:g} Hz, {options.narrow_phase}, {options.swaps} swaps, "
            f"loaded in {np.median(seconds):.1f} s (median)"
        )
        for what, gaps in (("watching alone", alone), ("loading", loading), ("swapping", swaps)):
            found = 1e3 * np.array(gaps)
            most = f"{np.median(found):6.1f}, most {found.max():6.1f}"
            print(f"{what:15} longest gap, ms: median {most}")
    finally:
        os.kill(driver.pid, signal.SIGKILL)
        driver.wait()
        graph.close()


if __name__ == "__main__":
    main()
