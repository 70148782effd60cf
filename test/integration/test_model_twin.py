# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Twins of a model: the same answers, a work space of their own, or fewer pairs."""


import numpy as np
import pytest
from support.paths import ROOT

from collision_monitor import CollisionModel
from collision_monitor.errors import ConfigurationError


@pytest.fixture(scope="module")
def model():
    return CollisionModel.from_urdf(ROOT / "urdf/dual_arm.urdf", srdf=ROOT / "urdf/dual_arm.srdf")


def test_a_twin_writes_nothing_into_the_model(model):
    q, other = model.random_configurations(2, seed=4)
    twin = model.twin()
    model.distance(q)
    before = model.work_space()
    twin.distance(other)
    twin.contacts(other, 0.5)
    for array, now in zip(before, model.work_space(), strict=True):
        assert np.array_equal(array, now)


def test_a_twin_may_check_fewer_pairs_and_the_model_keeps_its_own(model):
    count = len(model.pairs)
    some = model.pairs[::3]
    twin = model.twin(some[::-1])
    assert twin.pairs == some and len(model.pairs) == count
    for q in model.random_configurations(20, seed=5):
        assert twin.distances(q) == pytest.approx(model.distances(q)[::3], abs=1e-12)
        assert twin.distance(q).distance == pytest.approx(twin.distances(q).min(), abs=1e-12)
    rows = model.random_configurations(200, seed=6)
    for asked in (model, twin, model):
        assert np.array_equal(asked.is_clear(rows, 0.05), asked.min_distances(rows) >= 0.05)


def test_pairs_that_the_model_does_not_check_are_refused(model):
    with pytest.raises(ConfigurationError, match="'base_link', 'moon'"):
        model.twin([("base_link", "moon")])
