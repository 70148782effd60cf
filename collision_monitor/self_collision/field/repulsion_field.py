# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The published adjustment of a motion of two arms, with its printed errors corrected.

`Clearing` (in `clearing`) pushes two arms apart in one configuration, link by link until F = 0;
`adjust_published` does so along a motion.

Wu Changzheng et al., J. Shanghai Jiao Tong University 52(1), 2018, 45-53: if the next step would
bring a link of the right arm closer than d_saf to one of the left arm, the right arm moves along
the common normal n by its share of d_saf - d, then the left arm by the rest. The link nearest to
the base comes first, and this repeats until the index F of the repulsion field is zero. Only pairs
of the right and left arm are considered. Corrections:

- if there is no solution with fixed tip poses, everything is repeated with free tips ("else the
  adjustment goes on outwards");
- n is a unit vector, and is also defined if links touch (`common_normal`);
- the left arm moves along +n, away from the right one (`clear_pose`);
- shares are in [0, 1], are one half if neither arm approaches, and are those of the desired motion
  (`share`);
- each waypoint starts from the last adjusted pose and moves towards the desired one in steps of a
  degree, with a push after each. If it started at the desired pose, neighbouring waypoints could be
  pushed to different sides of the other arm, with a collision between them;
- the change is smoothed along the motion and pushed again, alternately: the printed rule considers
  single instants, and causes jumps at the start and end of a change;
- F = 0 at the waypoints does not imply F = 0 between them: waypoints keep 2.5 mm more, and even
  more if a dip below d_saf is found between them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from collision_monitor.common.text import told_apart
from collision_monitor.errors import AdjustmentError
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.self_collision.arms import Arm
from collision_monitor.self_collision.field.clearing import ROUNDS, Clearing
from collision_monitor.self_collision.margins import Margins, Problem

_STEP = np.radians(1.0)  # step towards a waypoint, rad (metres for prismatic joints)
_BUFFER = 0.0025  # m beyond d_saf at a waypoint, for dips between waypoints
_DIP_TOLERANCE = 0.0003  # m by which a dip may be deeper than at the samples
_SAMPLE = np.radians(0.5)  # distance of samples, rad (metres for prismatic joints)
_TURNS = 20  # alternations of smoothing and pushing
_SWEEPS = 8  # smoothing passes in each
_REPAIRS = 12  # number of times that buffers grow at dips


def adjust_published(problem: Problem) -> np.ndarray:
    """The desired motion with F = 0 at every waypoint, (n, nq) radians and metres.

    Waypoints without near pairs are not changed, nor are the first and the last. Between waypoints
    the motion is linear in the joints, and no pair is below d_saf at samples half a degree apart.
    This is not a proof: the caller has to certify the result.

    Raises:
        AdjustmentError: with waypoint, time, pair and distance: the first or the last waypoint is
            too close already, the arms cannot be separated, or come too close between waypoints.
    """
    try:
        return _Adjustment(problem, hold_tips=True).run()
    except _NotSeparated:
        pass
    return _Adjustment(problem, hold_tips=False).run()


def prepare_field(model: CollisionModel, arms: Sequence[Arm]) -> None:
    """Compile what the first adjustment of two ``arms`` needs."""
    rest = np.clip(0.0, model.lower, model.upper)
    columns = tuple(
        np.array([model.joint_names.index(name) for name in arm.joint_names]) for arm in arms
    )
    none = np.zeros(len(model.pairs))
    still = np.array([rest, rest])
    clearing = Clearing(
        Problem(model, tuple(arms), np.array([0.0, 1.0]), still, columns, Margins(none, none))
    )
    pairs = clearing.pairs
    clearing.cleared(rest, 1, pairs.gaps(rest) + _BUFFER)
    pairs.spare(still, none[pairs.pair], 0.0, _SAMPLE)


class _NotSeparated(AdjustmentError):
    """A failure that pushing with free tips may solve."""


class _Adjustment:
    def __init__(self, problem: Problem, hold_tips: bool) -> None:
        self._problem = problem
        self._desired = np.ascontiguousarray(problem.desired, dtype=float)
        # Smoothing exceeds joint limits if the desired motion is uneven.
        lower, upper = problem.model.position_limits
        self._least = np.minimum(lower, self._desired)
        self._largest = np.maximum(upper, self._desired)
        self._clearing = Clearing(problem, hold_tips)
        self._pairs = self._clearing.pairs
        self._safe = problem.margins.safe[self._pairs.pair]
        self._gaps = np.array([self._pairs.gaps(q) for q in self._desired])
        self._buffers = np.full(len(self._desired), _BUFFER)

    def run(self) -> np.ndarray:
        for waypoint, which in ((0, "first"), (len(self._desired) - 1, "last")):
            if np.any(self._gaps[waypoint] < self._safe):
                reason = f"the {which} waypoint may not be changed"
                raise self._error(AdjustmentError, waypoint, self._desired[waypoint], reason)
        if not len(self._safe):
            return self._desired.copy()
        adjusted = self._smoothed(self._walk())
        for _ in range(_REPAIRS):
            dips = self._dips(adjusted)
            if not np.any(dips > 0.0):
                return adjusted
            # Both ends of an interval with a dip get a larger buffer, and may need an adjustment
            # now.
            deeper = np.maximum(np.r_[dips, 0.0], np.r_[0.0, dips])
            self._buffers += np.where(deeper > 0.0, deeper + _DIP_TOLERANCE, 0.0)
            adjusted = self._smoothed(adjusted)
        dips = self._dips(adjusted) - _DIP_TOLERANCE
        if np.any(dips > 0.0):
            raise self._error_between(adjusted, int(np.argmax(dips > 0.0)))
        return adjusted

    def _targets(self) -> np.ndarray:
        """Required distances (n, m) at each waypoint, metres: d_saf and a buffer.

        Any part of the buffer that the desired motion has suffices: a waypoint without pairs that
        are too close is not changed.
        """
        gaps, safe, buffers = self._gaps, self._safe, self._buffers[:, None]
        wanted = safe + buffers
        within = (gaps >= safe) & (gaps < wanted) & (buffers <= _BUFFER)
        return np.where(within, gaps, wanted)

    def _walk(self) -> np.ndarray:
        """Adjust each waypoint, starting at the previous adjusted one, towards the desired one."""
        desired, free, targets = self._desired, self._clearing.may_move, self._targets()
        q = desired[0].copy()
        adjusted = [q]
        for waypoint in range(1, len(desired)):
            steps = math.ceil(np.abs(desired[waypoint] - q).max() / _STEP - 1e-9)
            start = desired[waypoint - 1]
            for i in range(steps):
                ahead = desired[waypoint] - q
                ahead *= min(1.0, _STEP / max(np.abs(ahead[free]).max(initial=0.0), 1e-300))
                onwards = start + (i + 1) / steps * (desired[waypoint] - start)
                q = np.where(free, q + ahead, onwards)
                q = self._cleared(q, waypoint, targets[waypoint])
            if np.abs(desired[waypoint] - q).max() < 1e-12:
                q = desired[waypoint].copy()
            adjusted.append(q)
        if not np.array_equal(q, desired[-1]):
            reason = "the last waypoint cannot be reached: the arms block each other"
            raise self._error(_NotSeparated, len(desired) - 1, q, reason)
        return np.array(adjusted)

    def _smoothed(self, adjusted: np.ndarray) -> np.ndarray:
        """Alternately smooth the change, where there is one, and push again."""
        desired, targets = self._desired, self._targets()
        short = (self._gaps < targets).any(axis=1)  # of the desired motion
        for _ in range(_TURNS):
            changed = (adjusted != desired).any(axis=1) | short
            changed[[0, -1]] = False
            change = adjusted - desired
            for _ in range(_SWEEPS):
                mean = 0.25 * change[:-2] + 0.5 * change[1:-1] + 0.25 * change[2:]
                change[1:-1] = np.where(changed[1:-1, None], mean, 0.0)
            adjusted = desired.copy()
            smooth = np.clip(desired + change, self._least, self._largest)
            for waypoint in np.flatnonzero(changed):
                adjusted[waypoint] = self._cleared(smooth[waypoint], waypoint, targets[waypoint])
        return adjusted

    def _cleared(self, q: np.ndarray, waypoint: int, target: np.ndarray) -> np.ndarray:
        cleared = self._clearing.cleared(q, waypoint, target)
        if cleared is None:
            reason = f"the arms are still too close after {ROUNDS} iterations"
            raise self._error(_NotSeparated, waypoint, q, reason)
        return cleared

    def _dips(self, adjusted: np.ndarray) -> np.ndarray:
        """Metres (n - 1,) by which each interval is below its required distances, at samples."""
        enough = float(self._safe.max()) + _DIP_TOLERANCE
        return _DIP_TOLERANCE - self._pairs.spare(adjusted, self._safe, enough, _SAMPLE)

    # -- errors --

    def _error(
        self, kind: type[AdjustmentError], waypoint: int, q: np.ndarray, reason: str
    ) -> AdjustmentError:
        return self._named(kind, waypoint, float(self._problem.times[waypoint]), q, reason)

    def _error_between(self, adjusted: np.ndarray, interval: int) -> AdjustmentError:
        times = self._problem.times
        parts = np.linspace(0.0, 1.0, 41)
        samples = adjusted[interval] + parts[:, None] * (
            adjusted[interval + 1] - adjusted[interval]
        )
        worst = int(np.argmin([(self._pairs.gaps(q) - self._safe).min() for q in samples]))
        time = float(times[interval] + parts[worst] * (times[interval + 1] - times[interval]))
        return self._named(
            _NotSeparated, interval, time, samples[worst], "too close between waypoints"
        )

    def _named(
        self, kind: type[AdjustmentError], waypoint: int, time: float, q: np.ndarray, reason: str
    ) -> AdjustmentError:
        gaps = self._pairs.gaps(q)
        nearest = int(np.argmin(gaps - self._safe))
        distance, pair = float(gaps[nearest]), self._problem.model.pairs[self._pairs.pair[nearest]]
        danger = float(self._problem.margins.danger[self._pairs.pair[nearest]])
        below = f", below d_dan {danger:.4f} m" if distance < danger else ""
        apart = told_apart(
            distance, self._safe[nearest], f"{{}} m apart{below}; {{}} m is required"
        )
        return kind(
            f"waypoint {waypoint} at {time:g} s: {pair[0]} and {pair[1]} are {apart}: {reason}",
            waypoint,
            time,
            pair,
            distance,
        )
