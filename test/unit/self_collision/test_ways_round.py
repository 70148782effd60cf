# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""`adjust` finds ways out of narrow starts, round obstacles and past other arms."""

import numpy as np
import pytest
from support.robots import close_shoulders, two_slides
from support.robots.adjusted_cases import MOTION
from support.robots.dual_arm_cases import JOINTS, PAPER, capsule_model, refined, segment_distances
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
)
from support.robots.toy_models import toy_model
from support.robots.toys import joint, link, robot

from collision_monitor import CollisionModel
from collision_monitor.errors import AdjustmentError, ConfigurationError
from collision_monitor.motion import Motion
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.self_collision import AdjustmentSettings, adjust
from collision_monitor.self_collision.arms import Arm
from collision_monitor.self_collision.margins import sides
from collision_monitor.verification.clearance.clearance_check import check_clearance


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
