# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Bounds on a path from distances at some places, and what they promise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collision_monitor.continuous.braking import (
    bounds_of_pairs,
    is_worth_measuring,
    raise_bounds,
    raise_lowest,
)

SEEDS = st.integers(0, 2**32 - 1)


def monotone_path(rng, intervals=5, joints=3):
    """(2 n + 1, nq) configurations, each joint going one way."""
    steps = rng.random((2 * intervals + 1, joints)) * rng.choice([-1.0, 0.0, 1.0], joints)
    return rng.normal(size=joints) + np.cumsum(steps, axis=0)


@given(SEEDS)
@settings(max_examples=200)
def test_a_bound_holds_everywhere_in_its_interval(seed):
    """For a function that changes by ``weights`` for a unit of a joint at most."""
    rng = np.random.default_rng(seed)
    path, weights, center = monotone_path(rng), rng.random(3), rng.normal(size=3)

    def distance(q):
        return np.abs(q - center) @ weights - 0.5

    bounds, place = np.full(5, -np.inf), rng.normal(size=3)
    raise_bounds(path[::2].T, weights, place, distance(place), np.inf, bounds)
    for k, bound in enumerate(bounds):
        low, high = np.sort(path[[2 * k, 2 * k + 2]], axis=0)
        inside = low + rng.random((50, 3)) * (high - low)
        assert bound <= distance(inside).min() + 1e-12


def test_an_interval_is_measured_as_long_as_that_may_raise_its_bound():
    path, weights = np.linspace(0.0, 1.0, 9)[:, None], np.ones(1)  # intervals of 0.25
    places, distances = np.zeros((1, 1)), np.ones(1)

    def is_worth_it(bound):
        return is_worth_measuring(path[::2].T, path[5], weights, places, distances, 2, bound)

    # At 0.625 the pair is 1.625 apart at most, and the bound of the interval 1.5.
    assert is_worth_it(1.49)
    assert not is_worth_it(1.51)
    places[0], distances[0] = 0.625, 0.225  # measured: the bound is what that says
    assert not is_worth_it(0.11)


def farthest(path, weights, place):
    """Travel (n,) from a place to the farthest end of each interval, joint by joint."""
    ways = np.abs(path[::2] - place)
    return np.maximum(ways[1:], ways[:-1]) @ weights


@given(SEEDS)
@settings(max_examples=200)
def test_the_lowest_bound_is_that_of_a_plain_twin(seed):
    rng = np.random.default_rng(seed)
    path, weights, now = monotone_path(rng), rng.random((2, 3)), rng.random(2)
    weights[0, 1] = 0.0
    places, distances = rng.normal(size=(3, 4, 3)), rng.random((3, 4))
    counts = np.array([9, 0, 2])  # of the last one, two are unused
    slots, bounds = np.array([2, 0]), np.empty((2, 5))
    expected = np.array([
        np.max([
            now[k] - farthest(path, weights[k], path[0]),
            *(distances[slot, m] - farthest(path, weights[k], places[slot, m])
              for m in range(min(counts[slot], 4))),
        ], axis=0)
        for k, slot in enumerate(slots)
    ])  # fmt: skip
    by_joint, ends = np.ascontiguousarray(places.transpose(0, 2, 1)), np.array(path[::2].T)
    kept = by_joint, distances, counts
    bounds_of_pairs(ends, weights, now, np.full(2, np.inf), slots, *kept, bounds)
    assert (bounds <= expected + 1e-12).all()
    assert bounds.min(axis=1) == pytest.approx(expected.min(axis=1), abs=1e-12)
    for k, slot in enumerate(slots):
        at = raise_lowest(ends, weights[k], by_joint[slot], distances[slot], np.inf, bounds[k])
        assert at == bounds[k].argmin()
    enough = rng.random(2) - 1.0
    bounds_of_pairs(ends, weights, now, enough, slots, *kept, bounds)
    assert (bounds <= expected + 1e-12).all()
    assert ((bounds >= enough[:, None]).all(1) == (expected >= enough[:, None]).all(1)).all()
