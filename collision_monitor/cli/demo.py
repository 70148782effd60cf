# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""``demo``: the package's two-armed robot on a collision course, watched by the monitor."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from collision_monitor.errors import MissingDependencyError, MotionError
from collision_monitor.monitor import NARROW_PHASES
from collision_monitor.motion import read_motion
from collision_monitor.robot.packages import FileFinder


def _seconds(text: str) -> float:
    value = float(text)
    if not 1.0 <= value <= 3600.0:
        raise argparse.ArgumentTypeError(f"{text} is not between 1 and 3600 seconds")
    return value


def _rate(text: str) -> float:
    value = float(text)
    if not 1.0 <= value <= 1000.0:
        raise argparse.ArgumentTypeError(f"{text} is not between 1 and 1000 Hz")
    return value


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers."""
    parser = commands.add_parser(
        "demo",
        help="run the monitor on two arms that meet (needs rclpy)",
        description=(
            "Start the collision_monitor node in a process of its own, send it the motion of two "
            "arms that run into each other as joint states on a real ROS graph, and print what "
            "it says."
        ),
    )
    parser.add_argument(
        "--seconds", type=_seconds, default=20.0, help="how long the motion takes (default 20)"
    )
    parser.add_argument(
        "--rate", type=_rate, default=100.0, help="joint states a second (default 100)"
    )
    parser.add_argument(
        "--narrow-phase",
        choices=NARROW_PHASES,
        default="leaf",
        help="distances of leaves, of the meshes, or of the meshes where leaves are near",
    )
    parser.add_argument(
        "--record",
        metavar="FILE.mcap",
        help="record the stop; 'verify' replays it, Foxglove and 'ros2 bag' open it",
    )
    parser.set_defaults(run=run)


def package_file(path: str) -> Path:
    """A file of this package: beside the sources, or installed in share/."""
    finder = FileFinder(document=Path(__file__))
    return finder.find(f"package://collision_monitor/{path}", "demo", MotionError)


def demo_parameters() -> dict[str, str]:
    """Parameters of the monitor in the demo, as text."""
    return {
        "robot_description": str(package_file("urdf/dual_arm.urdf")),
        "robot_description_semantic": str(package_file("urdf/dual_arm.srdf")),
        "scene": str(package_file("urdf/dual_arm_scene.yaml")),
        # At the end of the motion each arm has its own tip 9 mm from its shoulder.
        "warn_distance": "0.05",
        "stop_distance": "0.005",
    }


def run(options: argparse.Namespace) -> int:
    """Run the demo."""
    # Stay on this machine: joint states of a robot that is not there are not for others.
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    try:
        from collision_monitor.nodes.demo import run_demo
    except ImportError as error:
        raise MissingDependencyError(
            f"the demo needs ROS 2 ({error}): source a ROS 2 installation, or "
            "pip install 'collision_monitor[demo]' (Linux x86-64)"
        ) from None
    parameters = {**demo_parameters(), "narrow_phase": options.narrow_phase}
    if options.record is not None:
        parameters["record"] = os.path.abspath(options.record)
    motion = read_motion(package_file("config/dual_arm_motion.csv"))
    return run_demo(motion, parameters, options.seconds, options.rate)
