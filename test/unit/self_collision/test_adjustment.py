# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""`adjust`, as a user calls it: what comes out is safe, small and told truly, or is an error."""

import re
from copy import copy
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support.robots import close_shoulders, two_slides
from support.robots.dual_arm_cases import (
    CASES,
    JOINTS,
    LAGGING,
    PAPER,
    ROOT,
    capsule_model,
    joint_centres,
    largest_deviation,
    largest_step,
    refined,
    segment_distances,
)
from support.robots.planar_arms import JOINTS as PLANAR
from support.robots.planar_arms import RADIUS as PLANAR_RADIUS
from support.robots.planar_arms import (
    SRDF,
    arm_distance,
    ball,
    meeting,
    planar_model,
    planar_urdf,
    points,
    sliding_box,
)
from support.robots.toy_models import toy_model
from support.robots.toys import joint, link, robot

from collision_monitor import CollisionModel
from collision_monitor.errors import (
    AdjustmentError,
    ArmsError,
    CancelledError,
    CollisionMonitorError,
    ConfigurationError,
    MotionError,
    NothingToCheckError,
)
from collision_monitor.motion import Motion, read_motion
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.robot.limits import JointLimits
from collision_monitor.robot.scene import load_scene
from collision_monitor.self_collision import AdjustmentSettings, Streamer, adjust
from collision_monitor.self_collision.arms import Arm
from collision_monitor.self_collision.margins import sides
from collision_monitor.self_collision.preparation import checked
from collision_monitor.self_collision.preparation import refined as refined_motion
from collision_monitor.verification.clearance.clearance_check import check_clearance
from collision_monitor.verification.joint_limits_check import check_joint_limits, steps_of

CLOSE = {"safe_distance": 0.1, "danger_distance": 0.05}


def motion_of(case):
    return Motion(JOINTS, case.times, case.desired)


@cache
def adjusted(case, method="robust", **options):
    """An adjustment of a case; each is worked out once."""
    return adjust(
        capsule_model(case.offset), motion_of(case), safe_distance=case.safe - 0.1,
        danger_distance=case.danger - 0.1, method=method, **options,
    )  # fmt: skip


@cache
def fitted(with_scene=False):
    """The package's dual arm as it is: leaves fitted to its meshes."""
    scene = ROOT / "urdf/dual_arm_scene.yaml" if with_scene else None
    return CollisionModel.from_urdf(
        ROOT / "urdf/dual_arm.urdf", srdf=ROOT / "urdf/dual_arm.srdf", scene=scene
    )


MOTION = read_motion(ROOT / "config/dual_arm_motion.csv")


@cache
def adjusted_on_meshes():
    """The adjustment of the package's dual arm among its obstacles."""
    return adjust(fitted(with_scene=True), MOTION, **CLOSE)


def measured(model, margins, q):
    """Distances of leaves, or of meshes where the margins say so and they do not touch."""
    distances = model.distances(q)
    on_meshes = np.flatnonzero(margins.on_meshes)
    exact = model.surface_distances(q, on_meshes) if len(on_meshes) else np.zeros(0)
    distances[on_meshes] = np.where(exact > 0.0, exact, distances[on_meshes])
    return distances


def check_report(model, found):
    """Every number of an adjustment, worked out again pose by pose."""
    margins, names = found.margins, found.motion.joint_names
    columns = [model.joint_names.index(name) for name in names]
    rest = np.clip(0.0, model.lower, model.upper)
    for positions, index, clearance in (
        (found.desired.positions, found.index_before, found.clearance_before),
        (found.motion.positions, found.index_after, found.clearance),
    ):
        for k, row in enumerate(positions):
            q = rest.copy()
            q[columns] = row
            distances = measured(model, margins, q)
            missing = margins.safe - distances
            expected = missing[missing > 0.0].sum()
            expected = np.inf if (distances < margins.danger).any() else expected
            assert index[k] == pytest.approx(expected, abs=1e-9)
            assert clearance[k] == pytest.approx(distances[margins.kept].min(), abs=1e-9)
            if clearance is found.clearance:
                pair = model.pairs.index(found.closest[k])
                assert distances[pair] == pytest.approx(clearance[k], abs=1e-9)
    assert np.array_equal(found.joint_change, found.motion.positions - found.desired.positions)
    assert found.largest_change == np.abs(found.joint_change).max()
    assert found.changed == (found.largest_change > 0.0)


# -- the paper's experiment, and harder ones -----------------------------------------------


def far_from_near(case):
    """Waypoints that the desired motion reaches 0.9 rad and more from any that is too near."""
    desired = case.desired
    near = np.flatnonzero(case.segment_distances(desired) < case.safe)
    steps = np.abs(np.diff(desired, axis=0)).max(axis=1)
    at = np.r_[0.0, np.cumsum(steps)]
    return (at < at[near[0]] - 0.9) | (at > at[near[-1]] + 0.9)


@pytest.mark.parametrize(
    ("case", "yielding"),
    [*((case, "both") for case in CASES), (LAGGING, "left"), (PAPER, "right")],
    ids=lambda value: getattr(value, "name", value),
)
@pytest.mark.parametrize("method", ["robust", "field"])
def test_the_cases_are_solved_at_every_instant(case, method, yielding):
    found = adjusted(case, method, yielding=yielding)
    rows = found.motion.positions
    assert found.method == method and found.motion.joint_names == JOINTS
    assert case.segment_distances(refined(rows)).min() >= case.safe - 1e-9
    assert np.array_equal(rows[[0, -1]], case.desired[[0, -1]])
    assert np.array_equal(found.desired.positions, case.desired)
    assert found.certified == pytest.approx(case.safe - 0.1)
    assert found.certified_elsewhere == np.inf  # arms of capsules, and nothing else
    assert (found.index_after == 0.0).all()
    far = far_from_near(case)
    assert far.sum() >= 5 and np.array_equal(rows[far], case.desired[far])
    assert found.largest_step == pytest.approx(np.radians(largest_step(rows)))
    if yielding == "both":
        most = 11.5 if method == "robust" or case is PAPER else 12.0
        assert largest_deviation(rows, case.desired) <= most
        limit = 1.1 if method == "robust" or case is PAPER else 1.5
        assert largest_step(rows) <= limit * largest_step(case.desired)
    else:
        kept = slice(0, 7) if yielding == "left" else slice(7, 14)
        assert not found.joint_change[:, kept].any() and found.changed
        assert found.tip_displacement[:, 0 if yielding == "left" else 1].max() < 1e-12


@pytest.mark.parametrize(("height", "period"), [(0.02, 30), (0.05, 80)])
def test_joint_limits_hold_between_waypoints_too(height, period):
    # The desired motion swings to its limits many times, mostly between the waypoints.
    rows = refined(PAPER.desired, 10)
    at = np.arange(len(rows))
    fade = np.minimum(1.0, np.minimum(at, at[::-1]) / 30.0)
    signs = np.where(np.arange(14) % 3, 1.0, -1.0)
    rows = rows + height * (fade * np.sin(2.0 * np.pi * at / period))[:, None] * signs
    motion = Motion(JOINTS, at.astype(float), rows)
    lower, upper = rows.min(axis=0), rows.max(axis=0)
    limits = {name: (low, high) for name, low, high in zip(JOINTS, lower, upper, strict=True)}
    model, options = capsule_model(PAPER.offset), {"retime": False, **CLOSE}
    found = adjust(model, motion, position_limits=limits, **options).motion.positions
    assert PAPER.segment_distances(refined(found, 4)).min() >= PAPER.safe
    assert (found >= lower).all() and (found <= upper).all()
    free = adjust(model, motion, **options).motion.positions
    assert (free > upper).any() or (free < lower).any()  # it would go beyond them


@pytest.mark.parametrize("method", ["robust", "field"])
def test_the_paper_s_collision_is_detected_and_gone(method):
    found = adjusted(PAPER, method)
    assert np.flatnonzero(found.index_before > 0.0).tolist() == list(range(41, 60))
    assert np.flatnonzero(np.isinf(found.index_before)).tolist() == list(range(43, 59))
    near = PAPER.segment_distances(PAPER.desired) < 0.4
    expected = PAPER.segment_distances(PAPER.desired)[near] - 0.1
    assert found.clearance_before[near] == pytest.approx(expected, abs=1e-9)
    check_report(capsule_model(PAPER.offset), found)
    tips = [joint_centres(m.positions, PAPER.offset)[:, :, -1] for m in
            (found.motion, found.desired)]  # fmt: skip
    moved = np.linalg.norm(tips[0] - tips[1], axis=2)
    assert found.tip_displacement == pytest.approx(moved, abs=1e-9)


def test_a_tip_weight_displaces_tips_less():
    free, weighted = adjusted(PAPER), adjusted(PAPER, tip_weight=5.0)
    assert (weighted.tip_displacement**2).sum() < 0.97 * (free.tip_displacement**2).sum()
    assert (weighted.joint_change**2).sum() > (free.joint_change**2).sum()
    assert PAPER.segment_distances(refined(weighted.motion.positions)).min() >= PAPER.safe - 1e-9


def test_the_robot_as_it_is_with_its_meshes():
    model, found = fitted(with_scene=True), adjusted_on_meshes()
    rows = found.motion.positions
    # the meshes enclose the segments by 0.05 m each, and the leaves enclose the meshes
    assert PAPER.segment_distances(refined(rows)).min() >= 0.2 - 1e-9
    between = [k for k, (a, b) in enumerate(model.pairs) if {a[:5], b[:5]} == {"right", "left_"}]
    assert len(between) == 49
    others = np.setdiff1d(np.flatnonzero(found.margins.kept), between)
    fine = np.array([model.distances(q) for q in refined(rows, 5)])
    assert fine[:, between].min() >= 0.1 - 1e-9
    assert found.certified == 0.1
    assert len(others) > 100
    fine = np.array([measured(model, found.margins, q) for q in refined(rows, 5)])
    assert fine[:, others].min() >= found.certified_elsewhere - 1e-9
    assert 0.05 <= found.certified_elsewhere <= 0.1
    assert (fine >= found.margins.safe - 1e-9).all()  # eased pairs too
    assert largest_deviation(rows, MOTION.positions) <= 12.0
    assert np.array_equal(rows[[0, -1]], MOTION.positions[[0, -1]])
    check_report(model, found)


def test_the_field_may_have_to_keep_every_pair(tmp_path):
    found = adjust(fitted(True), MOTION, method="field", every_pair=True, **CLOSE)
    assert found.method == "field" and found.changed and found.certified == 0.1
    model, fine = fitted(True), refined(found.motion.positions, 5)
    fine = np.array([measured(model, found.margins, q) for q in fine])
    assert (fine >= found.margins.safe - 1e-9).all()
    assert (found.margins.kept == adjusted_on_meshes().margins.kept).all()
    assert found.certified_elsewhere < 0.1
    # The right arm is to sweep past a ball, and there is nothing to part it from but the ball.
    model = fitted(False)
    way = np.repeat(MOTION.positions[:1], 40, axis=0)
    way[:, 1] += np.linspace(0.0, 0.6, 40)
    tip = model.link_poses(way[20])[found.arms[0].tip_link][:3, 3].tolist()
    scene = f"obstacles: [{{name: ball, type: sphere, radius: 0.02, position: {tip}}}]"
    (tmp_path / "scene.yaml").write_text(scene)
    model = model.with_scene(load_scene(tmp_path / "scene.yaml", model.robot))
    motion = Motion(JOINTS, np.arange(40.0), way)
    ways = ((False, "'ball' touch during the motion"), (True, "'ball'.*try method robust"))
    for every_pair, says in ways:
        with pytest.raises(AdjustmentError, match=says):
            adjust(model, motion, method="field", every_pair=every_pair, **CLOSE)


# -- motions of all sorts ------------------------------------------------------------------


def test_a_safe_motion_comes_back_as_it_was():
    model = capsule_model(PAPER.offset)
    piece = Motion(JOINTS, MOTION.times[:40], MOTION.positions[:40])
    for method in ("robust", "field"):
        found = adjust(model, piece, method=method, **CLOSE)
        assert not found.changed and found.largest_change == 0.0
        assert np.array_equal(found.motion.positions, piece.positions)
        assert np.array_equal(found.motion.times, piece.times)
        assert not found.tip_displacement.any()


def test_one_arm_may_move_while_the_other_is_held():
    hold = 50
    model = capsule_model(PAPER.offset)
    held = dict(zip(JOINTS[7:], MOTION.positions[hold, 7:], strict=True))
    right = Motion(JOINTS[:7], MOTION.times, MOTION.positions[:, :7])
    found = adjust(model, right, held=held, **CLOSE)
    assert found.motion.joint_names == JOINTS[:7] and found.changed
    left = np.repeat(MOTION.positions[hold : hold + 1, 7:], len(found.motion.times), axis=0)
    rows = np.hstack([found.motion.positions, left])
    assert PAPER.segment_distances(refined(rows)).min() >= PAPER.safe - 1e-9
    assert found.tip_displacement[:, 1].max() == 0.0
    with pytest.raises(ConfigurationError, match="the left arm is to give way"):
        adjust(model, right, held=held, yielding="left", **CLOSE)


def test_the_order_of_joints_is_that_of_the_motion():
    order = np.random.default_rng(5).permutation(14)
    names = tuple(JOINTS[k] for k in order)
    motion = Motion(names, MOTION.times, MOTION.positions[:, order])
    found = adjust(capsule_model(PAPER.offset), motion, ("left_arm", "right_arm"), **CLOSE)
    assert found.motion.joint_names == names
    expected = adjusted(PAPER).motion.positions[:, order]
    assert found.motion.positions == pytest.approx(expected, abs=1e-12)
    assert [arm.name for arm in found.arms] == ["right_arm", "left_arm"]


@pytest.mark.parametrize("first", [0, 40])
def test_waypoints_are_put_in_where_a_motion_is_coarse(first):
    coarse = Motion(JOINTS, np.array([3.0, 13.0]), MOTION.positions[[first, 62]])
    found = adjust(capsule_model(PAPER.offset), coarse, **CLOSE)
    count = len(found.motion.times)
    assert 10 < count < 60 and np.abs(np.diff(found.desired.positions, axis=0)).max() <= 0.15
    parts = (found.desired.times - 3.0) / 10.0
    straight = coarse.positions[0] + parts[:, None] * np.diff(coarse.positions, axis=0)
    assert found.desired.positions == pytest.approx(straight, abs=1e-12)
    assert PAPER.segment_distances(refined(straight)).min() < PAPER.safe
    assert PAPER.segment_distances(refined(found.motion.positions)).min() >= PAPER.safe - 1e-9
    assert np.array_equal(found.motion.positions[[0, -1]], coarse.positions)
    assert np.isin(coarse.times, found.desired.times).all()


def test_one_waypoint_is_a_motion_too():
    between = Motion(two_slides.JOINTS, np.zeros(1), np.array([two_slides.apart(0.08)]))
    assert not adjust(two_slides.model(), between, two_slides.ARMS).changed  # danger to safe
    model = capsule_model(PAPER.offset)
    found = adjust(model, Motion(JOINTS, np.array([2.0]), MOTION.positions[:1]), **CLOSE)
    assert not found.changed and found.motion.times.tolist() == [2.0]
    assert found.largest_step == 0.0
    with pytest.raises(AdjustmentError) as caught:
        adjust(model, Motion(JOINTS, np.array([2.0]), MOTION.positions[50:51]), **CLOSE)
    assert caught.value.safe_prefix is None and caught.value.time == 2.0


def test_waypoints_may_be_close_together_or_repeated():
    rows = np.repeat(refined(MOTION.positions, 5), 2, axis=0)
    motion = Motion(JOINTS, np.arange(float(len(rows))), rows)
    found = adjust(capsule_model(PAPER.offset), motion, **CLOSE)
    assert np.array_equal(found.motion.positions[[0, -1]], rows[[0, -1]])
    assert PAPER.segment_distances(refined(found.motion.positions)).min() >= PAPER.safe - 1e-9
    assert largest_deviation(found.motion.positions, rows) < 12.0


@pytest.mark.parametrize("questions", [0, 40])
def test_an_adjustment_that_is_not_wanted_any_more_ends(questions):
    asked = []

    def cancelled():
        asked.append(None)
        return len(asked) > questions

    with pytest.raises(CancelledError, match="no longer needed"):
        adjust(capsule_model(PAPER.offset), MOTION, cancelled=cancelled, **CLOSE)
    assert len(asked) == questions + 1


# -- starts, goals and ways that cannot be --------------------------------------------------


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


@pytest.mark.parametrize("count", [2, 51])
@pytest.mark.parametrize("gaps", [(0.06, 0.2), (0.06, 0.11), (0.09, 0.0999), (0.08, 0.08)])
def test_a_short_motion_may_start_between_danger_and_safe(gaps, count):
    ends = np.array([two_slides.apart(gap) for gap in gaps])
    rows = ends[0] + np.linspace(0.0, 1.0, count)[:, None] * (ends[1] - ends[0])
    motion = Motion(two_slides.JOINTS, np.linspace(0.0, 1.0, count), rows)
    found = adjust(two_slides.model(), motion, two_slides.ARMS)
    assert (found.motion.positions[[0, -1]] == ends).all()
    for row in found.motion.positions:
        assert two_slides.distance(*row) > min(gaps) - 2e-3


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


def test_links_that_are_often_near_may_be_nearer_than_the_danger_distance():
    """As on a robot whose shoulders are side by side: poses and ways at 2 to 3 cm are accepted."""
    model, arms, names = close_shoulders.model(), close_shoulders.arms(), close_shoulders.JOINTS
    start, end = np.array([[-0.9, 0.0, 0.9, 0.0], [0.9, 0.0, -0.9, 0.0]])
    rows = start + np.linspace(0.0, 1.0, 41)[:, None] * (end - start)
    gaps = close_shoulders.upper_distance(rows)
    assert 0.02 < gaps[0] < 0.05 and gaps.min() < 0.0  # they meet half-way
    found = adjust(model, Motion(names, np.linspace(0.0, 8.0, 41), rows), arms)
    assert found.changed
    assert np.array_equal(found.motion.positions[[0, -1]], rows[[0, -1]])
    limit = found.margins.safe[0]
    assert 0.005 < limit < 0.02
    assert close_shoulders.upper_distance(refined(found.motion.positions)).min() > limit - 1e-6
    out = np.linspace([0.55, 0.0, -0.55, 0.0], end, 21)  # starts below d_saf of the two
    found = adjust(model, Motion(names, np.linspace(0.0, 4.0, 21), out[:, [0, 1, 2, 3]]), arms)
    gaps = close_shoulders.upper_distance(refined(found.motion.positions))
    assert found.margins.safe[0] - 1e-6 <= gaps.min() < limit
    near = np.array([[0.46, 0.0, -0.46, 0.0]])
    with pytest.raises(AdjustmentError, match="the danger distance of these links") as caught:
        adjust(model, Motion(names, np.zeros(1), near), arms)
    possible = AdjustmentSettings(*caught.value.possible)
    adjust(model, Motion(names, np.zeros(1), near), arms, possible)
    assert caught.value.distance == pytest.approx(close_shoulders.upper_distance(near[0]), abs=1e-6)


@pytest.mark.parametrize("method", ["robust", "field"])
def test_what_is_certified_does_not_mix_links_that_are_often_near_with_others(method):
    away = np.linspace([0.9, 0.0, -0.9, 0.0], [0.9, 0.5, -0.9, 0.0], 21)
    motion = Motion(close_shoulders.JOINTS, np.linspace(0.0, 4.0, 21), away)
    found = adjust(close_shoulders.model(), motion, close_shoulders.arms(), method=method)
    assert found.certified == 0.1
    assert [pair.links for pair in found.eased()] == [("right_upper", "left_upper")]
    assert found.eased()[0].distance < 0.02 < found.clearance.min()


@pytest.mark.parametrize("lower", [-2.0, 0.36])
def test_a_start_that_no_motion_leads_out_of_keeps_its_distance(lower):
    """The left arm does not yield; the slide of the right one may be at its limit."""
    slide = joint("r_x", "base", "r_cart", "prismatic", "-0.5 0 0", "1 0 0")
    model = toy_model(
        link("base", ""), link("r_cart", ""), link("r_ball"), link("l_cart", ""),
        link("l_ball"), slide.replace('"-2"', f'"{lower}"'),
        joint("r_turn", "r_cart", "r_ball", xyz="0 0 0"),
        joint("l_x", "base", "l_cart", "prismatic", "0.5 0 0", "1 0 0"),
        joint("l_y", "l_cart", "l_ball", "prismatic", "0 0 0", "0 1 0"),
    )  # fmt: skip
    arms = Arm("right", ("r_x", "r_turn"), ("r_cart", "r_ball"), "r_ball"), two_slides.ARMS[1]
    rows = np.tile([0.36, 0.0, -0.36, 0.0], (21, 1))  # 0.08 m apart
    rows[:, 1] = np.linspace(0.0, 1.0, 21)
    rows[10:, 2] += np.linspace(0.0, 1.0, 11)  # away, so never nearer
    motion = Motion(("r_x", "r_turn", "l_x", "l_y"), np.linspace(0.0, 4.0, 21), rows)
    found = adjust(model, motion, arms, AdjustmentSettings(yielding="right"))
    change = np.abs(found.motion.positions - rows).max()
    assert change > 0.01 if lower < 0.0 else change < 1e-9
    assert 0.078 < found.certified <= 0.08


def test_ends_at_rest_stay_within_the_limits():
    s = np.linspace(0.0, 1.0, 101)
    blend = 10.0 * s**3 - 15.0 * s**4 + 6.0 * s**5
    for gap in (0.0, 0.08):
        start = np.array(two_slides.apart(gap))
        start[1] = -0.6
        rows = start + blend[:, None] * np.array([0.0, 0.85, 0.0, 0.0])
        for way in (rows, rows[::-1]):
            motion = Motion(two_slides.JOINTS, 2.0 * s, way)
            found = adjust(
                two_slides.model(), motion, two_slides.ARMS, acceleration_limits=2.0,
                jerk_limits=30.0,
            )
            assert found.changed
            steps = steps_of(path_of(found.motion))
            assert np.abs(steps.accelerations).max() <= 2.0 * (1.0 + 1e-6)
            assert np.abs(steps.jerks).max() <= 30.0 * (1.0 + 1e-6)


@pytest.mark.parametrize("first", [42, 59])
def test_a_start_between_danger_and_safe_is_led_out(first):
    model = capsule_model(PAPER.offset)
    motion = Motion(JOINTS, MOTION.times[first:], MOTION.positions[first:])
    found = adjust(model, motion, safe_distance=0.1, danger_distance=0.02)
    rows = found.motion.positions
    before = PAPER.segment_distances(motion.positions)[0] - 0.1
    fine = PAPER.segment_distances(refined(rows)) - 0.1
    out = np.flatnonzero(fine >= 0.1)[0]
    assert fine.min() >= found.certified - 1e-9
    assert before - 0.002 <= found.certified <= before
    assert fine[out:].min() >= 0.1 - 1e-9
    assert np.array_equal(rows[[0, -1]], motion.positions[[0, -1]])
    with pytest.raises(AdjustmentError, match="first waypoint may not be changed"):
        adjust(model, motion, method="field", safe_distance=0.1, danger_distance=0.02)


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


def test_an_arm_does_not_go_through_itself():
    text = planar_urdf().replace(f'radius="{PLANAR_RADIUS}"', 'radius="0.045"')
    model = CollisionModel.from_urdf(text, srdf=SRDF)
    rows = np.zeros((41, 6))
    rows[:, 1] = rows[:, 2] = 2.0 * np.sin(np.linspace(0.0, np.pi, 41))
    rows[:, 3] = 1.0  # the other arm is out of the way

    def to_itself(q):
        return float(segment_distances(*points(q)[0])) - 0.09

    assert min(map(to_itself, rows)) < -0.01
    names = model.joint_names
    found = adjust(model, Motion(names, np.arange(41.0), rows))
    assert found.changed
    assert min(map(to_itself, refined(found.motion.positions, 20))) > 0.004
    with pytest.raises(AdjustmentError, match="'right_1' and 'right_3'.*closer than required"):
        adjust(model, Motion(names, np.arange(21.0), rows[:21]))


def test_a_way_that_only_random_sampling_finds():
    start, goal = [0.35, 1.36, 0.91, -0.54, -0.21, -0.53], [-1.56, -1.19, -0.86, -0.74, -0.75, 0.31]
    rows = np.linspace(start, goal, 60)
    assert min(map(arm_distance, rows)) < 0.0
    model, motion = planar_model(), Motion(PLANAR, 0.1 * np.arange(60.0), rows)
    found = adjust(model, motion)
    assert np.array_equal(found.motion.positions[[0, -1]], rows[[0, -1]])
    assert found.certified >= 0.1
    assert min(map(arm_distance, refined(found.motion.positions, 10))) >= 0.1 - 1e-9
    rates = np.abs(np.diff(found.motion.positions, axis=0)) / np.diff(found.motion.times)[:, None]
    assert (rates <= model.velocity_limits * (1.0 + 1e-6)).all()
    again = adjust(model, motion)
    assert np.array_equal(found.motion.positions, again.motion.positions)


@pytest.mark.parametrize("count", [2, 800])
def test_the_number_of_waypoints_does_not_decide(count):
    model = planar_model(ball("first", 0.9, -0.1, 0.04), ball("second", 0.3, -1.1))
    start, goal = [-0.77, 0.42, 0.16], [-1.24, -0.54, 0.2]
    rows = np.linspace(start, goal, count)
    found = adjust(model, Motion(PLANAR[:3], np.linspace(0.0, 10.0, count), rows), ["right_arm"])
    positions = found.motion.positions
    assert np.array_equal(positions[[0, -1]], rows[[0, -1]])
    assert set(np.linspace(0.0, 10.0, count)) <= set(found.desired.times)
    assert found.certified_elsewhere >= 0.1
    whole = np.hstack([positions, np.zeros_like(positions)])  # the left arm is held
    path = Trajectory.through(model.joint_names, found.motion.times, whole)
    assert check_clearance(model, path, exact=True).ok
    pairs = [k for k, pair in enumerate(model.pairs) if {"first", "second"} & set(pair)]
    away = found.margins.safe[pairs]
    assert all((model.distances(q)[pairs] >= away - 1e-9).all() for q in refined(whole, 4))


def test_one_arm_goes_round_what_is_in_its_way():
    model = planar_model(ball("post", 1.0, -0.5, 0.1))
    rows = np.zeros((41, 3))
    rows[:, 0] = np.linspace(-1.0, 0.45, 41)
    motion = Motion(PLANAR[:3], np.arange(41.0), rows)
    found = adjust(model, motion, ["right_arm"])
    assert [arm.name for arm in found.arms] == ["right_arm"]
    assert found.tip_displacement.shape[1] == 1
    assert found.changed and found.certified_elsewhere == 0.1 and found.certified == np.inf
    fine = np.hstack([refined(found.motion.positions, 10), np.zeros((401, 3))])
    tips = np.array([points(q)[0] for q in fine])
    post = np.array([1.0, -0.5, 0.0])
    away = segment_distances(tips[:, :-1], tips[:, 1:], post, post + [0.0, 0.0, 1e-9])
    assert away.min() >= 0.1 + 0.1 + PLANAR_RADIUS - 1e-6
    with pytest.raises(ConfigurationError, match="published is for two arms, not for 1"):
        adjust(model, motion, ["right_arm"], method="published")
    with pytest.raises(ConfigurationError, match="yielding: 'left' is not one of both, right_arm"):
        adjust(model, motion, ["right_arm"], yielding="left")


def test_three_arms_keep_apart():
    parts = [link("base")]
    srdf = []
    for k, angle in enumerate((0.0, 2.0944, 4.1888)):
        place = f"{0.3 * np.cos(angle)} {0.3 * np.sin(angle)} 0"
        for i in (1, 2):
            shape = f'<capsule radius="{PLANAR_RADIUS}" length="0.3"/>'
            capsule = link(f"arm{k}_{i}", shape, "0.15 0 0")
            parts.append(capsule.replace("<origin", '<origin rpy="0 1.570796326794896619 0"'))
            parent, xyz = ("base", place) if i == 1 else (f"arm{k}_1", "0.3 0 0")
            turned = joint(f"arm{k}_j{i}", parent, f"arm{k}_{i}", xyz=xyz)
            if i == 1:
                turned = turned.replace("<origin", f'<origin rpy="0 0 {angle}"')
            parts.append(turned)
        chain = f'<chain base_link="base" tip_link="arm{k}_2"/>'
        srdf.append(f'<group name="arm{k}">{chain}</group>')
    model = CollisionModel.from_urdf(
        robot(*parts, name="three"), srdf=f'<robot name="three">{"".join(srdf)}</robot>'
    )
    # All three turn inwards at once, and out again.
    turn = 2.0 * np.sin(np.linspace(0.0, np.pi, 41))
    rows = np.repeat(turn[:, None], 6, axis=1)
    motion = Motion(model.joint_names, np.arange(41.0), rows)
    least = min(model.distance(q).distance for q in rows)
    assert least < 0.0
    close = {"safe_distance": 0.05, "danger_distance": 0.02}
    found = adjust(model, motion, ["arm0", "arm1", "arm2"], **close)
    assert found.changed and found.certified == 0.05
    between = sides(model, found.arms).between
    fine = refined(found.motion.positions, 10)
    assert min(model.distances(q)[between].min() for q in fine) >= 0.05 - 1e-9
    # All of them give way.
    assert all(np.abs(found.joint_change[:, 2 * k : 2 * k + 2]).max() > 0.01 for k in range(3))


def path_of(motion):
    return Trajectory.through(motion.joint_names, motion.times, motion.positions)


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


def test_obstacles_are_not_slowed_down():
    model = sliding_box([-3.0, 0.0, 0.0], [1, 0, 0])
    rows = np.column_stack([np.zeros((21, 6)), np.linspace(0.0, 1.0, 21)])
    rows[:, 0] = np.linspace(-1.5, -0.5, 21)
    names = (*PLANAR, "slide")
    slow = Motion(names, np.linspace(0.0, 20.0, 21), rows)
    assert not adjust(model, slow).changed
    fast = Motion(names, np.linspace(0.0, 0.2, 21), rows)
    with pytest.raises(AdjustmentError, match="obstacles that 'slide' moves cannot be slowed"):
        adjust(model, fast)
    hasty = np.arange(21) / 0.3  # no whole nanoseconds, and too fast at the end alone
    hasty[-1] = hasty[-2] + 0.001
    with pytest.raises(AdjustmentError, match=r"^waypoint 19 at 63\.3333 s: from there joints are"):
        adjust(model, Motion(names, hasty, rows))


def test_accelerations_that_nobody_limits_do_not_refuse_motions_among_moving_obstacles():
    model = sliding_box([0.9, -3.0, 0.0], [0, 1, 0])
    rows = np.zeros((13, 7))
    rows[:, 6] = 1.8 + 0.55 * np.sin(np.linspace(0.0, np.pi, 13))  # towards the right arm and back
    motion = Motion((*PLANAR, "slide"), np.linspace(0.0, 0.6, 13), rows)
    adjusted = adjust(model, motion)
    assert adjusted.changed
    assert np.array_equal(adjusted.motion.times, adjusted.desired.times)
    with pytest.raises(AdjustmentError, match="obstacles that 'slide' moves cannot be slowed"):
        adjust(model, motion, acceleration_limits=0.01)


def test_a_link_that_follows_an_arm_is_kept_free_of_contact():
    follows = '<mimic joint="right_j1" multiplier="2"/>'
    flap = link("flap", '<sphere radius="0.05"/>', "0.3 0 0")
    flap += joint("flap_joint", "base", "flap", xyz="-0.3 0 0", extra=follows)
    model = CollisionModel.from_urdf(
        planar_urdf().replace("</robot>", f"{flap}</robot>"), srdf=SRDF,
        scene={"obstacles": [ball("post", -0.3, 0.3)]},
    )  # fmt: skip
    streamer = Streamer(model)
    q = np.zeros(6)
    q[0], q[3] = -0.3, 1.0
    streamer.reset(q)
    pair = model.pairs.index(("flap", "post"))
    for target in np.linspace(-0.3, 0.785, 40):
        q[0] = target
        there, _, _ = streamer.step(q, 0.1)
        assert model.distances(there, exact=True)[pair] > 0.0
    assert there[0] < 0.7


def test_joints_that_mimic_those_of_an_arm_keep_their_limits():
    follows = '<mimic joint="right_j2" multiplier="-40" offset="0.4"/>'
    wheel = link("wheel", '<sphere radius="0.02"/>', "0 0 0")
    wheel += joint("wheel_joint", "base", "wheel", xyz="-1 0 0", extra=follows)
    text = planar_urdf().replace("</robot>", f"{wheel}</robot>")
    model = CollisionModel.from_urdf(text, srdf=SRDF)
    motion = Motion(PLANAR, np.arange(41.0), meeting())
    free = adjust(planar_model(), motion).motion.positions[:, 1]
    assert 0.4 - 40.0 * free.min() > 2.0  # its upper limit
    found = adjust(model, motion, velocity_limits={"right_j2": 1.0})
    assert found.changed
    assert check_joint_limits(path_of(found.motion), model.robot).violations == ()
    beyond = meeting()
    beyond[:, 1] = 0.07
    with pytest.raises(MotionError, match=r"0.07, beyond its limits -0.04 to 0.06, with those of "):
        adjust(model, Motion(PLANAR, np.arange(41.0), beyond))
    streamer = Streamer(model)
    streamer.reset(np.zeros(6))
    q, _, _ = streamer.step(np.array([0.0, 1.0, 0.0, 0.0, 0.0, 0.0]), 0.1)
    assert q[1] == pytest.approx(0.1 / 40.0)  # at 1 rad/s of the wheel
    q, _, _ = streamer.step(np.array([0.0, 1.0, 0.0, 0.0, 0.0, 0.0]), 100.0)
    assert q[1] <= 0.06


def test_an_arm_named_like_a_side_is_itself():
    parts = planar_urdf()
    srdf = SRDF.replace("right_arm", "left").replace("left_arm", "other")
    model = CollisionModel.from_urdf(parts, srdf=srdf)
    whole = Motion(PLANAR, np.arange(41.0), meeting())
    both = adjust(model, whole, ["left", "other"], yielding="left")
    assert both.arms[0].name == "left"
    assert np.abs(both.joint_change[:, :3]).max() > 0.01 and not both.joint_change[:, 3:].any()


def test_joints_that_nothing_moves_are_held_where_verify_holds_them():
    model = planar_model()
    motion = Motion(PLANAR[3:], np.arange(2.0), np.zeros((2, 3)))
    says = r"'right_j1', which .* \(--q\), is held at 0, beyond its limits -1.9 to -1.5"
    with pytest.raises(MotionError, match=says):
        adjust(model, motion, position_limits={"right_j1": (-1.9, -1.5)})


def test_what_a_hand_carries_is_kept_away_from_things_too():
    part = {**ball("part", 0.45, 0.0), "link": "right_3"}
    motion = Motion(PLANAR, np.arange(41.0), meeting(41, 0.5))
    bare = planar_model(ball("post", 1.3, -0.5, 0.02))
    assert not adjust(bare, motion, safe_distance=0.02, danger_distance=0.0).changed
    model = planar_model(part, ball("post", 1.3, -0.5, 0.02))
    pair = model.pairs.index(("part", "post"))
    fine = refined(motion.positions)
    assert min(model.distances(q)[pair] for q in fine) < 0.0
    found = adjust(model, motion, safe_distance=0.02, danger_distance=0.0)
    fine = refined(found.motion.positions)
    assert min(model.distances(q)[pair] for q in fine) >= 0.02 - 1e-9


# -- times ---------------------------------------------------------------------------------


def test_times_are_kept_where_limits_are_and_never_shorter():
    model = capsule_model(PAPER.offset)
    found = adjusted(PAPER)
    assert np.array_equal(found.motion.times, MOTION.times)
    fast = Motion(JOINTS, MOTION.times / 50.0, MOTION.positions)
    slowed, not_slowed = (adjust(model, fast, retime=r, **CLOSE) for r in (True, False))
    assert np.array_equal(not_slowed.motion.times, fast.times)
    assert np.array_equal(slowed.motion.positions, not_slowed.motion.positions)
    spans = np.diff(slowed.motion.times)
    assert (spans >= np.diff(fast.times)).all()
    rates = np.abs(np.diff(slowed.motion.positions, axis=0)) / spans[:, None]
    assert (rates <= model.velocity_limits * (1.0 + 1e-6)).all()
    assert np.array_equal(slowed.desired.times, fast.times)


@pytest.mark.parametrize(
    ("kind", "most", "names"),
    [("velocity", 0.05, JOINTS), ("acceleration", 0.005, JOINTS[3:4]), ("jerk", 0.5, JOINTS)],
    ids=["velocity", "acceleration", "jerk"],
)
def test_limits_that_are_given_are_kept_as_verify_checks_them(kind, most, names):
    model = capsule_model(PAPER.offset)
    limits = {name: JointLimits(**{kind: most}) for name in names}

    def violations(motion):
        return check_joint_limits(path_of(motion), model.robot, limits, from_rest=False).violations

    given = most if names is JOINTS else dict.fromkeys(names, most)
    found = adjust(model, MOTION, **CLOSE, **{f"{kind}_limits": given})
    assert violations(adjusted(PAPER).motion) and not violations(found.motion)
    assert found.motion.duration > MOTION.duration


def test_limits_of_positions_are_kept_and_the_model_is_not_changed():
    model = capsule_model(PAPER.offset)
    lower, upper = model.lower.copy(), model.upper.copy()
    free = adjusted(PAPER).motion.positions
    column = JOINTS.index("left_joint_3")
    assert free[:, column].min() < -0.45
    found = adjust(model, MOTION, position_limits={"left_joint_3": (-0.45, 9.0)}, **CLOSE)
    assert found.motion.positions[:, column].min() >= -0.45 - 1e-12
    assert PAPER.segment_distances(refined(found.motion.positions)).min() >= PAPER.safe - 1e-9
    assert np.array_equal(model.lower, lower) and np.array_equal(model.upper, upper)
    own = rf"'left_joint_3' is at -0\.4004.*limits -0\.4 to {upper[column]:g}"
    with pytest.raises(MotionError, match=own):
        adjust(model, MOTION, position_limits={"left_joint_3": (-0.4, 9.0)}, **CLOSE)


@pytest.mark.parametrize("method", ["robust", "field"])
def test_a_robot_that_stands_a_little_beyond_its_limits_is_adjusted(method):
    # At rest right_joint_1 reads beyond its limit, as left_joint_7 does all along.
    rows = MOTION.positions.copy()
    model = copy(capsule_model(PAPER.offset))
    model.lower, model.upper = model.lower.copy(), model.upper.copy()
    first, other = JOINTS.index("right_joint_1"), JOINTS.index("left_joint_7")
    rows[:, other] = rows[0, other]
    model.lower[first] = rows[0, first] + 1e-4
    model.upper[other] = rows[0, other] - 1e-3
    found = adjust(model, Motion(JOINTS, MOTION.times, rows), method=method, **CLOSE)
    after = found.motion.positions
    assert found.changed and np.array_equal(after[[0, -1]], rows[[0, -1]])
    assert (after >= np.minimum(model.lower, rows[0])).all()
    assert (after <= np.maximum(model.upper, rows[0])).all()
    assert PAPER.segment_distances(refined(after)).min() >= PAPER.safe - 1e-9


# -- what means nothing --------------------------------------------------------------------


def changed(row, column, value):
    rows = MOTION.positions.copy()
    rows[row, column] = value
    return Motion(JOINTS, MOTION.times, rows)


@pytest.mark.parametrize(
    ("motion", "says"),
    [
        (Motion(JOINTS, np.empty(0), np.empty((0, 14))), "at least one point"),
        (changed(3, 2, 9.0), "waypoint 3 at 3 s: joint 'right_joint_3' is at 9, beyond its limits"),
        (changed(3, 2, np.nan), "of point 3 are not finite: nan for joint 'right_joint_3' at 3 s"),
        (Motion(("nose", *JOINTS[1:]), MOTION.times, MOTION.positions), "no joint 'nose'"),
        (Motion((JOINTS[1], *JOINTS[1:]), MOTION.times, MOTION.positions), "twice"),
        (Motion(JOINTS[:5], MOTION.times, MOTION.positions), r"positions have shape \(63, 14\)"),
        (Motion(JOINTS, MOTION.times[:9], MOTION.positions), r"shape \(63, 14\), not \(9, 14\)"),
        (Motion(JOINTS, MOTION.times[::-1], MOTION.positions), "time of point 1 is 61 s, not"),
        (Motion(JOINTS, np.nan * MOTION.times, MOTION.positions), "time of point 0 is not finite"),
        (Motion(JOINTS, ["soon"], [["far"] * 14]), "not arrays of numbers"),
        (Motion(JOINTS, 1e-12 * MOTION.times, MOTION.positions), r"points \d+ and \d+ are 1e-12 s"),
        (Motion(JOINTS, 1e7 * MOTION.times, MOTION.positions), r"takes 6.2e\+08 s, more than the"),
    ],
)
def test_motions_that_cannot_be_used_are_refused(motion, says):
    with pytest.raises(MotionError, match=says):
        adjust(capsule_model(PAPER.offset), motion, **CLOSE)


def test_waypoints_put_in_are_no_closer_than_they_may_be():
    model = capsule_model(PAPER.offset)
    for first, gap in ((0.0, 2e-10), (1.7e9, 1e-6)):
        times = first + gap * np.arange(len(MOTION.times))
        for divided in (1, 4):
            motion = refined_motion(Motion(JOINTS, times, 4.0 * MOTION.positions), divided)
            Trajectory.through(JOINTS, motion.times, motion.positions)
    checked(model, Motion(JOINTS, 1e6 * MOTION.times, MOTION.positions))


def test_a_held_joint_beyond_its_limits_is_named_as_held():
    motion = Motion(two_slides.JOINTS[:1], np.arange(2.0), np.zeros((2, 1)))
    other = two_slides.JOINTS[1]
    says = rf"^joint '{other}', which the motion does not name \(--q\), is held at 99, beyond its"
    with pytest.raises(MotionError, match=says):
        adjust(two_slides.model(), motion, two_slides.ARMS, held={other: 99.0})


def test_a_motion_of_neither_arm_is_refused():
    motion = Motion(("mast_joint",), np.arange(2.0), np.zeros((2, 1)))
    with pytest.raises(MotionError, match="names no joint of 'right' or 'left'"):
        adjust(two_slides.model(), motion, two_slides.ARMS)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"safe_distance": np.nan}, ConfigurationError, "safe_distance: nan"),
        ({"safe_distance": "0.1"}, ConfigurationError, "safe_distance: '0.1'"),
        ({"safe_distance": -0.1, "danger_distance": -0.2}, ConfigurationError, "safe_distance"),
        ({"danger_distance": 0.3}, ConfigurationError, "above safe_distance"),
        ({"method": "magic"}, ConfigurationError, "method: 'magic' is not one of robust, pub"),
        ({"yielding": "nobody"}, ConfigurationError, "yielding: 'nobody'"),
        ({"tip_weight": -1.0}, ConfigurationError, "tip_weight: -1.0"),
        ({"tip_weight": 1.1e6}, ConfigurationError, "tip_weight: 1100000.0"),
        ({"safe_distance": 5.0}, ConfigurationError, "safe_distance: 5.0 m: all links of"),
        ({"held": {"nose": 0.1}}, ConfigurationError, "held: 'dual_arm' has no joint 'nose'"),
        ({"held": {JOINTS[0]: 0.1}}, ConfigurationError, "held .*: the motion moves this joint"),
        ({"acceleration_limits": -1.0}, ConfigurationError, "acceleration_limits: -1.0"),
        ({"acceleration_limits": np.nan}, ConfigurationError, "acceleration_limits: nan"),
        ({"acceleration_limits": {"nose": 1.0}}, ConfigurationError, "no joint 'nose'"),
        ({"velocity_limits": {JOINTS[0]: 0.0}}, ConfigurationError, "velocity_limits: 0.0"),
        ({"position_limits": {"nose": (0.0, 1.0)}}, ConfigurationError, "no joint 'nose'"),
        ({"position_limits": {JOINTS[0]: (5.0, 9.0)}}, ConfigurationError, "does not overlap"),
        ({"position_limits": {JOINTS[0]: (np.nan, 9.0)}}, ConfigurationError, "position_limits"),
        *(
            ({"position_limits": {JOINTS[0]: limits}}, ConfigurationError,
             f"position_limits: {JOINTS[0]}: {re.escape(repr(limits))} is not two numbers")
            for limits in (1.0, ("a", "b"), (0, 1, 2), (0, 10**400))
        ),
        ({"position_limits": np.zeros(3)}, ConfigurationError, "not a mapping of joints"),
        ({"held": {JOINTS[0]: np.complex128(1)}}, ConfigurationError, "is not a finite number"),
        ({"yielding": ["right"]}, ConfigurationError, r"yielding: \['right'\] is not one of"),
        *(
            ({option: limits}, ConfigurationError,
             rf"{option}: [^;]* for all joints is no number above 0; give one, or one by joint")
            for option, limits in (("velocity_limits", [1.0, 2.0]), ("jerk_limits", np.ones(1)))
        ),
        ({"arms": ("right_arm", "tail")}, ArmsError, "no group 'tail'"),
        ({"arms": "right_arm"}, ArmsError, "at least one name"),
    ],
)  # fmt: skip
def test_options_that_mean_nothing_are_refused(options, error, says):
    with pytest.raises(error, match=says):
        adjust(capsule_model(PAPER.offset), MOTION, **{**CLOSE, **options})
    assert issubclass(error, CollisionMonitorError)


def test_settings_are_given_as_a_whole_or_by_name():
    model, settings = capsule_model(PAPER.offset), AdjustmentSettings(**CLOSE, tip_weight=2.0)
    found = adjust(model, MOTION, settings=replace(settings, tip_weight=0.0), retime=False)
    assert np.array_equal(found.motion.positions, adjusted(PAPER).motion.positions)
    with pytest.raises(ConfigurationError, match="method: field is for two arms, not for 1"):
        adjust(model, MOTION, ["right_arm"], settings, method="field")
    with pytest.raises(TypeError, match="AdjustmentSettings.* unexpected .*'speed'"):
        adjust(model, MOTION, speed=1.0)


def test_a_robot_in_which_nothing_is_checked_is_not_called_safe():
    with pytest.raises(NothingToCheckError, match="'planar': no pair of links is checked"):
        adjust(planar_model().twin([]), Motion(PLANAR, np.arange(41.0), meeting()))
