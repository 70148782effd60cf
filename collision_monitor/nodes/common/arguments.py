# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What stands on the command line of the collision_monitor node beside ROS arguments."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from rclpy.parameter import Parameter

from collision_monitor.errors import RosArgumentsError
from collision_monitor.nodes.common.ros_arguments import own_arguments


def split_arguments(args: list[str] | None) -> tuple[dict[str, Any], list[str]]:
    """(options for the node, arguments for rclpy); ``args`` with the program, or sys.argv.

    What is not known ends the program with code 2: --recrod must not be taken for a wish that
    was heard.
    """
    args = sys.argv if args is None else args
    parser = argparse.ArgumentParser(
        prog="collision_monitor",
        description="Watch the clearance of a robot; parameters with --ros-args -p name:=value.",
    )
    parser.add_argument(
        "--record",
        metavar="FILE.mcap",
        help="keep the last minutes around every stop in this file (as the parameter record)",
    )
    try:
        own = own_arguments(args)
    except RosArgumentsError as error:
        sys.exit(f"collision_monitor: error: {error}")  # code 1, as for parameters
    found = parser.parse_args(own)
    if found.record is None:
        return {}, args
    return {"parameter_overrides": [Parameter("record", value=found.record)]}, args
