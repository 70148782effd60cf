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
    joint_centres,
    largest_deviation,
    largest_step,
    refined,
)
from support.robots.planar_arms import arm_distance, ball, meeting, planar_model, planar_problem

from collision_monitor.errors import AdjustmentError
from collision_monitor.model.proximity import Proximity
from collision_monitor.self_collision.motion_clearance import failures
from collision_monitor.self_collision.preparation import within
from collision_monitor.self_collision.sqp_adjustment import RobustAdjustment, adjust_robust

by_name = {"argvalues": CASES, "ids": [case.name for case in CASES]}
_adjusted = {}


def adjusted(case, yielding="both"):
    """The adjusted motion; each is worked out once."""
    key = (case, yielding)
    if key not in _adjusted:
        _adjusted[key] = adjust_robust(case.problem(yielding))
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


@pytest.mark.parametrize("case", **by_name)
def test_changes_are_small_and_smooth(case):
    rows = adjusted(case)
    assert largest_deviation(rows, case.desired) <= 11.5
    assert largest_step(rows) <= 1.1 * largest_step(case.desired)


def test_a_motion_that_is_safe_is_not_changed():
    problem = PAPER.problem()
    for piece in (slice(0, 40), slice(60, 63), slice(0, 1)):
        desired = problem.desired[piece]
        safe = replace(problem, desired=desired, times=problem.times[piece])
        assert np.array_equal(adjust_robust(safe), desired)


def test_the_result_does_not_depend_on_where_time_begins():
    problem = PAPER.problem()
    later = replace(problem, times=3.0 * problem.times + 100.0)
    assert np.array_equal(adjust_robust(later), adjusted(PAPER))


def test_waypoints_may_be_close_together_or_repeated():
    rows = np.repeat(refined(PAPER.desired, 5), 2, axis=0)
    problem = replace(PAPER.problem(), desired=rows, times=np.arange(float(len(rows))))
    found = adjust_robust(problem)
    assert PAPER.segment_distances(refined(found, 4)).min() >= PAPER.safe
    assert np.array_equal(found[[0, -1]], rows[[0, -1]])
    assert largest_deviation(found, rows) <= 12.0


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
    found = adjust_robust(replace(problem, model=tight))
    assert PAPER.segment_distances(refined(found, 4)).min() >= PAPER.safe
    assert (found >= lower).all() and (found <= upper).all()
    free = adjust_robust(problem)
    assert (free > upper).any() or (free < lower).any()  # it would go beyond them


def test_tips_are_displaced_less_where_they_count():
    problem = PAPER.problem()
    rows = [adjust_robust(replace(problem, tip_weight=weight)) for weight in (0.0, 5.0)]

    def displaced(found):
        there, wanted = (
            joint_centres(q, PAPER.offset)[:, :, -1] for q in (found, problem.desired)
        )
        return np.linalg.norm(there - wanted, axis=2)

    assert np.sum(displaced(rows[1]) ** 2) < 0.97 * np.sum(displaced(rows[0]) ** 2)
    check_safe(PAPER, rows[1])


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
    work = RobustAdjustment(problem)
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


def test_a_start_in_the_danger_zone_is_refused():
    with pytest.raises(AdjustmentError, match="the start is in the danger zone") as caught:
        adjust_robust(led_out(50, 0.0))
    assert caught.value.waypoint == 0 and caught.value.time == 50.0
    distance = PAPER.segment_distances(PAPER.desired)[50] - 0.1
    assert caught.value.distance == pytest.approx(distance, abs=1e-9)


def test_a_goal_that_is_too_near_is_refused():
    problem = PAPER.problem()
    short = replace(problem, desired=problem.desired[:46], times=problem.times[:46])
    with pytest.raises(AdjustmentError, match="goal itself is too near") as caught:
        adjust_robust(short)
    error = caught.value
    assert (error.waypoint, error.time) == (45, 45.0)
    assert error.distance == pytest.approx(0.076684 - 0.1, abs=1e-6)
    assert {name.split("_")[0] for name in error.pair} == {"right", "left"}


# -- a robot worked out by hand ------------------------------------------------------------


def least(rows):
    return min(arm_distance(q) for q in refined(rows))


@pytest.mark.parametrize("yielding", ["both", "right", "left"])
def test_arms_that_meet_in_a_plane_are_kept_apart(yielding):
    problem = planar_problem(planar_model(), meeting(41, 0.85), yielding=yielding)
    assert least(problem.desired) < 0.0
    rows = adjust_robust(problem)
    assert least(rows) >= 0.1
    assert np.array_equal(rows[[0, -1]], problem.desired[[0, -1]])


def test_an_obstacle_is_kept_away_from_too():
    model = planar_model(ball("ball", 1.15, -0.55, 0.05))
    desired = meeting(41, 0.6)
    problem = planar_problem(model, desired, safe=0.08)
    pairs = [k for k, pair in enumerate(model.pairs) if "ball" in pair]
    assert min(model.distances(q)[pairs].min() for q in refined(desired)) < 0.0
    rows = adjust_robust(problem)
    assert min(model.distances(q)[pairs].min() for q in refined(rows)) >= 0.08 - 1e-9
    assert least(rows) >= 0.08
    assert np.array_equal(rows[:, 3:], desired[:, 3:]) or np.abs(rows - desired)[:, 3:].max() < 0.2


def stiff(model):
    """All joints but the first of each arm are held by their limits."""
    for k, name in enumerate(model.joint_names):
        if not name.endswith("j1"):
            model.lower[k] = model.upper[k] = 0.0
    return model


def test_arms_that_would_have_to_pass_through_each_other_are_refused():
    desired = np.zeros((41, 6))
    desired[:, 0] = np.linspace(-0.4, 1.9, 41)
    desired[:, 3] = 0.2
    problem = planar_problem(stiff(planar_model()), desired, yielding="right")
    with pytest.raises(AdjustmentError, match="no way around was found") as caught:
        adjust_robust(problem)
    error = caught.value
    prefix = error.safe_prefix
    assert least(prefix) >= 0.1
    assert np.array_equal(prefix[0], desired[0])
    assert len(prefix) > 10
    too_near = [k for k, q in enumerate(desired) if arm_distance(q) < 0.1]
    assert too_near[0] - 1 <= error.waypoint <= too_near[-1]
    assert error.distance < 0.1 and set(error.pair) <= {f"{s}_{i}" for s in ("right", "left")
                                                        for i in (1, 2, 3)}  # fmt: skip
