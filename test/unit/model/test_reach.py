# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The reach of a link: no point of it ever travels farther for a unit of a joint."""

import numpy as np
import pytest
from support.robots.robots import load_model
from support.robots.toys import chain, joint, link, robot

from collision_monitor import CollisionModel

MIXED = robot(
    link("a"), link("b", '<box size="0.3 0.1 0.2"/>', "0.2 0.1 0"), link("c"), link("d"),
    joint("turn", "a", "b", axis="0.3 -0.5 0.8"),
    joint("slide", "b", "c", "prismatic", axis="1 0 0"),
    joint("follow", "c", "d", extra='<mimic joint="turn" multiplier="-2" offset="0.5"/>'),
)  # fmt: skip


def speeds(model, q, step):
    """Largest speed (links,) of the leaves' ends, by difference quotient, for dq = step."""
    h = 1e-6
    ends = (model.leaf_segments(q + h * step) - model.leaf_segments(q - h * step)) / (2 * h)
    fast = np.linalg.norm(ends, axis=2).max(axis=1)
    links = [leaf.link for leaf in model.leaves]
    return np.array([max(f for f, n in zip(fast, links, strict=True) if n == name)
                     for name in model.link_names])  # fmt: skip


ROBOTS = pytest.mark.parametrize("name", ["mixed", "chain", "ur5", "panda"])


def load(name):
    if name in ("ur5", "panda"):
        return load_model(name, max_leaves_per_link=1)
    return CollisionModel.from_urdf(MIXED if name == "mixed" else chain(5))


@ROBOTS
def test_no_point_of_a_link_is_faster_than_its_reach_says(name):
    model = load(name)
    reach = model.link_reach()
    bodies = model.bodies
    rng = np.random.default_rng(0)
    for q in model.random_configurations(100):
        step = rng.normal(size=len(q))
        bound = reach @ np.abs(bodies.gains * step[bodies.columns])
        assert (speeds(model, q, step) <= bound + 1e-6).all()


@ROBOTS
def test_no_pair_comes_nearer_than_its_reach_says(name):
    model = load(name)
    bodies, reach, tight = model.bodies, model.pair_reach(), 0.0
    rng = np.random.default_rng(1)
    for q in model.random_configurations(300):
        step = rng.choice([0.0, 1.0, -0.3], len(q)) * rng.uniform(0.001, 0.4)
        there = np.clip(q + step, model.lower, model.upper)
        bound = reach @ np.abs(bodies.gains * (there - q)[bodies.columns])
        change = np.abs(model.distances(there) - model.distances(q))
        assert (change <= bound + 1e-9).all()
        tight = max(tight, np.max(change / (bound + 1e-3)))
    assert tight > 0.5


def test_a_turn_of_the_base_matters_by_the_size_of_the_base():
    """A long arm that turns does not come nearer to what stands close around its first axis."""
    model = load_model("ur5", with_srdf=False)
    pair = model.pairs.index(("wrist_3_link", "base_link"))
    assert model.link_reach()[model.link_names.index("wrist_3_link"), 0] > 1.0
    assert model.pair_reach()[pair, 0] < 0.15
