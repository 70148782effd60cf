# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Programs over all waypoints: against dense linear algebra, and what no change may do."""


import numpy as np
import pytest
from support.robots.planar_arms import limits_of, meeting, planar_model

from collision_monitor.model.proximity import Proximity
from collision_monitor.self_collision.robust.smoothing import Smoother, SmoothingWindow
from collision_monitor.self_collision.stepper import Stepper

MODEL = planar_model()
SAFE, NEED, ROUNDS = 0.1, 0.002, 5
LIMITS = limits_of(MODEL, SAFE)
COLUMNS = np.arange(6)
MU = 4.0  # weight of second differences


def window_of(knots, columns=COLUMNS, pace=1.0):
    """Samples at the knots and half-way."""
    count = len(knots)
    samples = np.empty((2 * count - 1, knots.shape[1]))
    samples[::2], samples[1::2] = knots, 0.5 * (knots[1:] + knots[:-1])
    at = np.arange(2 * count - 1)
    steps = np.full((count - 1, len(columns)), pace)
    room = np.array([limit[columns] - knots[:, columns] for limit in (MODEL.lower, MODEL.upper)])
    return SmoothingWindow(knots, samples, at // 2, np.where(at % 2, 0.5, 0.0), steps, room)


def smoother(columns=COLUMNS, weights=None):
    weights = np.eye(len(columns)) if weights is None else weights
    return Smoother(Proximity(MODEL), columns, LIMITS, weights)


def cost(change, weights):
    """As it is documented."""
    total = 0.0
    each = weights if weights.ndim == 3 else [weights] * len(change)
    for y, weight in zip(change[1:-1], each[1:-1], strict=True):
        total += y @ weight @ y
    mean = weights.mean(axis=0) if weights.ndim == 3 else weights
    for k in range(1, len(change) - 1):
        bend = change[k + 1] - 2.0 * change[k] + change[k - 1]
        total += MU * bend @ mean @ bend
    return total


def least_cost(ends, weights):
    """The free minimum with held ends, by dense least squares."""
    count, m = len(weights) if weights.ndim == 3 else 12, len(ends[0])
    each = weights if weights.ndim == 3 else np.repeat(weights[None], count, axis=0)
    root = np.linalg.cholesky(each.mean(axis=0)).T
    rows, size = [], count * m
    for k in range(1, count - 1):
        value, bend = np.zeros((m, size)), np.zeros((m, size))
        value[:, k * m : (k + 1) * m] = np.linalg.cholesky(each[k]).T
        for at, factor in ((k - 1, 1.0), (k, -2.0), (k + 1, 1.0)):
            bend[:, at * m : (at + 1) * m] = np.sqrt(MU) * factor * root
        rows += [value, bend]
    matrix = np.vstack(rows)
    held = np.r_[ends[0], ends[1]]
    outer = np.r_[np.arange(m), np.arange(size - m, size)]
    free = np.arange(m, size - m)
    inner = np.linalg.lstsq(matrix[:, free], -matrix[:, outer] @ held, rcond=None)[0]
    return cost(np.vstack([ends[0], inner.reshape(-1, m), ends[1]]), weights)


@pytest.mark.parametrize("kind", ["one", "dear joints", "a weight a knot"])
def test_without_clearances_it_is_the_least_squares_solution(kind):
    rng = np.random.default_rng(3)
    knots = meeting(41)[:12] * 0.0 + meeting(41)[0]  # far from everything
    weights = np.eye(6)
    if kind != "one":
        parts = rng.normal(size=(12, 6, 6))
        weights = np.eye(6) + 0.2 * parts @ np.swapaxes(parts, 1, 2)
        weights = weights if kind == "a weight a knot" else weights[0]
    ends = rng.uniform(-0.05, 0.05, (2, 6))
    change = np.vstack([ends[0], rng.uniform(-0.05, 0.05, (10, 6)), ends[1]])
    start = cost(change, weights)
    window = window_of(knots)
    found = smoother(weights=weights).smooth(window, change, np.full(23, NEED), 40)
    least = least_cost(ends, weights)
    assert np.array_equal(found[[0, -1]], ends)
    # a lower peak may cost two per cent
    assert least * (1.0 - 1e-6) <= cost(found, weights) <= 1.025 * least + 1e-4
    assert cost(found, weights) < 0.5 * start


@pytest.fixture(scope="module")
def first():
    """A desired motion through itself, and a first change that keeps the clearances."""
    knots = meeting(41, 0.8)
    stepper = Stepper(Proximity(MODEL), COLUMNS[:3], LIMITS, np.eye(3), 0.003)
    return knots, stepper.walk(knots, 0.02, 0.2) - knots  # the right arm does it all


def gaps(window, change):
    """Least clearance above its limit at each sample."""
    rows = window.samples + window.blend(change)
    return np.array([(MODEL.distances(q) - LIMITS).min() for q in rows])


def test_a_change_becomes_smaller_and_smoother_and_keeps_clearances(first):
    knots, change = first
    window = window_of(knots, pace=0.25)
    assert gaps(window, 0.0 * change).min() < -0.05
    given = change.copy()
    found = smoother().smooth(window, change, np.full(len(window.samples), NEED), ROUNDS)
    assert np.array_equal(change, given)
    assert np.array_equal(found[[0, -1]], change[[0, -1]])
    assert cost(found, np.eye(6)) < 0.7 * cost(change, np.eye(6))
    assert np.abs(found[:, 3:]).max() > 0.02
    assert gaps(window, found).min() > -1e-3  # linearised; the certificate tells, and asks for more
    rows = knots + found
    assert (MODEL.lower <= rows).all() and (rows <= MODEL.upper).all()
    assert np.abs(np.diff(rows, axis=0)).max() <= 0.25 + 1e-5
