# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Near leaf pairs: those of a loop over all pairs, with gradients by difference quotients."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.robots.robots import load_model
from support.robots.toys import chain

from collision_monitor import CollisionModel
from collision_monitor.geometry.segments import capsule_distance
from collision_monitor.model.proximity import Nearness, Proximity
from unit.model.test_reach import MIXED

SCENE = {"obstacles": [{"name": "crate", "type": "box", "size": [0.4, 0.4, 0.4],
                        "position": [1.0, 0.8, 0.2]}]}  # fmt: skip


def build(name):
    if name in ("mixed", "chain"):
        return CollisionModel.from_urdf(MIXED if name == "mixed" else chain(5), scene=SCENE)
    return load_model(name)


def slow_near(model, q, limits):
    """(k, 2) pair and distance of checked leaf pairs below their limit, in ascending order."""
    ends = model.leaf_segments(q).reshape(-1, 6)
    radii = np.array([[leaf.radius] for leaf in model.leaves])
    links = [leaf.link for leaf in model.leaves]
    pairs = {frozenset(pair): k for k, pair in enumerate(model.pairs)}
    found = [
        (pairs[both], capsule_distance(ends, radii, i, j))
        for i in range(len(links)) for j in range(i)
        if (both := frozenset((links[i], links[j]))) in pairs
    ]  # fmt: skip
    return np.array(sorted(row for row in found if row[1] < limits[row[0]])).reshape(-1, 2)


def rows_of(near):
    """The same of an answer."""
    return np.array(sorted(zip(near.pairs, near.distances, strict=True))).reshape(-1, 2)


@pytest.mark.parametrize("name", ["mixed", "ur5"])
def test_only_pairs_that_are_kept_are_searched(name):
    model = build(name)
    kept = np.random.default_rng(3).random(len(model.pairs)) < 0.5
    some, every = Proximity(model, kept=kept), Proximity(model)
    limits = np.full(len(model.pairs), 0.2)
    only = np.where(kept, limits, -np.inf)
    rows = model.random_configurations(40, seed=4)
    for q, way in zip(rows[:-1], np.diff(rows, axis=0), strict=True):
        found = rows_of(some.near(q, limits))
        assert found.tolist() == rows_of(every.near(q, only)).tolist()
        end = q + 0.1 * way
        assert some.certify(q, end, only).holds == every.certify(q, end, only).holds


@pytest.mark.parametrize("name", ["mixed", "chain", "ur5", "panda"])
def test_near_pairs_are_those_of_a_loop_over_all(name):
    model = build(name)
    proximity = Proximity(model)
    rng = np.random.default_rng(1)
    some = 0
    for q in model.random_configurations(60, seed=2):
        limits = rng.uniform(-0.2, 0.4, len(model.pairs))
        limits[rng.random(len(limits)) < 0.2] = -np.inf
        found = rows_of(proximity.near(q, limits))
        assert found == pytest.approx(slow_near(model, q, limits), abs=1e-12)
        some += len(found)
    assert some > 50


@pytest.mark.parametrize("name", ["mixed", "chain", "panda"])
def test_gradients_are_difference_quotients(name):
    model = build(name)
    proximity = Proximity(model)
    limits = np.full(len(model.pairs), 0.6)
    h, tested = 1e-6, 0
    for q in model.random_configurations(30, seed=3):
        near = proximity.near(q, limits, 0.0)  # the nearest leaves of each pair
        moved = np.array(
            [[model.distances(q + s * step) for s in (-1, 1)] for step in np.eye(len(q)) * h]
        )
        slopes = np.diff(moved, axis=1)[:, 0].T / (2 * h)
        for k in np.flatnonzero(near.distances > 0.02)[:5]:
            # The distance bends where a nearest point reaches an end of its segment.
            assert near.gradients[k] == pytest.approx(slopes[near.pairs[k]], abs=2e-4)
            tested += 1
    assert tested > 20


def test_room_grows_with_what_is_near():
    model = CollisionModel.from_urdf(chain(14))
    proximity = Proximity(model)
    near = proximity.near(np.zeros(13), np.full(len(model.pairs), 100.0))
    assert len(near.pairs) == len(model.pairs) > 64


def test_a_model_and_its_proximities_do_not_disturb_each_other():
    model = CollisionModel.from_urdf(chain(5))
    one, other = Proximity(model), Proximity(model)
    rows = model.random_configurations(20)
    limits = np.full(len(model.pairs), 5.0)
    expected = [model.distance(q).distance for q in rows]
    for q, again, distance in zip(rows, rows[::-1], expected, strict=True):
        mine = one.near(q, limits)
        other.near(again, limits)
        model.distances(again)
        assert mine.distances.min() == distance
        assert model.distance(q).distance == distance


# -- nearness of links: what distances say, in parts of the thresholds of each pair --


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
