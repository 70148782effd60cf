# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Samples, descents and proofs over joint ranges: witnesses meet, proved pairs never do."""

import numpy as np
import pytest
from support.geometry.range_cases import branched, pair_of
from support.robots.robots import load_model
from support.robots.toys import joint, link, robot

from collision_monitor import CollisionModel
from collision_monitor.acm import pair_search
from collision_monitor.acm.link_pair import PairGeometries
from collision_monitor.acm.matrix import where_links_meet
from collision_monitor.acm.pair_search import PairSearch


def test_samples_are_what_coal_finds():
    model = load_model("panda")
    links = ("panda_link5", "panda_hand")
    pair = PairGeometries(model).pair(*links)
    rows = model.random_configurations(400)
    meets, distances = np.empty(400, dtype=bool), np.empty(400)
    values = np.ascontiguousarray(rows[:, pair.columns])
    pair_search.sample(pair.chain, values, meets, distances)
    assert (meets == where_links_meet(model, links, rows)).all()
    # Leaves of some that do not meet overlap, too.
    overlap = distances <= 0.0
    assert meets.any() and (overlap & ~meets).any() and not (meets & ~overlap).any()


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
        apart = pair_search.descend(pair.chain, pair.low, pair.high, q, 200)
        assert (pair.low <= q).all() and (q <= pair.high).all()
        if apart == 0.0:
            met += 1
            assert where_links_meet(model, ("left", "right"), pair.complete(q, start)[None])[0]
    assert met > 5


# Two arms of one joint each, 1 m long, side by side; their tips pass each other at a gap.
ARMS = robot(
    link("base", ""),
    link("left", '<box size="1 0.02 0.02"/>', "0.5 0 0"),
    link("right", '<box size="1 0.02 0.02"/>', "0.5 0 0"),
    joint("jl", "base", "left", xyz="0 0 0"),
    joint("jr", "base", "right", xyz="0 0 {gap}"),
)


def searched(pair, most=100_000):
    """The search of a pair by boxes alone."""
    search = PairSearch(pair)
    search.prove(most)
    return search


@pytest.mark.parametrize("gap", [0.05, 0.025])
def test_arms_that_pass_each_other_are_proved(gap):
    _, pair = pair_of(ARMS.replace("{gap}", str(gap)), "left", "right")
    search = searched(pair)
    assert search.proved and search.witness is None
    assert search.unproved == 0.0


@pytest.mark.parametrize("gap", [0.019, 0.0])
def test_arms_that_hit_each_other_are_found(gap):
    model, pair = pair_of(ARMS.replace("{gap}", str(gap)), "left", "right")
    search = searched(pair)
    assert not search.proved
    q = pair.complete(search.witness, np.zeros(2))
    assert where_links_meet(model, ("left", "right"), q[None])[0]


def test_what_cannot_be_told_from_touching_is_a_witness_and_no_proof():
    _, pair = pair_of(ARMS.replace("{gap}", "0.02000000001"), "left", "right")
    search = searched(pair)
    assert not search.proved
    assert search.witness is not None


def test_random_arms_never_meet_where_it_is_proved():
    proved = met = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        model = CollisionModel.from_urdf(branched(rng, 3), max_leaves_per_link=1)
        geometries = PairGeometries(model)
        links = geometries.links
        rows = model.random_configurations(400, seed)
        for a, b in ((links[1], links[3]), (links[0], links[2]), (links[0], links[5]),
                     (links[3], links[5])):  # fmt: skip
            search = searched(geometries.pair(a, b), 3000)
            meet = where_links_meet(model, (a, b), rows)
            if search.proved:
                proved += 1
                assert not meet.any(), (seed, a, b)
            elif search.witness is not None:
                met += 1
                q = geometries.pair(a, b).complete(search.witness, model.lower)
                # Prisms stand for cylinders, and rounding for what just touches.
                assert where_links_meet(model, (a, b), q[None])[0] or not meet.all()
    assert proved > 2 and met > 2


def test_the_part_that_is_not_proved_holds_all_that_meets():
    _, pair = pair_of(ARMS.replace("{gap}", "0.0201"), "left", "right")  # has to go deep
    search, before, part = PairSearch(pair), 1.0, 0
    for most in (1, 40, 200, 400, *[10_000] * 13):
        search.prove(most)
        assert 0.0 <= search.unproved <= before + 1e-12
        part += 0.0 < search.unproved < 1.0
        before = search.unproved
    assert search.boxes >= 600 and part
    search.prove(100_000)
    assert search.proved
