# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Exact distances on real robots, against pinocchio's kinematics and coal's distances."""

from functools import cache

import numpy as np
import pytest
from support.geometry.exact_reference import ExactReference
from support.geometry.reference import Reference
from support.robots.robots import load_model, require, slow_if_large
from support.robots.smooth_motion import smooth_motion, without_usual_contacts

# How many random and consecutive configurations: coal needs up to 30 ms for one.
COUNTS = {"ur5": 60, "panda": 60, "baxter": 40, "pr2": 25, "tiago_dual": 8}


@cache
def loaded(name):
    files = require(name)
    leaves = 1 if name == "pr2" else 8  # more take long to fit
    model = load_model(name, max_leaves_per_link=leaves)
    if files.srdf is None:
        model = without_usual_contacts(model, samples=10)
    return model, ExactReference(model, Reference(files.urdf, files.package_dirs, model))


def check(model, reference, q):
    """Whether it was in contact."""
    found = model.distance(q, exact=True)
    expected, _ = reference.least(q, max(found.distance, 0.0) + 0.01)
    first, second = found.points
    assert second - first == pytest.approx(found.distance * found.normal, abs=1e-9)
    assert model.distance(q).distance <= found.distance + 1e-9
    if found.distance > 0.0:
        assert found.distance == pytest.approx(expected, abs=1e-6)
        return False
    # A mesh that is in another one's inside is apart from it to coal.
    assert expected <= 1e-6 or reference.holds(q, found.links)
    return True


@pytest.mark.parametrize("name", slow_if_large(COUNTS))
def test_random_and_consecutive_configurations_have_coals_distance(name):
    model, reference = loaded(name)
    rows = model.random_configurations(COUNTS[name], 3)
    assert not all([check(model, reference, q) for q in rows])
    for q in smooth_motion(model, COUNTS[name], speed=3.0, seed=5):
        check(model, reference, q)


@pytest.mark.parametrize("name", ["ur5", "baxter", "pr2"])
def test_every_pair_has_coals_distance(name):
    model, reference = loaded(name)
    q = model.random_configurations(1, seed=9)[0]
    for pair, distance in zip(model.pairs, model.distances(q, exact=True), strict=True):
        expected = reference.distance(q, pair)
        if distance > 0.0:
            assert distance == pytest.approx(expected, abs=1e-6)
        else:
            assert expected <= 1e-6 or reference.holds(q, pair)


def test_a_motion_into_contact_has_no_jump_but_that_to_the_leaves():
    """What changes from one millisecond to the next is never more than what moves."""
    model = load_model("ur5")
    rows = model.random_configurations(400, seed=4)
    found = np.array([model.distance(q, exact=True).distance for q in rows]).round(6)
    apart, *inside = rows[np.argmax(found)], *rows[np.argsort(found)[:2]]
    for end in inside:
        way = apart + np.linspace(0.0, 1.0, 3000)[:, None] * (end - apart)
        moves = model.link_reach().sum(axis=1).max() * np.abs(np.diff(way, axis=0)).max()
        along = [model.distance(q, exact=True) for q in way]
        distances = np.array([each.distance for each in along])
        contact = distances <= 0.0
        # At first contact of a pair, its distance becomes that of the leaves.
        same = [one.links == other.links for one, other in zip(along, along[1:], strict=False)]
        steps = np.abs(np.diff(distances))[(contact[1:] == contact[:-1]) & same]
        assert contact.any() and not contact[0]
        # Both links move.
        assert steps.max() < 2.0 * moves
        leaves = model.min_distances(way[contact])
        assert (distances[contact] >= leaves - 1e-9).all()
