# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The executor that costs least, and the end of a process."""

from __future__ import annotations

import sys
from collections.abc import Callable

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node

from collision_monitor.errors import CollisionMonitorError


def best_executor() -> Executor:
    """The events executor (rclpy 7: half the CPU per message), else the default one."""
    try:
        from rclpy.experimental import EventsExecutor
    except ImportError:
        return SingleThreadedExecutor()
    return EventsExecutor()


def run_program(make_node: Callable[[], Node], args: list[str] | None, name: str) -> None:
    """`run_node`; what is wrong with its parameters is said, and ends the process with code 1."""
    try:
        run_node(make_node, args)
    except (CollisionMonitorError, ParameterException) as error:
        print(f"{name}: error: {error}", file=sys.stderr)
        sys.exit(1)


def run_node(make_node: Callable[[], Node], args: list[str] | None) -> None:
    """Make a node and spin it until SIGINT or SIGTERM; both are ordinary ends."""
    rclpy.init(args=args)
    node = None
    try:
        node = make_node()
        executor = best_executor()
        executor.add_node(node)
        # Not spin(): without a time limit the events executor of rclpy 7.1 runs hot and
        # hears nothing.
        while rclpy.ok():
            executor.spin_once(timeout_sec=1.0)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except Exception:
        if rclpy.ok():  # otherwise the context went away in the middle of something
            raise
    finally:
        if hasattr(node, "close"):
            node.close()
        rclpy.try_shutdown()
