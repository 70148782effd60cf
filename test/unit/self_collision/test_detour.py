# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Paths around obstacles, and poses spread over waypoints: against all cases of small ones."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.robots.dual_arm_cases import refined
from support.robots.planar_arms import arm_distance, ball, limits_of, meeting, planar_model

from collision_monitor.model.proximity import Proximity
from collision_monitor.self_collision.robust.detour import (
    Effort,
    explore,
    find_detour,
    shortened,
    spread,
)
from collision_monitor.self_collision.stepper import Stepper

# -- ways around, and poses spread over waypoints: against all possibilities of small cases --


numbers = st.floats(-3.0, 3.0, allow_subnormal=False)


def jump_of(rows, path):
    return max(1, int(np.ceil(1.5 * (len(path) - 1) / max(1, len(rows) - 1))))


@settings(max_examples=60, deadline=None)
@given(
    path=st.lists(numbers, min_size=2, max_size=6), rows=st.lists(numbers, min_size=2, max_size=6)
)
def test_poses_are_spread_as_well_as_can_be(path, rows):
    path, rows = (np.array(values)[:, None] for values in (path, rows))
    out = spread(path, rows)
    assert out.shape == rows.shape
    assert out[0] == path[0] and out[-1] == path[-1]
    best = np.inf
    for inner in combinations_with_replacement(range(len(path)), len(rows) - 2):
        places = (0, *inner, len(path) - 1)
        if np.diff(places).max() <= jump_of(rows, path):
            best = min(best, ((path[list(places)] - rows) ** 2).sum())
    assert ((out - rows) ** 2).sum() == pytest.approx(best, abs=1e-9)


MODEL = planar_model()
LIMITS = limits_of(MODEL, 0.1)


def check(way, start, goal):
    assert np.array_equal(way[0], start)
    assert way[-1] == pytest.approx(goal, abs=1e-6)
    assert min(map(arm_distance, way)) > 0.1 - 1e-6


def test_walking_on_arrives_late():
    stepper = Stepper(Proximity(MODEL), np.arange(6), LIMITS, np.eye(6), 0.003)
    rows = meeting(41)
    ahead = stepper.walk(rows, 0.02, 0.05)  # too slow to be back in time
    assert np.abs(ahead[-1] - rows[-1]).max() > 0.05
    check(find_detour(stepper, rows, ahead), rows[0], rows[-1])


# -- ways where no direct one keeps the clearances: free, whole, the same at every run ---


SAFE = 0.05
CLOSE = limits_of(MODEL, SAFE)
# The right arm below the left one, which is held, and above it: folded, it can turn past.
START = np.array([-0.4, 0.0, 0.0, 0.2, 0.0, 0.0])
GOAL = np.array([1.9, 0.0, 0.0, 0.2, 0.0, 0.0])
STRAIGHT = START + np.linspace(0.0, 1.0, 60)[:, None] * (GOAL - START)


def stepper(columns=(0, 1, 2)):
    columns = np.array(columns)
    return Stepper(Proximity(MODEL), columns, CLOSE, np.eye(len(columns)), 0.003)


@pytest.fixture(scope="module")
def way():
    assert min(map(arm_distance, STRAIGHT)) < 0.0
    assert min(arm_distance(START), arm_distance(GOAL)) > SAFE
    work = stepper()
    pushed = work.push(START, GOAL, 0.06, 400)
    assert np.abs(pushed[-1] - GOAL).max() > 0.3  # no direct way
    left = np.linalg.norm(pushed - GOAL, axis=1)
    assert len(pushed) < 60 and left[-9:].min() > left.min() - 0.02  # it ends where it is stuck
    return explore(work, STRAIGHT, Effort())


def test_a_way_is_found_where_there_is_no_direct_one(way):
    assert way is not None
    assert np.array_equal(way[0], START) and way[-1] == pytest.approx(GOAL, abs=1e-6)
    assert np.abs(np.diff(way, axis=0)).max() <= 0.06 + 1e-9
    assert min(map(arm_distance, refined(way, 4))) > SAFE
    assert np.array_equal(way[:, 3:], np.repeat(START[None, 3:], len(way), axis=0))
    assert ((MODEL.lower <= way) & (way <= MODEL.upper)).all()


def test_where_there_is_no_way_none_is_found():
    effort = Effort(edges=30)
    assert explore(stepper((0,)), STRAIGHT, effort) is None  # a stiff arm
    assert -1 <= effort.edges <= 0  # a pose is tried from one tree, then perhaps from the other
    assert explore(stepper(), STRAIGHT, Effort(seconds=0.0)) is None


def test_ways_of_both_arms_are_found_with_few_edges():
    both = Stepper(Proximity(MODEL), np.arange(6), limits_of(MODEL, 0.1, 0.02), np.eye(6), 0.003)
    random, found, tried = np.random.default_rng(5), 0, 0
    while tried < 24:
        start, goal = random.uniform(-2.5, 2.5, (2, 6))
        if not (both.keeps_limits(start) and both.keeps_limits(goal)) or both.is_free(start, goal):
            continue
        tried += 1
        found += explore(both, np.linspace(start, goal, 60), Effort(edges=100)) is not None
    assert found >= 18


def between_balls(gap):
    """Both arms from the outside to between two balls each, ``gap`` m from the arm's axis."""
    places = [(side, way) for side in (-1, 1) for way in (-1, 1)]
    model = planar_model(*(ball(f"{s} {w}", 1.0, s * 0.5 + w * gap) for s, w in places))
    both = Stepper(Proximity(model), np.arange(6), limits_of(model, SAFE, 0.02), np.eye(6), 0.003)
    return both, np.linspace([-1.5, 0.0, 0.0, 1.5, 0.0, 0.0], np.zeros(6), 20)


def test_a_tree_that_hardly_grows_gets_the_attempts():
    both, rows = between_balls(0.2)
    ways = [explore(both, rows, Effort(edges=3500), seed) for seed in range(8)]
    assert sum(way is not None for way in ways) >= 7  # 4 if the trees take turns


def test_a_way_that_needs_a_long_search_is_found():
    both, rows = between_balls(0.17)
    way = find_detour(both, rows, both.walk(rows, 0.02, 0.05))
    assert way is not None and np.array_equal(way[[0, -1]], rows[[0, -1]])
    assert all(both.is_free(a, b) for a, b in zip(way[:-1], way[1:], strict=True))


def test_a_search_ends_with_its_budget():
    effort = Effort(edges=4000)
    ahead = stepper((0,)).walk(STRAIGHT, 0.02, 0.05)
    assert find_detour(stepper((0,)), STRAIGHT, ahead, effort) is None and effort.is_spent
    part = Effort(edges=4000).part(1500)
    assert part.edges == 1500 and not part.is_spent
    assert Effort(edges=4000, seconds=0.0).part(1500).is_spent


def length(path):
    return np.abs(np.diff(path, axis=0)).max(axis=1).sum()


def test_detours_are_cut_off_where_that_is_safe(way):
    short = shortened(stepper(), way, 150)
    assert np.array_equal(short[[0, -1]], way[[0, -1]])
    assert length(short) < 0.95 * length(way) and len(short) <= len(way)
    assert np.abs(np.diff(short, axis=0)).max() <= 0.06 + 1e-9
    assert min(map(arm_distance, refined(short, 4))) > SAFE - 1e-9
    assert np.array_equal(shortened(stepper(), way, 0), way)
    straight = START + np.linspace(0.0, 1.0, 40)[:, None] * np.array([-0.5, 0, 0, 0, 0, 0])
    assert shortened(stepper(), straight, 50)[[0, -1]] == pytest.approx(straight[[0, -1]])
