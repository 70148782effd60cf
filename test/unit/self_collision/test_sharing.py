# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Shares of a change between two arms, and what displacing tips costs."""

from dataclasses import replace

import numpy as np
import pytest
from support.robots.planar_arms import LENGTH, meeting, planar_model, planar_problem, points

from collision_monitor.model.proximity import Proximity
from collision_monitor.self_collision.stepper import joint_weights, shares, tip_weights

MODEL = planar_model()


def share_of(rows):
    return shares(planar_problem(MODEL, rows), Proximity(MODEL), rows)


def test_arms_that_approach_alike_share_alike():
    assert share_of(meeting()[:18]) == pytest.approx((0.5, 0.5), abs=1e-9)


def test_the_arm_that_approaches_gives_way():
    rows = meeting(41, 0.85)[:21]
    rows[:, 3:] = rows[20, 3:]
    right, left = share_of(rows)
    assert right + left == pytest.approx(1.0)
    assert 0.9 < right < 1.0 and left > 0.0
    mirrored = -rows[:, [3, 4, 5, 0, 1, 2]]
    assert share_of(mirrored) == pytest.approx((left, right))


def test_half_each_where_nobody_approaches_or_is_near():
    rows = meeting(41, 0.7)
    assert share_of(rows[20::]) == pytest.approx((0.5, 0.5), abs=1e-9)  # on the way back
    assert share_of(rows[:3]) == (0.5, 0.5)
    assert share_of(rows[20:21]) == (0.5, 0.5)


def test_weights_make_changes_as_the_shares_are():
    problem = planar_problem(MODEL, meeting())
    assert np.array_equal(joint_weights(problem, (0.5, 0.5)), np.eye(6))
    weights = joint_weights(problem, (0.8, 0.2))
    # the least y'Hy with g.y = 1, g alike for both arms, is inverse(H) g but for its length
    change = np.linalg.solve(weights, np.ones(6))
    assert change[:3].sum() / change.sum() == pytest.approx(0.8)
    for side, columns in (("right", 3), ("left", 3)):
        only = joint_weights(replace(problem, yielding=side), (0.9, 0.1))
        assert np.array_equal(only, np.eye(columns))


@pytest.mark.parametrize("columns", [np.arange(6), np.arange(3), np.arange(3, 6)])
def test_tip_weights_are_squared_displacements(columns):
    problem = replace(planar_problem(MODEL, meeting(5)), tip_weight=3.0)
    rng = np.random.default_rng(2)
    rows = rng.uniform(-1.5, 1.5, (4, 6))
    weights = tip_weights(problem, columns, rows)
    assert weights.shape == (4, len(columns), len(columns))
    h = 1e-6
    for q, weight in zip(rows, weights, strict=True):
        assert np.array_equal(weight, weight.T) or weight == pytest.approx(weight.T)
        for _ in range(5):
            step = np.zeros(6)
            step[columns] = rng.normal(size=len(columns))
            # the tip link begins where its joint is: at the wrist
            moved = (points(q + h * step)[:, 2] - points(q - h * step)[:, 2]) / (2 * h)
            cost = 9.0 * (moved**2).sum()
            assert step[columns] @ weight @ step[columns] == pytest.approx(cost, abs=1e-6)
    assert weights.max() <= 9.0 * (2 * LENGTH) ** 2 + 1e-9
