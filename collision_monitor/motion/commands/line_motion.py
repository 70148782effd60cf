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
from scipy.optimize import brentq

from collision_monitor.motion import hermite
from collision_monitor.motion.commands.cartesian_line import CartesianLine
from collision_monitor.motion.commands.line_violations import (
    beyond_limits,
    off_the_line,
    singularities,
)
from collision_monitor.motion.commands.resolved_rates import ResolvedRates
from collision_monitor.motion.commands.trapezoid import Trapezoid
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.motion.violation import Violation
from collision_monitor.robot.batch_poses import link_poses
from collision_monitor.robot.bodies import Bodies

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
            hermite.quintic(
                np.diff(times), *(end[:-1] for end in ends), *(end[1:] for end in ends)
            )
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
