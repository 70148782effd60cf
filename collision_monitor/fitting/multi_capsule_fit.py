# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Several capsules around one mesh, with the least excess volume of their union.

The body is not cut into pieces. All end points and radii are optimised together: the cost is the
excess volume of the union, with a penalty on uncovered points. At the end the radii grow until
every triangle is enclosed.

The optimiser is L-BFGS with a lower bound of the radii: Nocedal and Wright, Numerical Optimization,
algorithms 7.4 and 7.5, with a projection onto the bounds. It is one compiled call: meshes are
fitted in parallel threads, and results do not depend on a linear algebra library.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from inspect import signature
from typing import NamedTuple

import numpy as np

from collision_monitor.common.compiled import reproducible_kernel, reproducible_part_kernel
from collision_monitor.fitting.body import Body
from collision_monitor.fitting.coverage import (
    Coverage,
    coverage_cost,
    gaps_to_union,
    grow_to_enclose,
)
from collision_monitor.geometry.fixed_order import norm, principal_axes, product

# -- optimisation --

_HISTORY = 10  # steps with known curvature
_SUFFICIENT = 1e-4  # Armijo: part of the decrease expected from the gradient
_MAX_SMALL_STEPS = 3  # small steps in a row that end the optimisation
_TRIALS = 20  # step lengths of one line search
# Length of a step without known curvature, in sizes of the body. A longer one grows capsules past
# small gaps: the large penalty allows it, and they hardly shrink again.
_FIRST_STEP = 0.1


class _Curvature(NamedTuple):
    """The last steps, a ring buffer: their moves and changes of the gradient (_HISTORY, n).

    ``inverses`` (_HISTORY,): 1 / (move . change); ``shares`` (_HISTORY,) is work space.
    """

    moves: np.ndarray
    changes: np.ndarray
    inverses: np.ndarray
    shares: np.ndarray


@reproducible_kernel
def _is_at_bound(i, x, gradient, least_radius):
    """Whether variable i is a radius at its lower bound that would fall."""
    return i % 7 == 6 and x[i] <= least_radius and gradient[i] > 0.0


@reproducible_kernel
def _dot(a, row, b):
    """Product of a row of ``a`` (m, n) and ``b`` (n,)."""
    total = 0.0
    for i in range(len(b)):
        total += a[row, i] * b[i]
    return total


@reproducible_part_kernel
def _set_direction(x, gradient, least_radius, curvature, newest, known, direction):
    """Write the quasi-Newton ``direction`` (n,) by the two-loop recursion; return its slope.

    The slope is 0 without a variable that is free. The ``known`` last steps are used.
    """
    count, length = len(x), 0.0
    for i in range(count):
        direction[i] = 0.0 if _is_at_bound(i, x, gradient, least_radius) else -gradient[i]
        length += direction[i] * direction[i]
    if length == 0.0:
        return 0.0
    for step in range(known):
        m = (newest - step) % _HISTORY
        curvature.shares[m] = _dot(curvature.moves, m, direction) * curvature.inverses[m]
        for i in range(count):
            direction[i] -= curvature.shares[m] * curvature.changes[m, i]
    scale = min(1.0, _FIRST_STEP / math.sqrt(length))
    if known > 0:
        square = _dot(curvature.changes, newest, curvature.changes[newest])
        scale = 1.0 / (square * curvature.inverses[newest])
    for i in range(count):
        direction[i] *= scale
    for step in range(known - 1, -1, -1):
        m = (newest - step) % _HISTORY
        part = _dot(curvature.changes, m, direction) * curvature.inverses[m]
        for i in range(count):
            direction[i] += (curvature.shares[m] - part) * curvature.moves[m, i]
    slope = 0.0
    for i in range(count):
        if _is_at_bound(i, x, gradient, least_radius):
            direction[i] = 0.0
        slope += direction[i] * gradient[i]
    return slope


@reproducible_part_kernel
def _search_line(x, direction, slope, value, coverage, least_radius, trial, trial_gradient):
    """Write a ``trial`` (k, 7) along ``direction`` whose cost is low enough, and its gradient.

    Returns (cost, whether it is low enough).
    """
    new_x, size, new_value = trial.reshape(trial.size), 1.0, value
    for _ in range(_TRIALS):
        for i in range(len(x)):
            new_x[i] = x[i] + size * direction[i]
            if i % 7 == 6:
                new_x[i] = max(new_x[i], least_radius)
        new_value = coverage_cost(trial, coverage, trial_gradient)
        if new_value <= value + _SUFFICIENT * size * slope:
            return new_value, True
        # Minimum of the parabola through the known values.
        least = -0.5 * slope * size * size / (new_value - value - size * slope)
        size = min(max(least, 0.1 * size), 0.5 * size)
    return new_value, False


@reproducible_kernel
def descend(capsules, coverage, least_radius, steps, tolerance):
    """Optimise ``capsules`` (k, 7) in place by up to ``steps`` steps; return their `coverage_cost`.

    Ends when a few steps in a row gain less than ``tolerance`` of the cost. Radii stay at
    ``least_radius`` or above.
    """
    count = capsules.size
    x = capsules.reshape(count)
    trial, trial_gradient = np.empty(capsules.shape), np.empty(capsules.shape)
    new_x, new_gradient = trial.reshape(count), trial_gradient.reshape(count)
    gradient, direction = np.empty(count), np.empty(count)
    curvature = _Curvature(
        np.empty((_HISTORY, count)), np.empty((_HISTORY, count)), np.empty(_HISTORY),
        np.empty(_HISTORY),
    )  # fmt: skip
    value = coverage_cost(capsules, coverage, trial_gradient)
    for i in range(count):
        gradient[i] = new_gradient[i]
    known, newest, slow = 0, 0, 0
    for _ in range(steps):
        slope = _set_direction(x, gradient, least_radius, curvature, newest, known, direction)
        is_lower, new_value = False, value
        if slope < 0.0:
            new_value, is_lower = _search_line(
                x, direction, slope, value, coverage, least_radius, trial, trial_gradient
            )
        if not is_lower:
            if known == 0:
                break
            known = 0  # restart
            continue
        m = (newest + 1) % _HISTORY
        bend, square = 0.0, 0.0
        for i in range(count):
            move, change = new_x[i] - x[i], new_gradient[i] - gradient[i]
            curvature.moves[m, i], curvature.changes[m, i] = move, change
            bend += move * change
            square += change * change
            x[i], gradient[i] = new_x[i], new_gradient[i]
        if bend > 1e-10 * square:
            curvature.inverses[m] = 1.0 / bend
            newest, known = m, min(known + 1, _HISTORY)
        gain, value = value - new_value, new_value
        slow = slow + 1 if gain <= tolerance * max(abs(value), 1e-12) else 0
        if slow == _MAX_SMALL_STEPS:
            break
    return value


# -- the fit --

# Annealing: the penalty of uncovered points doubles with every stage. While it is weak, the
# coverage is smoothed over more, in sizes of the body, so that capsules can still exchange places:
# by _WIDTH over the root of the penalty. The first stage also chooses among guesses, with every
# fourth point.
_PENALTIES = 1e3 * 2.0 ** np.arange(14)
_WIDTH, _LEAST_WIDTH = 0.6, 0.01
_COARSE = 4
# From this number of capsules on, all guesses are those of balls, and stages have more steps.
_MANY_CAPSULES = 17
# Before each of these stages the worst uncovered surface points are added to the cost.
_ADDED_POINTS = 600
_STEPS = 60  # of a stage; twice as many for many capsules
_GAIN = 1e-5  # a stage ends when steps gain less than this part of the cost
_THRIFT = 0.02
_LEAST_RADIUS = 0.005
# Cost of the distance that watchers lose, in sizes of the body, relative to volume in hulls.
_WATCHER_COST = 5.0
# Triangles are halved down to this edge before a capsule grows, in sizes of the body.
_SMALLEST_EDGE = 0.002
# Starts of a thorough optimisation, and those that run to the end. All but the first stretch the
# body by random factors before clustering.
_STARTS, _FINALISTS = 3, 2


def _capsule_along(points: np.ndarray, radius: float | None = None) -> np.ndarray:
    """Return a capsule (7,) along the principal axis of points (n, 3).

    Its radius is about the distance of the points from the axis, or ``radius``.
    """
    middle = points.mean(axis=0)
    axis = principal_axes(points)[1][:, 2]
    x = product(points - middle, axis)
    half = 0.5 * float(np.ptp(x))
    if radius is None:
        rho = np.linalg.norm(points - middle - x[:, None] * axis, axis=1)
        radius = max(1.2 * float(np.median(rho)), 2.0 * _LEAST_RADIUS)
        half -= radius
    half = max(half, 1e-3)  # a sphere could not turn
    center = middle + 0.5 * float(x.max() + x.min()) * axis
    return np.r_[center - half * axis, center + half * axis, max(radius, 2.0 * _LEAST_RADIUS)]


def _clusters(points: np.ndarray, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return the indices of ``count`` clusters of ``points`` (n, d); some may be empty."""
    from scipy.cluster.vq import kmeans2

    # SciPy before 1.15, as in Ubuntu 24.04, uses another name for the argument.
    generator = "rng" if "rng" in signature(kmeans2).parameters else "seed"
    _, owner = kmeans2(points, count, minit="++", **{generator: rng})
    return [np.flatnonzero(owner == k) for k in range(count)]


def _cluster_guesses(body: Body, count: int, starts: int) -> Iterator[np.ndarray]:
    """Yield first guesses (count, 7): a capsule along each cluster of the body's points."""
    rng = np.random.default_rng(count)
    points = np.vstack([body.surface, body.inside])
    for start in range(starts):
        stretch = rng.uniform(0.3, 1.0, 3) if start else np.ones(3)
        clusters = _clusters(points * stretch, count, rng)
        yield np.array([_capsule_along(points[c] if len(c) > 3 else points) for c in clusters])


def _ball_guesses(body: Body, count: int, starts: int) -> Iterator[np.ndarray]:
    """Yield first guesses (count, 7): a capsule along each cluster of balls within the body.

    Many capsules are best close to the surface; clusters of points would also fill the inside.
    """
    rng = np.random.default_rng([count, 1])
    for start in range(starts):
        stretch = np.r_[rng.uniform(0.3, 1.0, 3) if start else np.ones(3), 1.0]
        clusters = _clusters(body.balls * stretch, count, rng)
        balls = [
            body.balls[c if len(c) > 1 else rng.integers(len(body.balls), size=4)] for c in clusters
        ]
        yield np.array([_capsule_along(some[:, :3], float(some[:, 3].mean())) for some in balls])


def _split_guess(body: Body, capsules: np.ndarray, count: int, direction: int) -> np.ndarray:
    """Return a guess (count, 7) from fewer ``capsules``: those of most excess volume are halved.

    ``direction`` 0 halves along the axis; 1 and 2 halve sideways, in two random directions.
    """
    rng = np.random.default_rng([count, direction])
    while len(capsules) < count:
        gaps = np.array([gaps_to_union(body.outside, row.reshape(1, 7)) for row in capsules])
        owners = gaps.argmin(axis=0)[gaps.min(axis=0) < 0.0]
        excess = np.bincount(owners, minlength=len(capsules)).astype(float)
        if direction == 2:
            excess *= rng.uniform(0.3, 1.0, len(capsules))
        largest = int(excess.argmax())
        first, second = capsules[largest].copy(), capsules[largest].copy()
        axis = first[3:6] - first[:3]
        span = norm(axis)
        if direction == 0 and span > 0.5 * first[6]:
            middle = 0.5 * (first[3:6] + first[:3])
            first[3:6], second[:3] = middle - 0.05 * axis, middle + 0.05 * axis
        else:
            sideways = rng.normal(size=3)
            if span > 1e-6:
                sideways -= float((sideways * axis).sum()) / span**2 * axis
            sideways *= 0.4 * first[6] / norm(sideways)
            first[:6] += np.tile(sideways, 2)
            second[:6] -= np.tile(sideways, 2)
            first[6] *= 0.8
            second[6] *= 0.8
        capsules = np.vstack([np.delete(capsules, largest, axis=0), first, second])
    return capsules


def _as_float32_rows(points: np.ndarray) -> np.ndarray:
    """Convert points (n, 3) to the fastest layout for `coverage_cost`: (3, n), float32."""
    return np.ascontiguousarray(points.T, dtype=np.float32)


class _Annealing:
    """The annealing of one body: stages of optimisation over the same points."""

    def __init__(self, body: Body, thin: int) -> None:
        """Use only every ``thin``-th of the body's points."""
        samples = len(body.surface) - len(body.hull_points)
        surface = np.vstack([body.surface[:samples:thin], body.hull_points])
        inside = body.inside[:: 2 * thin]
        self._body = body
        self._to_cover = _as_float32_rows(np.vstack([surface, inside]))
        self._weights = np.r_[
            np.full(len(surface) - len(body.hull_points), thin / samples),
            np.full(len(body.hull_points), 1.0 / len(body.hull_points)),
            np.full(len(inside), 1.0 / max(1, len(inside))),
        ]
        self._added_weight = 1.0 / samples
        self._to_avoid = _as_float32_rows(body.outside[::thin])
        self._watchers = _as_float32_rows(body.watchers)
        self._watcher_weights = _WATCHER_COST * body.watcher_weights
        self._volume = max(body.hull_volume, 0.02 * body.hull_area)
        self._prices = body.prices[::thin] * (thin * body.cell / self._volume)

    def join_missed(self, capsules: np.ndarray) -> None:
        """Add the surface points that ``capsules`` (k, 7) miss worst to the cost."""
        gaps = gaps_to_union(self._body.dense_surface, capsules)
        missed = np.argsort(-gaps)[: min(_ADDED_POINTS, int((gaps > 0.0).sum()))]
        # Random points miss the gaps between capsules; growing finds them.
        places = grow_to_enclose(self._body.triangles, capsules.copy(), _SMALLEST_EDGE)
        joined = np.vstack([self._body.dense_surface[missed], places])
        self._to_cover = np.hstack([self._to_cover, _as_float32_rows(joined)])
        self._weights = np.r_[self._weights, np.full(len(joined), self._added_weight)]

    def run(self, capsules: np.ndarray, penalty: float) -> tuple[np.ndarray, float]:
        """Return the capsules (k, 7) after one stage, and their cost."""
        optimised, width = capsules.copy(), max(_LEAST_WIDTH, _WIDTH / math.sqrt(penalty))
        coverage = Coverage(
            self._to_cover, self._weights, self._to_avoid, self._prices, self._watchers,
            self._watcher_weights, width, penalty, _THRIFT / self._volume,
        )  # fmt: skip
        steps = _STEPS if len(optimised) < _MANY_CAPSULES else 2 * _STEPS
        value = descend(optimised, coverage, _LEAST_RADIUS, steps, _GAIN)
        return optimised, value


def _anneal(body: Body, guesses: list[np.ndarray], finalists: int) -> list[np.ndarray]:
    """Anneal ``guesses`` to the end, the best ``finalists`` if there are more; capsules (k, 7)."""
    if len(guesses) > finalists:
        coarse = _Annealing(body, _COARSE)
        heats = [coarse.run(guess, _PENALTIES[0]) for guess in guesses]
        heats.sort(key=lambda heat: heat[1])
        guesses = [guess for guess, _ in heats[:finalists]]
    finished = []
    for capsules in guesses:
        fine = _Annealing(body, 1)
        for penalty in _PENALTIES:
            fine.join_missed(capsules)
            capsules, _ = fine.run(capsules, penalty)
        finished.append(capsules)
    return finished


def enclose(body: Body, capsules: np.ndarray) -> np.ndarray:
    """Return a copy of ``capsules`` (k, 7), grown until no triangle of the body sticks out."""
    capsules = capsules.copy()
    grow_to_enclose(body.triangles, capsules, _SMALLEST_EDGE)
    capsules[:, 6] += 1e-9  # covers rounding errors of changes of frame
    return capsules


def thickness(body: Body, capsules: np.ndarray) -> float:
    """Return the excess volume over the surface of the hull, in metres.

    For convex meshes this is the mean stand-off of the union.
    """
    excess = float((gaps_to_union(body.outside, capsules) < 0.0).sum()) * body.cell
    return excess / body.hull_area * body.size


def lost(body: Body, capsules: np.ndarray) -> float:
    """Return the mean distance that ``capsules`` take from the body's watchers, in metres."""
    if not len(body.watchers):
        return 0.0
    # C order, as in all other calls: another order would be compiled separately.
    gaps = gaps_to_union(np.ascontiguousarray(body.watchers), capsules)
    return float(((body.watcher_distances - gaps) * body.watcher_weights).sum()) * body.size


def fit_union(
    body: Body, count: int, fewer: np.ndarray | None = None, is_thorough: bool = True
) -> np.ndarray:
    """Return ``count`` capsules (count, 7) that enclose every triangle of ``body``, in its frame.

    The best of several optimisations: from clusters of balls within the body and, unless ``count``
    is large, from as many clusters of its points and three from ``fewer`` capsules of an earlier
    fit, if given. ``is_thorough``: from several clusters, and more than one runs to the end.
    """
    starts, finalists = (_STARTS, _FINALISTS) if is_thorough else (1, 1)
    guesses = [*_ball_guesses(body, count, starts)]
    if count < _MANY_CAPSULES:
        guesses += _cluster_guesses(body, count, starts)
        if fewer is not None and 1 < len(fewer) < count:
            guesses += [_split_guess(body, fewer, count, direction) for direction in range(3)]
    best, least = None, np.inf
    for capsules in _anneal(body, guesses, finalists):
        enclosing = enclose(body, capsules)
        found = thickness(body, enclosing) + lost(body, enclosing)
        if best is None or found < least:
            best, least = enclosing, found
    return best
