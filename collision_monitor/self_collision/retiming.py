# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Retiming of a motion that exceeds joint limits; waypoints are never reached earlier.

A motion is linear between its waypoints. On interval k every joint has a constant velocity v_k; its
acceleration at the waypoint between the intervals k and k + 1 is the finite difference (v_{k+1} -
v_k) / ((dt_k + dt_{k+1}) / 2), or over a shorter time where `verify` assumes that: accelerations
and jerks are measured as there (`steps_of`). Velocities and accelerations are kept within limits,
and jerks if limits are given.

The path coordinate s is the desired time and its rate r = ds/dt is at most 1, so no interval
becomes shorter than desired. With r_k on interval k, at its middle, dt_k = ds_k / r_k and
v_k = v_desired_k r_k. Rates come from TOPP-RA (Pham and Pham, "A New Approach to Time-Optimal
Path Parameterization Based on Reachability Analysis", IEEE T-RO 34(3), 2018) in the package
toppra: its state x = r^2 at the middles, its input u the constant acceleration of s in between.

Intervals of a slowed motion last whole nanoseconds, so that it is the same in messages and files.
Rounding changes accelerations and jerks, so they are kept within a part of their limits.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from collision_monitor.common.lazy_imports import optional_dependency
from collision_monitor.common.limits import SIX_DIGITS
from collision_monitor.common.text import shortened
from collision_monitor.geometry.segments import ROUNDING
from collision_monitor.motion.trajectory import NANO, SHORTEST, Motion, Trajectory
from collision_monitor.self_collision.settings import limit_of
from collision_monitor.verification.joint_limits_check import (
    LONGEST_STEP,
    TOLERANCE,
    Steps,
    steps_of,
)

logger = logging.getLogger(__name__)

_FULL = 1.0 - SIX_DIGITS  # higher rates count as 1: the solver stops just below it
_ROUNDS = 12
_END = 2  # waypoints at each end whose jerk includes a start or stop at speed
_SMOOTHINGS, _JERK_ROUNDS = 4, 60  # rounds of slowing for jerks: around waypoints, and in all
# Part of acceleration and jerk limits that a slowed motion uses: the rest is room for rounding by a
# nanosecond, enough for a joint at its velocity limit, with intervals of 0.4 ms and more.
_USED = 0.995


def retime(
    times: np.ndarray,
    positions: np.ndarray,
    velocity_limits: np.ndarray | float,
    acceleration_limits: np.ndarray | float,
    jerk_limits: np.ndarray | float = np.inf,
    desired: np.ndarray | None = None,
) -> np.ndarray:
    """Times of the same waypoints such that limits are kept; none is earlier than before.

    Every interval is at least as long as before; a motion within its limits keeps its times
    exactly. The velocity at both ends is kept if the limits allow. At an end where ``desired``
    keeps the limits from standstill, or where all its velocities grow from 0 (or fall to 0), the
    motion keeps them from standstill, too. The intervals of a slowed motion last whole nanoseconds,
    except if they are too short for that (below half a millisecond), or beyond some days.

    Args:
        times: (n,) s, increasing, of a motion that was checked (`preparation.checked`).
        positions: (n, joints) radians or metres, linear in between.
        velocity_limits: (joints,) or one for all, rad/s or m/s, above 0. Infinite: no limit.
        acceleration_limits: likewise, rad/s^2 or m/s^2, of the finite differences as `verify`
            measures them.
        jerk_limits: likewise, rad/s^3 or m/s^3, measured as `verify` does
            (`verification.joint_limits_check.steps_of`), from standstill to standstill. If the
            given motion exceeds a limit at a waypoint because it starts or ends at speed, its own
            jerk is the limit there.
        desired: (n, joints) the motion before it was adjusted, with these times; by default
            ``positions``.

    Returns:
        (n,) s; the first is that of ``times``.

    Raises:
        MissingDependencyError: toppra is needed, but not installed.
    """
    fastest, hardest, bound = (
        np.broadcast_to(limits, positions.shape[1])
        for limits in (velocity_limits, acceleration_limits, jerk_limits)
    )
    if len(times) < 2:
        return times.copy()
    spans = np.diff(times)
    rates = np.diff(positions, axis=0) / spans[:, None]
    allowed = np.minimum(1.0, 1.0 / np.maximum(_worst(rates, fastest), 1e-300))
    desired = positions if desired is None else np.asarray(desired, dtype=float)
    wanted = np.diff(desired, axis=0) / spans[:, None]
    growing = _growing(wanted)
    rests = growing | _rests(spans, wanted, hardest)
    for k in np.array([0, -1])[rests]:
        allowed[k] = min(allowed[k], _rate_from_rest(spans[k], _worst(rates[[k]], hardest)[0]))
    measured = _Measured(times, positions, hardest, bound, desired, rests, growing)
    if (allowed >= 1.0 - ROUNDING).all() and measured.excess(spans) <= 1.0 + ROUNDING:
        return times.copy()
    r = allowed.copy()
    r[r >= 1.0 - ROUNDING] = 1.0
    if measured.accelerations(spans / r).max() > _USED:
        r = _within_accelerations(spans, rates, allowed, hardest, measured)
    if measured.jerks(spans / r).max() > _USED:
        r = _within_jerks(spans, r, measured)
    durations = spans / r
    resolution = 4.0 * float(np.spacing(np.abs(times).max() + durations.sum()))
    whole = np.maximum(np.ceil((durations - resolution) * NANO), 1.0)
    # Times with a coarser resolution cannot be whole nanoseconds.
    if resolution > SHORTEST or measured.excess(whole / NANO) > 1.0:
        later = np.concatenate([[0.0], np.cumsum(durations - spans)])
        return _not_shorter(times + later, durations)
    new = times[0] + np.concatenate([[0.0], np.cumsum(whole) / NANO])
    return _not_shorter(np.where(np.abs(new - times) <= resolution, times, new), spans)


def _worst(values: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Largest |value| / limit of each row of (n, joints)."""
    return (np.abs(values) / limits).max(axis=1, initial=0.0)


def _rests(spans: np.ndarray, rates: np.ndarray, hardest: np.ndarray) -> np.ndarray:
    """Whether a motion keeps accelerations at its start and at its end (2,), from standstill."""
    ends = [0, -1]
    return _worst(rates[ends], hardest) <= np.minimum(spans[ends], LONGEST_STEP)


def _growing(rates: np.ndarray) -> np.ndarray:
    """Whether all velocities grow from 0 at the start, and fall to 0 at the end (2,)."""
    if len(rates) < 2:
        return np.zeros(2, dtype=bool)
    ends, inner = rates[[0, -1]], rates[[1, -2]]
    slack = SIX_DIGITS * np.abs(rates).max(initial=0.0)
    return (np.abs(ends) <= np.abs(inner - ends) + slack).all(axis=1)


def _rate_from_rest(span: float, worst: float) -> float:
    """Largest rate in an interval at an end, from standstill; see `steps_of`.

    ``worst``: largest velocity of a joint divided by its acceleration limit, s.
    """
    if worst <= min(span, LONGEST_STEP):
        return 1.0
    rate = math.sqrt(span / worst)
    return (1.0 - ROUNDING) * (rate if span <= rate * LONGEST_STEP else LONGEST_STEP / worst)


def _within_accelerations(
    spans: np.ndarray,
    rates: np.ndarray,
    allowed: np.ndarray,
    hardest: np.ndarray,
    measured: _Measured,
) -> np.ndarray:
    """Rates r (intervals,) that keep accelerations; ``allowed``: rates that keep velocities.

    For intervals of different or long durations the discrete problem differs from that of toppra:
    it is solved again with tighter limits where they are exceeded; finally the whole motion is
    slowed down if necessary.
    """
    spare = np.full(len(spans) - 1, _USED)
    for _ in range(_ROUNDS):
        r = _toppra_rates(spans, rates, allowed, hardest, spare)
        r = np.minimum(r, allowed)
        r[r >= _FULL] = 1.0
        excess = measured.accelerations(spans / r)[1:-1] / _USED
        if excess.max() <= 1.0:
            return r
        over = np.flatnonzero(excess > 1.0)
        mean = (spans[1:] / r[1:] + spans[:-1] / r[:-1]) / 2.0
        used = _worst(np.diff(rates * r[:, None], axis=0) / mean[:, None], hardest)
        spare[over] = np.minimum(spare, used)[over] * 0.99 / excess[over]
    logger.info("retimed with %.3g of the acceleration limits exceeded, then slowed", excess.max())
    return r / (excess.max() * (1.0 + ROUNDING))


class _Measured:
    """Accelerations and jerks of a motion for different times, relative to limits, as in `verify`.

    ``accelerations`` are 0 at both ends.
    """

    def __init__(
        self,
        times: np.ndarray,
        positions: np.ndarray,
        hardest: np.ndarray,
        jerk_limits: np.ndarray,
        desired: np.ndarray,
        rests: np.ndarray,
        growing: np.ndarray,
    ) -> None:
        self._names = tuple(map(str, range(positions.shape[1])))
        self._positions, self._hardest = positions, hardest
        self._jerk_limits = np.repeat(jerk_limits[None, :], len(times), axis=0)
        self.has_jerk_limits = bool(np.isfinite(jerk_limits).any())
        if self.has_jerk_limits:
            spans = np.diff(times)
            own, wanted = (np.abs(self._steps(spans, rows).jerks) for rows in (positions, desired))
            ends = slice(None, _END), slice(-_END, None)
            for end, at_rest, grows in zip(ends, rests, growing, strict=True):
                if not grows and (not at_rest or (wanted[end] > jerk_limits).any()):
                    allowed = np.maximum(self._jerk_limits[end], own[end] / _USED)
                    self._jerk_limits[end] = allowed

    def _steps(self, spans: np.ndarray, positions: np.ndarray) -> Steps:
        times = np.concatenate([[0.0], np.cumsum(spans)])
        return steps_of(Trajectory.through(self._names, times, positions))

    def accelerations(self, spans: np.ndarray) -> np.ndarray:
        """Largest ratio of acceleration and limit at each waypoint; intervals last ``spans`` s."""
        out = _worst(self._steps(spans, self._positions).extra, self._hardest)
        out[[0, -1]] = 0.0
        return out

    def jerks(self, spans: np.ndarray) -> np.ndarray:
        """Likewise of jerks."""
        if not self.has_jerk_limits:
            return np.zeros(len(spans) + 1)
        return (np.abs(self._steps(spans, self._positions).jerks) / self._jerk_limits).max(axis=1)

    def excess(self, spans: np.ndarray) -> float:
        """Largest of these ratios."""
        return float(max(self.accelerations(spans).max(), self.jerks(spans).max()))


def _within_jerks(spans: np.ndarray, r: np.ndarray, measured: _Measured) -> np.ndarray:
    """Rates (intervals,) of at most ``r`` that also keep the jerks.

    The motion is slowed down around the waypoints that exceed them, with rates smoothed over some
    time; then as a whole if necessary. Smoothing times are two mean intervals, and doubled up to
    half of the motion; the one with the shortest motion is used.
    """
    candidates, width = [], 2.0 * spans.mean()
    while not candidates or width < 0.5 * spans.sum():
        slow = r
        for attempt in range(_JERK_ROUNDS):
            times = spans / slow
            jerks, accelerations = (
                ratios / _USED for ratios in (measured.jerks(times), measured.accelerations(times))
            )
            over = np.maximum(jerks, np.sqrt(accelerations))
            if over.max() <= 1.0:
                break
            if attempt < _SMOOTHINGS:
                factor = (1.0 - ROUNDING) * np.maximum(over, 1.0) ** (-1.0 / 3.0)
                nearby = np.pad(factor, 1, mode="edge")
                each = np.min([nearby[i : i + len(slow)] for i in range(4)], axis=0)
                middles = np.cumsum(times) - 0.5 * times
                slow = _smoothed(middles, slow * each, width)
            else:
                most = max(jerks.max(), accelerations.max() ** 1.5)
                slow = slow * (1.0 - ROUNDING) * most ** (-1.0 / 3.0)
        candidates.append(slow)
        width *= 2.0
    return min(candidates, key=lambda slow: float((spans / slow).sum()))


def _smoothed(at: np.ndarray, r: np.ndarray, width: float) -> np.ndarray:
    """Moving minimum, then moving mean over ``width`` seconds, of rates r (n,) at times (n,)."""
    first, last = (np.searchsorted(at, at + half) for half in (-0.5 * width, 0.5 * width + 1e-12))
    windows = [slice(a, max(b, k + 1)) for k, (a, b) in enumerate(zip(first, last, strict=True))]
    lowest = np.array([r[window].min() for window in windows])
    return np.minimum(r, [lowest[window].mean() for window in windows])


def _toppra_rates(
    spans: np.ndarray,
    rates: np.ndarray,
    allowed: np.ndarray,
    hardest: np.ndarray,
    spare: np.ndarray,
) -> np.ndarray:
    """Rates r (intervals,) by TOPP-RA; ``spare`` (intervals - 1,) scales the limits.

    Between two middles the joint acceleration is a u + b x, with a the mean of the two desired
    velocities and b their difference over the time between the middles. It is bounded at both ends
    of the step with the same u. |b| x is bounded separately: the finite difference has the weight 4
    r_k r_{k+1} / (r_k + r_{k+1})^2 <= 1 on the first term only.
    """
    unit = float(np.median(spans))  # numbers near 1 for the solver
    middle = (spans[1:] + spans[:-1]) / 2.0 / unit
    use = np.isfinite(hardest)
    scale = hardest[use] * unit * spare[:, None]
    a = (rates[1:, use] + rates[:-1, use]) / 2.0 / scale
    b = np.diff(rates[:, use], axis=0) / middle[:, None] / scale
    largest = allowed**2
    turn = 1.0 / np.maximum(np.abs(b).max(axis=1), 1e-300)
    largest[1:] = np.minimum(largest[1:], turn)
    largest[:-1] = np.minimum(largest[:-1], turn)
    top = largest.max()  # x / top and u / top are also near 1
    grid = np.concatenate([[0.0], np.cumsum(middle)])
    return np.sqrt(top * _solve(grid, top * a, top * b, largest / top))


def _solve(s: np.ndarray, a: np.ndarray, b: np.ndarray, largest: np.ndarray) -> np.ndarray:
    """Largest x (n,) on the grid s (n,) with x <= largest and |a u + b x| <= 1 at both ends.

    ``a`` and ``b`` are (n - 1, m), one row per step; x is free at both ends.
    """
    with optional_dependency(
        "the motion exceeds its limits: slow it down, or re-timing it needs toppra", "adjust"
    ):
        import toppra
        import toppra.algorithm
        import toppra.constraint
    n = len(s)
    padding = np.zeros((1, 2 * a.shape[1]))
    first = np.concatenate([np.hstack([a, a + 2.0 * np.diff(s)[:, None] * b]), padding])
    second = np.concatenate([np.hstack([b, b]), padding])
    sides = np.eye(2 * a.shape[1])
    parameters = (
        first,
        second,
        np.zeros_like(first),
        np.concatenate([sides, -sides]),
        np.ones(2 * len(sides)),
        None,
        np.column_stack([np.zeros(n), largest]),
    )

    class Accelerations(toppra.constraint.LinearConstraint):
        """The constraints above. The class is local because its base needs toppra."""

        def __init__(self) -> None:
            super().__init__()
            self.identical = True  # one F for all stages

        def compute_constraint_params(self, *_: object) -> tuple:
            return parameters

    class FreeEnd(toppra.algorithm.TOPPRA):
        """Allow any rate up to the given one at the end, not only that rate."""

        def compute_controllable_sets(self, sdmin: float, sdmax: float) -> np.ndarray:
            self.sets = super().compute_controllable_sets(0.0, sdmax)
            return self.sets

    line = toppra.SplineInterpolator([s[0], s[-1]], np.array([[0.0], [1.0]]))
    solver = FreeEnd([Accelerations()], line, gridpoints=s, solver_wrapper="seidel")
    end = float(np.sqrt(largest[-1]))
    start = float(np.sqrt(solver.compute_controllable_sets(0.0, end)[0, 1]))
    _, rates, _ = solver.compute_parameterization(start * _FULL, end)
    if rates is None or not (rates > 0.0).all():
        # The slowest rate throughout is feasible, so this is the solver's rounding.
        logger.info("TOPP-RA failed; scaling the whole motion uniformly")
        return np.full(n, largest.min())
    return rates**2


def _not_shorter(times: np.ndarray, spans: np.ndarray) -> np.ndarray:
    """``times`` (n,), increased where rounding made an interval shorter than ``spans``."""
    for k in range(len(spans)):
        times[k + 1] = max(times[k + 1], times[k] + spans[k])
        while times[k + 1] - times[k] < spans[k]:
            times[k + 1] = np.nextafter(times[k + 1], np.inf)
    return times


# -- motions that start or stop at speed --

_ENDS, _KINDS = ("starts", "stops"), ("acceleration", "jerk")


class MovingEnd(NamedTuple):
    """A joint whose speed at an end of a motion exceeds a limit from rest, as in `verify`.

    Attributes:
        joint: its name.
        end: ``starts`` or ``stops``.
        limit: ``acceleration`` or ``jerk``.
        velocity: there, rad/s or m/s; ``desired``: that of the desired motion.
        differs: whether both differ by more than the limit allows.
    """

    joint: str
    end: str
    limit: str
    velocity: float
    desired: float
    differs: bool


def moving_ends(
    motion: Motion,
    desired: Motion,
    acceleration_limits: Mapping[str, float] | float | None,
    jerk_limits: Mapping[str, float] | float | None,
) -> list[MovingEnd]:
    """Joints whose speed at an end is beyond a limit from rest; ``desired``: before adjustment."""
    moving = []
    if not (acceleration_limits or jerk_limits) or len(motion.times) == 1:
        return moving
    steps = steps_of(Trajectory.through(motion.joint_names, motion.times, motion.positions))
    for end, waypoints in zip(_ENDS, ([0, 1], [-1, -2]), strict=True):
        rates, wanted = (
            np.diff(each.positions[waypoints], axis=0)[0] / np.diff(each.times[waypoints])
            for each in (motion, desired)
        )
        step = min(float(np.abs(np.diff(motion.times[waypoints]))[0]), LONGEST_STEP)
        changes, jolts = (
            np.abs(steps.extra[waypoints[0]]), np.abs(steps.jerks[waypoints]).max(axis=0)
        )  # fmt: skip
        for name, rate, was, change, jolt in zip(
            motion.joint_names, rates.tolist(), wanted.tolist(), changes, jolts, strict=True
        ):
            limit, most = "acceleration", limit_of(acceleration_limits, name)
            over, least = change > most * (1.0 + TOLERANCE), most * step
            if not over:
                limit, most = "jerk", limit_of(jerk_limits, name)
                over, least = rate and jolt > most * (1.0 + TOLERANCE), most * step**2
            if over:
                moving.append(MovingEnd(name, end, limit, rate, was, abs(rate - was) > least))
    return moving


def moving_ends_warnings(ends: Sequence[MovingEnd]) -> list[str]:
    """Warnings of these ends, for messages."""
    texts = []
    for end, limit in product(_ENDS, _KINDS):
        moving = [each for each in ends if (each.end, each.limit) == (end, limit)]
        if not moving:
            continue
        names = shortened([f"{each.joint} ({each.velocity:.3g}/s)" for each in moving], 4)
        texts.append(
            f"the motion {end} at speed; from rest this exceeds the {limit} limit of {names}, "
            "which `verify` reports unless the robot moves before and after (`verify --recorded`)"
        )
        others = [
            f"{each.joint} ({each.velocity:.3g} instead of {each.desired:.3g}/s)"
            for each in moving if each.differs
        ]  # fmt: skip
        if others:
            texts.append(
                f"the motion {end} at another speed than the desired one, by more than the "
                f"{limit} limit allows: {shortened(others, 4)}"
            )
    return texts
