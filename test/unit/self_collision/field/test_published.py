# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The published adjustment: the paper's experiment and harder ones; distances are not our own."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from support.robots.dual_arm_cases import CASES, PAPER, RADIUS

from collision_monitor.errors import AdjustmentError
from collision_monitor.self_collision.field.repulsion_field import adjust_published

# -- what the cases are, by pinocchio ------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_model_measures_what_the_yardstick_does(case):
    problem = case.problem()
    part = np.isfinite(problem.margins.safe)
    assert part.sum() == 16
    ours = np.array([problem.model.distances(q)[part].min() for q in problem.desired])
    assert ours + 2.0 * RADIUS == pytest.approx(case.segment_distances(problem.desired), abs=1e-9)


# -- what comes out ------------------------------------------------------------------------


def test_what_was_adjusted_stays_as_it_is():
    """Distances within the buffer are no reason to move."""
    rows = adjust_published(PAPER.problem())
    again = adjust_published(replace(PAPER.problem(), desired=rows))
    assert np.array_equal(again, rows)


def test_smoothing_does_not_lead_beyond_joint_limits():
    # Where the paper's motion is adjusted, a shake of two waypoints' length up to the limits.
    desired = PAPER.desired.copy()
    desired[41:60:2] += np.radians(1.5)
    problem = replace(PAPER.problem(), desired=desired)
    columns = np.concatenate(problem.columns)
    model = copy(problem.model)
    model.lower, model.upper = model.lower.copy(), model.upper.copy()
    model.lower[columns], model.upper[columns] = desired.min(axis=0), desired.max(axis=0)
    rows = adjust_published(replace(problem, model=model))
    assert (rows >= model.lower).all() and (rows <= model.upper).all()
    assert (rows != desired).any()


# -- when it cannot ------------------------------------------------------------------------


def test_arms_that_would_have_to_pass_through_each_other_are_an_error():
    """A right arm of no freedom but its first joint, swept through the left one, that stands."""
    problem = PAPER.problem("right")
    desired = np.zeros((41, 14))
    desired[:] = problem.desired[50]
    desired[:, 0] += np.linspace(-1.2, 1.2, 41)
    distances = PAPER.segment_distances(desired)
    assert distances[[0, -1]].min() > PAPER.safe > distances.min()
    model = copy(problem.model)
    model.lower, model.upper = model.lower.copy(), model.upper.copy()
    model.lower[1:7] = model.upper[1:7] = desired[0, 1:7]
    with pytest.raises(AdjustmentError) as caught:
        adjust_published(replace(problem, model=model, times=np.arange(41.0), desired=desired))
    assert 0 < caught.value.waypoint < 41
    assert caught.value.time == caught.value.waypoint
    assert all(name in str(caught.value) for name in caught.value.pair)
