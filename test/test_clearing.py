# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Configurations pushed apart until nothing repels; judged by distances of its own."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from dual_arm_cases import CROSSING, CROSSING_CLOSELY, PAPER

from collision_monitor.repulsion.clearing import Clearing


def cleared(problem, q, waypoint=50):
    clearing = Clearing(problem)
    target = problem.margins.safe[clearing.pairs.pair]
    return clearing.cleared(q, waypoint, target)


def configurations(count=40):
    """Random ones about the meeting point, some of them with several pairs too near."""
    rng = np.random.default_rng(8)
    return PAPER.desired[50] + rng.uniform(-0.4, 0.4, (count, 14))


def test_what_comes_out_is_free():
    problem = PAPER.problem()
    before, after = [], []
    for q in configurations():
        q = np.clip(q, problem.model.lower, problem.model.upper)
        before.append(q)
        after.append(cleared(problem, q))
    near = PAPER.segment_distances(np.array(before)) < PAPER.safe
    assert near.sum() > 20
    distances = PAPER.segment_distances(np.array(after))
    assert np.all(distances >= PAPER.safe - 1e-9)
    # no farther than needed
    assert np.all(distances[near] <= PAPER.safe + 0.02)
    for a, b, moved in zip(before, after, near, strict=True):
        assert np.array_equal(a, b) != moved


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_arm_that_does_not_yield_stays(side):
    problem = PAPER.problem(side)
    q = PAPER.desired[50]
    kept = {"left": slice(0, 7), "right": slice(7, 14)}[side]
    free = cleared(problem, q)
    assert np.array_equal(free[kept], q[kept])
    assert PAPER.segment_distances(free[None])[0] >= PAPER.safe - 1e-9


@pytest.mark.parametrize("case", [CROSSING, CROSSING_CLOSELY], ids=lambda case: case.name)
def test_arms_whose_centre_lines_cross_are_parted_too(case):
    """The normal is there at d = 0."""
    distances = case.segment_distances(case.desired)
    waypoint = int(distances.argmin())
    assert distances[waypoint] < 1e-9
    free = cleared(case.problem(), case.desired[waypoint], waypoint)
    assert case.segment_distances(free[None])[0] >= case.safe - 1e-9


def test_what_cannot_be_parted_is_none():
    problem = PAPER.problem()
    clearing = Clearing(problem)
    target = np.full(len(clearing.pairs.pair), 10.0)  # metres, farther than they reach
    assert clearing.cleared(PAPER.desired[50], 50, target) is None


def test_one_arm_at_its_limits_leaves_it_to_the_other():
    problem = PAPER.problem()
    q = PAPER.desired[50]
    model = copy(problem.model)
    model.lower, model.upper = model.lower.copy(), model.upper.copy()
    model.lower[7:] = model.upper[7:] = q[7:]
    free = cleared(replace(problem, model=model), q)
    assert np.array_equal(free[7:], q[7:])
    assert PAPER.segment_distances(free[None])[0] >= PAPER.safe - 1e-9
