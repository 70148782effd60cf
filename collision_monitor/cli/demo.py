# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""``demo``: a command of two arms is verified, adjusted, and executed under the monitor."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from collision_monitor.cli.options import add_option, add_setting
from collision_monitor.cli.view import add_page_arguments, announce
from collision_monitor.common.lazy_imports import install_command
from collision_monitor.common.settings import Setting
from collision_monitor.errors import MissingDependencyError, MotionError
from collision_monitor.monitoring.settings import NARROW_PHASES, MonitorSettings
from collision_monitor.robot.packages import FileFinder
from collision_monitor.viewer.page import Page
from collision_monitor.viewer.server import free_address, require_viser


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers."""
    parser = commands.add_parser(
        "demo",
        help="verify, adjust and execute a command of two arms that meet (needs rclpy)",
        description=(
            "Verify a command on which two arms collide, and adjust it by the linear repulsion "
            "field. Then start the collision_monitor node in a process of its own, and execute "
            "both by a simulated controller that obeys ~/speed_scale: the command is stopped "
            "before contact, the adjusted motion arrives. On a terminal a page in the browser "
            "shows the robot and its clearance, with sliders to move it, obstacles to move, and "
            "the motion before and after adjustment."
        ),
    )
    takes = "how long the command takes at full speed"
    add_setting(parser, Setting("seconds", 10.0, takes, least=1.0, most=3600.0), None)
    add_setting(parser, Setting("rate", 100.0, "joint states a second", least=1.0, most=1e3), None)
    add_option(parser, "--narrow-phase", "distances of leaves, of the meshes, or of the meshes "
               "where leaves are near", choices=NARROW_PHASES,
               default=MonitorSettings.narrow_phase)  # fmt: skip
    add_option(parser, "--record FILE.mcap",
               "record the stop, if there is one (as with --seconds 5; slower, the arms come to a "
               "stand without); 'verify' replays it, Foxglove and 'ros2 bag' open it")  # fmt: skip
    add_option(parser, "--page", "serve the page (by default on a terminal, and with --keep)",
               action=argparse.BooleanOptionalAction, default=None)  # fmt: skip
    add_option(parser, "--keep", "keep serving the page after the motion, until Ctrl-C (by default "
               "on a terminal)", action=argparse.BooleanOptionalAction, default=None)  # fmt: skip
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


def run(options: argparse.Namespace) -> int:
    """Run the demo."""
    # Stay on this machine: other machines must not receive joint states of the demo.
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    try:
        from collision_monitor.nodes.demo.run_demo import run_demo
    except ImportError as error:
        raise MissingDependencyError(
            f"the demo needs ROS 2 ({error}): source a ROS 2 installation, or "
            f"(on Linux x86-64) {install_command('demo')}"
        ) from None
    from collision_monitor.nodes.demo.demo_plan import Plan, make_plan

    parameters = {**demo_parameters(), "narrow_phase": options.narrow_phase}
    if options.record is not None:
        parameters["record"] = os.path.abspath(options.record)

    def plan(say: Callable[[str], None]) -> Plan:
        return make_plan(parameters, package_file("config/dual_arm_motion.csv"), say)

    def page_of(made: Plan) -> Page:
        motion, model = made.command, made.model.twin()
        whole = motion.of_joints(model.joint_names, np.zeros(len(model.joint_names)), model.name)
        page = Page(
            model, whole.at(0.0),
            warn=float(parameters["warn_distance"]), stop=float(parameters["stop_distance"]),
            host=options.host, port=options.port,
            motions=[("before adjustment", motion), ("after adjustment", made.adjustment.motion)],
            camera_around=[whole.at(time) for time in np.linspace(0, motion.duration, 9)],
            speed=motion.duration / options.seconds,
        )  # fmt: skip
        announce(page, not options.no_browser)
        return page

    terminal = sys.stdout.isatty()
    keep = terminal if options.keep is None else options.keep
    wanted = (terminal or keep) if options.page is None else options.page
    if not wanted and options.keep:
        options.parser.error("--keep requires the page; it cannot be used with --no-page")
    if wanted:
        try:
            require_viser()  # before the monitor is loaded
            free_address(options.host, options.port)
        except MissingDependencyError as problem:
            if options.page or options.keep:
                raise
            print(f"no page: {problem}", file=sys.stderr)
            wanted = False
    return run_demo(
        plan, parameters, options.seconds, options.rate, page_of if wanted else None,
        keep and wanted,
    )  # fmt: skip
