# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The executor that costs least, and the end of a process."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node

from collision_monitor.errors import CollisionMonitorError
from collision_monitor.nodes.common.arguments import init

_SIGNAL_SECONDS = 0.2  # between two looks whether a signal has come, where no timer runs


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
    """Make a node and spin it until SIGINT or SIGTERM; both are ordinary ends.

    Signals are not left to rclpy, which takes the middleware away under whatever callback is just
    running: that one ends, and ``node.close()`` can still say that nobody is there any more.
    """
    init(args)
    end = _End()
    node = None
    try:
        node = make_node()
        executor = best_executor()
        executor.add_node(node)
        end.waits = True
        # Not spin(): without a time limit the events executor of rclpy 7.1 runs hot and
        # hears nothing.
        while rclpy.ok() and not end.wanted:
            executor.spin_once(timeout_sec=_SIGNAL_SECONDS)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except Exception:
        if rclpy.ok():  # otherwise the context went away in the middle of something
            raise
    finally:
        end.waits = True
        if hasattr(node, "close"):
            node.close()
        rclpy.try_shutdown()


class _End:
    """Hears SIGINT and SIGTERM.

    Attributes:
        wanted: whether one has come.
        waits: whether what is running is to come to its end first; else it is interrupted, as
            loading and compiling may take a minute.
    """

    def __init__(self) -> None:
        self.wanted = self.waits = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._hear)

    def _hear(self, number: int, frame: object) -> None:
        self.wanted = True
        if not self.waits:
            raise KeyboardInterrupt
