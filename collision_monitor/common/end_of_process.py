# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How a process ends on SIGINT and SIGTERM in the phases in which nothing can be ended in order.

This package imports this module before all others: a node that is still importing ends well, too.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_MODULES = "collision_monitor.nodes."
_PROGRAMS = ("collision_monitor", "collision_monitor_lifecycle", "self_collision", "simulation")


def _end_early() -> None:
    """In the program of a node: end with code 0 on a signal, until `nodes.common.executor` cares.

    Importing takes a second or two, and there is nothing to be closed.
    """
    if is_program_of_a_node(sys.orig_argv):
        for number in _SIGNALS:
            signal.signal(number, lambda number, frame: os._exit(0))


def is_program_of_a_node(arguments: list[str]) -> bool:
    """Whether a command line runs ``python -m collision_monitor.nodes.<node>`` or an executable."""
    for flag, name in zip(arguments, arguments[1:], strict=False):
        if flag == "-m":
            return name.startswith(_MODULES)
        if not name.startswith("-"):
            return os.path.basename(name) in _PROGRAMS
    return False


def end_now() -> None:
    """Kill all child processes, and end with code 0 without waiting for anything."""
    # A thread that compiles would keep the interpreter for 5 ms between each two steps of this.
    sys.setswitchinterval(1e-5)
    for child in _children():
        with suppress(ProcessLookupError, PermissionError):
            os.kill(child, signal.SIGKILL)
    os._exit(0)


def _children() -> list[int]:
    children = []
    for thread in os.listdir("/proc/self/task"):
        path = f"/proc/self/task/{thread}/children"
        with suppress(OSError), open(path, encoding="ascii") as file:
            children += map(int, file.read().split())
    return children


_end_early()
