# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the ROS arguments of a program, in a sentence and not as a traceback."""

from __future__ import annotations

import re

import rclpy
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args

from collision_monitor.errors import RosArgumentsError


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
