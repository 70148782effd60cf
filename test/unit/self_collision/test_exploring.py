# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Ways where no direct one keeps the clearances: free, whole, the same at every run."""

import numpy as np
import pytest
from support.robots.dual_arm_cases import refined
from support.robots.planar_arms import arm_distance, planar_model

from collision_monitor.model.proximity import Proximity
from collision_monitor.self_collision.detour import explore, shortened
from collision_monitor.self_collision.stepper import Stepper

MODEL = planar_model()
SAFE = 0.05
LIMITS = np.array([-np.inf if "base" in p or p[0][:4] == p[1][:4] else SAFE for p in MODEL.pairs])
# The right arm below the left one, which is held, and above it: folded, it can turn past.
START = np.array([-0.4, 0.0, 0.0, 0.2, 0.0, 0.0])
GOAL = np.array([1.9, 0.0, 0.0, 0.2, 0.0, 0.0])


def stepper(columns=(0, 1, 2)):
    columns = np.array(columns)
    return Stepper(Proximity(MODEL), columns, LIMITS, np.eye(len(columns)), 0.003)


@pytest.fixture(scope="module")
def way():
    straight = START + np.linspace(0.0, 1.0, 60)[:, None] * (GOAL - START)
    assert min(map(arm_distance, straight)) < 0.0
    assert min(arm_distance(START), arm_distance(GOAL)) > SAFE
    work = stepper()
    pushed = work.push(START, GOAL, 0.06, 400)
    assert np.abs(pushed[-1] - GOAL).max() > 0.3  # no direct way
    return explore(work, START, GOAL, 400)


def test_a_way_is_found_where_there_is_no_direct_one(way):
    assert way is not None
    assert np.array_equal(way[0], START) and way[-1] == pytest.approx(GOAL, abs=1e-6)
    assert np.abs(np.diff(way, axis=0)).max() <= 0.06 + 1e-9
    assert min(map(arm_distance, refined(way, 4))) > SAFE
    assert np.array_equal(way[:, 3:], np.repeat(START[None, 3:], len(way), axis=0))
    assert ((MODEL.lower <= way) & (way <= MODEL.upper)).all()


def test_it_is_the_same_way_at_every_run(way):
    assert np.array_equal(explore(stepper(), START, GOAL, 400), way)


def test_where_there_is_no_way_none_is_found():
    assert explore(stepper((0,)), START, GOAL, 30) is None  # a stiff arm


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
