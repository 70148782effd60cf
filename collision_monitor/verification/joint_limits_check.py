# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Check of positions, velocities, accelerations and jerks of joints against their limits.

A trajectory is a piecewise polynomial, so its extremes are computed exactly, also between points
(`extremes`). Where two pieces meet with different velocities or accelerations, these have a step.

Straight lines between points have zero acceleration, but an infinite one at the points. Such a
motion is nearly always a sampled one, so a step is assumed to last from the middle of the previous
piece to the middle of the next. Accelerations and jerks of a table of positions are then its second
and third differences. Pieces longer than `LONGEST_STEP` are not samples, but lines that a
controller follows: a step lasts at most that long.

Only a joint's own knots are used: in a recording, others come from other publishers, and in a
command from the profiles of other joints.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.polynomial.polynomial import polyval
from scipy.interpolate import PPoly
from scipy.optimize import brentq

from collision_monitor.common.limits import SIX_DIGITS
from collision_monitor.common.text import closest
from collision_monitor.errors import JointLimitsError, TrajectoryError
from collision_monitor.geometry.segments import ROUNDING
from collision_monitor.motion.samples import LONGEST_STEP
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.motion.violation import Code, Violation
from collision_monitor.robot.angles import limits_beside
from collision_monitor.robot.bodies import leading_joint, rigid_bodies
from collision_monitor.robot.description import Robot
from collision_monitor.robot.limits import JointLimits, urdf_limits
from collision_monitor.verification.check import (
    Outcome,
    SimultaneousMotion,
    Task,
    VerificationCheck,
    shifted,
)

# -- steps of velocity and acceleration --

_UNEVEN = 2.0 + SIX_DIGITS  # ratio of lengths; pieces that differ more are not consecutive samples


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps at the knots, all (knots, joints), and their times (knots,), seconds.

    ``velocity`` and ``acceleration`` are the steps; ``velocities`` is the mean of both sides;
    ``extra`` is the acceleration by the step of velocity; ``accelerations`` is the mean of both
    sides plus that; ``jerks`` are those by both steps.
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
        """(knots,) bool: whether the velocity of a joint has a step above rounding."""
        fastest = np.abs(self.velocities).max(initial=0.0)
        return (np.abs(self.velocity) > ROUNDING * (1.0 + fastest)).any(axis=1)


def steps_of(trajectory: Trajectory, from_rest: bool = True) -> Steps:
    """Steps at all knots; ``from_rest``: the robot rests before the start and after the end.

    Otherwise each joint keeps the velocities of its first and last knot.
    """
    of_joints = trajectory.knots
    if of_joints is None:
        of_joints = np.ones((len(trajectory.times), len(trajectory.joint_names)), dtype=bool)
    before, after = _both_sides(trajectory, of_joints, from_rest)
    velocity, acceleration = after[0] - before[0], after[1] - before[1]
    extra, jerks = np.zeros_like(velocity), np.zeros_like(velocity)
    means = 0.5 * (before + after)
    accelerations = means[1].copy()
    for j in range(velocity.shape[1]):
        knots = np.flatnonzero(of_joints[:, j])
        if len(knots) < 2:  # it is held
            continue
        row = np.s_[knots, j]
        gaps = np.diff(trajectory.times[knots])
        lasting = step_durations(gaps)
        extra[row] = velocity[row] / lasting
        jerks[row] = acceleration[row] / lasting
        change = np.diff(extra[row]) / np.minimum(gaps, LONGEST_STEP)
        if not from_rest:
            change[[0, -1]] = 0.0  # accelerations before and after are unknown
        nearby = np.stack([np.append(0.0, change), np.append(change, 0.0)])
        larger = nearby[np.abs(nearby).argmax(axis=0), np.arange(len(knots))]
        jerks[row] = np.where(np.abs(larger) > np.abs(jerks[row]), larger, jerks[row])
        # The acceleration of a joint continues between its own knots.
        accelerations[:, j] += np.interp(
            trajectory.times, trajectory.times[knots], extra[row], left=0.0, right=0.0
        )
    return Steps(trajectory.times, velocity, acceleration, means[0], extra, accelerations, jerks)


def step_durations(gaps: np.ndarray) -> np.ndarray:
    """Assumed durations (knots,) of steps between pieces of ``gaps`` (knots - 1,) seconds."""
    before, after = np.append(gaps[:1], gaps), np.append(gaps, gaps[-1:])
    shorter, mean = np.minimum(before, after), 0.5 * (before + after)
    even = np.maximum(before, after) <= _UNEVEN * shorter
    return np.minimum(np.where(even, mean, shorter), LONGEST_STEP)


def _both_sides(
    trajectory: Trajectory, knots: np.ndarray, from_rest: bool
) -> tuple[np.ndarray, np.ndarray]:
    """(velocity and acceleration, knots, joints) just before and just after each knot."""
    gaps = np.diff(trajectory.times)[:, None]
    before = np.zeros((2, len(gaps) + 1, len(trajectory.joint_names)))
    after = np.zeros_like(before)
    for k in range(2):
        rate = trajectory.polynomial.derivative(k + 1).c
        after[k, :-1] = rate[-1]
        before[k, 1:] = polyval(gaps, rate[::-1], tensor=False)
    if not from_rest:
        columns = np.arange(knots.shape[1])
        first, last = knots.argmax(axis=0), len(knots) - 1 - knots[::-1].argmax(axis=0)
        before[:, first, columns] = after[:, first, columns]
        after[:, last, columns] = before[:, last, columns]
    return before, after


# -- exact extremes of piecewise polynomials, and their first violation of a limit --
#
# Extremes are at the ends of a piece or where its derivative is zero. In between it is monotone.


class Extremes(NamedTuple):
    """One column of a piecewise polynomial at the ends of its pieces and at their extremes.

    Attributes:
        pieces, times, values: (n,) in the order of the pieces; both ends of each, and the zeros of
            its slope.
        starts: (k,) begin of each piece.
        powers: (order, k) coefficients of each piece.
    """

    pieces: np.ndarray
    times: np.ndarray
    values: np.ndarray
    starts: np.ndarray
    powers: np.ndarray

    def first_above(self, limit: float, sign: float = 1.0) -> float:
        """First time at which the values times ``sign`` exceed ``limit``; NaN if they do not."""
        above = np.flatnonzero(sign * self.values > limit)
        if not len(above):
            return math.nan
        first = above[0]
        piece = self.pieces[first]
        if first == 0 or self.pieces[first - 1] != piece:  # it begins above the limit
            return float(self.times[first])
        powers, start = self.powers[:, piece], self.starts[piece]
        around = self.times[first - 1 : first + 1]
        return brentq(lambda time: np.polyval(powers, time - start) - sign * limit, *around)


def extremes(polynomial: PPoly) -> list[Extremes]:
    """The extremes of each column; coefficients of ``polynomial`` (order, pieces, columns)."""
    x, every = polynomial.x, np.arange(polynomial.c.shape[1])
    columns = []
    slopes = np.moveaxis(polynomial.derivative().c, 2, 0)
    for powers, slope in zip(np.moveaxis(polynomial.c, 2, 0), slopes, strict=True):
        # Scipy divides by the highest power: roots would be lost if that is next to nothing.
        sizes = np.abs(slope) * np.diff(x) ** np.arange(len(slope))[::-1, None]
        slope[sizes < np.finfo(float).eps * sizes.max(axis=0)] = 0.0
        # One column at a time: scipy omits a root that equals the last one of the column before,
        # such as the middle of a motion that is at rest at both ends.
        zeros = PPoly(slope, x).roots(discontinuity=False, extrapolate=False)
        zeros = zeros[np.isfinite(zeros)]  # a piece that does not change has a NaN
        pieces = np.concatenate([every, every, np.searchsorted(x[1:-1], zeros, "right")])
        times = np.concatenate([x[:-1], x[1:], zeros])
        values = polyval(times - x[pieces], powers[::-1, pieces], tensor=False)
        order = np.lexsort((times, pieces))
        columns.append(Extremes(pieces[order], times[order], values[order], x[:-1], powers))
    return columns


RATES = (Code.JOINT_POSITION, Code.JOINT_VELOCITY, Code.JOINT_ACCELERATION, Code.JOINT_JERK)
_KEYS = ("position", "velocity", "acceleration", "jerk")
TOLERANCE = SIX_DIGITS  # relative for limits of rates; rad or m for positions
_PLOTTED = 1001  # samples of plots


def with_followers(trajectory: Trajectory, robot: Robot) -> Trajectory:
    """The trajectory with the mimic joints of its joints, unless it names them.

    Raises:
        TrajectoryError: it names a joint twice, an unknown joint, or one that cannot move.
    """
    joints = {joint.name: joint for joint in robot.joints if joint.moves}
    for name in trajectory.joint_names:
        if trajectory.joint_names.count(name) > 1:
            raise TrajectoryError(f"joint {name!r} appears twice")
        if name not in joints:
            raise TrajectoryError(
                f"robot {robot.name!r} has no joint {name!r} that moves; it has "
                f"{closest(name, joints)}"
            )
    names, columns = list(trajectory.joint_names), [trajectory.polynomial.c]
    knots = [] if trajectory.knots is None else [trajectory.knots]
    for joint in joints.values():
        leader, gain, offset = leading_joint(joint, joints)
        if joint.mimic is None or joint.name in names or leader not in trajectory.joint_names:
            continue
        which = [trajectory.joint_names.index(leader)]
        column = gain * columns[0][:, :, which]
        column[-1] += offset
        names.append(joint.name)
        columns.append(column)
        knots += [each[:, which] for each in knots[:1]]
    polynomial = PPoly(np.concatenate(columns, axis=2), trajectory.times)
    return Trajectory(tuple(names), polynomial, np.hstack(knots) if knots else None)


@dataclass(frozen=True)
class Peak:
    """The time at which one joint is closest to a limit, or farthest beyond it; also for torques.

    Attributes:
        code: kind of limit.
        joint: name.
        value: at ``time``, signed; the largest for joints without a limit.
        time: seconds.
        limit: on the side of ``value``; infinite without a limit.
        first: time of the first violation, seconds; NaN if the limit is kept.
        unit: of ``value`` and ``limit``.
        text: explanation if a step of the trajectory is the cause.
        band: uncertainty of ``value``; included in the comparison with the limit.
    """

    code: Code
    joint: str
    value: float
    time: float
    limit: float
    first: float
    unit: str
    text: str = ""
    band: float = 0.0


def violations_of(peaks: Iterable[Peak]) -> tuple[Violation, ...]:
    """Violated limits, ordered by time; values include the band."""
    violations = []
    for p in peaks:
        if not math.isnan(p.first):
            value, text = p.value, p.text
            if p.band > 0.0:
                value = math.copysign(abs(value) + p.band, value)
                text = f"{p.value:.6g} {p.unit} computed, {p.band:.3g} {p.unit} of margin"
            violations.append(
                Violation(p.code, p.joint, p.first, p.time, value, p.limit, p.unit, text=text)
            )
    return tuple(sorted(violations, key=lambda v: v.first))


@dataclass(frozen=True, eq=False)
class LimitsCheck:
    """Result of `check_joint_limits`.

    Attributes:
        violations: ordered by time.
        peaks: of every joint and rate, ordered by joint.
        notes: omitted checks, with reasons.
        joint_names: of the trajectory, then their mimic joints.
        limits: by joint, in this order.
        times: (n,) seconds, for plots; also
        positions, velocities, accelerations, jerks: (n, joints). For straight lines, accelerations
            and jerks are second and third differences.
    """

    violations: tuple[Violation, ...]
    peaks: tuple[Peak, ...]
    notes: tuple[str, ...]
    joint_names: tuple[str, ...]
    limits: tuple[JointLimits, ...]
    times: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray
    accelerations: np.ndarray
    jerks: np.ndarray


def check_joint_limits(
    trajectory: Trajectory,
    robot: Robot,
    limits: Mapping[str, JointLimits] | None = None,
    from_rest: bool = True,
) -> LimitsCheck:
    """Compare a motion with the limits of all joints that it moves.

    Args:
        trajectory: of any joints of the robot; their mimic joints are also checked.
        robot: kinds of the joints, and mimic joints.
        limits: by joint, as `robot.joint_limits` reads them from URDF and file;
            None: those of the URDF. Position limits of endless joints hold in whichever turn the
            motion begins.
        from_rest: the robot rests before and after the motion, so that a velocity at its ends is a
            step. Use False for a recording that starts during a motion.

    Raises:
        TrajectoryError: an unknown joint.
        JointLimitsError: ``limits`` name an unknown joint.
    """
    limits = urdf_limits(robot) if limits is None else limits
    if unknown := [name for name in limits if name not in robot.joint_named]:
        raise JointLimitsError(
            f"limits: robot {robot.name!r} has no joint {unknown[0]!r}; it has "
            f"{closest(unknown[0], robot.joint_named)}"
        )
    trajectory = with_followers(trajectory, robot)
    joint_limits = _at_start(trajectory, robot, limits)
    steps = steps_of(trajectory, from_rest)
    slides = {joint.name for joint in robot.joints if joint.kind == "prismatic"}
    units = ["m" if name in slides else "rad" for name in trajectory.joint_names]
    by_rate = [_peaks(trajectory, steps, joint_limits, units, rate) for rate in range(4)]
    peaks = tuple(peak for joint in zip(*by_rate, strict=True) for peak in joint)
    by_name = {joint.name: JointLimits(*joint.soft) for joint in robot.joints}
    soft = _peaks(
        trajectory, steps, tuple(by_name[name] for name in trajectory.joint_names), units, 0
    )
    # Those that also exceed the limits that count are violations.
    only = [p for p, hard in zip(soft, by_rate[0], strict=True) if math.isnan(hard.first)]
    notes = _notes(peaks) + _soft_notes(only)
    return LimitsCheck(
        violations_of(peaks), peaks, notes, trajectory.joint_names, joint_limits,
        *_plotted(trajectory, steps),
    )  # fmt: skip


def _at_start(
    trajectory: Trajectory, robot: Robot, limits: Mapping[str, JointLimits]
) -> tuple[JointLimits, ...]:
    """The limits of each joint; positions in the turns in which the trajectory begins."""
    bodies = rigid_bodies(robot)
    endless = {name for name, yes in zip(bodies.joint_names, bodies.endless, strict=True) if yes}
    first = trajectory.positions(trajectory.times[:1])[0]
    joint_limits = []
    for name, position in zip(trajectory.joint_names, first.tolist(), strict=True):
        row = limits.get(name, JointLimits())
        if name in endless:
            lower, upper = limits_beside(row.lower, row.upper, position)
            row = replace(row, lower=lower, upper=upper)
        joint_limits.append(row)
    return tuple(joint_limits)


class _Side(NamedTuple):
    """The values of a joint, or the negated ones, at their largest.

    ``knot``: that whose step has the value, -1 if it is not a step; ``first``: of a violation.
    """

    limit: float
    value: float
    time: float
    knot: int
    first: float


def _side(
    column: Extremes, at_knots: np.ndarray, knots: np.ndarray, sign: float, limit: float,
    allowed: float,
) -> _Side:  # fmt: skip
    """Extremes of the pieces, or of steps ``at_knots`` if these are larger, times ``sign``."""
    best = int((sign * column.values).argmax())
    value, time, knot = float(sign * column.values[best]), float(column.times[best]), -1
    first = column.first_above(limit + allowed, sign)
    if len(at_knots):
        top = int((sign * at_knots).argmax())
        if sign * at_knots[top] > value + TOLERANCE * abs(value):
            value, time, knot = float(sign * at_knots[top]), float(knots[top]), top
        over = np.flatnonzero(sign * at_knots > limit + allowed)
        first = float(np.fmin(first, knots[over[0]])) if len(over) else first
    return _Side(limit, value, time, knot, first)


def _peaks(
    trajectory: Trajectory,
    steps: Steps,
    limits: tuple[JointLimits, ...],
    units: list[str],
    rate: int,
) -> list[Peak]:
    """Peaks of all joints, of positions (``rate`` 0) to jerks (3)."""
    polynomial = trajectory.polynomial.derivative(rate) if rate else trajectory.polynomial
    at_knots = (np.empty((0, len(units))),) * 2 + (steps.accelerations, steps.jerks)
    peaks = []
    for j, column in enumerate(extremes(polynomial)):
        lower, upper = limits[j].lower, limits[j].upper
        if rate:
            upper = getattr(limits[j], _KEYS[rate])
            lower = -upper
        allowed = TOLERANCE * (upper if rate and math.isfinite(upper) else 1.0)
        free = math.isinf(upper) and math.isinf(lower)
        sides = [
            _side(column, at_knots[rate][:, j], steps.times, sign, sign * limit, allowed)
            for sign, limit in ((1.0, upper), (-1.0, lower))
        ]
        # Without a limit, the side of the larger value.
        beyond = [side.value - (0.0 if free else side.limit) for side in sides]
        sign, side = (1.0, sides[0]) if beyond[0] >= beyond[1] else (-1.0, sides[1])
        peaks.append(
            Peak(
                RATES[rate], trajectory.joint_names[j], sign * side.value, side.time,
                sign * side.limit, float(np.fmin(sides[0].first, sides[1].first)),
                units[j] + ("", "/s", "/s^2", "/s^3")[rate],
                _reason(steps, rate, side.knot, j, units[j]) if side.knot >= 0 else "",
            )
        )  # fmt: skip
    return peaks


def _reason(steps: Steps, rate: int, row: int, j: int, unit: str) -> str:
    """Explanation of the value at a step."""
    jump, what, per = steps.velocity[row, j], "velocity", "/s"
    if rate == 3 and abs(steps.acceleration[row, j]) > abs(jump):
        jump, what, per = steps.acceleration[row, j], "acceleration", "/s^2"
    return (
        f"the {what} steps by {jump:.4g} {unit}{per} from one piece to the next; a step "
        f"is assumed to last a sampling interval, {LONGEST_STEP:g} s at most"
    )


def _notes(peaks: tuple[Peak, ...]) -> tuple[str, ...]:
    """Notes of rates without limits, grouped by joints."""
    kinds: dict[tuple[str, ...], list[str]] = {}
    for code in RATES:
        free = tuple(p.joint for p in peaks if p.code is code and math.isinf(p.limit))
        if free:
            kinds.setdefault(free, []).append(code.value.removeprefix("joint-"))
    count = len({p.joint for p in peaks})
    notes = []
    for free, rates in kinds.items():
        whose = "any joint" if len(free) == count > 1 else ", ".join(free)
        notes.append(f"no limit of {' or '.join(rates)}, so not checked: {whose}")
    return tuple(notes)


def _soft_notes(peaks: Iterable[Peak]) -> tuple[str, ...]:
    return tuple(
        f"joint {p.joint!r} is at {p.value:.6g} {p.unit} at {p.time:.3f} s, beyond its soft limit "
        f"{p.limit:.6g} (safety_controller in the URDF), which ros_control and MoveIt keep: "
        "--soft-limits rejects this"
        for p in peaks
        if not math.isnan(p.first)
    )


def _plotted(trajectory: Trajectory, steps: Steps) -> tuple[np.ndarray, ...]:
    times = np.linspace(0.0, trajectory.duration, _PLOTTED)
    if trajectory.is_straight:
        times = np.union1d(times, steps.times)
    samples = trajectory.sample(times)
    rates = samples.accelerations, samples.jerks
    if trajectory.is_straight:  # only near the ends of a line
        for j in range(len(trajectory.joint_names)):
            sampled = np.ones(len(steps.times), dtype=bool)
            if trajectory.knots is not None:
                sampled = trajectory.knots[:, j]
            if not sampled.any():  # it is held
                continue
            at = steps.times[sampled]
            nearest = np.searchsorted(0.5 * (at[1:] + at[:-1]), times)
            near = np.abs(times - at[nearest]) <= 0.5 * LONGEST_STEP
            for rate, table in zip(rates, (steps.accelerations, steps.jerks), strict=True):
                rate[:, j] = np.where(near, table[sampled, j][nearest], 0.0)
    return times, samples.positions, samples.velocities, *rates


# -- the check of `verify`, of all simultaneous motions --


def _check_limits(task: Task) -> Outcome:
    task.progress("limits of joints", 0.0)
    main_check, *others = (
        check_joint_limits(part.trajectory, task.model.robot, task.limits, task.settings.from_rest)
        for part in task.parts
    )
    violations, notes = task.motion.violations + main_check.violations, main_check.notes
    for beside, check in zip(task.settings.beside, others, strict=True):
        violations += _violations_beside(beside, check)
        notes += check.notes
    return Outcome(violations, notes, {"limits": main_check})


def _violations_beside(beside: SimultaneousMotion, check: LimitsCheck) -> tuple[Violation, ...]:
    """Violations of a motion, in the time of the verified one."""
    text = f"in {beside.motion.source}"
    return tuple(
        replace(shifted(v, beside.start), text="; ".join(filter(None, (text, v.text))))
        for v in beside.motion.violations + check.violations
    )


JOINT_LIMITS = VerificationCheck("joint limits", RATES, _check_limits, is_first=True)
