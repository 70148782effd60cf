# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Bounds on a path from distances at some places: a plain twin, and what they promise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collision_monitor.continuous.path_bounds import (
    next_place,
    raise_bounds,
    raise_bounds_by_all,
)

SEEDS = st.integers(0, 2**32 - 1)


def monotone_path(rng, intervals=5, joints=3):
    """(2 n + 1, nq) configurations, each joint going one way."""
    steps = rng.random((2 * intervals + 1, joints)) * rng.choice([-1.0, 0.0, 1.0], joints)
    return rng.normal(size=joints) + np.cumsum(steps, axis=0)


def farthest(path, weights, place):
    """Travel (n,) from a place to the farthest end of each interval, joint by joint."""
    ways = np.abs(path[::2] - place)
    return np.maximum(ways[1:], ways[:-1]) @ weights


@given(SEEDS)
@settings(max_examples=200)
def test_bounds_are_those_of_a_plain_twin(seed):
    rng = np.random.default_rng(seed)
    path, weights = monotone_path(rng), rng.random(3)
    places, distances = rng.normal(size=(4, 3)), rng.random(4)
    distances[rng.integers(4)] = -np.inf  # an empty slot
    bounds = rng.normal(size=5)
    ways = [d - farthest(path, weights, p) for p, d in zip(places, distances, strict=True)]
    expected = np.max([bounds, *ways], axis=0)
    raise_bounds_by_all(path, weights, places, distances, bounds)
    assert bounds == pytest.approx(expected, abs=1e-12)


@given(SEEDS)
@settings(max_examples=200)
def test_a_bound_holds_everywhere_in_its_interval(seed):
    """For a function that changes by ``weights`` for a unit of a joint at most."""
    rng = np.random.default_rng(seed)
    path, weights, center = monotone_path(rng), rng.random(3), rng.normal(size=3)

    def distance(q):
        return np.abs(q - center) @ weights - 0.5

    bounds, place = np.full(5, -np.inf), rng.normal(size=3)
    raise_bounds(path, weights, place, distance(place), bounds)
    for k, bound in enumerate(bounds):
        low, high = np.sort(path[[2 * k, 2 * k + 2]], axis=0)
        inside = low + rng.random((50, 3)) * (high - low)
        assert bound <= distance(inside).min() + 1e-12


def test_the_next_place_is_in_the_first_interval_that_is_open():
    path, weights = np.linspace(0.0, 1.0, 9)[:, None], np.ones(1)  # intervals of 0.25
    bounds = np.array([0.3, 0.1, 0.1, 0.3])
    none = np.zeros(4, dtype=bool)
    assert next_place(path, weights, bounds, none, 0.2, 0.0) == (1, 3)
    assert next_place(path, weights, bounds, none, 0.2, 0.4) == (1, 5)  # 0.375 from its start
    assert next_place(path, weights, bounds, none, 0.2, 9.0) == (1, 8)
    assert next_place(path, weights, bounds, np.array([0, 1, 0, 0], bool), 0.2, 0.0) == (2, 5)
    assert next_place(path, weights, bounds, none, 0.05, 0.0) == (-1, -1)
