# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Certificates of straight motions: what is certified holds wherever one looks."""

import numpy as np
import pytest
from support.robots.robots import load_model
from support.robots.toys import chain, joint, link, robot

from collision_monitor import CollisionModel
from collision_monitor.errors import ConfigurationError
from collision_monitor.model.proximity import Proximity
from unit.model.test_proximity import SCENE

ARM = robot(
    link("base"), link("arm", '<box size="2 0.02 0.02"/>', "1 0 0"),
    joint("turn", "base", "arm", xyz="0 0 0.5"),
)  # fmt: skip
PLATE = {"obstacles": [{"name": "plate", "type": "box", "size": [0.5, 0.002, 0.5],
                        "position": [1.7, 0.0, 0.5]}]}  # fmt: skip


@pytest.mark.parametrize("name", ["chain", "ur5", "baxter"])
def test_what_is_certified_holds_and_what_fails_fails(name):
    if name == "chain":
        model = CollisionModel.from_urdf(chain(6), scene=SCENE)
    else:
        model = load_model(name, max_leaves_per_link=1)
    proximity = Proximity(model)
    rng = np.random.default_rng(5)
    seen = {True: 0, False: 0}
    for q in model.random_configurations(150, seed=6):
        end = q + rng.choice([0.2, 1.0]) * rng.uniform(-1.0, 1.0, len(q))
        limits = model.distances(q) - rng.uniform(0.0, 0.3)
        answer = proximity.certify(q, end, limits)
        rows = q + np.linspace(0.0, 1.0, 101)[:, None] * (end - q)
        if answer.holds:
            assert all((model.distances(row) >= limits).all() for row in rows)
        else:
            there = model.distances(q + answer.s * (end - q))
            assert there[answer.pair] <= answer.distance + 1e-9
            assert answer.distance < limits[answer.pair] + 1e-5
        seen[answer.holds] += 1
    assert min(seen.values()) > 5


def test_a_thin_plate_between_two_samples_is_found():
    model = CollisionModel.from_urdf(ARM, scene=PLATE)
    proximity = Proximity(model)
    limits = np.zeros(len(model.pairs))
    start, end = np.array([-1.0]), np.array([1.2])
    assert model.is_clear(np.array([start, end])).all()
    answer = proximity.certify(start, end, limits)
    assert not answer.holds and answer.distance < 0.0
    assert start[0] + answer.s * 2.2 == pytest.approx(0.0, abs=0.05)
    assert set(model.pairs[answer.pair]) == {"arm", "plate"}
    assert proximity.certify(start, np.array([-0.1]), limits).holds


def test_a_motion_that_touches_its_limit_is_not_certified():
    model = CollisionModel.from_urdf(ARM, scene=PLATE)
    proximity = Proximity(model)
    start, end = np.array([-1.0]), np.array([-0.2])
    least = model.distance(end).distance
    answer = proximity.certify(start, end, np.full(len(model.pairs), least - 1e-9))
    assert not answer.holds
    assert answer.s > 0.99
    assert proximity.certify(start, end, np.full(len(model.pairs), least - 1e-3)).holds


def test_pairs_that_do_not_matter_do_not_hinder():
    model = CollisionModel.from_urdf(ARM, scene=PLATE)
    nothing = np.full(len(model.pairs), -np.inf)
    assert Proximity(model).certify(np.array([-1.0]), np.array([1.0]), nothing).holds


def test_bad_questions_are_refused():
    proximity = Proximity(CollisionModel.from_urdf(ARM))
    limits = np.zeros(len(proximity.model.pairs))
    with pytest.raises(ConfigurationError, match="'turn' is at nan"):
        proximity.certify(np.array([0.0]), np.array([np.nan]), limits)
    with pytest.raises(ConfigurationError, match="'turn' is at inf"):
        proximity.near(np.array([np.inf]), limits)
