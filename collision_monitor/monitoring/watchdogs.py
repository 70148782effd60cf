# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Watchdogs of a monitor: clock, cycle times, and counts of rejected joint states.

The age of a stamp is that by a clock that may be simulated, paused, delayed or reset.
"""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Callable
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from collision_monitor.monitoring.faults import MOMENT, FaultRegister, Level
from collision_monitor.monitoring.joint_history import CLOCK_SECONDS
from collision_monitor.monitoring.publisher_watch import LATE_SECONDS, PublisherWatch

# -- the clock --

# A simulated clock that has not changed for this long is paused; a node that has not read it for
# this long was delayed, and may have ticks of it yet to read.
_PAUSED_SECONDS = _DELAYED_SECONDS = 0.2
# A clock that deviates from the steady clock by this much between two readings was set.
_JUMP_SECONDS = 0.5
_FASTEST_SIMULATION = 50.0  # real-time factor


class ClockWatch:
    """Compares the clock of a node with stamps, and with a steady clock (``now``).

    Simulated time is the last message on /clock. In a node that was busy or receives it late, it is
    behind the stamps of joint states, which are treated as new for a moment. If the clock is
    running and still behind, the stamps are from another clock.

    Attributes:
        jumps: number of times that the clock was set forward or back.
        faults: where a jump is raised, as "clock", for half a second.
    """

    def __init__(self, faults: FaultRegister | None = None) -> None:
        """Start without a reading."""
        self.jumps = 0
        self.faults = FaultRegister() if faults is None else faults
        self._simulated = False
        self._reading = self._read_at = math.nan
        self._moved = -math.inf  # time of the last change
        self._delayed = -math.inf  # time of the last reading after a delay of the node
        self._behind_since: float | None = None
        self._may_catch_up = False  # since then

    def update(self, reading: float, now: float, simulated: bool) -> None:
        """Report a reading of the clock; call it several times in 0.2 s."""
        if simulated != self._simulated:
            self._simulated = simulated
            self._reading = math.nan
        passed, moved = now - self._read_at, reading - self._reading  # NaN the first time
        if not passed <= _DELAYED_SECONDS:
            self._delayed = now
        if abs(moved) > 0.0:
            self._moved = now
        # 0: simulated time that has not been received yet.
        if abs(moved) > 0.0 and self._reading > 0.0:
            most = passed * (_FASTEST_SIMULATION if simulated else 1.0) + _JUMP_SECONDS
            least = 0.0 if simulated else passed - _JUMP_SECONDS
            if not least <= moved <= most:
                self.jumps += 1
                name = "simulated time" if simulated else "this machine's clock"
                by = moved if simulated else moved - passed
                direction = "forward" if by > 0 else "back"
                text = f"{name} was set {direction} by {abs(by):.1f} s"
                self.faults.put("clock", Level.WARN, "clock", text, now + MOMENT)
        self._reading, self._read_at = reading, now

    def lag(self, stamp: float, reading: float, now: float, simulated: bool) -> float:
        """Age of a message with this stamp by the clock, seconds; 0 without a stamp.

        It is 0 while the clock is behind but may catch up, and negative if it disagrees with the
        stamp.
        """
        if stamp <= 0.0:
            return 0.0
        if not simulated:
            return reading - stamp
        self.update(reading, now, simulated)
        lag = reading - stamp
        if lag >= -CLOCK_SECONDS:
            if self._behind_since is not None and self._moved >= self._behind_since:
                self._behind_since = None
            return lag
        if self._behind_since is None:
            self._behind_since = now
            # A clock that is running in a node that was not delayed is another clock.
            was_delayed = now - self._delayed <= CLOCK_SECONDS
            self._may_catch_up = was_delayed or self._is_paused(now)
        self._may_catch_up &= now - self._behind_since <= CLOCK_SECONDS
        return 0.0 if self._may_catch_up else lag

    def _is_paused(self, now: float) -> bool:
        return now - self._moved > _PAUSED_SECONDS

    def explain(self, now: float) -> str:
        """Why a stamp may be in the future."""
        if not self._simulated:
            return "the clocks disagree"
        if not self._reading > 0.0:
            return "use_sim_time is set, but no time has been received on /clock"
        if self._is_paused(now):
            return f"/clock is stopped at {self._reading:.2f} s"
        return "the clocks disagree: /clock is running, but joint state stamps do not follow it"


# -- all watchdogs --

# Reasons to reject a joint state: `JointStateError.kind`, and ``no_distance``.
REFUSALS = (
    "length", "not_finite", "unknown", "twice", "stamp", "future", "unreadable", "no_distance",
)  # fmt: skip
# Causes of a state in which distances still decide.
REMARKS = frozenset(("clock", "late", "publisher", "overrun", "position"))

# A pause between two callbacks that is shorter than this (seconds, or a share of the last cycle)
# means that the second one was waiting: after a long cycle, an executor takes longer to look for
# messages.
_PAUSE_SECONDS, _PAUSE_SHARE = 0.0005, 0.25
# After work without a pause for this long, waiting messages are old: process only the newest. So
# long a pause is one after any cycle.
_BEHIND_SECONDS = 0.005
# Statistics cover cycles of this many seconds, and at most this many cycles.
_WINDOW_SECONDS, _WINDOW = 10.0, 20_000


class Watchdogs:
    """All watchdogs of a monitor. They are kept if its robot is replaced.

    Attributes:
        faults: the register in which all of them, the monitor and its node raise faults.
        cycles, clock, publishers: see their classes.
        messages: number of joint states.
        refused: number of rejected joint states by kind (`REFUSALS`).
        late: number of joint states that were ignored because all joints had newer positions.
        clock_resets: number of joint states with stamps so old that a clock was set back.
    """

    def __init__(self) -> None:
        """Start with all counts at zero."""
        self.faults = FaultRegister()
        self.cycles = CycleWatch(faults=self.faults)
        self.clock = ClockWatch(self.faults)
        self.publishers = PublisherWatch(self.faults)
        self.refused: Counter[str] = Counter()
        self.messages = self.late = self.clock_resets = 0

    def report_late(self, seconds: float, now: float) -> None:
        """Report a joint state that was ignored because it was older than the previous one."""
        self.late += 1
        if seconds > LATE_SECONDS or self.publishers.is_single:
            text = f"joint state stamps go back by {seconds:.3f} s: those messages are ignored"
            self.faults.put("late", Level.WARN, "late", text, now + MOMENT)
        if seconds > LATE_SECONDS and (several := self.publishers.several()):
            self._raise_clocks(
                f"joint states are stamped {seconds:.2f} s earlier than the previous ones: the "
                f"clocks of their publishers disagree; {several}", now,
            )  # fmt: skip

    def report_set_back(self, seconds: float, now: float) -> None:
        """Report a joint state with a stamp so old that a clock was set back."""
        self.clock_resets += 1
        self._raise_clocks(
            f"joint states are stamped {seconds:.1f} s earlier than the previous ones: a clock was "
            "set back, or the clocks of two publishers disagree", now,
        )  # fmt: skip

    def report_conflict(self, text: str, until: float) -> None:
        """Report positions of a joint that contradict each other."""
        if several := self.publishers.several():
            text += f"; {several}"
        self.faults.put("conflict", Level.ERROR, "conflict", text, until)

    def _raise_clocks(self, text: str, now: float) -> None:
        self.faults.put("clocks", Level.ERROR, "fault", text, now + MOMENT)

    def counts(self) -> dict[str, int]:
        """Number of events by their name on /diagnostics."""
        return {
            **{f"refused_{kind}": self.refused[kind] for kind in REFUSALS},
            "late": self.late,
            "clock_resets": self.clock_resets,
            "clock_jumps": self.clock.jumps,
            "publishers_lost": self.publishers.lost,
            "skipped": self.cycles.skipped,
            "overruns": self.cycles.overruns,
        }


class CycleFigures(NamedTuple):
    """Statistics of the last ten seconds; NaN if there is nothing to measure.

    Attributes:
        rate: cycles per second.
        mean, p99, most: seconds of a cycle, from receiving a message until all is published.
        latency_mean, latency_most: seconds from the stamp of a message until all is published.
    """

    rate: float
    mean: float
    p99: float
    most: float
    latency_mean: float
    latency_most: float


class CycleWatch:
    """Measures cycles and delays. Times are seconds of a steady clock.

    Attributes:
        deadline: maximum duration of a cycle, seconds.
        skipped: number of messages that were merged without a query, as a newer one was waiting.
        overruns: number of missed deadlines.
        faults: where one is raised, as "overrun", for half a second.
    """

    def __init__(self, deadline: float = 0.05, faults: FaultRegister | None = None) -> None:
        """Start with all counts at zero."""
        self.deadline = deadline
        self.faults = FaultRegister() if faults is None else faults
        self.skipped = 0
        self.overruns = 0
        self._cycles: deque[tuple[float, float, float]] = deque(maxlen=_WINDOW)
        self._begin = math.nan  # of the first cycle
        self._run_begin = self._end = -math.inf
        self._pause = _PAUSE_SECONDS
        self._late_at = -math.inf
        self._timer_fired_at = math.nan

    def is_behind(self, start: float) -> bool:
        """Whether a cycle that begins now is late, because there was no pause for a while."""
        if start - self._end > self._pause:
            self._run_begin = start
            return False
        return start - self._run_begin > _BEHIND_SECONDS

    def report_other_work(self, start: float, end: float) -> None:
        """Report another callback; immediately after a cycle it does not count as a pause."""
        if start - self._end <= self._pause:
            self._end = end

    def timed(self, callback: Callable[..., None]) -> Callable[..., None]:
        """A callback that reports its duration: joint states wait while it runs."""

        def work(*arguments: Any) -> None:
            start = time.monotonic()
            callback(*arguments)
            self.report_other_work(start, time.monotonic())

        return work

    def add(self, start: float, end: float, lag: float = math.nan) -> bool:
        """Add a finished cycle; return whether it missed the deadline.

        ``lag``: age of its message at the start, seconds.
        """
        if not self._cycles:
            self._begin = start
        self._end = end
        self._pause = min(max(_PAUSE_SECONDS, _PAUSE_SHARE * (end - start)), _BEHIND_SECONDS)
        self._cycles.append((end, end - start, lag + end - start))
        if end - start <= self.deadline:
            return False
        self._overrun(end, f"a cycle took {1e3 * (end - start):.0f} ms")
        return True

    def report_timer(self, now: float, period: float) -> None:
        """Report that a timer with this period has fired; if it is late, the node was delayed."""
        late = now - self._timer_fired_at - period  # NaN the first time
        self._timer_fired_at = now
        # A late cycle that delayed the timer is already reported.
        if late > self.deadline and now - self._late_at > late + period:
            self._overrun(now, f"the node was delayed by {1e3 * late:.0f} ms")

    def expect_delay(self) -> None:
        """Do not report the delay until the timer fires again; call it before loading."""
        self._timer_fired_at = math.nan

    def _overrun(self, now: float, text: str) -> None:
        self.overruns += 1
        self._late_at = now
        text = (
            f"overloaded: {text}, {1e3 * self.deadline:.0f} ms are allowed; "
            f"{self.skipped} joint states skipped so far"
        )
        self.faults.put("overrun", Level.WARN, "overrun", text, now + MOMENT)

    def figures(self, now: float) -> CycleFigures:
        """Statistics of the last ten seconds."""
        while self._cycles and self._cycles[0][0] < now - _WINDOW_SECONDS:
            self._cycles.popleft()
        if not self._cycles:
            return CycleFigures(0.0, *[math.nan] * 5)
        numbers = np.fromiter(chain.from_iterable(self._cycles), float, 3 * len(self._cycles))
        _, cycle, latency = numbers.reshape(-1, 3).T
        if len(self._cycles) == _WINDOW:
            span = now - self._cycles[0][0]
        else:
            span = min(_WINDOW_SECONDS, now - self._begin)
        latency = latency[np.isfinite(latency)]
        known = (float(latency.mean()), float(latency.max())) if len(latency) else (math.nan,) * 2
        return CycleFigures(
            len(cycle) / max(span, 1.0),
            float(cycle.mean()), float(np.percentile(cycle, 99.0)), float(cycle.max()), *known,
        )  # fmt: skip
