# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Steps of velocity and acceleration where the pieces of a trajectory meet.

Straight lines between points have no acceleration, and an infinite one at the points. What is
meant is nearly always a motion that was sampled: so a step is taken to last from the middle of the
piece before to the middle of the next. A table of positions has then the accelerations and jerks
that its second and third differences give. Pieces longer than `LONGEST_STEP` are no samples but
lines that a controller will follow: a step lasts no longer than that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from collision_monitor.verification.trajectory import Trajectory

LONGEST_STEP = 0.1  # seconds


@dataclass(frozen=True, eq=False)
class Steps:
    """What happens at the knots, all (knots, joints), and at what times (knots,).

    ``velocity`` and ``acceleration`` are the steps themselves; ``velocities`` is the mean of both
    sides, ``extra`` what a step of velocity adds to the acceleration, ``accelerations`` the mean of
    both sides and that, ``jerks`` what the steps of acceleration and of velocity come to.
    """

    times: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    velocities: np.ndarray
    extra: np.ndarray
    accelerations: np.ndarray
    jerks: np.ndarray


def steps_of(trajectory: Trajectory, from_rest: bool = True) -> Steps:
    """Steps at all knots; ``from_rest``: before its start and after its end it stands still.

    Otherwise what is before and after is like the first and the last instant.
    """
    before, after = _both_sides(trajectory, from_rest)
    velocity, acceleration = after[0] - before[0], after[1] - before[1]
    gaps = np.diff(trajectory.times)
    around = np.concatenate([gaps[:1], 0.5 * (gaps[1:] + gaps[:-1]), gaps[-1:]])
    lasting = np.minimum(around, LONGEST_STEP)[:, None]
    extra = velocity / lasting
    jerks = acceleration / lasting
    change = np.diff(extra, axis=0) / np.minimum(gaps, LONGEST_STEP)[:, None]
    if not from_rest:
        change[[0, -1]] = 0.0  # nobody knows what the accelerations before and after are
    ends = np.zeros_like(change[:1])
    nearby = np.stack([np.concatenate([ends, change]), np.concatenate([change, ends])])
    larger = np.take_along_axis(nearby, np.abs(nearby).argmax(axis=0)[None], axis=0)[0]
    return Steps(
        trajectory.times,
        velocity,
        acceleration,
        0.5 * (before[0] + after[0]),
        extra,
        0.5 * (before[1] + after[1]) + extra,
        np.where(np.abs(larger) > np.abs(jerks), larger, jerks),
    )


def _both_sides(trajectory: Trajectory, from_rest: bool) -> tuple[np.ndarray, np.ndarray]:
    """(velocity and acceleration, knots, joints) just before and just after each knot."""
    gaps = np.diff(trajectory.times)[:, None]
    before = np.zeros((2, len(gaps) + 1, len(trajectory.joint_names)))
    after = np.zeros_like(before)
    for k in range(2):
        rate = trajectory.polynomial.derivative(k + 1).c
        after[k, :-1] = rate[-1]
        value = np.zeros_like(rate[0])
        for row in rate:
            value = value * gaps + row
        before[k, 1:] = value
    if not from_rest:
        before[:, 0], after[:, -1] = after[:, 0], before[:, -1]
    return before, after
