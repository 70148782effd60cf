# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs on meshes: their distances, gradients and certificates are those of the shapes."""

import numpy as np
import pytest
from support.robots.robots import load_model

from collision_monitor.model.proximity import Proximity
from collision_monitor.self_collision.mesh_proximity import MeshProximity

NEAR = 0.3  # m


@pytest.fixture(scope="module")
def model():
    return load_model("ur5", with_srdf=False)


@pytest.fixture(scope="module")
def proximity(model):
    return MeshProximity(model, np.ones(len(model.pairs), dtype=bool))


def test_distances_and_gradients_are_those_of_the_shapes(model, proximity):
    limits, seen = np.full(len(model.pairs), NEAR), 0
    for q in model.random_configurations(30):
        exact = model.distances(q, exact=True)
        near = proximity.near(q, limits)
        assert set(near.pairs.tolist()) == set(np.flatnonzero(exact < NEAR).tolist())
        rows = np.flatnonzero(exact[near.pairs] > 0.0)
        apart = (exact > 0.0) & (exact < NEAR)
        assert near.pairs[rows].tolist() == np.flatnonzero(apart).tolist()
        assert near.distances[rows] == pytest.approx(exact[apart], abs=1e-9)
        step = 1e-6
        for k, pair in zip(rows, near.pairs[rows], strict=True):
            if near.distances[k] < 1e-3:
                continue
            moved = [
                model.surface_distances(q + sign * step * axis, np.array([pair]))[0]
                for axis in np.eye(len(q)) for sign in (-1.0, 1.0)
            ]  # fmt: skip
            slopes = np.diff(np.reshape(moved, (-1, 2)), axis=1).ravel() / (2.0 * step)
            seen += 1
            # At edges and corners two nearest points may change places within a step.
            assert np.isclose(near.gradients[k], slopes, atol=1e-3).all() or (
                np.abs(near.gradients[k] - slopes).max() < 0.5
            )
    assert seen > 50


def test_pairs_below_a_limit_are_found_along_a_motion(model):
    """Most pairs are not measured again at every step: what is known of the last ones counts."""
    proximity = MeshProximity(model, np.ones(len(model.pairs), dtype=bool))
    limits, seen = np.full(len(model.pairs), 0.05), 0
    start, end = model.random_configurations(2, seed=5)
    for part in np.linspace(0.0, 1.0, 120):
        q = start + part * (end - start)
        exact = model.surface_distances(q, np.arange(len(model.pairs)))
        near = proximity.near(q, limits)
        assert set(near.pairs.tolist()) == set(np.flatnonzero(exact < 0.05).tolist())
        rows = exact[near.pairs] > 0.0
        assert near.distances[rows] == pytest.approx(exact[near.pairs[rows]], abs=1e-8)
        seen += int(rows.sum())
        nearest = proximity.nearest(q, limits)
        assert (nearest is None) == (not len(near.pairs))
        if nearest is not None and exact.min() > 0.0:
            assert nearest[1] == pytest.approx(exact.min(), abs=1e-8)
    assert seen > 20


@pytest.mark.parametrize("limit", [0.0, 0.01])
def test_certificates_hold_for_the_shapes(model, proximity, limit):
    limits = np.full(len(model.pairs), limit)
    rows = model.random_configurations(60)
    answers = set()
    for start, way in zip(rows[::2], rows[1::2] - rows[::2], strict=True):
        end = start + 0.3 * way
        answer = proximity.certify(start, end, limits)
        answers.add(answer.holds)
        path = start + np.linspace(0.0, 1.0, 40)[:, None] * (end - start)
        least = min(model.distances(q, exact=True, within=0.1).min() for q in path)
        if answer.holds:
            assert least >= limit
        else:
            there = model.surface_distances(start + answer.s * (end - start), [answer.pair])[0]
            assert there < limit + 1e-5
    assert answers == {True, False}


def test_only_the_pairs_that_are_asked_for_are_on_meshes(model):
    one = np.zeros(len(model.pairs), dtype=bool)
    one[3] = True
    some, leaves = MeshProximity(model, one), Proximity(model)
    limits = np.full(len(model.pairs), NEAR)
    for q in model.random_configurations(20):
        mixed = some.near(q, limits, 0.0)
        pairs, distances = mixed.pairs.copy(), mixed.distances.copy()
        by_leaves = leaves.near(q, limits, 0.0)
        others = by_leaves.pairs != 3
        assert pairs[pairs != 3].tolist() == by_leaves.pairs[others].tolist()
        assert np.array_equal(distances[pairs != 3], by_leaves.distances[others])
        assert (distances[pairs == 3] >= by_leaves.distances[~others].min(initial=-1.0)).all()


def test_a_limit_of_zero_finds_contacts_only(model):
    """Leaves that overlap are no contact of the meshes, however often they are measured."""
    pairs = np.arange(len(model.pairs))
    proximity = MeshProximity(model, np.ones(len(pairs), dtype=bool))
    limits, apart = np.zeros(len(pairs)), 0
    for q in model.random_configurations(100, seed=8):
        touching = model.surface_distances(q, pairs) <= 0.0
        overlap = model.distances(q) < 0.0
        for _ in range(2):
            found = set(proximity.near(q, limits).pairs.tolist())
            assert found == set(np.flatnonzero(touching & overlap).tolist())
        apart += bool((overlap & ~touching).any())
    assert apart > 5
