# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What `adjust` refuses, and what its errors tell: where, why, and what would be possible."""

import re
from dataclasses import replace

import numpy as np
import pytest
from support.robots import two_slides
from support.robots.adjusted_cases import CLOSE, MOTION, path_of
from support.robots.dual_arm_cases import JOINTS, PAPER, capsule_model, refined
from support.robots.planar_arms import JOINTS as PLANAR
from support.robots.planar_arms import arm_distance, ball, meeting, planar_model, sliding_box

from collision_monitor.errors import AdjustmentError
from collision_monitor.motion import Motion
from collision_monitor.self_collision import AdjustmentSettings, adjust
from collision_monitor.verification.clearance.clearance_check import check_clearance


def check_prefix(model, error, motion, safe, **held):
    """What is said to be safe is safe by dense sampling, and begins where the motion does."""
    prefix = error.safe_prefix
    assert prefix.joint_names == tuple(motion.joint_names)
    assert np.array_equal(prefix.positions[0], motion.positions[0])
    assert prefix.times[0] == motion.times[0] and prefix.times[-1] < motion.times[-1]
    assert (np.diff(prefix.times) > 0.0).all()
    columns = [model.joint_names.index(name) for name in prefix.joint_names]
    q = np.repeat(np.clip(0.0, model.lower, model.upper)[None], len(prefix.times), axis=0)
    q[:, columns] = prefix.positions
    between = [k for k, (a, b) in enumerate(model.pairs) if {a[:4], b[:4]} == {"righ", "left"}]
    fine = refined(q) if len(q) > 1 else q
    assert min(model.distances(row)[between].min() for row in fine) >= safe - 1e-9


@pytest.mark.parametrize("method", ["robust", "field"])
def test_a_goal_that_is_too_near(method):
    model = capsule_model(PAPER.offset)
    # in another order of joints than that of the model
    motion = Motion(JOINTS[::-1], 10.0 + MOTION.times[:51], MOTION.positions[:51, ::-1])
    with pytest.raises(AdjustmentError, match="waypoint 50 at 60 s: ") as caught:
        adjust(model, motion, method=method, **CLOSE)
    error = caught.value
    assert (error.waypoint, error.time) == (50, 60.0)
    assert error.distance == pytest.approx(0.014067 - 0.1, abs=1e-6)
    assert error.safe_prefix.times[-1] == 50.0  # 41 s of the motion is the first too near
    assert error.safe_prefix.positions == pytest.approx(motion.positions[:41], abs=1e-12)
    check_prefix(model, error, motion, 0.1)


def test_a_start_in_the_danger_zone():
    model = capsule_model(PAPER.offset)
    motion = Motion(JOINTS, MOTION.times[50:], MOTION.positions[50:])
    with pytest.raises(AdjustmentError, match="start is closer than danger_distance") as caught:
        adjust(model, motion, **CLOSE)
    assert (caught.value.waypoint, caught.value.time) == (0, 50.0)
    assert caught.value.safe_prefix is None


@pytest.mark.parametrize("gaps", [(0.02, 0.04), (0.04, 0.02), (0.04, 0.3), (0.3, 0.04 + 1e-8)])
def test_the_distance_that_a_refusal_names_is_possible(gaps):
    ends = np.array([two_slides.apart(gap) for gap in gaps])
    motion = Motion(two_slides.JOINTS, np.array([0.0, 3.0]), ends)
    with pytest.raises(AdjustmentError, match="danger distance of at most") as caught:
        adjust(two_slides.model(), motion, two_slides.ARMS)
    named = float(re.search("at most ([0-9.]+) m", str(caught.value)).group(1))
    assert min(gaps) - 2e-3 < named < min(gaps)
    adjust(two_slides.model(), motion, two_slides.ARMS, danger_distance=named)


@pytest.mark.slow
def test_a_refusal_names_the_largest_safe_distance_that_works():
    """Balls that have to pass each other, at most 6 cm apart."""
    model, names = two_slides.model(), two_slides.JOINTS
    rows = np.outer(np.linspace(0.0, 0.9, 41), [1.0, 0.0, -1.0, 0.0])
    motion = Motion(names, np.linspace(0.0, 8.0, 41), rows)
    limits = {"r_y": (-0.13, 0.13), "l_y": (-0.13, 0.13)}
    with pytest.raises(AdjustmentError, match="no detour was found") as caught:
        adjust(model, motion, two_slides.ARMS, position_limits=limits, danger_distance=0.08)
    named, text = caught.value.possible, str(caught.value)
    assert 0.02 <= named[0] < 0.06 and named[1] == named[0]
    assert text.endswith(f"; a safe and danger distance of {named[0]:g} m would allow it")
    settings = AdjustmentSettings(*named, position_limits=limits)
    assert adjust(model, motion, two_slides.ARMS, settings).certified == named[0]


@pytest.mark.parametrize("method", ["robust", "field"])
def test_arms_that_would_have_to_pass_through_each_other(method):
    """The right arm sweeps through the left one, which is held."""
    model = planar_model()
    stiff = {name: (-1e-3, 1e-3) for name in PLANAR if not name.endswith("j1")}
    motion = Motion(PLANAR, np.arange(2.0), [[-0.4, 0, 0, 0.2, 0, 0], [1.9, 0, 0, 0.2, 0, 0]])
    reason = "no detour" if method == "robust" else "the arms block each other"
    with pytest.raises(AdjustmentError, match=reason) as caught:
        adjust(
            model, motion, yielding="right", position_limits=stiff, safe_distance=0.1,
            danger_distance=0.02, method=method,
        )  # fmt: skip
    error = caught.value
    check_prefix(model, error, motion, 0.1)
    assert len(error.safe_prefix.times) > 15  # more than is safe of the desired motion
    assert error.distance < 0.105 and {name[:4] for name in error.pair} == {"righ", "left"}
    assert error.possible is None
    assert "; no safe distance that would allow it was found in the time" in str(error)
    assert "yielding is 'right': with 'both', 'left_arm' may give way too" in str(error)
    assert ("try method robust" in str(error)) == (method == "field")
    # counted as in the motion that was given, whatever was put in
    assert motion.times[error.waypoint] <= error.time
    assert error.waypoint == len(motion.times) - 1 or error.time < motion.times[error.waypoint + 1]
    assert f"waypoint {error.waypoint} at" in str(error)


def test_a_refusal_names_the_arm_that_could_give_way():
    model = planar_model(ball("post", 1.0, -0.5, 0.1))
    rows = np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0], (41, 1))
    rows[:, 0] = np.linspace(-1.0, 0.45, 41)  # the right arm, through the post
    motion = Motion(PLANAR, np.arange(41.0), rows)
    with pytest.raises(AdjustmentError, match="'post'.* with 'both', 'right_arm' may give way too"):
        adjust(model, motion, yielding="left")
    assert adjust(model, motion, yielding="both").changed
    with pytest.raises(AdjustmentError) as caught:  # a goal, which no arm may change
        adjust(model, Motion(PLANAR, motion.times[:27], rows[:27]), yielding="left")
    assert caught.value.waypoint == 26 and "yielding" not in str(caught.value)


def test_a_safe_prefix_does_not_come_as_near_as_the_goal_that_it_does_not_reach():
    # The arms end 0.06 m apart, which a motion to this goal may; then a box hits the right one.
    model = sliding_box([0.3, -2.0, 0.0], [0, 1, 0])
    rows = np.zeros((41, 7))
    rows[:, 0] = 0.3755 * np.linspace(0.0, 2.0, 41).clip(0.0, 1.0)
    rows[:, 3] = -rows[:, 0]
    rows[:, 6] = 1.55 * np.linspace(-1.0, 1.0, 41).clip(0.0)
    assert arm_distance(rows[-1, :6]) == pytest.approx(0.06, abs=1e-3)
    motion = Motion((*PLANAR, "slide"), 0.5 * np.arange(41), rows)
    with pytest.raises(AdjustmentError, match="'right_1' and 'box' are -.*the goal is closer") as e:
        adjust(model, motion)
    assert 10 < len(e.value.safe_prefix.times) < 21
    check_prefix(model, e.value, motion, 0.1)
    rows[:, 6] = 0.0  # the goal alone is allowed
    assert not adjust(model, replace(motion, positions=rows)).changed


@pytest.mark.parametrize("method", ["robust", "field"])
def test_the_safe_prefix_touches_nothing_else_either(method):
    model = sliding_box([-3.0, 0.0, 0.0], [1, 0, 0])
    slide = np.r_[2.3, 2.5, 2.7, 2.5, 2.3, np.full(36, 2.3)]  # through the base and back
    rows = np.column_stack([meeting(41), slide])
    rows[-1, :6] = rows[20, :6]  # the goal is in contact
    with pytest.raises(AdjustmentError) as caught:
        adjust(model, Motion((*PLANAR, "slide"), 0.5 * np.arange(41), rows), method=method)
    prefix = caught.value.safe_prefix
    assert prefix is not None and prefix.times[-1] < 0.75
    assert check_clearance(model, path_of(prefix), exact=True).ok


@pytest.mark.parametrize("method", ["robust", "field"])
@pytest.mark.parametrize(("waypoint", "end"), [(0, "start"), (4, "goal")])
def test_contact_at_an_end_that_no_arm_can_part_is_named_there(method, waypoint, end):
    model = sliding_box([-3.0, 0.0, 0.0], [1, 0, 0])
    slide = np.full(5, 2.0)
    slide[waypoint] = 2.7  # in the base
    rows = np.column_stack([np.repeat(meeting(2)[:1], 5, axis=0), slide])
    with pytest.raises(AdjustmentError, match=f"contact.*; the {end} may not be changed") as caught:
        adjust(model, Motion((*PLANAR, "slide"), 0.5 * np.arange(5), rows), method=method)
    assert (caught.value.waypoint, caught.value.time) == (waypoint, 0.5 * waypoint)
    assert caught.value.distance < 0.0
    prefix = caught.value.safe_prefix
    if waypoint == 0:
        assert prefix is None
    else:
        assert len(prefix.times) > 1 and check_clearance(model, path_of(prefix), exact=True).ok
