# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Nearness of links: what distances say, in parts of the thresholds of each pair."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.robots.toys import chain

from collision_monitor import CollisionModel
from collision_monitor.model.proximity import Nearness


@pytest.fixture(scope="module")
def model():
    """Five balls in a chain: six pairs."""
    return CollisionModel.from_urdf(chain(5))


def by_hand(model, distances, thresholds):
    """Link by link, pair by pair."""
    found = dict.fromkeys(model.link_names, math.inf)
    for pair, distance, (stop, warn) in zip(model.pairs, distances, thresholds, strict=True):
        if distance > warn:
            continue
        part = 0.0 if distance <= stop else (distance - stop) / (warn - stop)
        for name in pair:
            found[name] = min(found[name], part)
    return list(found.values())


length = st.floats(0.0, 3.0)


@given(
    q=st.lists(st.floats(-2.0, 2.0), min_size=4, max_size=4),
    limits=st.lists(st.tuples(length, length), min_size=6, max_size=6),
)
def test_it_is_that_of_a_loop_over_all_pairs(model, q, limits):
    thresholds = np.sort(np.array(limits), axis=1)
    distances = model.distances(q)
    # A pair at its threshold is on either side of it by the last digit.
    thresholds[np.abs(thresholds - distances[:, None]).min(axis=1) < 1e-6] = 0.0
    nearness, expected = Nearness(model), by_hand(model, distances, thresholds)
    assert nearness.of_distances(distances, thresholds) == pytest.approx(expected)
    assert nearness.of_leaves(np.array(q), thresholds) == pytest.approx(expected, abs=1e-6)


def test_a_distance_that_is_no_number_is_as_near_as_can_be(model):
    distances = np.full(len(model.pairs), 9.0)
    distances[0] = math.nan
    found = Nearness(model).of_distances(distances, np.tile([0.1, 0.2], (6, 1)))
    near = [name in model.pairs[0] for name in model.link_names]
    assert found.tolist() == [0.0 if is_near else math.inf for is_near in near]
