# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Pushes of one arm, and the shares of two."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.robots.dual_arm_cases import capsule_model

from collision_monitor.robot.bodies import Jacobians
from collision_monitor.self_collision.field.arm_pushing import PushedArm, held_push, least_push
from collision_monitor.self_collision.field.repulsion_field import share

# -- pushes of one arm: the point goes where it is told, by least motion, within limits --


MODEL = capsule_model(0.195)
BODIES = MODEL.bodies
ARM = PushedArm(MODEL, np.arange(7), "right_tool", may_move=True)
HAND, UPPER_ARM = (BODIES.link_bodies[f"right_link_{i}"] for i in (7, 3))

entry = st.floats(-1.0, 1.0).map(lambda x: round(x, 3))
seven = st.lists(entry, min_size=7, max_size=7).map(np.array)


def push(q, body, point, direction, amount):
    moved = q.copy()
    gradient = direction @ Jacobians(BODIES, q).of_point(body, point)[:3]
    ARM.push(moved, gradient, amount, ARM.inner[body])
    return moved


def point_of(q, body, local):
    """Where a point fixed to a body is (3,), and the pose of the tip, by the model."""
    poses = MODEL.link_poses(q)
    link = {HAND: "right_link_7", UPPER_ARM: "right_link_3"}[body]
    return (poses[link] @ np.r_[local, 1.0])[:3], poses["right_tool"]


@given(seven, seven, st.floats(0.01, 1.0))
@settings(max_examples=100, deadline=None)
def test_limits_are_kept_and_the_others_take_over(gradient, q, amount):
    lower, upper = q - 0.1 * np.abs(q), q + 0.2 * np.abs(q[::-1])
    change = least_push(gradient, amount, lower - q, upper - q)
    assert np.all(change >= lower - q - 1e-15) and np.all(change <= upper - q + 1e-15)
    most = np.where(gradient > 0, gradient * (upper - q), gradient * (lower - q)).sum()
    reached = gradient @ change
    assert reached <= amount + 1e-9
    if most > amount + 1e-6 and np.abs(gradient).min() > 0.01:
        assert reached == pytest.approx(amount)
    elif most < amount and np.abs(gradient).min() > 0.01:
        assert reached == pytest.approx(most, abs=1e-6)


def test_the_elbow_moves_and_the_tip_stays_where_the_arm_can():
    rng = np.random.default_rng(4)
    held = 0
    for q in rng.uniform(0.5 * MODEL.lower, 0.5 * MODEL.upper, (40, 14)):
        elbow, tip = point_of(q, UPPER_ARM, [0.0, 0.0, 0.415])
        jacobians = Jacobians(BODIES, q)
        turning = np.linalg.svd(
            jacobians.of_point(BODIES.link_bodies["right_tool"], tip[:3, 3])[:, :7]
        )[2][-1]  # of the elbow about the line from shoulder to wrist
        direction = jacobians.of_point(UPPER_ARM, elbow)[:3, :7] @ turning
        if np.linalg.norm(direction) < 0.06:
            continue  # the elbow hardly moves when the arm turns about its ends
        direction /= np.linalg.norm(direction)
        pushed = push(q, UPPER_ARM, elbow, direction, 1e-4)
        moved, after = point_of(pushed, UPPER_ARM, [0.0, 0.0, 0.415])
        assert (moved - elbow) @ direction == pytest.approx(1e-4, rel=0.06)
        assert after == pytest.approx(tip, abs=1e-5)
        held += 1
    assert held > 10


@pytest.mark.parametrize("body", [HAND, UPPER_ARM])
def test_no_joint_leaves_its_limits(body):
    rng = np.random.default_rng(6)
    for _ in range(30):
        q = np.where(rng.random(14) < 0.5, MODEL.lower, MODEL.upper)
        point, _ = point_of(q, body, [0.0, 0.0, 0.1])
        direction = rng.normal(size=3)
        direction /= np.linalg.norm(direction)
        pushed = push(q, body, point, direction, 0.01)
        assert np.all(MODEL.lower <= pushed) and np.all(pushed <= MODEL.upper)


# -- what part of a push each arm takes ---------------------------------------------------


@pytest.mark.parametrize(
    ("right", "left", "expected"),
    [
        (0.3, -0.1, 0.75),
        (0.2, -0.2, 0.5),
        (0.2, 0.0, 1.0),
        (0.2, 0.2, 1.0),  # the left one runs away, as fast: 0/0 as printed
        (0.2, 0.1, 1.0),  # 2 as printed
        (-0.1, -0.2, 0.0),  # -1 as printed
        (-0.1, 0.1, 0.5),  # nobody approaches
        (0.0, 0.0, 0.5),
    ],
)
def test_shares(right, left, expected):
    assert share(right, left) == pytest.approx(expected)
    assert share(-left, -right) == pytest.approx(1.0 - expected)


# -- the least motion ----------------------------------------------------------------------


@given(seven, st.floats(1e-4, 0.1))
@settings(max_examples=100, deadline=None)
def test_the_least_push_is_the_one_of_least_norm(gradient, amount):
    wide = np.full(7, 1e9)
    change = least_push(gradient, amount, -wide, wide)
    if gradient @ gradient <= 1e-8:
        assert not change.any()
    else:
        assert gradient @ change == pytest.approx(amount)
        assert change == pytest.approx(np.linalg.lstsq(gradient[None], [amount], rcond=None)[0])


def test_keeping_the_tip_is_the_least_motion_of_all_that_do():
    rng = np.random.default_rng(2)
    kept = 0
    for _ in range(50):
        tip = rng.normal(size=(4, 7))
        gradient = rng.normal(size=7)
        change = held_push(gradient, tip, 0.01)
        if change is None:
            continue
        kept += 1
        both = np.vstack([gradient, tip])
        expected = np.linalg.lstsq(both, np.r_[0.01, np.zeros(4)], rcond=None)[0]
        assert change == pytest.approx(expected, abs=1e-12)
    assert kept > 10


def test_a_tip_task_that_repeats_itself_is_as_easy_as_once():
    rng = np.random.default_rng(3)
    tip, gradient = rng.normal(size=(3, 7)), rng.normal(size=7)
    once = held_push(gradient, tip, 0.01)
    twice = held_push(gradient, np.vstack([tip, tip[0] + tip[1], 2.0 * tip[2]]), 0.01)
    assert once is not None and twice == pytest.approx(once, abs=1e-12)


def test_a_tip_that_would_have_to_move_is_no_answer():
    gradient = np.r_[1.0, np.zeros(6)]
    assert held_push(gradient, np.r_[1.0, np.zeros(6)][None], 0.01) is None
    assert held_push(np.zeros(7), np.eye(7)[:1], 0.01) is None
    nearly = np.r_[1.0, 0.01, np.zeros(5)][None]  # 100 times the motion
    assert held_push(gradient, nearly, 0.01) is None


@pytest.mark.parametrize("body", [HAND, UPPER_ARM])
def test_the_point_goes_where_it_is_told(body):
    rng = np.random.default_rng(body)
    for q in rng.uniform(0.5 * MODEL.lower, 0.5 * MODEL.upper, (30, 14)):
        point, _ = point_of(q, body, [0.0, 0.0, 0.1])
        direction = Jacobians(BODIES, q).of_point(body, point)[:3, :7] @ rng.normal(size=7)
        direction /= np.linalg.norm(direction)
        pushed = push(q, body, point, direction, 1e-4)
        moved = point_of(pushed, body, [0.0, 0.0, 0.1])[0] - point
        assert moved @ direction == pytest.approx(1e-4, rel=0.06)  # 5 % for a tip that is held
        assert np.array_equal(pushed[7:], q[7:])


def test_one_push_is_never_a_jump():
    q = np.zeros(14)
    q[3] = 1.0
    point, _ = point_of(q, HAND, [0.0, 0.0, 0.1])
    pushed = push(q, HAND, point, np.array([1.0, 0.0, 0.0]), 10.0)
    assert np.abs(pushed - q).max() == pytest.approx(np.radians(2.0))
