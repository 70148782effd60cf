# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Motion along a straight line on a trapezoidal profile, and its violations.

Joints follow the line by resolved rates over its length s; times follow from s(t). The result is
quintic between nodes and is also measured between them: their number is doubled until the deviation
from the line there is as small as at the nodes.

The profile is that of Liu Qian, Liu Chuankai et al., J. NUAA 54(1), 2022, 58-67. For a change by
Delta in the time tf, with ramps tsa and tsd, the rate rises linearly to its peak Delta / (tf - (tsa
+ tsd) / 2), is constant, and falls linearly to zero.

Resolved rates follow Whitney, IEEE Trans. Man-Machine Systems 10(2), 1969, 47-53, with the
pseudo-inverse of the Jacobian: of all rates with this twist, those of least norm. (Liu Qian, Liu
Chuankai et al. remove the null-space component, which is equivalent.) Near singularities they are
damped as by Nakamura and Hanafusa, J. Dyn. Syst. Meas. Control 108(3), 1986, 163-171.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.integrate import solve_ivp
from scipy.interpolate import PPoly
from scipy.optimize import brentq, minimize_scalar
from scipy.spatial.transform import Rotation

from collision_monitor.common.limits import SIX_DIGITS
from collision_monitor.common.text import shortened
from collision_monitor.errors import MotionError
from collision_monitor.motion.trajectory import LONGEST, Trajectory, hermite
from collision_monitor.motion.violation import Code, Violation
from collision_monitor.robot.bodies import Bodies, Jacobians, link_poses

# -- the trapezoidal profile --

_SHORTEST = 1e-6  # seconds; shortest motion


@dataclass(frozen=True)
class Trapezoid:
    """A profile from 0 to 1.

    Attributes:
        tf: total duration, seconds, at least a microsecond.
        tsa: seconds of the ramp at the start, zero for a step in the rate.
        tsd: seconds of the ramp at the end.
    """

    tf: float
    tsa: float
    tsd: float

    def __post_init__(self) -> None:
        """Raise MotionError if the times do not form a profile."""
        for name, value in (("tsa", self.tsa), ("tsd", self.tsd)):
            if not (math.isfinite(value) and value >= 0.0):
                raise MotionError(f"{name} is {value:g} s; it must not be negative")
        if not _SHORTEST <= self.tf <= LONGEST:
            raise MotionError(f"tf is {self.tf:g} s, not {_SHORTEST:g} to {LONGEST:g} s")
        if self.tsa + self.tsd > self.tf * (1.0 + 1e-12):
            raise MotionError(
                f"tf is {self.tf:g} s, but the ramps tsa and tsd alone take "
                f"{self.tsa + self.tsd:g} s"
            )

    @classmethod
    def at_rate(cls, change: float, rate: float, tsa: float, tsd: float) -> Trapezoid:
        """Return the profile on which a change of this size has this peak rate, above zero.

        Raises:
            MotionError: the change is zero or too small to reach the rate.
        """
        change = abs(change)
        ramps = 0.5 * (tsa + tsd)
        if change / rate < ramps * (1.0 - 1e-12):
            raise MotionError(
                f"a change of {change:g} with ramps of {tsa:g} s and {tsd:g} s does not reach the "
                f"peak rate {rate:g}; the maximum is {change / ramps:g}"
            )
        return cls(max(change / rate + ramps, tsa + tsd), tsa, tsd)

    @classmethod
    def within(cls, rate: float, acceleration: float) -> Trapezoid:
        """Return the fastest profile up to a peak rate, 1/s, and an acceleration, 1/s^2.

        A change too short for the rate has two ramps only.
        """
        peak = min(rate, math.sqrt(acceleration))
        ramp = peak / acceleration
        return cls(max(1.0 / peak + ramp, 2.0 * ramp), ramp, ramp)

    @property
    def peak(self) -> float:
        """The peak rate, 1/s."""
        return 1.0 / (self.tf - 0.5 * (self.tsa + self.tsd))

    def path(self, start: np.ndarray, change: np.ndarray) -> PPoly:
        """Positions ``start`` + s ``change``, both (columns,), with s from 0 to 1 on the profile.

        Returns a polynomial (3, pieces, columns) over time from 0 s; pieces of zero length are
        omitted.
        """
        times = np.array([0.0, self.tsa, max(self.tf - self.tsd, self.tsa), self.tf])
        rates, gaps = self.peak * np.array([0.0, 1.0, 1.0, 0.0]), np.diff(times)
        pieces = gaps > 1e-12 * self.tf
        linear = np.array([np.diff(rates)[pieces] / gaps[pieces], rates[:-1][pieces]])
        s = PPoly(linear[:, :, None], np.append(times[:-1][pieces], self.tf)).antiderivative()
        coefficients = s.c * np.asarray(change, dtype=float)
        coefficients[-1] += np.asarray(start, dtype=float)
        return PPoly(coefficients, s.x)


# -- resolved rates --


@dataclass(frozen=True, eq=False)
class CartesianLine:
    """A straight line of a link from pose ``start`` to ``end`` (4, 4), base frame; s is 0 to 1."""

    start: np.ndarray
    end: np.ndarray

    @cached_property
    def twist(self) -> np.ndarray:
        """(6,) constant twist per unit of s: displacement in metres, rotation vector in radians.

        The rotation vector is the logarithm of SO(3), at most pi long, in the base frame. (The axis
        of the paper, half the sum of the cross products of the frames' axes, has the length
        sin(phi): it gives 89 degrees for 91, and nothing for 180.)
        """
        turn = Rotation.from_matrix(self.end[:3, :3] @ self.start[:3, :3].T).as_rotvec()
        return np.concatenate([self.end[:3, 3] - self.start[:3, 3], turn])

    @cached_property
    def length(self) -> float:
        """Length in metres."""
        return float(np.linalg.norm(self.twist[:3]))

    @cached_property
    def angle(self) -> float:
        """Angle in radians, 0 to pi."""
        return float(np.linalg.norm(self.twist[3:]))

    def poses(self, s: np.ndarray) -> np.ndarray:
        """Poses (n, 4, 4) at ``s`` (n,); the line continues beyond 0 and 1."""
        s = np.asarray(s, dtype=float)
        out = np.broadcast_to(np.eye(4), (len(s), 4, 4)).copy()
        turns = Rotation.from_rotvec(s[:, None] * self.twist[3:]).as_matrix()
        out[:, :3, :3] = turns @ self.start[:3, :3]
        out[:, :3, 3] = self.start[:3, 3] + s[:, None] * self.twist[:3]
        return out

    def ahead(self, s: np.ndarray, poses: np.ndarray) -> np.ndarray:
        """Twists (n, 6) from ``poses`` (n, 4, 4) to those at ``s`` (n,), metres and radians."""
        due = self.poses(s)
        turns = Rotation.from_matrix(due[:, :3, :3] @ poses[:, :3, :3].transpose(0, 2, 1))
        return np.hstack([due[:, :3, 3] - poses[:, :3, 3], turns.as_rotvec()])


SINGULAR = 0.01  # rates are damped below this singular value; lengths are divided by the arm's
_DAMPING = 0.5 * SINGULAR  # at singular value zero
_FEEDBACK = 30.0  # per unit of s: gain of the drift feedback
_MAX_DEVIATION = (0.02, 0.05)  # deviation, in parts of the reach and radians, that ends the motion


class ResolvedRates:
    """Rates of the joints between the base and a link that follows a line."""

    def __init__(
        self,
        bodies: Bodies,
        link: str,
        line: CartesianLine,
        q: np.ndarray,
        joint_names: Sequence[str] | None = None,
    ) -> None:
        """Start at ``q`` (nq,); ``joint_names``: the only joints that may move.

        Raises:
            MotionError: a joint is unknown, or no joint moves the link.
        """
        self._bodies, self._link, self._line = bodies, link, line
        self._body = bodies.link_bodies[link]
        self._q = np.array(q, dtype=float)
        chain = bodies.chain(self._body)
        # The length of the stretched arm, an upper bound of the travel per radian of its first
        # joint.
        self.reach = float(np.linalg.norm(bodies.placements[chain[:-1], :3, 3], axis=1).sum())
        self.reach += float(np.linalg.norm(bodies.link_poses[link][:3, 3]))
        columns = np.unique(bodies.columns[chain])
        movers = [bodies.joint_names[column] for column in columns]
        for name in joint_names or ():
            if name not in movers:
                known = shortened(map(repr, movers), 20)
                raise MotionError(f"joint {name!r} does not move {link!r}; {known} do")
        self.columns = np.array(
            [c for c, name in zip(columns, movers, strict=True) if name in (joint_names or movers)],
            dtype=np.int64,
        )
        if not len(self.columns):
            raise MotionError(f"no joint moves {link!r}")
        self._scale = np.array([1.0 / (self.reach or 1.0)] * 3 + [1.0] * 3)

    def configurations(self, moving: np.ndarray) -> np.ndarray:
        """Convert moving joints (n, len(columns)) to configurations (n, nq); hold the others."""
        out = np.repeat(self._q[None, :], len(moving), axis=0)
        out[:, self.columns] = moving
        return out

    def _jacobian(self, moving: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the pose (4, 4) of the link and its scaled Jacobian (6, len(columns))."""
        at = Jacobians(self._bodies, self.configurations(moving[None])[0])
        pose = at.link_pose(self._link)
        jacobian = at.of_point(self._body, pose[:3, 3])[:, self.columns]
        return pose, jacobian * self._scale[:, None]

    def smallest_singular_value(self, moving: np.ndarray) -> float:
        """Smallest singular value of the Jacobian; lengths are divided by the arm's."""
        return float(np.linalg.svd(self._jacobian(moving)[1], compute_uv=False)[-1])

    def per_s(self, s: float, moving: np.ndarray) -> np.ndarray:
        """Change (len(columns),) of the joints per unit of s that keeps the link on the line."""
        pose, jacobian = self._jacobian(moving)
        drift = self._line.ahead(np.array([s]), pose[None])[0]
        desired = (self._line.twist + _FEEDBACK * drift) * self._scale
        left, values, right = np.linalg.svd(jacobian, full_matrices=False)
        near = min(1.0, values[-1] / SINGULAR)
        damping = _DAMPING**2 * (1.0 - near * near)
        return right.T @ ((left.T @ desired) * values / (values * values + damping + 1e-300))

    def path(self) -> tuple[Callable[[np.ndarray], np.ndarray], float]:
        """Integrate the joints over s; return them as a function of s (n,), and the last s.

        The function returns (n, len(columns)). Drift is fed back. The path ends before 1 if the
        link is far off the line, or the rates cannot be integrated.
        """

        def margin(s: float, moving: np.ndarray) -> float:
            ((metres, radians),) = self.off_line(np.array([s]), moving[None])
            return min(_MAX_DEVIATION[0] * self.reach - metres, _MAX_DEVIATION[1] - radians)

        margin.terminal = True
        solution = solve_ivp(
            self.per_s, (0.0, 1.0), self._q[self.columns], "DOP853", events=margin,
            dense_output=True, rtol=1e-8, atol=1e-9, max_step=1.0 / 8.0,
        )  # fmt: skip
        if len(solution.t) < 2:
            raise MotionError("the line cannot be followed: rates change too fast at its start")
        return lambda s: solution.sol(s).T, float(solution.t[-1])

    def off_line(self, s: np.ndarray, moving: np.ndarray) -> np.ndarray:
        """Metres and radians (n, 2) off the line at ``s`` (n,); ``moving`` (n, len(columns))."""
        poses = link_poses(self._bodies, [self._link], self.configurations(moving))[self._link]
        return np.linalg.norm(self._line.ahead(s, poses).reshape(-1, 2, 3), axis=2)

    def slopes(self, s: float, moving: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """First and second derivative of the joints with respect to s, along their path."""
        first = self.per_s(s, moving)
        step = 1e-4 / max(1.0, float(np.abs(first).max()))
        ahead = self.per_s(s + step, moving + step * first)
        behind = self.per_s(s - step, moving - step * first)
        return first, (ahead - behind) / (2.0 * step)


# -- the motion --

OFF = (1e-4, math.radians(0.01))  # metres and radians off the line that are a violation
_NEAR_SINGULAR = 0.03  # smallest singular value that raises a warning


def singularities(rates: ResolvedRates, motion: PPoly, link: str) -> list[Violation]:
    """Return the violation by the smallest singular value of the motion, if it is too small.

    Args:
        rates: of the link.
        motion: of its moving joints; the search is refined between its breakpoints.
        link: name of the link.
    """
    times = motion.x

    def value(time: float) -> float:
        return rates.smallest_singular_value(motion(time))

    values = np.array([value(time) for time in times])
    # At a singularity the value falls to zero like |x|: between nodes it may be far below both.
    lows = []
    for k in np.flatnonzero(values < 5.0 * _NEAR_SINGULAR):
        low, high = max(k - 1, 0), min(k + 1, len(times) - 1)
        if values[k] == values[low : high + 1].min():
            found = minimize_scalar(value, bounds=(times[low], times[high]), method="bounded")
            lows.append((float(found.x), float(found.fun)))
    if lows:
        times, values = np.hstack([[times, values], np.array(lows).T])
    worst = int(values.argmin())
    least = float(values[worst])
    if least >= _NEAR_SINGULAR:
        return []
    damped = least < SINGULAR
    limit = SINGULAR if damped else _NEAR_SINGULAR
    advice = (
        "rates are damped there, so the link leaves the line slightly; a controller may differ"
        if damped
        else "rates are high near there"
    )
    return [
        Violation(
            code=Code.SINGULARITY,
            subject=link,
            first=float(times[values < limit].min()),
            worst=float(times[worst]),
            value=least,
            limit=limit,
            unit="1",
            warning=not damped,
            text=f"the smallest singular value of the Jacobian, lengths over {rates.reach:.3g} m; "
            + advice,
        )
    ]


def off_the_line(times: np.ndarray, off: np.ndarray, link: str, reached: float) -> list[Violation]:
    """Return violations where ``off`` (n, 2), metres and radians at ``times`` (n,), is too large.

    ``reached``: the part of the line that could be followed, 1 for all.
    """
    text = "from its position on the line at that time"
    if reached < 1.0:
        text += (
            f"; it cannot be followed beyond {100.0 * reached:.3g} % of its length, at "
            f"{times[-1]:.4g} s, and the motion is cut off there"
        )
    violations = [
        Violation(
            code=Code.OFF_THE_LINE,
            subject=link,
            first=_first_time_above(times, values - limit),
            worst=float(times[values.argmax()]),
            value=float(values.max()),
            limit=limit,
            unit=unit,
            text=text,
        )
        for values, limit, unit in zip(off.T, OFF, ("m", "rad"), strict=True)
        if values.max() > limit
    ]
    # On the line, but the rates could not be integrated further.
    if reached < 1.0 and not violations:
        end, metres = float(times[-1]), float(off[-1, 0])
        violations.append(
            Violation(Code.OFF_THE_LINE, link, end, end, metres, OFF[0], "m", text=text)
        )
    return violations


def _first_time_above(times: np.ndarray, beyond: np.ndarray) -> float:
    """Return the first time at which ``beyond`` (n,), linear between ``times``, is above zero."""
    k = int(np.flatnonzero(beyond > 0.0)[0])
    if k == 0:
        return float(times[0])
    part = beyond[k - 1] / (beyond[k - 1] - beyond[k])
    return float(times[k - 1] + part * (times[k] - times[k - 1]))


_BETWEEN = np.array([0.25, 0.5, 0.75])  # where intervals are measured
_FEWEST_NODES, _MAX_NODES = 32, 5000


def follow_line(
    bodies: Bodies,
    link: str,
    q: np.ndarray,
    line: CartesianLine,
    profile: Trapezoid,
    joint_names: Sequence[str] | None = None,
) -> tuple[Trajectory, tuple[Violation, ...]]:
    """Move ``link`` along ``line`` from ``q`` (nq,), where the link is at the start of the line.

    ``joint_names``: the only joints that may move; by default all between base and link.

    Returns:
        The trajectory of all joints of the robot, which ends early if the line cannot be followed;
        and the violations: singularities and deviations from the line. Limits of joints are not
        checked.

    Raises:
        MotionError: a joint is unknown, or the rates cannot be integrated at all.
    """
    rates = ResolvedRates(bodies, link, line, q, joint_names)
    path, reached = rates.path()
    course, count = _cut_course(profile.path([0.0], [1.0]), reached), _FEWEST_NODES
    while True:
        motion = _quintics(rates, path, course, count)
        between = motion.x[:-1, None] + np.diff(motion.x)[:, None] * _BETWEEN
        times = np.hstack([motion.x[:-1, None], between]).ravel()
        times = np.append(times, motion.x[-1])
        off = rates.off_line(course(times)[:, 0], motion(times))
        at_nodes, inside = off[::4], off[:-1].reshape(len(between), 4, 2)[:, 1:]
        allowed = np.maximum(at_nodes[:-1], at_nodes[1:]) + SIX_DIGITS
        if (inside <= allowed[:, None]).all() or len(motion.x) > _MAX_NODES:
            break
        count *= 2
    violations = (*singularities(rates, motion, link), *off_the_line(times, off, link, reached))
    return _all_joints(bodies, rates, motion), violations


def _cut_course(course: PPoly, reached: float) -> PPoly:
    """Return the course s(t) up to ``reached``."""
    if reached >= 1.0:
        return course
    end = brentq(lambda time: float(course(time)[0]) - reached, 0.0, course.x[-1])
    whole = int((course.x < end).sum())
    return PPoly(course.c[:, :whole], np.append(course.x[:whole], end))


def _quintics(
    rates: ResolvedRates, path: Callable[[np.ndarray], np.ndarray], course: PPoly, count: int
) -> PPoly:
    """Interpolate positions, rates and accelerations at ``count`` nodes per unit of s.

    ``path``: joints by s; ``course``: s over time. Each ramp has its own values at its ends.
    """
    parts = [
        np.linspace(begin, end, 2 + math.ceil(count * (course(end) - course(begin))[0]))[:-1]
        for begin, end in zip(course.x[:-1], course.x[1:], strict=True)
    ]
    times = np.concatenate([*parts, course.x[-1:]])
    s = np.clip(course(times)[:, 0], 0.0, float(course(course.x[-1])[0]))
    moving = path(s)
    slopes = [rates.slopes(*node) for node in zip(s.tolist(), moving, strict=True)]
    first, second = np.array(slopes).transpose(1, 0, 2)
    piece = np.searchsorted(course.x[1:-1], times[:-1], "right")
    half, speed, _ = course.c[:, piece]  # half the acceleration, and the rate at its left end
    ends = []
    for end in (slice(None, -1), slice(1, None)):
        rate = speed + 2.0 * half * (times[end] - course.x[piece])[:, None]
        ends.append(
            (moving[end], first[end] * rate, second[end] * rate**2 + first[end] * 2.0 * half)
        )
    return PPoly(hermite(np.diff(times), *ends), times)


def _all_joints(bodies: Bodies, rates: ResolvedRates, polynomial: PPoly) -> Trajectory:
    c = np.zeros((*polynomial.c.shape[:2], len(bodies.joints)))
    c[-1] = rates.configurations(polynomial.c[-1, :1])
    c[:, :, rates.columns] = polynomial.c
    return Trajectory(bodies.joint_names, PPoly(c, polynomial.x))
