# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Motions, options and settings that mean nothing to `adjust` are errors."""

import re
from dataclasses import replace

import numpy as np
import pytest
from support.robots import two_slides
from support.robots.adjusted_cases import CLOSE, MOTION, adjusted
from support.robots.dual_arm_cases import JOINTS, PAPER, capsule_model
from support.robots.planar_arms import JOINTS as PLANAR
from support.robots.planar_arms import SRDF, meeting, planar_model, planar_urdf

from collision_monitor import CollisionModel
from collision_monitor.errors import (
    ArmsError,
    CollisionMonitorError,
    ConfigurationError,
    MotionError,
    NothingToCheckError,
)
from collision_monitor.motion import Motion
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.self_collision import AdjustmentSettings, adjust
from collision_monitor.self_collision.preparation import checked
from collision_monitor.self_collision.preparation import refined as refined_motion


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
        (Motion(JOINTS, ["soon"], [["far"] * 14]), "times are not an array of numbers"),
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


def test_joints_that_nothing_moves_are_held_where_verify_holds_them():
    model = planar_model()
    motion = Motion(PLANAR[3:], np.arange(2.0), np.zeros((2, 3)))
    says = r"'right_j1', which .* \(--q\), is held at 0, beyond its limits -1.9 to -1.5"
    with pytest.raises(MotionError, match=says):
        adjust(model, motion, position_limits={"right_j1": (-1.9, -1.5)})


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


def test_an_arm_named_like_a_side_is_itself():
    parts = planar_urdf()
    srdf = SRDF.replace("right_arm", "left").replace("left_arm", "other")
    model = CollisionModel.from_urdf(parts, srdf=srdf)
    whole = Motion(PLANAR, np.arange(41.0), meeting())
    both = adjust(model, whole, ["left", "other"], yielding="left")
    assert both.arms[0].name == "left"
    assert np.abs(both.joint_change[:, :3]).max() > 0.01 and not both.joint_change[:, 3:].any()


def test_a_robot_in_which_nothing_is_checked_is_not_called_safe():
    with pytest.raises(NothingToCheckError, match="'planar': no pair of links is checked"):
        adjust(planar_model().twin([]), Motion(PLANAR, np.arange(41.0), meeting()))
