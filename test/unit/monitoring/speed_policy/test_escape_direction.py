# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Escape directions separate all pairs; commands of a stationary robot."""


import numpy as np
import pytest
from support.robots.planar_arms import ball, planar_model
from support.robots.toys import joint, link, robot

from collision_monitor import CollisionModel
from collision_monitor.model.proximity import Proximity
from collision_monitor.monitoring.speed_policy.directions import CommandedDirection, EscapeDirection

MODEL = planar_model(ball("post", 0.5, 0.0, 0.1), ball("stone", 0.9, -0.3, 0.1))
ESCAPE = EscapeDirection(Proximity(MODEL))
LIMITS = np.full(len(MODEL.pairs), 0.02)


def test_all_that_is_too_near_parts_along_it():
    rng = np.random.default_rng(2)
    seen = {1: 0, 2: 0}
    for q in rng.uniform(-1.5, 1.5, (400, 6)):
        before = MODEL.distances(q)
        near = before < LIMITS
        direction = ESCAPE.direction(q, LIMITS)
        if not near.any():
            assert direction is None
            continue
        if direction is None:
            continue
        assert np.abs(direction).max() == pytest.approx(1.0)
        after = MODEL.distances(q + 1e-5 * direction)
        assert (after[near] > before[near] - 1e-9).all()
        seen[min(int(near.sum()), 2)] += 1
    assert min(seen.values()) > 20


def test_of_one_pair_it_is_the_steepest_way():
    slide = robot(
        link("base"),
        link("cart"),
        joint("x", "base", "cart", "prismatic", "0.3 0 0", "1 0 0"),
        link("far", '<sphere radius="0.05"/>'),
        joint("y", "cart", "far", "prismatic", "-0.15 0 0", "0 1 0"),
    )
    scene = {"obstacles": [{"name": "wall", "type": "sphere", "radius": 0.1,
                            "position": [0.5, 0, 0]}]}  # fmt: skip
    model = CollisionModel.from_urdf(slide, scene=scene)
    limits = np.where([set(p) == {"cart", "wall"} for p in model.pairs], 0.05, -np.inf)
    direction = EscapeDirection(Proximity(model)).direction(np.array([0.0, 0.0]), limits)
    assert direction == pytest.approx([-1.0, 0.0])


def test_between_two_walls_there_is_no_way_out():
    slide = robot(
        link("base", '<sphere radius="0.01"/>', "0 0 5"),
        link("cart"),
        joint("x", "base", "cart", "prismatic", "0 0 0", "1 0 0"),
    )
    walls = [
        {"name": name, "type": "sphere", "radius": 0.1, "position": [x, 0, 0]}
        for name, x in (("left", -0.15), ("right", 0.15))
    ]
    model = CollisionModel.from_urdf(slide, scene={"obstacles": walls})
    limits = np.full(len(model.pairs), 0.02)
    escape = EscapeDirection(Proximity(model))
    assert escape.direction(np.zeros(1), limits) is None
    assert escape.direction(np.array([0.08]), limits) == pytest.approx([-1.0])


NAMES = ("a", "b", "c")
STILL = np.zeros(3)


def test_a_command_counts_by_name_while_the_robot_stands():
    command = CommandedDirection(NAMES)
    assert command.direction(STILL, 0.0) is None
    assert command.update(["c", "other", "a"], [0.3, 9.0, -0.1], 5.0)
    assert command.direction(STILL, 5.5).tolist() == [-0.1, 0.0, 0.3]
    assert command.direction(np.array([0.0, 0.02, 0.0]), 5.5) is None
    assert command.direction(STILL, 6.1) is None


@pytest.mark.parametrize(
    ("names", "velocities"),
    [(["a"], [np.nan]), (["a", "b"], [0.1]), (["x"], [0.1]), ([], []), (["a"], [0.1, 0.2])],
)
def test_what_cannot_be_used_ends_what_was_intended(names, velocities):
    command = CommandedDirection(NAMES)
    command.update(["a"], [0.1], 5.0)
    assert not command.update(names, velocities, 5.1)
    assert command.direction(STILL, 5.2) is None
