# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""``view``: any robot in the browser, moved by hand, with its clearance."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import webbrowser
from typing import Any

import numpy as np

from collision_monitor.cli.distance import parse_configuration
from collision_monitor.cli.model_arguments import add_model_arguments, load_model
from collision_monitor.cli.motion_arguments import add_bag_arguments
from collision_monitor.cli.output_path import option_number
from collision_monitor.motion import read_motion
from collision_monitor.motion.motion_files import Kind, open_motion
from collision_monitor.viewer.address import LOOPBACK, USUAL_PORT, free_address, require_viser
from collision_monitor.viewer.page import Page


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers."""
    parser = commands.add_parser(
        "view",
        help="a robot in the browser, moved by hand, with its clearance",
        description=(
            "Serve a live page: the robot and its leaves in the colours of their clearance, the "
            "nearest points, a slider for every joint, obstacles to move, motions to play. Ctrl-C "
            "ends it."
        ),
    )
    add_model_arguments(parser)
    parser.add_argument(
        "--q", default="", metavar="JOINT=VALUE,...",
        help="where the robot begins, radians or metres; as of the command distance",
    )  # fmt: skip
    parser.add_argument(
        "--motion", action="append", default=[], metavar="FILE",
        help="a motion (CSV, JointTrajectory in YAML, ROS 2 bag, command file) to be played; may "
        "be given several times",
    )  # fmt: skip
    add_bag_arguments(parser)
    parser.add_argument(
        "--warn-distance", type=_metres, default=0.1, metavar="METRES",
        help="colours turn below it (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--stop-distance", type=_metres, default=0.02, metavar="METRES",
        help="red at it and below (default %(default)s)",
    )  # fmt: skip
    add_page_arguments(parser)
    parser.set_defaults(run=run, parser=parser)


def add_page_arguments(parser: argparse.ArgumentParser) -> None:
    """Add ``--host``, ``--port`` and ``--no-browser``."""
    parser.add_argument(
        "--host", default=LOOPBACK,
        help="where the page listens (default %(default)s, this machine alone); whoever reaches "
        "another one sees the robot and can move it",
    )  # fmt: skip
    parser.add_argument(
        "--port", type=_port, default=None,
        help=f"0 for any that is free (default {USUAL_PORT}, or any where that is taken)",
    )  # fmt: skip
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address, and open no browser"
    )


def _port(text: str) -> int:
    value = option_number(text)
    if not 0 <= value <= 65535 or value != int(value):
        raise argparse.ArgumentTypeError(f"{text} is not a port: 0 to 65535")
    return int(value)


def _metres(text: str) -> float:
    value = option_number(text)
    if not 0.0 <= value <= 1000.0:
        raise argparse.ArgumentTypeError(f"{text} is not a distance from 0 to 1000 m")
    return value


def announce(page: Page, browser: bool) -> None:
    """Print where the page is; open it where there is a screen and somebody at it."""
    print(f"page: {page.address.url}", flush=True)
    if not page.address.is_loopback:
        print(
            "warning: whoever reaches this machine can see the robot and move it on the page",
            file=sys.stderr,
        )
    has_screen = sys.platform != "linux" or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if browser and has_screen and sys.stdout.isatty():
        webbrowser.open(page.address.url)


def run(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C, or SIGTERM."""
    if not options.stop_distance <= options.warn_distance:
        options.parser.error(
            f"--stop-distance {options.stop_distance:g} is above --warn-distance "
            f"{options.warn_distance:g}"
        )
    require_viser()  # to say so now and not after the load
    free_address(options.host, options.port)
    files = [open_motion(path) for path in options.motion]
    model = load_model(options)
    motions = []
    for file in files:
        topic = options.topic if file.kind is Kind.BAG else None
        motion = read_motion(file, model.robot, topic=topic, stamps=options.stamps)
        motions.append((file.path.stem, motion))
    q = np.clip(parse_configuration(options.q, model), model.lower, model.upper)
    page = Page(
        model, q, warn=options.warn_distance, stop=options.stop_distance,
        host=options.host, port=options.port, motions=motions,
    )  # fmt: skip
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        announce(page, not options.no_browser)
        page.run()
    except KeyboardInterrupt:
        print()  # behind the ^C of the terminal
    finally:
        page.close()
    return 0
