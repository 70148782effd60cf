# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A motion as polynomials over time, so that it has rates between its points too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BPoly, PPoly

from collision_monitor.errors import TrajectoryError


@dataclass(frozen=True, eq=False)
class Samples:
    """A trajectory at some instants: ``times`` (n,), all else (n, joints).

    Seconds, radians or metres, and their rates.
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
        polynomial: scipy's PPoly in seconds, coefficients (order, pieces, joints); its breakpoints
            begin at 0.
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
        """Interpolate points as controllers do: the joint_trajectory_controller of ros2_control.

        Linear through positions (n, joints); cubic where velocities are given too; quintic with
        accelerations. ``times`` (n,) seconds, increasing; the trajectory begins at the first.

        Raises:
            TrajectoryError: fewer than one point, shapes that differ, times that do not
                increase, values that are not finite, accelerations without velocities.
        """
        times = np.asarray(times, dtype=float)
        rows = [positions] if velocities is None else [positions, velocities]
        if accelerations is not None:
            if velocities is None:
                raise TrajectoryError(
                    "accelerations are given without velocities: give both, or positions alone"
                )
            rows.append(accelerations)
        rows = [np.asarray(part, dtype=float) for part in rows]
        shape = (len(times), len(joint_names))
        for name, part in zip(("positions", "velocities", "accelerations"), rows, strict=False):
            if part.shape != shape:
                raise TrajectoryError(f"{name} have shape {part.shape}; {shape} is right")
            if not np.isfinite(part).all():
                row = int(np.flatnonzero(~np.isfinite(part).all(axis=1))[0])
                raise TrajectoryError(f"{name} of point {row} are not finite: {part[row]}")
        _check_times(times)
        times = times - times[0]
        if len(times) == 1:  # rests
            times, rows = np.array([0.0, 1e-9]), [rows[0].repeat(2, axis=0)]
        if len(rows) == 1:
            slopes = np.diff(rows[0], axis=0) / np.diff(times)[:, None]
            coefficients = np.stack([slopes, rows[0][:-1]])
            return cls(tuple(joint_names), PPoly(coefficients, times))
        points = BPoly.from_derivatives(times, np.stack(rows, axis=1))
        return cls(tuple(joint_names), PPoly.from_bernstein_basis(points))

    @property
    def times(self) -> np.ndarray:
        """Breakpoints (pieces + 1,), seconds, from 0."""
        return self.polynomial.x

    @property
    def duration(self) -> float:
        """Seconds."""
        return float(self.polynomial.x[-1])

    def positions(self, times: np.ndarray) -> np.ndarray:
        """Joint positions (n, joints) at ``times`` (n,), held beyond the ends."""
        return self.polynomial(np.clip(times, 0.0, self.duration))

    def sample(self, times: np.ndarray) -> Samples:
        """All rates at ``times`` (n,); where two pieces meet, those of the later one.

        Beyond its ends a trajectory rests.
        """
        times = np.asarray(times, dtype=float)
        inside = ((times >= 0.0) & (times <= self.duration))[:, None]
        at = np.clip(times, 0.0, self.duration)
        rates = [np.where(inside, self.polynomial(at, k), 0.0) for k in (1, 2, 3)]
        return Samples(times, self.polynomial(at), *rates)


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
