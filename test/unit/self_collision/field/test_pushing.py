# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Pushes of two arms: pairs, normals, shares, and the motion of one arm."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.robots.dual_arm_cases import PAPER, ROOT, capsule_model, capsule_urdf

from collision_monitor import CollisionModel
from collision_monitor.hierarchy.kinematics import forward_kinematics
from collision_monitor.hierarchy.packed import windows
from collision_monitor.robot.bodies import Jacobians
from collision_monitor.self_collision.field import arm_pushing
from collision_monitor.self_collision.field.arm_pushing import add_jacobian, arm_tables
from collision_monitor.self_collision.field.clearing import CrossPairs, share
from collision_monitor.self_collision.field.nine_cases import common_normal, control_points
from collision_monitor.self_collision.margins import Margins
from unit.model.test_reach import MIXED

# -- pushes of one arm: the point goes where it is told, by least motion, within limits --


MODEL = capsule_model(0.195)
BODIES = MODEL.bodies
COLUMNS = np.arange(7)
ARM = arm_tables(MODEL, COLUMNS, "right_tool", may_move=True)
ARRAYS = MODEL.work_space()
HAND, UPPER_ARM = (BODIES.link_bodies[f"right_link_{i}"] for i in (7, 3))

entry = st.floats(-1.0, 1.0).map(lambda x: round(x, 3))
seven = st.lists(entry, min_size=7, max_size=7).map(np.array)


def least_push(gradient, amount, q, lower, upper):
    change = np.empty(len(q))
    arm_pushing.least_push(gradient, amount, q, lower, upper, change)
    return change


def held_push(gradient, tip, amount):
    change = np.empty(len(gradient))
    return change if arm_pushing.held_push(gradient, tip, amount, change) else None


def push(q, body, point, direction, amount):
    moved = q.copy()
    arm_pushing.pushed(*ARRAYS, ARM, body, point, direction, amount, True, moved)
    return moved


def direction(first, second, approach):
    ends = np.array([first.ravel(), second.ravel()])
    normal = np.empty(3)
    common_normal(ends, 0, 1, approach, np.empty((2, 3)), normal)
    return normal


def point_of(q, body, local):
    """Where a point fixed to a body is (3,), and the pose of the tip, by the model."""
    poses = MODEL.link_poses(q)
    link = {HAND: "right_link_7", UPPER_ARM: "right_link_3"}[body]
    return (poses[link] @ np.r_[local, 1.0])[:3], poses["right_tool"]


def test_the_compiled_jacobian_is_that_of_the_bodies():
    # Joints that turn, slide and follow another one.
    model = CollisionModel.from_urdf(MIXED)
    view, rng = windows(*model.work_space()), np.random.default_rng(5)
    for q in model.random_configurations(5):
        forward_kinematics(view, q)
        jacobians = Jacobians(model.bodies, q)
        for body in range(len(model.bodies.parents) + 1):
            point, found = rng.normal(size=3), np.zeros((6, len(q)))
            add_jacobian(view, body, point, found)
            assert found == pytest.approx(jacobians.of_point(body, point), abs=1e-12)


@given(seven, seven, st.floats(0.01, 1.0))
@settings(max_examples=100, deadline=None)
def test_limits_are_kept_and_the_others_take_over(gradient, q, amount):
    lower, upper = q - 0.1 * np.abs(q), q + 0.2 * np.abs(q[::-1])
    change = least_push(gradient, amount, q, lower, upper)
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


# -- the common normal at every distance, and what part of a push each arm takes ---------


coordinate = st.floats(-2.0, 2.0).map(lambda x: round(x, 3))
point = st.tuples(coordinate, coordinate, coordinate).map(np.array)
segment = st.tuples(point, point).map(np.array)


@given(point, point, point, st.floats(0.0, 1.0), point)
@settings(max_examples=100, deadline=None)
def test_segments_that_cross_part_along_it_and_back_where_they_came_from(p, u, v, s, approach):
    first = np.array([p, p + u])
    second = np.array([p + s * u, p + s * u + v])
    n = direction(first, second, approach)
    assert np.linalg.norm(n) == pytest.approx(1.0, abs=1e-12)
    found = control_points(first, second)
    if found.distance <= 1e-12:
        assert approach @ n >= -1e-12
        if np.linalg.norm(np.cross(u, v)) > 1e-2:
            moved = control_points(first - 0.1 * n, second)
            assert moved.distance == pytest.approx(0.1, abs=1e-9)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([[0, 0, 0], [1, 0, 0]], [[0.5, 0, 0], [2, 0, 0]]),  # on one line
        ([[0, 0, 0], [1, 0, 0]], [[0.5, 0, 0], [0.5, 0, 0]]),  # a point on a segment
        ([[1, 1, 1], [1, 1, 1]], [[1, 1, 1], [1, 1, 1]]),  # one point
    ],
)
@pytest.mark.parametrize("approach", [[0.0, 0.0, 0.0], [0.3, -0.5, 0.1], [1.0, 0.0, 0.0]])
def test_where_touching_segments_tell_no_normal_there_is_one(first, second, approach):
    first, second = np.array(first, dtype=float), np.array(second, dtype=float)
    n = direction(first, second, np.array(approach))
    assert np.linalg.norm(n) == pytest.approx(1.0)
    assert control_points(first - 0.1 * n, second).distance == pytest.approx(0.1)
    assert np.array(approach) @ n >= -1e-12


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
    assert share(right, left, True, True) == pytest.approx(expected)
    assert share(-left, -right, True, True) == pytest.approx(1.0 - expected)
    assert share(right, left, True, False) == 1.0
    assert share(right, left, False, True) == 0.0


# -- which leaves are right against left, and how far apart ------------------------------


def names(problem, pairs):
    leaves, tables = problem.model.leaves, pairs.tables
    return {
        (leaves[i].link, leaves[j].link) for i, j in zip(tables.right, tables.left, strict=True)
    }


def test_what_a_hand_carries_counts_as_the_arm():
    obstacles = [
        {"name": "tray", "type": "box", "size": [0.1, 0.1, 0.02], "link": "right_tool"},
        {"name": "post", "type": "sphere", "radius": 0.05, "position": [1.0, 0.0, 0.0]},
    ]
    model = CollisionModel.from_urdf(
        capsule_urdf(0.195), srdf=ROOT / "urdf/dual_arm.srdf", scene={"obstacles": obstacles}
    )
    everything = np.full(len(model.pairs), 0.1)
    problem = replace(PAPER.problem(), model=model, margins=Margins(everything, everything))
    found = names(problem, CrossPairs(problem))
    assert ("tray", "left_link_7") in found
    assert not any("post" in pair for pair in found)
    assert ("tray", "right_link_1") not in found


@given(seven, st.floats(1e-4, 0.1))
@settings(max_examples=100, deadline=None)
def test_the_least_push_is_the_one_of_least_norm(gradient, amount):
    wide = np.full(7, 1e9)
    change = least_push(gradient, amount, np.zeros(7), -wide, wide)
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


@given(segment, segment, point)
@settings(max_examples=100, deadline=None)
def test_the_normal_is_a_unit_vector_from_first_to_second(first, second, approach):
    n = direction(first, second, approach)
    assert np.linalg.norm(n) == pytest.approx(1.0, abs=1e-12)
    found = control_points(first, second)
    if found.distance > 1e-9:
        assert found.distance * n == pytest.approx(found.second - found.first, abs=1e-9)
