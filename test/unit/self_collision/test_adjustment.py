# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""`adjust`, as a user calls it: what comes out is safe, small and told truly."""

from functools import cache

import numpy as np
import pytest
from support.robots import two_slides
from support.robots.adjusted_cases import CLOSE, MOTION, adjusted
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
)

from collision_monitor import CollisionModel
from collision_monitor.errors import AdjustmentError, CancelledError, ConfigurationError
from collision_monitor.motion import Motion
from collision_monitor.robot.scene import load_scene
from collision_monitor.self_collision import adjust


@cache
def fitted(with_scene=False):
    """The package's dual arm as it is: leaves fitted to its meshes."""
    scene = ROOT / "urdf/dual_arm_scene.yaml" if with_scene else None
    return CollisionModel.from_urdf(
        ROOT / "urdf/dual_arm.urdf", srdf=ROOT / "urdf/dual_arm.srdf", scene=scene
    )


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
