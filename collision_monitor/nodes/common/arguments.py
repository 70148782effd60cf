# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What stands on the command line of the collision_monitor node beside ROS arguments."""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any

import rclpy
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args

from collision_monitor.errors import RosArgumentsError

# -- what is wrong with the ROS arguments of a program, in a sentence and not as a traceback --


def init(args: list[str] | None) -> None:
    """``rclpy.init``; signals are left to the caller.

    Raises:
        RosArgumentsError: an unknown log level, a file of parameters that is not there ...
    """
    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:
        raise RosArgumentsError(_sentence(error)) from None


def own_arguments(args: list[str]) -> list[str]:
    """Those that are not for ROS, without the program.

    Raises:
        RosArgumentsError: those for ROS are wrong.
    """
    try:
        return remove_ros_args(args)[1:]
    except RuntimeError as error:
        raise RosArgumentsError(_sentence(error)) from None


def _sentence(error: RuntimeError) -> str:
    """What rcl says, without where in its sources it says so."""
    text = re.sub(r",? at /\S+:\d+", "", " ".join(str(error).split()))
    return re.sub(r"^(failed to initialize rcl|Failed to parse ROS arguments): ", "", text)


def split_arguments(args: list[str] | None) -> tuple[dict[str, Any], list[str]]:
    """(options for the node, arguments for rclpy); ``args`` with the program, or sys.argv.

    What is not known ends the program with code 2: --recrod must not be taken for a wish that
    was heard.
    """
    args = sys.argv if args is None else args
    parser = argparse.ArgumentParser(
        prog="collision_monitor",
        description="Monitor the clearance of a robot; parameters: --ros-args -p name:=value.",
    )
    parser.add_argument(
        "--record",
        metavar="FILE.mcap",
        help=(
            "record the last minutes before every stop to this file (same as the parameter "
            "record)"
        ),
    )
    try:
        own = own_arguments(args)
    except RosArgumentsError as error:
        sys.exit(f"collision_monitor: error: {error}")  # code 1, as for parameters
    found = parser.parse_args(own)
    if found.record is None:
        return {}, args
    return {"parameter_overrides": [Parameter("record", value=found.record)]}, args
