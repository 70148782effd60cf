# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""``demo``: a robot with two arms on a collision course, with the monitor."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from collision_monitor.cli.options import number
from collision_monitor.cli.view import add_page_arguments, announce
from collision_monitor.common.optional_dependencies import install_command
from collision_monitor.errors import MissingDependencyError, MotionError
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.monitoring.monitor import NARROW_PHASES
from collision_monitor.motion import Motion, read_motion
from collision_monitor.robot.packages import FileFinder
from collision_monitor.viewer.page import Page
from collision_monitor.viewer.server import free_address, require_viser


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers."""
    parser = commands.add_parser(
        "demo",
        help="run the monitor on two arms that meet (needs rclpy)",
        description=(
            "Start the collision_monitor node in a process of its own, send it the motion of two "
            "arms that collide as joint states on a ROS graph, and print its state. On a terminal "
            "a page in the browser shows the robot and its clearance, with sliders to move it, "
            "obstacles to move, and the motion before and after adjustment."
        ),
    )
    parser.add_argument(
        "--seconds", default=20.0,
        type=number(lambda x: 1.0 <= x <= 3600.0, "between 1 and 3600 seconds"),
        help="how long the motion takes (default 20)",
    )  # fmt: skip
    parser.add_argument(
        "--rate", default=100.0, type=number(lambda x: 1.0 <= x <= 1000.0, "between 1 and 1000 Hz"),
        help="joint states a second (default 100)",
    )  # fmt: skip
    parser.add_argument(
        "--narrow-phase", choices=NARROW_PHASES, default="auto",
        help="distances of leaves, of the meshes, or of the meshes where leaves are near",
    )  # fmt: skip
    parser.add_argument(
        "--record", metavar="FILE.mcap",
        help="record the stop; 'verify' replays it, Foxglove and 'ros2 bag' open it",
    )  # fmt: skip
    parser.add_argument(
        "--page", action=argparse.BooleanOptionalAction, default=None,
        help="serve the page (by default on a terminal, and with --keep)",
    )  # fmt: skip
    parser.add_argument(
        "--keep", action=argparse.BooleanOptionalAction, default=None,
        help="keep serving the page after the motion, until Ctrl-C (by default on a terminal)",
    )  # fmt: skip
    add_page_arguments(parser)
    parser.set_defaults(run=run, parser=parser)


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
        "leaves": str(package_file("urdf/dual_arm_leaves.yaml")),
        # At the end of the motion the tip of each arm is 9 mm from its shoulder.
        "warn_distance": "0.05",
        "stop_distance": "0.005",
    }


def page_maker(options: argparse.Namespace, before: Motion) -> Callable[[], Page]:
    """A function that loads the robot of the demo and serves its page."""
    parameters = demo_parameters()
    after = read_motion(package_file("config/dual_arm_motion_adjusted.csv"))

    def make() -> Page:
        model = CollisionModel.from_urdf(
            parameters["robot_description"],
            srdf=parameters["robot_description_semantic"],
            scene=parameters["scene"],
            leaves=parameters["leaves"],
        )
        order = [before.joint_names.index(name) for name in model.joint_names]
        page = Page(
            model, before.at(0.0)[order],
            warn=float(parameters["warn_distance"]), stop=float(parameters["stop_distance"]),
            host=options.host, port=options.port,
            motions=[("before adjustment", before), ("after adjustment", after)],
            camera_around=[before.at(time)[order] for time in np.linspace(0, before.duration, 9)],
            speed=before.duration / options.seconds,
        )  # fmt: skip
        announce(page, not options.no_browser)
        return page

    return make


def run(options: argparse.Namespace) -> int:
    """Run the demo."""
    # Stay on this machine: other machines must not receive joint states of the demo.
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    try:
        from collision_monitor.nodes.demo import run_demo
    except ImportError as error:
        raise MissingDependencyError(
            f"the demo needs ROS 2 ({error}): source a ROS 2 installation, or "
            f"(on Linux x86-64) {install_command('demo')}"
        ) from None
    parameters = {**demo_parameters(), "narrow_phase": options.narrow_phase}
    if options.record is not None:
        parameters["record"] = os.path.abspath(options.record)
    motion = read_motion(package_file("config/dual_arm_motion.csv"))
    terminal = sys.stdout.isatty()
    keep = terminal if options.keep is None else options.keep
    page = (terminal or keep) if options.page is None else options.page
    if not page:
        if options.keep:
            options.parser.error("--keep requires the page; it cannot be used with --no-page")
        return run_demo(motion, parameters, options.seconds, options.rate)
    try:
        require_viser()  # before the monitor is loaded
    except MissingDependencyError as problem:
        if options.page or options.keep:
            raise
        print(f"no page: {problem}", file=sys.stderr)
        return run_demo(motion, parameters, options.seconds, options.rate)
    free_address(options.host, options.port)
    return run_demo(
        motion, parameters, options.seconds, options.rate, page_maker(options, motion), keep
    )
