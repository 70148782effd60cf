# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Logs which kernel is being compiled, and how many are done; silent when none has to be."""

from __future__ import annotations

import logging
import time

from numba.core import event

logger = logging.getLogger(__name__)

SECONDS = 1.0  # between two lines


class CompileLog(event.Listener):
    """Counts kernels as numba compiles them."""

    def __init__(self) -> None:
        """Nothing has been compiled."""
        self.done = 0
        self._logged = time.monotonic()

    def on_start(self, event: event.Event) -> None:
        """Log it, if the last line is old enough."""
        now = time.monotonic()
        if now - self._logged >= SECONDS:
            self._logged = now
            function = event.data["dispatcher"].py_func
            module = function.__module__.rsplit(".", 1)[-1]
            logger.info(
                "compiling kernels: %d done, now %s.%s", self.done, module, function.__name__
            )

    def on_end(self, event: event.Event) -> None:
        """Count it."""
        self.done += 1


_registered: list[CompileLog] = []


def log_compiling() -> None:
    """From now on, for the life of this process."""
    if not _registered:
        _registered.append(CompileLog())
        event.register("numba:compile", _registered[0])
