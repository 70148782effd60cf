# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Instants at which torques are computed, with both sides of every point where rates step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from collision_monitor.errors import TrajectoryError
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.verification.limits.velocity_discontinuities import LONGEST_STEP, Steps

_ROUNDING = 1e-9  # of the largest velocity
_MOST = 5e6


@dataclass(frozen=True, eq=False)
class Instants:
    """``times`` (n,) that do not fall, seconds; ``positions``, ``velocities``, ``accelerations``
    (n, joints). A knot is there twice, before and after it, and once more between where the
    velocity steps.
    """  # noqa: D205

    times: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray
    accelerations: np.ndarray


def stepping(steps: Steps) -> np.ndarray:
    """(knots,) bool: where the velocity of a joint steps by more than rounding."""
    fastest = np.abs(steps.velocities).max(initial=0.0)
    return (np.abs(steps.velocity) > _ROUNDING * (1.0 + fastest)).any(axis=1)


def instants_of(trajectory: Trajectory, steps: Steps, longest: float) -> Instants:
    """Instants at most ``longest`` seconds apart, among them every knot.

    At a step of velocity the acceleration is what it comes to, see `steps`. Of short straight lines
    between such steps, the samples of a motion, their points alone are left.
    """
    gaps = np.diff(trajectory.times)
    step = stepping(steps)
    sampled = (gaps <= LONGEST_STEP) & (step[:-1] | step[1:])
    counts = np.where(sampled, 0, np.ceil(gaps / longest) + 1.0)
    if counts.sum() > _MOST:
        raise TrajectoryError(
            f"{trajectory.duration:g} s are too long for torques: at instants {longest:g} s apart "
            f"these are {counts.sum():.3g}, and {_MOST:g} can be looked at; verify it in parts"
        )
    counts = counts.astype(int)
    piece = np.repeat(np.arange(len(gaps)), counts)
    place = np.concatenate([np.linspace(0.0, 1.0, n) for n in counts] or [[]])
    local = place * gaps[piece]
    rows = [trajectory.polynomial.c, *(trajectory.polynomial.derivative(k).c for k in (1, 2))]
    values = [_values(c[:, piece], local) for c in rows]
    alone = np.append(sampled, sampled[-1]) & np.append(sampled[0], sampled)
    knots = np.flatnonzero(step | alone)
    accelerations = steps.accelerations.copy()
    for end, next_one in ((0, 1), (-1, -2)):  # a sample at an end has but one neighbour
        if alone[end] and not step[end]:
            accelerations[end] = accelerations[next_one]
    met = (trajectory.positions(trajectory.times[knots]), steps.velocities[knots])
    values = [
        np.concatenate([of_pieces, of_knots])
        for of_pieces, of_knots in zip(values, (*met, accelerations[knots]), strict=True)
    ]
    times = np.concatenate([trajectory.times[piece] + local, trajectory.times[knots]])
    # A knot comes after the piece that ends there, and before the one that begins there.
    rank = np.concatenate([2 * piece + 1, 2 * knots])
    order = np.lexsort((times, rank))
    return Instants(times[order], *(value[order] for value in values))


def _values(c: np.ndarray, local: np.ndarray) -> np.ndarray:
    """Polynomials (order, n, joints) at times (n,) within their pieces."""
    values = np.zeros(c.shape[1:])
    for row in c:
        values = values * local[:, None] + row
    return values
