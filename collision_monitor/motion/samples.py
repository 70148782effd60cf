# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Motions that were sampled: splines through samples, and one table of several publishers.

Between its samples a recorded joint is taken to move along a straight line. The corners of these
lines are no accelerations of the joint, as long as its samples are close.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.interpolate import CubicSpline, PPoly

from collision_monitor.motion.trajectory import Motion, Trajectory

# Seconds. Pieces that last longer are not samples, but lines that a controller follows.
LONGEST_STEP = 0.1
_LONGEST_GAP = 2.0 * LONGEST_STEP  # of a publisher at 10 Hz that is late, or loses a message


def splined(
    trajectory: Trajectory, ends: str, longest: float = LONGEST_STEP, beside_rest: str = ""
) -> PPoly:
    """A straight trajectory with splines through the samples that are a joint's own.

    Args:
        trajectory: of straight lines.
        ends: of splines, as of ``scipy.interpolate.CubicSpline``.
        longest: joints with samples farther apart keep their lines, seconds.
        beside_rest: as ``ends``, beside a time at which the joint is held; by default as these.
    """
    times, lines = trajectory.times, trajectory.polynomial.c[-2:]
    c = np.zeros((4, *lines.shape[1:]))
    c[4 - len(lines) :] = lines
    for j, sampled in enumerate(_sampled(trajectory, longest)):
        if not sampled:
            continue
        at = times if trajectory.knots is None else times[trajectory.knots[:, j]]
        held = at[0] > times[0], at[-1] < times[-1]  # before and after its samples
        both = tuple(beside_rest or ends if rests else ends for rests in held)
        spline = CubicSpline(at, trajectory.positions(at)[:, j], bc_type=both)
        inside = (times[:-1] >= at[0]) & (times[:-1] < at[-1])
        c[3, :, j] = spline(np.clip(times[:-1], at[0], at[-1]))
        for power in range(1, 4):
            c[3 - power, :, j] = inside * spline(times[:-1], power) / math.factorial(power)
    return PPoly(c, times)


def _sampled(trajectory: Trajectory, longest: float) -> list[bool]:
    """Whether the samples of each joint are at most ``longest`` seconds apart."""
    sampled = []
    for j in range(len(trajectory.joint_names)):
        at = trajectory.times
        if trajectory.knots is not None:
            at = at[trajectory.knots[:, j]]
        sampled.append(len(at) >= 3 and float(np.diff(at).max()) <= longest)
    return sampled


def one_table(trajectory: Trajectory, lower: np.ndarray, upper: np.ndarray) -> Motion:
    """Waypoints of a recording of several publishers, as smooth as the joints were.

    At the samples of another publisher, the line between a joint's own samples would bend within
    the time between the two, such as a tenth of a millisecond. So the waypoints are the samples of
    the most frequent publisher, others only where it has none, and joints of others are read off
    splines through their samples. Samples of joints that have them more than 0.2 s apart are all
    waypoints, with lines between.

    Args:
        trajectory: of straight lines, with knots.
        lower: (joints,) a spline goes below it only where samples do, radians or metres.
        upper: (joints,) likewise.
    """
    times, knots = trajectory.times, trajectory.knots
    sampled = np.array(_sampled(trajectory, _LONGEST_GAP))
    chosen = knots[:, ~sampled].any(axis=1)
    publishers = np.unique(knots[:, sampled], axis=1).T
    for samples in sorted(publishers, key=lambda samples: -samples.sum()):
        at, there = times[samples], times[chosen]
        before, after = np.append(-np.inf, at[:-1]), np.append(at[1:], np.inf)
        between = np.searchsorted(there, after, "left") - np.searchsorted(there, before, "right")
        chosen[np.flatnonzero(samples)[between == 0]] = True
    gaps = np.diff(times[chosen])
    for end, gap, side in ((0, gaps[:1], times[chosen][:1]), (-1, gaps[-1:], times[chosen][-1:])):
        chosen[end] |= bool((np.abs(times[end] - side) >= 0.5 * gap).all())
    rows = splined(trajectory, "not-a-knot", _LONGEST_GAP, "clamped")(times[chosen])
    for j in np.flatnonzero(sampled):
        own = trajectory.positions(times[knots[:, j]])[:, j]
        rows[:, j] = np.clip(rows[:, j], min(own.min(), lower[j]), max(own.max(), upper[j]))
    return Motion(trajectory.joint_names, times[chosen], rows)
