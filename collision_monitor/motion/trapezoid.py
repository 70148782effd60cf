# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The trapezoidal profile of commands (Liu Qian, Liu Chuankai et al., J. NUAA 54(1), 2022, 58-67).

A change by Delta in the time tf, with ramps tsa and tsd: the rate rises evenly to its peak
Delta / (tf - (tsa + tsd) / 2), stays there, and falls evenly to zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import PPoly

from collision_monitor.errors import MotionError

_SHORTEST, _LONGEST = 1e-6, 1e9  # seconds of a motion that can be computed with


@dataclass(frozen=True)
class Trapezoid:
    """A profile from 0 to 1.

    Attributes:
        tf: seconds in all, a microsecond at least.
        tsa: seconds of the ramp at the start, zero for a step in the rate.
        tsd: seconds of the ramp at the end.
    """

    tf: float
    tsa: float
    tsd: float

    def __post_init__(self) -> None:
        """Raise MotionError for times that make no profile."""
        for name, value in (("tsa", self.tsa), ("tsd", self.tsd)):
            if not (math.isfinite(value) and value >= 0.0):
                raise MotionError(f"{name} is {value:g} s; it should be zero or more")
        if not _SHORTEST <= self.tf <= _LONGEST:
            raise MotionError(f"tf is {self.tf:g} s; {_SHORTEST:g} to {_LONGEST:g} s are right")
        if self.tsa + self.tsd > self.tf * (1.0 + 1e-12):
            raise MotionError(
                f"tf is {self.tf:g} s, but the ramps tsa and tsd alone take "
                f"{self.tsa + self.tsd:g} s"
            )

    @classmethod
    def at_rate(cls, change: float, rate: float, tsa: float, tsd: float) -> Trapezoid:
        """The profile on which a change of this size has this peak rate, per second.

        Raises:
            MotionError: no rate above zero, no change, or one so small that it is over
                before the rate is reached.
        """
        change = abs(change)
        if not (math.isfinite(rate) and rate > 0.0):
            raise MotionError(f"a peak rate of {rate:g} is not above zero")
        ramps = 0.5 * (tsa + tsd)
        if change / rate < ramps * (1.0 - 1e-12):
            raise MotionError(
                f"a change of {change:g} with ramps of {tsa:g} s and {tsd:g} s does not reach the "
                f"peak rate {rate:g}; {change / ramps:g} is the greatest"
            )
        return cls(max(change / rate + ramps, tsa + tsd), tsa, tsd)

    @property
    def peak(self) -> float:
        """The greatest rate, 1/s."""
        return 1.0 / (self.tf - 0.5 * (self.tsa + self.tsd))

    def path(self, start: np.ndarray, change: np.ndarray) -> PPoly:
        """Positions ``start`` + s ``change``, both (columns,), with s from 0 to 1 on the profile.

        A polynomial (3, pieces, columns) over time from 0 s, without pieces of no length.
        """
        peak = self.peak
        breaks = [0.0, self.tsa, max(self.tf - self.tsd, self.tsa), self.tf]
        # Of s: half the acceleration, rate and position at the left of each piece.
        pieces = [
            (0.5 * peak / self.tsa if self.tsa else 0.0, 0.0, 0.0),
            (0.0, peak, 0.5 * peak * self.tsa),
            (-0.5 * peak / self.tsd if self.tsd else 0.0, peak, 1.0 - 0.5 * peak * self.tsd),
        ]
        there = [k for k in range(3) if breaks[k + 1] - breaks[k] > 1e-12 * self.tf]
        s = np.array([pieces[k] for k in there]).T[:, :, None]
        coefficients = s * np.asarray(change, dtype=float)
        coefficients[-1] += np.asarray(start, dtype=float)
        return PPoly(coefficients, np.array([*(breaks[k] for k in there), self.tf]))
