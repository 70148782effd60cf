# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What goes on while simulated time is paused, or the main thread is blocked.

Timers of a steady clock, and a thread that publishes for a blocked main thread: latched messages
with a lifespan would be gone meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.timer import Timer

_CLOCK = Clock(clock_type=ClockType.STEADY_TIME)


def steady_timer(node: Node, period: float, callback: Callable[[], object]) -> Timer:
    """A timer of ``node`` with a period in seconds, of a steady clock."""
    return node.create_timer(period, callback, clock=_CLOCK)


TICK = 0.1  # seconds; also between two looks for a signal, if no timer runs
# A main thread that has done nothing for so many ticks is blocked: 1 s, the slowest heartbeat. On a
# busy machine half of that is not rare.
_TICKS = 10


class Sentinel:
    """Publishes that the node is blocked while its main thread is.

    Time counts in ticks of its own thread: a pause of the whole process is one tick, and is left
    to the watchdog.
    """

    def __init__(self, publish: Callable[[str], None]) -> None:
        """Start the thread; ``publish`` is called with the reason, again and again."""
        self._publish = publish
        self._beats = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="sentinel", daemon=True)
        self._thread.start()

    def beat(self) -> None:
        """Tell it that the main thread is not blocked."""
        self._beats += 1

    def close(self) -> None:
        """End the thread; nothing is published afterwards."""
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        seen, ticks = self._beats, 0
        while not self._ended.wait(TICK):
            ticks = ticks + 1 if self._beats == seen else 0
            seen = self._beats
            if ticks >= _TICKS:
                with suppress(Exception):
                    self._publish(f"the node has been blocked for {ticks * TICK:.1f} s")
