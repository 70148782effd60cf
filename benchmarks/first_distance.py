# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Time to the first distance with nothing cached: of the CLI, of the node and of the demo.

    python benchmarks/first_distance.py [--robots ur5,tiago_dual] [--skip demo] [--json]
    python benchmarks/first_distance.py large-meshes    # meshes/load_large_meshes.py

Every run has a cache folder of its own, empty at the start and removed at the end: kernels are
compiled and leaves are fitted anew. Wall time starts with the process; it ends when the CLI has
ended, when the node has published its first distance that is a number, and when the demo has
printed its first distance. Processor time is that of all processes of the run up to then; twice
the wall time would be two busy cores. A run that takes longer than --timeout is given up.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from common.command_line import ROOT, TITLES, arguments, choose, table_head, table_row
from support.robots.robots import RobotFiles
from support.ros.ros_domains import Domain

# Seconds to the first distance on two cores that do nothing else.
GOALS = {"ur5": 8.0, "tiago_dual": 25.0, "demo": 10.0}
KINDS = ("cli", "node", "demo")
_TICK = 1.0 / os.sysconf("SC_CLK_TCK")
_LOOK = 0.02


def _times(pid: int) -> tuple[int, float]:
    """Parent of a process, and its processor time with that of children it has waited for."""
    text = Path(f"/proc/{pid}/stat").read_text()
    fields = text[text.rindex(")") + 2 :].split()
    return int(fields[1]), sum(int(field) for field in fields[11:15]) * _TICK


def processor_time(pid: int) -> float:
    """Seconds on a processor of a process and all its descendants so far."""
    parents, used = {}, {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(path.name)], used[int(path.name)] = _times(int(path.name))
        except (OSError, ValueError):  # it has ended
            continue
    found, total = [pid], 0.0
    while found:
        one = found.pop()
        total += used.get(one, 0.0)
        found += [child for child, parent in parents.items() if parent == one]
    return total


class Stopwatch:
    """Wall and processor time of a process."""

    def __init__(self, process: subprocess.Popen, began: float) -> None:
        self.process, self.began = process, began

    def wait(self, is_done: Callable[[], bool], timeout: float) -> dict[str, float]:
        """Look until it is done; RuntimeError if the process ends before, or takes too long."""
        has_ended = False
        while not is_done():
            if has_ended and self.process.poll() is not None:
                raise RuntimeError(f"ended with exit code {self.process.returncode}")
            # It stays a zombie whose processor time can be read: it may have said its last word.
            flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
            has_ended = os.waitid(os.P_PID, self.process.pid, flags) is not None
            if time.monotonic() - self.began > timeout:
                raise RuntimeError(f"no distance within {timeout:g} s")
            time.sleep(_LOOK)
        wall = time.monotonic() - self.began
        return {"wall": wall, "processor": processor_time(self.process.pid)}


@contextmanager
def started(words: list[str], **options: object) -> Iterator[Stopwatch]:
    """``python -m words`` with empty caches, in a session of its own; ended at the end."""
    with tempfile.TemporaryDirectory(prefix="first_distance_") as folder:
        environment = {
            **os.environ,
            "XDG_CACHE_HOME": folder, "NUMBA_CACHE_DIR": folder, "PYTHONUNBUFFERED": "1",
            "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
        }  # fmt: skip
        began = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", *words], env=environment, start_new_session=True,
            stderr=subprocess.DEVNULL, **options,
        )  # fmt: skip
        try:
            yield Stopwatch(process, began)
        finally:
            for number in (signal.SIGINT, signal.SIGKILL):
                try:
                    os.killpg(process.pid, number)
                    process.wait(5.0)
                except (ProcessLookupError, subprocess.TimeoutExpired):
                    continue


def cli(files: RobotFiles, timeout: float) -> dict[str, float]:
    """``distance`` of a robot, until it has ended."""
    words = ["collision_monitor", "distance", str(files.urdf), "--json"]
    words += [word for folder in files.package_dirs for word in ("--package-dir", str(folder))]
    words += ["--srdf", str(files.srdf)] if files.srdf else []
    with tempfile.TemporaryFile() as out, started(words, stdout=out) as watch:

        def is_there() -> bool:
            return bool(out.seek(0) or out.read().rstrip().endswith(b"}"))

        return watch.wait(is_there, timeout)


def node(files: RobotFiles, timeout: float) -> dict[str, float]:
    """The node with a robot by parameter, under joint states at 50 Hz."""
    import rclpy
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64

    from collision_monitor.robot.bodies import rigid_bodies
    from collision_monitor.robot.urdf import load_robot

    joints = rigid_bodies(load_robot(files.urdf, files.package_dirs)).joints
    names = [joint.name for joint in joints]
    middle = [0.4 * max(joint.lower, -3.0) + 0.6 * min(joint.upper, 3.0) for joint in joints]
    folders = ", ".join(f'"{folder}"' for folder in files.package_dirs)
    words = ["collision_monitor.nodes.collision_monitor", "--ros-args"]
    words += ["-p", f"robot_description:={files.urdf}", "-p", f"package_dirs:=[{folders}]"]
    words += ["-p", f"robot_description_semantic:={files.srdf}"] if files.srdf else []
    rclpy.init(args=[])
    listener = rclpy.create_node("first_distance")
    heard: list[float] = []
    listener.create_subscription(
        Float64, "/collision_monitor/min_distance", lambda m: heard.append(m.data),
        qos_profile_sensor_data,
    )  # fmt: skip
    publisher = listener.create_publisher(JointState, "/joint_states", qos_profile_sensor_data)

    def is_there() -> bool:
        message = JointState(name=names, position=middle)
        message.header.stamp = listener.get_clock().now().to_msg()
        publisher.publish(message)
        rclpy.spin_once(listener, timeout_sec=_LOOK)
        return any(math.isfinite(distance) for distance in heard)

    try:
        with started(words, stdout=subprocess.DEVNULL) as watch:
            return watch.wait(is_there, timeout)
    finally:
        listener.destroy_node()
        rclpy.try_shutdown()


def demo(timeout: float) -> dict[str, float]:
    """The demo without its page, until it prints a distance."""
    lines: list[str] = []
    with started(
        ["collision_monitor", "demo", "--no-page", "--seconds", "5"],
        stdout=subprocess.PIPE, text=True,
    ) as watch:  # fmt: skip
        threading.Thread(target=lambda: lines.extend(watch.process.stdout), daemon=True).start()
        return watch.wait(
            lambda: any(re.search(r"\| +-?\d+\.\d+ m \|", line) for line in lines), timeout
        )


def _cells(row: dict) -> tuple[str, ...]:
    """Of the line for a run."""
    title = TITLES.get(row["robot"], row["robot"])
    if row["kind"] != "demo":
        title += ", command" if row["kind"] == "cli" else ", node"
    if "error" in row:
        return title, row["error"], "", ""
    goal = "" if row["goal"] is None else f"{row['goal']:.0f}"
    return title, f"{row['wall']:.1f}", f"{row['processor']:.1f}", goal


def main() -> None:
    """Measure one run after the other, and print a table or JSON."""
    parser = arguments(__doc__, ("ur5", "tiago_dual"))
    parser.add_argument("--skip", action="append", default=[], choices=KINDS)
    parser.add_argument(
        "--timeout", type=float, default=180.0, metavar="S",
        help="of each run (default %(default)s)",
    )
    options: argparse.Namespace = parser.parse_args()
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    domain = Domain()
    os.environ["ROS_DOMAIN_ID"] = str(domain.number)
    runs = [("demo", "demo", lambda: demo(options.timeout))] if "demo" not in options.skip else []
    for name, files in options.robots.items():
        for kind, measure in (("cli", cli), ("node", node)):
            if kind not in options.skip:
                runs.append((name, kind, lambda m=measure, f=files: m(f, options.timeout)))
    results = []
    if not options.json:
        print(table_head("", "wall", "processor", "goal (wall)"))
    for name, kind, measure in runs:
        try:
            row = {"robot": name, "kind": kind, **measure(), "goal": GOALS.get(name)}
        except RuntimeError as problem:
            row = {"robot": name, "kind": kind, "error": str(problem)}
        results.append(row)
        if not options.json:
            print(table_row(*_cells(row)), flush=True)
    if options.json:
        print(json.dumps(results, indent=2))


if __name__ == "__main__":
    choose(main, large_meshes="meshes.load_large_meshes")
