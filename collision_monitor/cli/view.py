# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""``view``: shows a robot with sliders and its clearance in the browser."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import webbrowser
from typing import Any

import numpy as np

from collision_monitor.cli.options import (
    add_flag,
    add_motion_arguments,
    add_option,
    add_positions_argument,
    add_setting,
    input_path,
    parse_configuration,
    value_of,
)
from collision_monitor.cli.robots import (
    add_model_arguments,
    load_model,
    opened_motions,
    read_motions,
)
from collision_monitor.common.settings import Setting
from collision_monitor.model.thresholds import STOP_DISTANCE, WARN_DISTANCE
from collision_monitor.viewer.page import Page
from collision_monitor.viewer.server import LOOPBACK, USUAL_PORT, free_address, require_viser


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers."""
    parser = commands.add_parser(
        "view",
        help="a robot in the browser, moved by sliders, with its clearance",
        description=(
            "Serve a live page: the robot and its leaves in the colours of their clearance, the "
            "nearest points, a slider for every joint, obstacles to move, motions to play. Ctrl-C "
            "ends it."
        ),
    )
    add_model_arguments(parser)
    add_positions_argument(parser, "initial joint positions, at most at a limit")
    add_option(parser, "--motion FILE", "a motion (CSV, JointTrajectory in YAML, ROS 2 bag, "
               "command file) to play; may be given several times", many=True,
               type=input_path)  # fmt: skip
    add_motion_arguments(parser)
    warn = Setting("warn_distance", WARN_DISTANCE, "colours change below it", most=1000.0)
    stop = Setting("stop_distance", STOP_DISTANCE, "red at it and below", most=1000.0)
    for distance in (warn, stop):
        add_setting(parser, distance, "METRES")
    add_page_arguments(parser)
    parser.set_defaults(run=run, parser=parser)


def add_page_arguments(parser: argparse.ArgumentParser) -> None:
    """Add ``--host``, ``--port`` and ``--no-browser``."""
    add_option(parser, "--host", "where the page listens (default %(default)s, this machine only); "
               "everyone who can reach another address sees the robot and can move it",
               default=LOOPBACK)  # fmt: skip
    port = Setting("port", USUAL_PORT, "", most=65535, or_zero=True)
    add_option(parser, "--port",
               f"0 for any free port (default {USUAL_PORT}, or any free port if that is taken)",
               type=value_of(port))  # fmt: skip
    add_flag(parser, "--no-browser", "print the address, and open no browser")


def announce(page: Page, browser: bool) -> None:
    """Print the address of the page, and open it if there is a terminal and a display."""
    print(f"page: {page.address.url}", flush=True)
    if not page.address.is_loopback:
        print(
            "warning: everyone who can reach this machine can see and move the robot on the page",
            file=sys.stderr,
        )
    has_screen = sys.platform != "linux" or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if browser and has_screen and sys.stdout.isatty():
        webbrowser.open(page.address.url)


def run(options: argparse.Namespace) -> int:
    """Run the server until Ctrl-C or SIGTERM."""
    if not options.stop_distance <= options.warn_distance:
        options.parser.error(
            f"--stop-distance {options.stop_distance:g} is above --warn-distance "
            f"{options.warn_distance:g}"
        )
    require_viser()  # before the model is loaded
    free_address(options.host, options.port)
    files = opened_motions(options, options.motion)
    model = load_model(options)
    motions = [
        (path.stem, motion.with_held()) for path, motion in read_motions(options, files, model)
    ]
    q = np.clip(parse_configuration(options.q, model), *model.position_limits)
    page = Page(
        model, q, warn=options.warn_distance, stop=options.stop_distance,
        host=options.host, port=options.port, motions=motions,
    )  # fmt: skip
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        announce(page, not options.no_browser)
        page.run()
    except KeyboardInterrupt:
        print()  # after the ^C of the terminal
    finally:
        page.close()
    return 0
