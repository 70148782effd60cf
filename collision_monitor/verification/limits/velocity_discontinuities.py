# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Steps of velocity and acceleration where the pieces of a trajectory meet.

Straight lines between points have no acceleration, and an infinite one at the points. Such a motion
was nearly always sampled, so a step is assumed to last from the middle of the previous piece to the
middle of the next. The accelerations and jerks of a table of positions are then those of its second
and third differences. Pieces longer than `LONGEST_STEP` are not samples but lines that a controller
follows: a step lasts no longer than that.

In a recording, a joint may have been sampled only at every second or third knot; the other knots
come from other publishers. Then only its own knots count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial.polynomial import polyval

from collision_monitor.motion.trajectory import Trajectory

LONGEST_STEP = 0.1  # seconds
_UNEVEN = 2.0  # pieces whose lengths differ by more are not two of one row of samples
_APART = 8  # knots between two of its own at most, for a joint that is sampled among others
_ROUNDING = 1e-9  # of the largest rate of a joint


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

    @property
    def stepping(self) -> np.ndarray:
        """(knots,) bool: where the velocity of a joint steps by more than rounding."""
        fastest = np.abs(self.velocities).max(initial=0.0)
        return (np.abs(self.velocity) > _ROUNDING * (1.0 + fastest)).any(axis=1)


def steps_of(trajectory: Trajectory, from_rest: bool = True) -> Steps:
    """Steps at all knots; ``from_rest``: before its start and after its end it stands still.

    Otherwise it moves before and after as at the first and the last instant.
    """
    before, after = _both_sides(trajectory, from_rest)
    velocity, acceleration = after[0] - before[0], after[1] - before[1]
    extra, jerks = np.zeros_like(velocity), np.zeros_like(velocity)
    means = 0.5 * (before + after)
    accelerations = means[1].copy()
    for j in range(velocity.shape[1]):
        own = _own_knots(velocity[:, j], np.abs(after[0, :, j]).max())
        row = np.s_[own, j]
        gaps = np.diff(trajectory.times[own])
        lasting = _lasting(gaps)
        extra[row] = velocity[row] / lasting
        jerks[:, j] = acceleration[:, j] / _lasting(np.diff(trajectory.times))
        change = np.diff(extra[row]) / np.minimum(gaps, LONGEST_STEP)
        if not from_rest:
            change[[0, -1]] = 0.0  # accelerations before and after are unknown
        nearby = np.stack([np.append(0.0, change), np.append(change, 0.0)])
        larger = nearby[np.abs(nearby).argmax(axis=0), np.arange(len(own))]
        jerks[row] = np.where(np.abs(larger) > np.abs(jerks[row]), larger, jerks[row])
        # The acceleration of a joint continues between its own knots.
        accelerations[:, j] += np.interp(trajectory.times, trajectory.times[own], extra[row])
    return Steps(
        trajectory.times, velocity, acceleration, means[0], extra, accelerations, jerks
    )


def _own_knots(velocity: np.ndarray, fastest: float) -> np.ndarray:
    """Knots at which a joint was sampled: all, or every second or so if it steps at these alone."""
    everyone = np.arange(len(velocity))
    real = np.flatnonzero(np.abs(velocity) > _ROUNDING * (1e-3 + fastest))
    if len(real) < 4 or not 2 <= np.median(np.diff(real)) <= _APART:
        return everyone
    return np.unique(np.concatenate([everyone[:1], real, everyone[-1:]]))


def _lasting(gaps: np.ndarray) -> np.ndarray:
    """Seconds (knots,) that a step between pieces of ``gaps`` seconds is taken to last."""
    before, after = np.append(gaps[0], gaps), np.append(gaps, gaps[-1])
    shorter, mean = np.minimum(before, after), 0.5 * (before + after)
    even = np.maximum(before, after) <= _UNEVEN * shorter
    return np.minimum(np.where(even, mean, shorter), LONGEST_STEP)


def _both_sides(trajectory: Trajectory, from_rest: bool) -> tuple[np.ndarray, np.ndarray]:
    """(velocity and acceleration, knots, joints) just before and just after each knot."""
    gaps = np.diff(trajectory.times)[:, None]
    before = np.zeros((2, len(gaps) + 1, len(trajectory.joint_names)))
    after = np.zeros_like(before)
    for k in range(2):
        rate = trajectory.polynomial.derivative(k + 1).c
        after[k, :-1] = rate[-1]
        before[k, 1:] = polyval(gaps, rate[::-1], tensor=False)
    if not from_rest:
        before[:, 0], after[:, -1] = after[:, 0], before[:, -1]
    return before, after
