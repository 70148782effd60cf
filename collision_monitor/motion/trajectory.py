# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A motion as polynomials over time, with rates between its points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import PPoly

from collision_monitor.errors import TrajectoryError
from collision_monitor.motion import hermite

_LONGEST = 1e8  # seconds, three years
_SHORTEST = 1e-10  # seconds between two points; messages have nanoseconds


@dataclass(frozen=True, eq=False)
class Samples:
    """A trajectory at some times: ``times`` (n,), all others (n, joints).

    Seconds, radians or metres, and their time derivatives.
    """

    times: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray
    accelerations: np.ndarray
    jerks: np.ndarray


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Joint positions as a piecewise polynomial.

    Attributes:
        joint_names: names of the joints.
        polynomial: ``scipy.interpolate.PPoly`` over seconds, with coefficients (order, pieces,
            joints); its breakpoints begin at 0.
    """

    joint_names: tuple[str, ...]
    polynomial: PPoly

    @classmethod
    def through(
        cls,
        joint_names: Sequence[str],
        times: np.ndarray,
        positions: np.ndarray,
        velocities: np.ndarray | None = None,
        accelerations: np.ndarray | None = None,
    ) -> Trajectory:
        """Interpolate points like the joint_trajectory_controller of ros2_control.

        A piece is linear, cubic if velocities are given at both of its ends, and quintic if
        accelerations are given too. A row of NaN means that these values are not given.

        Args:
            joint_names: names of the joints.
            times: (n,) seconds, increasing; the trajectory begins at the first.
            positions: (n, joints) radians or metres.
            velocities: (n, joints) rad/s or m/s, or None.
            accelerations: (n, joints) rad/s^2 or m/s^2, or None.

        Raises:
            TrajectoryError: there is no point, shapes differ, times do not increase, values are
                not finite, or accelerations are given without velocities.
        """
        times = np.asarray(times, dtype=float)
        if velocities is None and accelerations is not None:
            raise TrajectoryError(
                "accelerations are given without velocities: give both, or positions alone"
            )
        rows = [np.asarray(positions, dtype=float)]
        for part in (velocities, accelerations):
            missing = np.full(rows[0].shape, np.nan)
            rows.append(missing if part is None else np.asarray(part, dtype=float))
        shape = (len(times), len(joint_names))
        for name, part in zip(("positions", "velocities", "accelerations"), rows, strict=True):
            if part.shape != shape:
                raise TrajectoryError(f"{name} have shape {part.shape}; {shape} is right")
            finite = np.isfinite(part).all(axis=1)
            if part is not rows[0]:
                finite |= np.isnan(part).all(axis=1)
            if not finite.all():
                row = int(np.flatnonzero(~finite)[0])
                raise TrajectoryError(f"{name} of point {row} are not finite: {part[row]}")
        _check_times(times)
        times = times - times[0]
        if len(times) == 1:  # rests
            times, rows = np.array([0.0, 1e-9]), [row.repeat(2, axis=0) for row in rows]
            rows[1:] = [np.full(rows[0].shape, np.nan)] * 2
        return cls(tuple(joint_names), PPoly(_coefficients(np.diff(times), *rows), times))

    @property
    def times(self) -> np.ndarray:
        """Breakpoints (pieces + 1,), seconds, from 0."""
        return self.polynomial.x

    @property
    def duration(self) -> float:
        """Seconds from the first to the last point."""
        return float(self.polynomial.x[-1])

    @property
    def is_straight(self) -> bool:
        """Whether all pieces are linear."""
        return not self.polynomial.c[:-2].any()

    def positions(self, times: np.ndarray) -> np.ndarray:
        """Joint positions (n, joints) at ``times`` (n,), constant beyond the ends."""
        return self.polynomial(np.clip(times, 0.0, self.duration))

    def sample(self, times: np.ndarray) -> Samples:
        """Positions, velocities, accelerations and jerks at ``times`` (n,), seconds.

        At a breakpoint the values are those of the later piece. Beyond the ends the rates are zero.
        """
        times = np.asarray(times, dtype=float)
        inside = ((times >= 0.0) & (times <= self.duration))[:, None]
        at = np.clip(times, 0.0, self.duration)
        rates = [np.where(inside, self.polynomial(at, k), 0.0) for k in (1, 2, 3)]
        return Samples(times, self.polynomial(at), *rates)


def _coefficients(
    steps: np.ndarray, p: np.ndarray, v: np.ndarray, a: np.ndarray
) -> np.ndarray:
    """Of each piece, the polynomial of the highest order that both its ends allow."""
    points = [~np.isnan(part).all(axis=1) if part.size else np.ones(len(part), bool)
              for part in (v, a)]  # fmt: skip
    alone = np.flatnonzero(points[1] & ~points[0])
    if len(alone):
        raise TrajectoryError(
            f"accelerations of point {alone[0]} are given without velocities: give both, or neither"
        )
    with_v, with_a = (given[:-1] & given[1:] for given in points)
    if not with_v.any():
        return hermite.linear(steps, p[:-1], p[1:])
    out = np.empty((6, len(steps), p.shape[1]))
    for chosen, function, parts in (
        (~with_v, hermite.linear, (p,)),
        (with_v & ~with_a, hermite.cubic, (p, v)),
        (with_a, hermite.quintic, (p, v, a)),
    ):
        ends = [part[:-1][chosen] for part in parts] + [part[1:][chosen] for part in parts]
        out[:, chosen] = hermite.raised(function(steps[chosen], *ends), 6)
    return out if with_a.any() else out[2:]


def _check_times(times: np.ndarray) -> None:
    if times.ndim != 1 or len(times) == 0:
        raise TrajectoryError(f"times have shape {times.shape}: (n,) with a point at least")
    if not np.isfinite(times).all():
        bad = np.flatnonzero(~np.isfinite(times))[0]
        raise TrajectoryError(f"time of point {bad} is not finite: {times[bad]}")
    late = np.flatnonzero(np.diff(times) <= 0.0)
    if len(late):
        raise TrajectoryError(
            f"time of point {late[0] + 1} is {times[late[0] + 1]:g} s, not after the "
            f"{times[late[0]]:g} s of the point before"
        )
    gaps = np.diff(times)
    if times[-1] - times[0] > _LONGEST:
        raise TrajectoryError(
            f"it takes {times[-1] - times[0]:g} s: more than {_LONGEST:g} s is no motion; are its "
            "times in seconds?"
        )
    if len(gaps) and gaps.min() < _SHORTEST:
        k = int(gaps.argmin())
        raise TrajectoryError(
            f"points {k} and {k + 1} are {gaps[k]:g} s apart: less than {_SHORTEST:g} s cannot be "
            "computed with; are its times in seconds?"
        )
