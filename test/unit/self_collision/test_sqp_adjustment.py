# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The robust adjustment: the paper's experiment and harder ones; distances are not our own."""

from dataclasses import replace

import numpy as np
import pytest
from support.robots.dual_arm_cases import (
    CASES,
    PAPER,
    check_safe,
    refined,
)
from support.robots.planar_arms import arm_distance, meeting, planar_model, planar_problem

from collision_monitor.model.proximity import Proximity
from collision_monitor.self_collision.motion_clearance import failures
from collision_monitor.self_collision.preparation import within
from collision_monitor.self_collision.sqp_adjustment import SqpAdjustment

by_name = {"argvalues": CASES, "ids": [case.name for case in CASES]}
_adjusted = {}


def adjusted(case, yielding="both"):
    """The adjusted motion; each is worked out once."""
    key = (case, yielding)
    if key not in _adjusted:
        _adjusted[key] = SqpAdjustment(case.problem(yielding)).run()
    return _adjusted[key]


def far_from_near(case):
    """Waypoints that the desired motion reaches 0.9 rad and more from any that is too near."""
    desired = case.desired
    near = np.flatnonzero(case.segment_distances(desired) < case.safe)
    steps = np.abs(np.diff(desired, axis=0)).max(axis=1)
    at = np.r_[0.0, np.cumsum(steps)]
    return (at < at[near[0]] - 0.9) | (at > at[near[-1]] + 0.9)


@pytest.mark.parametrize("yielding", ["both", "left", "right"])
@pytest.mark.parametrize("case", **by_name)
def test_it_is_safe_at_every_instant(case, yielding):
    rows = adjusted(case, yielding)
    check_safe(case, rows)
    for side, columns in (("left", slice(0, 7)), ("right", slice(7, 14))):
        if yielding == side:  # the other one does not give way
            assert np.array_equal(rows[:, columns], case.desired[:, columns])
    far = far_from_near(case)
    assert far.sum() >= 5
    assert np.array_equal(rows[far], case.desired[far])


def test_the_result_does_not_depend_on_where_time_begins():
    problem = PAPER.problem()
    later = replace(problem, times=3.0 * problem.times + 100.0)
    assert np.array_equal(SqpAdjustment(later).run(), adjusted(PAPER))


@pytest.mark.parametrize(("height", "period"), [(0.02, 30), (0.05, 80)])
def test_joint_limits_hold_between_knots_too(height, period):
    # The desired motion swings to its limits many times, mostly between the knots.
    rows = refined(PAPER.desired, 10)
    at = np.arange(len(rows))
    fade = np.minimum(1.0, np.minimum(at, at[::-1]) / 30.0)
    signs = np.where(np.arange(14) % 3, 1.0, -1.0)
    rows = rows + height * (fade * np.sin(2.0 * np.pi * at / period))[:, None] * signs
    problem = replace(PAPER.problem(), desired=rows, times=at.astype(float))
    columns = np.concatenate(problem.columns)
    lower, upper = rows.min(axis=0), rows.max(axis=0)
    limits = zip(np.array(problem.model.joint_names)[columns], lower[columns], upper[columns],
                 strict=True)  # fmt: skip
    tight = within(problem.model, {name: (low, high) for name, low, high in limits})
    found = SqpAdjustment(replace(problem, model=tight)).run()
    assert PAPER.segment_distances(refined(found, 4)).min() >= PAPER.safe
    assert (found >= lower).all() and (found <= upper).all()
    free = SqpAdjustment(problem).run()
    assert (free > upper).any() or (free < lower).any()  # it would go beyond them


# -- ends that are too near ----------------------------------------------------------------


def led_out(first, danger):
    """The paper's motion from waypoint first on, with d_dan at danger between leaves."""
    problem = PAPER.problem()
    margins = replace(
        problem.margins, danger=np.where(np.isfinite(problem.margins.safe), danger, -np.inf)
    )
    return replace(
        problem, desired=problem.desired[first:], times=problem.times[first:], margins=margins
    )


@pytest.mark.parametrize("first", [42, 43, 58, 59])
def test_a_start_that_is_too_near_is_led_out(first):
    problem = led_out(first, 0.0)
    work = SqpAdjustment(problem)
    rows = work.run()
    before = PAPER.segment_distances(problem.desired)[0]
    assert before < PAPER.safe
    distances = PAPER.segment_distances(refined(rows))
    out = np.flatnonzero(distances >= PAPER.safe)[0]
    assert out <= 20 * 6
    assert distances[:out].min() >= before - 0.0015
    assert distances[out:].min() >= PAPER.safe - 1e-9
    assert np.array_equal(rows[[0, -1]], problem.desired[[0, -1]])
    # what it says is certified is certified
    assert work.limits.shape == (len(rows) - 1, len(problem.model.pairs))
    assert failures(Proximity(problem.model), rows, work.limits) == []
    assert work.limits[-1] == pytest.approx(problem.margins.safe)


# -- a robot worked out by hand ------------------------------------------------------------


def least(rows):
    return min(arm_distance(q) for q in refined(rows))


@pytest.mark.parametrize("yielding", ["both", "right", "left"])
def test_arms_that_meet_in_a_plane_are_kept_apart(yielding):
    problem = planar_problem(planar_model(), meeting(41, 0.85), yielding=yielding)
    assert least(problem.desired) < 0.0
    rows = SqpAdjustment(problem).run()
    assert least(rows) >= 0.1
    assert np.array_equal(rows[[0, -1]], problem.desired[[0, -1]])
