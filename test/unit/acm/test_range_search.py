# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Samples and descents: what they call a meeting is one, and a descent goes down."""

import numpy as np
from support.geometry.range_cases import branched, leaf_distance, pair_of
from support.robots import robots
from support.robots.toys import joint, link, robot

from collision_monitor import CollisionModel
from collision_monitor.acm import pair_search
from collision_monitor.acm.link_pair import PairGeometries
from collision_monitor.acm.matrix import where_links_meet
from collision_monitor.acm.pair_search import APART, MEET, NEAR


def test_samples_are_what_coal_finds():
    files = robots.require("panda")
    model = CollisionModel.from_urdf(files.urdf, files.srdf, files.package_dirs)
    links = ("panda_link5", "panda_hand")
    pair = PairGeometries(model).pair(*links)
    rows = model.random_configurations(400)
    states, distances = np.empty(400, dtype=np.uint8), np.empty(400)
    values = np.ascontiguousarray(rows[:, pair.columns])
    pair_search.sample(pair.chain, values, pair.guess(), states, distances)
    assert ((states == MEET) == where_links_meet(model, links, rows)).all()
    assert {APART, MEET, NEAR} == set(states.tolist())
    assert ((distances > 0.0) == (states == APART)).all()


def test_distances_are_those_of_the_leaves():
    model, pair = pair_of(branched(np.random.default_rng(8)), "a3", "b2")
    rows = model.random_configurations(50)
    states, distances = np.empty(50, dtype=np.uint8), np.empty(50)
    values = np.ascontiguousarray(rows[:, pair.columns])
    pair_search.sample(pair.chain, values, pair.guess(), states, distances)
    for row, distance in zip(rows, distances, strict=True):
        assert abs(distance - leaf_distance(model, "a3", "b2", row)) < 1e-9


def test_a_descent_finds_a_needle():
    # The tips meet in 5 mm of a range of 4 rad times 4 rad.
    urdf = robot(
        link("base", ""),
        link("left", '<sphere radius="0.0025"/>', "1 0 0"),
        link("right", '<sphere radius="0.0025"/>', "-1 0 0"),
        joint("jl", "base", "left", xyz="0 0 0"),
        joint("jr", "base", "right", xyz="1.2 0.9 0"),
    )
    model, pair = pair_of(urdf, "left", "right")
    met = 0
    for start in model.random_configurations(20):
        q = start[pair.columns].copy()
        apart = pair_search.descend(pair.chain, pair.low, pair.high, q, 200, pair.guess())
        assert (pair.low <= q).all() and (q <= pair.high).all()
        if apart == 0.0:
            met += 1
            assert where_links_meet(model, ("left", "right"), pair.complete(q, start)[None])[0]
    assert met > 5


def test_a_descent_never_ends_farther_than_it_began():
    model, pair = pair_of(branched(np.random.default_rng(12)), "a3", "b3")
    for start in model.random_configurations(30):
        before = leaf_distance(model, "a3", "b3", start)
        q = start[pair.columns].copy()
        apart = pair_search.descend(pair.chain, pair.low, pair.high, q, 30, pair.guess())
        after = leaf_distance(model, "a3", "b3", pair.complete(q, start))
        assert apart == 0.0 or after <= max(before, 0.02) + 1e-9
