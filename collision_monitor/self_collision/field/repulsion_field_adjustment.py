# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The published adjustment of two arms' motion, with its printed errors mended.

Wu Changzheng et al., J. Shanghai Jiao Tong University 52(1), 2018, 45-53: where the next instant
would bring a right link nearer than d_saf to a left one, the right arm is moved along the
common normal n by its part of d_saf - d, then the left arm by the rest; the colliding link nearest
the base first, repeated until the index F of the repulsion field is zero. Only the right arm
against the left. What was mended, and why:

- where tips that keep their pose leave no way, all is done again with tips let go ("else the
  adjustment goes on outwards");
- n is a unit vector, and defined where links touch (`pushing.direction`);
- the left arm moves along +n, away from the right one (`pushing.Clearing`);
- shares stay in [0, 1], are one half where neither approaches, and are those of the desired motion
  (`pushing.share`, `Clearing.share`);
- each waypoint starts from the last adjusted pose and walks towards the desired one in steps of
  a degree, pushed back as it goes. Started at each desired pose, neighbouring waypoints are pushed
  to different sides of the other arm, and the motion between them goes through it;
- the change is smoothed along the motion and pushed out again, in turns: the printed rule looks
  at one instant only, and makes jumps where it begins and ends;
- F = 0 at the waypoints does not make it so in between: waypoints keep 2.5 mm more, and
  more yet where the motion between them is seen to dip below d_saf.
"""

from __future__ import annotations

import math

import numpy as np

from collision_monitor.errors import AdjustmentError
from collision_monitor.self_collision.field.pushing import ROUNDS, Clearing
from collision_monitor.self_collision.margins import Problem

_STEP = np.radians(1.0)  # of a walk, rad (or metres of a slide)
_BUFFER = 0.0025  # m beyond d_saf at a waypoint, for dips between waypoints
_SEEN = 0.0003  # m: a dip is looked for at samples, and may be this much deeper
_SAMPLE = np.radians(0.5)  # between samples, rad (or metres)
_TURNS = 20  # of smoothing and pushing out
_SWEEPS = 8  # of smoothing in each
_REPAIRS = 12  # times that buffers grow where dips are seen


def adjust_published(problem: Problem) -> np.ndarray:
    """The desired motion with F = 0 at every waypoint, (n, nq) radians and metres.

    Waypoints where nothing is near stay as they are, and so do the first and the last. Between
    waypoints, linear in the joints, no pair was seen below d_saf at samples half a
    degree apart; that is no proof, and the caller has to certify it.

    Raises:
        AdjustmentError: naming waypoint, time, pair and distance: the first or the last waypoint is
            too near already, the arms cannot be parted, or come too near between waypoints.
    """
    try:
        return _Adjustment(problem, hold_tips=True).run()
    except _NotParted:
        pass
    return _Adjustment(problem, hold_tips=False).run()


class _NotParted(AdjustmentError):
    """What another way of pushing may yet solve."""


class _Adjustment:
    def __init__(self, problem: Problem, hold_tips: bool) -> None:
        self._problem = problem
        self._desired = np.asarray(problem.desired, dtype=float)
        # Smoothing leads beyond joint limits where the desired motion is uneven.
        self._least = np.minimum(problem.model.lower, self._desired)
        self._largest = np.maximum(problem.model.upper, self._desired)
        self._clearing = Clearing(problem, hold_tips)
        self._pairs = self._clearing.pairs
        self._safe = problem.margins.safe[self._pairs.pair]
        self._gaps = np.array([self._pairs.gaps(q).copy() for q in self._desired])
        self._buffers = np.full(len(self._desired), _BUFFER)
        arms = zip(self._clearing.arms, problem.columns, strict=True)
        self._free = np.zeros(self._desired.shape[1], dtype=bool)
        for arm, columns in arms:
            self._free[columns] = arm.may_move

    def run(self) -> np.ndarray:
        for waypoint, which in ((0, "first"), (len(self._desired) - 1, "last")):
            if np.any(self._gaps[waypoint] < self._safe):
                reason = f"the {which} waypoint is to be kept"
                raise self._error(AdjustmentError, waypoint, self._desired[waypoint], reason)
        if not len(self._safe):
            return self._desired.copy()
        rows = self._smoothed(self._walk())
        for _ in range(_REPAIRS):
            dips = self._dips(rows)
            if not np.any(dips > 0.0):
                return rows
            # Both ends of an interval with a dip keep more, and may have to be adjusted now.
            deeper = np.maximum(np.r_[dips, 0.0], np.r_[0.0, dips])
            self._buffers += np.where(deeper > 0.0, deeper + _SEEN, 0.0)
            rows = self._smoothed(rows)
        dips = self._dips(rows) - _SEEN
        if np.any(dips > 0.0):
            raise self._error_between(rows, int(np.argmax(dips > 0.0)))
        return rows

    def _target(self, waypoint: int) -> np.ndarray:
        """Distances (m,) to keep at a waypoint: d_saf and a buffer.

        Where the desired motion has a part of the buffer already, it is enough:
        a waypoint at which nothing is too near stays as it is.
        """
        gaps, safe = self._gaps[waypoint], self._safe
        wanted = safe + self._buffers[waypoint]
        grown = self._buffers[waypoint] > _BUFFER
        return np.where((gaps >= safe) & (gaps < wanted) & (not grown), gaps, wanted)

    def _walk(self) -> np.ndarray:
        """Every waypoint from the last adjusted one, towards the desired one."""
        desired, free = self._desired, self._free
        q = desired[0].copy()
        rows = [q]
        for k in range(1, len(desired)):
            target = self._target(k)
            steps = math.ceil(np.abs(desired[k] - q).max() / _STEP - 1e-9)
            start = desired[k - 1]
            for i in range(steps):
                ahead = desired[k] - q
                ahead *= min(1.0, _STEP / max(np.abs(ahead[free]).max(initial=0.0), 1e-300))
                onwards = start + (i + 1) / steps * (desired[k] - start)
                q = self._cleared(np.where(free, q + ahead, onwards), k, target)
            if np.abs(desired[k] - q).max() < 1e-12:
                q = desired[k].copy()
            rows.append(q)
        if not np.array_equal(q, desired[-1]):
            reason = "from here the last waypoint is on the other side; the arms cannot pass"
            raise self._error(_NotParted, len(desired) - 1, q, reason)
        return np.array(rows)

    def _smoothed(self, rows: np.ndarray) -> np.ndarray:
        """The change smoothed where there is one and pushed out again, in turns."""
        desired = self._desired
        for _ in range(_TURNS):
            short = [np.any(self._pairs.gaps(q) < self._target(k)) for k, q in enumerate(rows)]
            changed = (rows != desired).any(axis=1) | short
            changed[[0, -1]] = False
            change = rows - desired
            for _ in range(_SWEEPS):
                mean = 0.25 * change[:-2] + 0.5 * change[1:-1] + 0.25 * change[2:]
                change[1:-1] = np.where(changed[1:-1, None], mean, 0.0)
            rows = desired.copy()
            smooth = np.clip(desired + change, self._least, self._largest)
            for k in np.flatnonzero(changed):
                rows[k] = self._cleared(smooth[k], k, self._target(k))
        return rows

    def _cleared(self, q: np.ndarray, waypoint: int, target: np.ndarray) -> np.ndarray:
        cleared = self._clearing.cleared(q, waypoint, target)
        if cleared is None:
            reason = f"the arms are not parted by {ROUNDS} pushes"
            raise self._error(_NotParted, waypoint, q, reason)
        return cleared

    def _dips(self, rows: np.ndarray) -> np.ndarray:
        """By how much (n - 1,) each interval comes below what it has to keep, at samples."""
        dips, enough = np.zeros(len(rows) - 1), float(self._safe.max()) + _SEEN
        for k, (a, b) in enumerate(zip(rows[:-1], rows[1:], strict=True)):
            count = max(2, math.ceil(np.abs(b - a).max() / _SAMPLE))
            least = min(
                float((self._pairs.gaps(a + i / count * (b - a), enough) - self._safe).min())
                for i in range(1, count)
            )
            dips[k] = _SEEN - least
        return dips

    # -- errors ----------------------------------------------------------------------

    def _error(
        self, kind: type[AdjustmentError], waypoint: int, q: np.ndarray, reason: str
    ) -> AdjustmentError:
        return self._named(kind, waypoint, float(self._problem.times[waypoint]), q, reason)

    def _error_between(self, rows: np.ndarray, k: int) -> AdjustmentError:
        times = self._problem.times
        parts = np.linspace(0.0, 1.0, 41)
        samples = rows[k] + parts[:, None] * (rows[k + 1] - rows[k])
        worst = int(np.argmin([(self._pairs.gaps(q) - self._safe).min() for q in samples]))
        time = float(times[k] + parts[worst] * (times[k + 1] - times[k]))
        return self._named(_NotParted, k, time, samples[worst], "too near between two waypoints")

    def _named(
        self, kind: type[AdjustmentError], waypoint: int, time: float, q: np.ndarray, reason: str
    ) -> AdjustmentError:
        gaps = self._pairs.gaps(q)
        k = int(np.argmin(gaps - self._safe))
        distance, pair = float(gaps[k]), self._problem.model.pairs[self._pairs.pair[k]]
        danger = float(self._problem.margins.danger[self._pairs.pair[k]])
        below = f", below d_dan {danger:.4f} m" if distance < danger else ""
        return kind(
            f"waypoint {waypoint} at {time:g} s: {pair[0]} and {pair[1]} are {distance:.4f} m apart"
            f"{below}; {self._safe[k]:.4f} m is to be kept: {reason}",
            waypoint,
            time,
            pair,
            distance,
        )
