# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A clearance: what it holds, in what shape, and that it cannot be changed by who reads it."""

import numpy as np
import pytest
from support.robots.toys import chain

from collision_monitor import CollisionModel
from collision_monitor.hierarchy import query
from collision_monitor.hierarchy.query import Clearance, empty_model

NUMBERS = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)


def test_what_a_reader_does_to_the_arrays_does_not_come_back():
    points, normal = np.array(NUMBERS), np.array([0.0, 0.0, 1.0])
    clearance = Clearance(0.1, ("a", "b"), points, normal)
    clearance.points[:] = -1.0
    clearance.normal[:] = -1.0
    assert clearance.points.ravel().tolist() == list(NUMBERS)
    assert clearance.normal.tolist() == [0.0, 0.0, 1.0]


def test_those_of_a_model_lie_on_their_leaves_apart_and_in_penetration():
    model = CollisionModel.from_urdf(chain(5))
    signs = set()
    for q in model.random_configurations(200, seed=3) * 1.5:
        clearance = model.distance(q)
        (a, b), n = clearance.points, clearance.normal
        assert np.linalg.norm(n) == pytest.approx(1.0, abs=1e-12)
        assert b - a == pytest.approx(clearance.distance * n, abs=1e-12)
        segments = model.leaf_segments(q)
        for point, leaf, link in zip((a, b), clearance.leaves, clearance.links, strict=True):
            assert model.leaves[leaf].link == link
            centre = segments[leaf, 0]  # the chain's leaves are spheres
            assert np.linalg.norm(point - centre) == pytest.approx(0.1, abs=1e-12)
        first, second = (segments[leaf, 0] for leaf in clearance.leaves)
        assert n @ (second - first) > 0.0
        signs.add(clearance.distance > 0.0)
    assert signs == {True, False}


def test_a_model_of_nothing_has_nothing_near():
    numbers, index = empty_model()
    assert query.distance(numbers, index, np.empty(0))[:2] == (-1, -1)
    assert query.contacts(numbers, index, np.empty(0), 1.0, np.empty((2, 2), np.int64)) == 0
