# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The register of faults: who knows of a fault raises and clears it; states are made of them.

A fault that is the absence of something (joint states that are old, joints not received yet) is no
entry: nobody is there to raise it, and `Monitor` compares times.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

# A fault or remark of a moment, as of one message, stands for this long, so that good messages in
# between do not hide it.
MOMENT = 0.5


class Level(IntEnum):
    """Levels, with the values of diagnostic_msgs/DiagnosticStatus."""

    OK = 0
    WARN = 1
    ERROR = 2
    STALE = 3


class Fault(NamedTuple):
    """A fault that was raised.

    Attributes:
        level: of the state while it stands.
        cause: of the state, see `MonitorState`.
        text: one sentence.
        until: time of the steady clock at which it ends by itself, seconds.
    """

    level: Level
    cause: str
    text: str
    until: float = math.inf


class FaultRegister:
    """At most one fault of each source. Times are seconds of a steady clock.

    Attributes:
        raised: faults by source; one may have ended by itself since the last `expire`.
    """

    def __init__(self) -> None:
        """Start without a fault."""
        self.raised: dict[str, Fault] = {}

    def put(
        self, source: str, level: Level, cause: str, text: str, until: float = math.inf
    ) -> None:
        """Raise the fault of a source, or replace it; an empty text clears it."""
        if text:
            self.raised[source] = Fault(level, cause, text, until)
        else:
            self.raised.pop(source, None)

    def clear(self, *sources: str) -> None:
        """Clear the faults of these sources."""
        for source in sources:
            self.raised.pop(source, None)

    def expire(self, now: float) -> None:
        """Remove the faults that have ended by ``now``."""
        if any(fault.until <= now for fault in self.raised.values()):
            self.raised = {s: fault for s, fault in self.raised.items() if now < fault.until}

    def text(self, source: str, now: float) -> str:
        """The fault of a source at ``now``; empty without one."""
        fault = self.raised.get(source)
        return fault.text if fault is not None and now < fault.until else ""

    def first(self, sources: Iterable[str], now: float, level: Level | None = None) -> Fault | None:
        """The fault of the first of these sources that has one (of this level) at ``now``."""
        for source in sources:
            fault = self.raised.get(source)
            if fault is not None and now < fault.until and level in (None, fault.level):
                return fault
        return None
