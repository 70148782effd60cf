# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A motion along a straight line on a trapezoidal profile, and what is wrong with it.

Joints follow the line by resolved rates over its length s; time comes in afterwards, by s(t). What
comes out is quintic between nodes, and is measured between them too: nodes are put in until the
link is as near to its line there as it is at the nodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import PPoly
from scipy.optimize import brentq, minimize_scalar

from collision_monitor.motion.resolved_rates import SINGULAR, CartesianLine, ResolvedRates
from collision_monitor.motion.trajectory import Trajectory, hermite
from collision_monitor.motion.trapezoid import Trapezoid
from collision_monitor.motion.violation import Code, Violation
from collision_monitor.robot.bodies import Bodies, link_poses

OFF = (1e-4, math.radians(0.01))  # metres and radians off the line that are too much
_NEAR_SINGULAR = 0.03  # smallest singular value that is warned of
_ROUNDING = 1e-9  # rad or m beyond a limit that is none


def singularities(
    rates: ResolvedRates,
    path: Callable[[np.ndarray], np.ndarray],
    course: PPoly,
    times: np.ndarray,
    link: str,
) -> tuple[float, list[Violation]]:
    """The smallest singular value on the way, and what is said of it.

    Args:
        rates: those of the link.
        path: joints (n, columns) by s (n,).
        course: s over time.
        times: (n,) instants from which it is looked for, also between them.
        link: the link.
    """

    def value(time: float) -> float:
        return rates.smallest_singular_value(path(course([time])[0])[0])

    values = np.array([value(time) for time in times])
    # Crossing a singularity it comes down to zero like |x|: between nodes it is far below both.
    lows = []
    for k in np.flatnonzero(values < 5.0 * _NEAR_SINGULAR):
        low, high = max(k - 1, 0), min(k + 1, len(times) - 1)
        if values[k] == values[low : high + 1].min():
            found = minimize_scalar(value, bounds=(times[low], times[high]), method="bounded")
            lows.append((float(found.x), float(found.fun)))
    if lows:
        times, values = np.hstack([[times, values], np.array(lows).T])
        order = np.argsort(times)
        times, values = times[order], values[order]
    worst = int(values.argmin())
    least = float(values[worst])
    if least >= _NEAR_SINGULAR:
        return least, []
    damped = least < SINGULAR
    limit = SINGULAR if damped else _NEAR_SINGULAR
    said = (
        "rates are damped there, so the link leaves the line a little; a controller does otherwise"
        if damped
        else "rates are high near there"
    )
    return least, [
        Violation(
            code=Code.SINGULARITY,
            subject=link,
            first=float(times[values < limit][0]),
            worst=float(times[worst]),
            value=least,
            limit=limit,
            unit="1",
            warning=not damped,
            text=f"the smallest singular value of the Jacobian, lengths over {rates.reach:.3g} m; "
            + said,
        )
    ]


def beyond_limits(
    bodies: Bodies, rates: ResolvedRates, trajectory: Trajectory, times: np.ndarray
) -> list[Violation]:
    """Joints that lead the link and come beyond their limits, looked at ``times`` (n,)."""
    found = []
    positions = trajectory.polynomial(times)
    for column in rates.columns:
        joint = bodies.joints[column]
        if joint.kind == "continuous":
            continue
        for sign, limit in ((1.0, joint.upper), (-1.0, joint.lower)):
            beyond = sign * (positions[:, column] - limit)
            if beyond.max() <= _ROUNDING:
                continue
            worst = int(beyond.argmax())
            found.append(
                Violation(
                    code=Code.JOINT_POSITION,
                    subject=joint.name,
                    first=_first(times, beyond),
                    worst=float(times[worst]),
                    value=float(positions[worst, column]),
                    limit=limit,
                    unit="m" if joint.kind == "prismatic" else "rad",
                    text="met while the line was followed",
                )
            )
    return found


def off_the_line(
    times: np.ndarray, off: np.ndarray, link: str, reached: float
) -> list[Violation]:
    """Where ``off`` (n, 2), metres and radians at ``times`` (n,), is too much.

    ``reached``: the part of the line after which it could not be followed, or 1.
    """
    text = "off where the line has it at that time"
    if reached < 1.0:
        text += (
            f"; it cannot be followed beyond {100.0 * reached:.3g} % of its length, at "
            f"{times[-1]:.4g} s, and the motion is cut off there"
        )
    found = [
        Violation(
            code=Code.OFF_THE_LINE,
            subject=link,
            first=_first(times, values - limit),
            worst=float(times[values.argmax()]),
            value=float(values.max()),
            limit=limit,
            unit=unit,
            text=text,
        )
        for values, limit, unit in zip(off.T, OFF, ("m", "rad"), strict=True)
        if values.max() > limit
    ]
    if reached < 1.0 and not found:  # rates too wild to be integrated, but on the line until then
        end, metres = float(times[-1]), float(off[-1, 0])
        found.append(Violation(Code.OFF_THE_LINE, link, end, end, metres, OFF[0], "m", text=text))
    return found


def _first(times: np.ndarray, beyond: np.ndarray) -> float:
    """When ``beyond`` (n,) is above zero first, straight between ``times``."""
    k = int(np.flatnonzero(beyond > 0.0)[0])
    if k == 0:
        return float(times[0])
    part = beyond[k - 1] / (beyond[k - 1] - beyond[k])
    return float(times[k - 1] + part * (times[k] - times[k - 1]))


_FINE = (1e-6, 1e-6)  # metres and radians off the line that the polynomials may add
_BETWEEN = np.array([0.25, 0.5, 0.75])  # where intervals are measured
_MOST_NODES = 5000


@dataclass(frozen=True, eq=False)
class LineMotion:
    """A link led along a line.

    Attributes:
        trajectory: all joints of the robot; those that do not lead the link are held. It ends
            early where the line cannot be followed.
        violations: singularities, position limits and the line, where they are not kept.
        off: most that the link is off the line at any instant measured, metres and radians.
        smallest_singular_value: of the Jacobian, lengths over that of the stretched arm.
    """

    trajectory: Trajectory
    violations: tuple[Violation, ...]
    off: tuple[float, float]
    smallest_singular_value: float


def follow_line(
    bodies: Bodies,
    link: str,
    q: np.ndarray,
    line: CartesianLine,
    profile: Trapezoid,
    joint_names: Sequence[str] | None = None,
) -> LineMotion:
    """Lead ``link`` along ``line`` from ``q`` (nq,), where it is at the start of it.

    ``joint_names``: the only joints that may move; all between base and link else.

    Raises:
        MotionError: an unknown link or joint; rates too wild to be integrated at all.
    """
    rates = ResolvedRates(bodies, link, line, q, joint_names)
    path, reached = rates.path()
    course = _until(profile.path([0.0], [1.0]), reached)

    def measure(times: np.ndarray, moving: np.ndarray) -> np.ndarray:
        poses = link_poses(bodies, [link], rates.configurations(moving))[link]
        ahead = line.ahead(course(times)[:, 0], poses).reshape(-1, 2, 3)
        return np.linalg.norm(ahead, axis=2)

    polynomial, times = _fitted(rates, path, course, measure)
    off = measure(times, polynomial(times))
    trajectory = _all_joints(bodies, rates, polynomial)
    least, singular = singularities(rates, path, course, polynomial.x, link)
    violations = (
        *singular,
        *beyond_limits(bodies, rates, trajectory, times),
        *off_the_line(times, off, link, reached),
    )
    metres, radians = off.max(axis=0)
    return LineMotion(trajectory, violations, (float(metres), float(radians)), least)


def _until(course: PPoly, reached: float) -> PPoly:
    """The course s(t) cut off where it comes to ``reached``."""
    if reached >= 1.0:
        return course
    end = brentq(lambda time: float(course(time)[0]) - reached, 0.0, course.x[-1])
    whole = int((course.x < end).sum())
    return PPoly(course.c[:, :whole], np.append(course.x[:whole], end))


def _fitted(
    rates: ResolvedRates,
    path: Callable[[np.ndarray], np.ndarray],
    course: PPoly,
    measure: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> tuple[PPoly, np.ndarray]:
    """Quintics of the joints that move, and the instants at which they were measured."""
    nodes = [
        np.linspace(a, b, 2 + math.ceil(32.0 * float(course(b)[0] - course(a)[0])))
        for a, b in zip(course.x[:-1], course.x[1:], strict=True)
    ]
    known: dict[float, tuple[np.ndarray, ...]] = {}
    while True:
        polynomial = _quintics(rates, path, course, nodes, known)
        x = polynomial.x
        between = x[:-1, None] + np.diff(x)[:, None] * _BETWEEN
        off = measure(between.ravel(), polynomial(between.ravel())).reshape(len(between), -1, 2)
        at_nodes = measure(x, polynomial(x))
        allowed = np.maximum(at_nodes[:-1], at_nodes[1:]) + _FINE
        coarse = (off > allowed[:, None, :]).any(axis=(1, 2))
        if not coarse.any() or len(x) > _MOST_NODES:
            return polynomial, np.unique(np.concatenate([x, between.ravel()]))
        middles = 0.5 * (x[:-1] + x[1:])[coarse]
        nodes = [
            np.unique(np.concatenate([n, middles[(middles > n[0]) & (middles < n[-1])]]))
            for n in nodes
        ]


def _quintics(
    rates: ResolvedRates,
    path: Callable[[np.ndarray], np.ndarray],
    course: PPoly,
    nodes: list[np.ndarray],
    known: dict[float, tuple[np.ndarray, ...]],
) -> PPoly:
    """Through positions, rates and accelerations at nodes; each ramp has its own at its ends."""
    parts = []
    for piece, times in enumerate(nodes):
        along = times - course.x[piece]
        a, v, p = course.c[:, piece, 0]
        s = np.clip(p + v * along + a * along**2, 0.0, float(course(course.x[-1])[0]))
        speed, rise = v + 2.0 * a * along, 2.0 * a
        fresh = np.array([value for value in s if value not in known])
        if len(fresh):
            moving = path(fresh)
            known.update(
                (value, (row, *_derivatives(rates, value, row)))
                for value, row in zip(fresh.tolist(), moving, strict=True)
            )
        q, first, second = (np.array([known[value][k] for value in s.tolist()]) for k in range(3))
        speed = speed[:, None]
        velocity, acceleration = first * speed, second * speed**2 + first * rise
        ends = (q, velocity, acceleration)
        parts.append(
            hermite(np.diff(times), [end[:-1] for end in ends], [end[1:] for end in ends])
        )
    breaks = np.concatenate([nodes[0][:1], *(times[1:] for times in nodes)])
    return PPoly(np.concatenate(parts, axis=1), breaks)


def _derivatives(rates: ResolvedRates, s: float, moving: np.ndarray) -> tuple[np.ndarray, ...]:
    """First and second derivative of the joints by s, the second along the way they take."""
    first = rates.per_s(s, moving)
    step = 1e-4 / max(1.0, float(np.abs(first).max()))
    ahead = rates.per_s(s + step, moving + step * first)
    behind = rates.per_s(s - step, moving - step * first)
    return first, (ahead - behind) / (2.0 * step)


def _all_joints(bodies: Bodies, rates: ResolvedRates, polynomial: PPoly) -> Trajectory:
    c = np.zeros((*polynomial.c.shape[:2], len(bodies.joints)))
    c[-1] = rates.configurations(polynomial.c[-1, :1])
    c[:, :, rates.columns] = polynomial.c
    return Trajectory(bodies.joint_names, PPoly(c, polynomial.x))
