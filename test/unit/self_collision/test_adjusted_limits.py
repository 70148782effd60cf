# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Adjusted motions keep the limits of joints, of those that follow, and of time."""

from copy import copy

import numpy as np
import pytest
from support.robots import two_slides
from support.robots.adjusted_cases import CLOSE, MOTION, adjusted, path_of
from support.robots.dual_arm_cases import JOINTS, PAPER, capsule_model, refined
from support.robots.planar_arms import JOINTS as PLANAR
from support.robots.planar_arms import SRDF, ball, meeting, planar_model, planar_urdf, sliding_box
from support.robots.toys import joint, link

from collision_monitor import CollisionModel
from collision_monitor.errors import AdjustmentError, MotionError
from collision_monitor.motion import Motion
from collision_monitor.robot.limits import JointLimits
from collision_monitor.self_collision import Streamer, adjust
from collision_monitor.verification.joint_limits_check import check_joint_limits, steps_of


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
