# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Exceptions that leave a callback of a node, a fault for a while, or its constructor."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rclpy.node import Node

from collision_monitor.errors import reason_of
from collision_monitor.monitoring.faults import FaultRegister, Level

# Longer than the period of the slowest timer, 1 s: what fails each time is a fault without a gap.
_FAULT_SECONDS = 2.0
_MOST_LOGGED = 10  # different failures whose traceback is logged


class CallbackFailures:
    """The exceptions of callbacks, also those in which the middleware reads a message.

    The last one is the fault "callback" for a while.

    Attributes:
        count: exceptions since the start.
    """

    def __init__(self, logger: Any, faults: FaultRegister) -> None:
        """``logger``: of the node; ``faults``: its register."""
        self._logger, self._faults = logger, faults
        self.count = 0
        self._logged: set[str] = set()

    def add(self, error: Exception) -> None:
        """Count an exception, and log each different one with its traceback."""
        self.count += 1
        text = f"a callback failed: {reason_of(error)}"
        until = time.monotonic() + _FAULT_SECONDS
        self._faults.put("callback", Level.ERROR, "fault", text, until)
        if text not in self._logged and len(self._logged) < _MOST_LOGGED:
            self._logged.add(text)
            trace = "".join(traceback.format_exception(error))
            self._logger.error(f"{text}; the node goes on\n{trace}")

    def values(self) -> dict[str, str]:
        """Key-values of a state: the number of exceptions, if there was one."""
        return {"callback_errors": str(self.count)} if self.count else {}


@contextmanager
def left_if_interrupted(node: Node) -> Iterator[None]:
    """Destroy a node that is being made and is not finished, so that it leaves the graph.

    The process ends without it. Other nodes would take it for alive until the middleware gives it
    up: 20 s with Fast DDS.
    """
    try:
        yield
    except BaseException:
        node.destroy_node()
        raise
