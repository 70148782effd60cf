# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Limits of joints along whole motions: what is broken, where first, where worst."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.interpolate import PPoly
from support.robots import toys

from collision_monitor.errors import JointLimitsError, TrajectoryError
from collision_monitor.motion.trajectory import Trajectory, joined, own_knots
from collision_monitor.motion.violation import Code
from collision_monitor.robot.limits import JointLimits, urdf_limits
from collision_monitor.robot.urdf import load_robot
from collision_monitor.verification.joint_limits_check import (
    LONGEST_STEP,
    check_joint_limits,
    steps_of,
)

CHAIN = load_robot(toys.chain(3))  # j1, j2: +-2 rad, 1 rad/s
MIMICS = load_robot(toys.robot(
    *(toys.link(f"l{k}") for k in range(4)),
    toys.joint("j1", "l0", "l1"),
    toys.joint("j2", "l1", "l2", extra='<mimic joint="j1" multiplier="-2" offset="0.5"/>'),
    toys.joint("j3", "l2", "l3", extra='<mimic joint="j2" multiplier="3" offset="1"/>'),
))  # fmt: skip


def peak(check, code, joint="j1"):
    """The peak of one joint and rate."""
    return next(p for p in check.peaks if (p.code, p.joint) == (code, joint))


def trapezoid(height=1.0, ramp=0.5, cruise=1.0):
    """j1 on a trapezoid of velocity: area ``height`` * (cruise + ramp); j2 at rest."""
    a = height / ramp
    c = np.zeros((3, 3, 2))
    c[:, :, 0] = np.array([
        [a / 2, 0.0, 0.0],
        [0.0, height, a * ramp**2 / 2],
        [-a / 2, height, a * ramp**2 / 2 + height * cruise],
    ]).T  # fmt: skip
    return Trajectory(("j1", "j2"), PPoly(c, [0.0, ramp, ramp + cruise, 2 * ramp + cruise]))


def test_a_motion_at_its_limits_keeps_them():
    limits = {"j1": JointLimits(0.0, 1.5, 1.0, 2.0)}
    check = check_joint_limits(trapezoid(), CHAIN, limits)
    assert check.violations == ()
    assert peak(check, Code.JOINT_VELOCITY).value == pytest.approx(1.0)
    assert peak(check, Code.JOINT_POSITION).value == pytest.approx(1.5)
    assert "no limit of jerk, so not checked: any joint" in check.notes


def test_joints_that_move_together_are_all_held_to_their_limits():
    still = np.zeros((2, 2))
    both = Trajectory.through(("j1", "j2"), [0.0, 1.0], [[0.0, 0.0], [1.0, 1.0]], still)
    broken = check_joint_limits(both, CHAIN).violations
    assert [(v.code, v.subject) for v in broken] == [
        (Code.JOINT_VELOCITY, "j1"), (Code.JOINT_VELOCITY, "j2"),
    ]  # fmt: skip
    assert [v.value for v in broken] == pytest.approx([1.5, 1.5])


def test_soft_limits_are_a_note_unless_they_count():
    robot = load_robot(
        toys.chain(3).replace("/></joint>", '/><safety_controller k_velocity="1" '
                              'soft_lower_limit="-1" soft_upper_limit="1.2"/></joint>')
    )  # fmt: skip
    check = check_joint_limits(trapezoid(), robot)
    (note,) = [note for note in check.notes if "soft" in note]
    assert note.startswith("joint 'j1' is at 1.5 rad at 2.000 s, beyond its soft limit 1.2 (")
    assert check.violations == ()
    check = check_joint_limits(trapezoid(), robot, urdf_limits(robot, soft=True))
    assert [(v.code, v.limit) for v in check.violations] == [(Code.JOINT_POSITION, 1.2)]
    assert not any("soft" in note for note in check.notes)


def test_each_limit_is_broken_where_the_formula_says():
    limits = {"j1": JointLimits(-1.0, 1.4, 0.8, 1.9)}
    found = {v.code: v for v in check_joint_limits(trapezoid(), CHAIN, limits).violations}
    position, velocity = found[Code.JOINT_POSITION], found[Code.JOINT_VELOCITY]
    acceleration = found[Code.JOINT_ACCELERATION]
    assert position.first == pytest.approx(2.0 - math.sqrt(0.1), abs=1e-5)  # 1.5 - (2 - t)^2
    assert (position.worst, position.value, position.limit) == pytest.approx((2.0, 1.5, 1.4))
    assert velocity.first == pytest.approx(0.4, abs=1e-6)  # 2 t
    assert (velocity.value, velocity.limit, velocity.unit) == (1.0, 0.8, "rad/s")
    assert (acceleration.first, acceleration.value) == (0.0, 2.0)
    assert [v.first for v in check_joint_limits(trapezoid(), CHAIN, limits).violations] == sorted(
        v.first for v in found.values()
    )


def test_what_falls_below_is_told_with_its_sign():
    backwards = trapezoid()
    mirrored = Trajectory(backwards.joint_names, PPoly(-backwards.polynomial.c, backwards.times))
    found = check_joint_limits(mirrored, CHAIN, {"j1": JointLimits(-1.0, 2.0, 0.5)}).violations
    assert [(v.code, v.value, v.limit) for v in found] == [
        (Code.JOINT_VELOCITY, -1.0, -0.5),
        (Code.JOINT_POSITION, pytest.approx(-1.5), -1.0),
    ]


@given(
    arrays(float, (3, 5, 2), elements=st.floats(-3, 3)),
    arrays(float, 5, elements=st.floats(0.05, 2.0)),
    st.integers(2, 3),
)
def test_no_sample_is_beyond_a_peak(rows, gaps, given):
    trajectory = Trajectory.through(("j1", "j2"), np.cumsum(gaps), *rows[:given])
    check = check_joint_limits(trajectory, CHAIN, {}, from_rest=False)
    samples = trajectory.sample(np.linspace(0.0, trajectory.duration, 2000))
    for code, values in (
        (Code.JOINT_POSITION, samples.positions),
        (Code.JOINT_VELOCITY, samples.velocities),
        (Code.JOINT_ACCELERATION, samples.accelerations),
        (Code.JOINT_JERK, samples.jerks),
    ):
        for j, name in enumerate(("j1", "j2")):
            highest = np.abs(values[:, j]).max()
            assert abs(peak(check, code, name).value) >= highest * (1 - 1e-9) - 1e-9


def test_a_start_at_full_speed_is_a_step_unless_told_otherwise():
    times = np.arange(101) / 50.0
    line = Trajectory.through(("j1", "j2"), times, np.column_stack([times * 0.9, times * 0.0]))
    limits = {"j1": JointLimits(acceleration=10.0)}
    (found,) = check_joint_limits(line, CHAIN, limits).violations
    assert found.code is Code.JOINT_ACCELERATION
    assert (found.first, abs(found.value)) == pytest.approx((0.0, 0.9 / 0.02))
    assert "velocity steps by" in found.text
    assert check_joint_limits(line, CHAIN, limits, from_rest=False).violations == ()


def test_straight_lines_between_far_points_do_not_pass_for_gentle():
    corner = Trajectory.through(("j1", "j2"), [0.0, 10.0, 20.0], [[0, 0], [1.0, 0], [0, 0]])
    (found,) = check_joint_limits(corner, CHAIN, {"j1": JointLimits(acceleration=1.5)}).violations
    assert (found.worst, found.value) == pytest.approx((10.0, -0.2 / 0.1))
    # Without a limit it is in the peaks, not a violation.
    assert check_joint_limits(corner, CHAIN).violations == ()


def test_jerk_of_acceleration_steps():
    check = check_joint_limits(trapezoid(), CHAIN, {"j1": JointLimits(jerk=15.0)})
    (found,) = check.violations
    assert found.code is Code.JOINT_JERK
    assert abs(found.value) == pytest.approx(2.0 / 0.1)  # steps of 2 rad/s^2
    assert "acceleration steps by" in found.text


def test_joints_that_follow_have_limits_of_their_own():
    trajectory = Trajectory.through(("j1",), [0.0, 2.0], [[0.0], [1.5]])
    found = check_joint_limits(trajectory, MIMICS).violations
    assert [(v.code, v.limit) for v in found if v.subject == "j2"] == [
        (Code.JOINT_VELOCITY, -1.0),
        (Code.JOINT_POSITION, -2.0),
    ]
    ends = {v.subject: v.value for v in found if v.code is Code.JOINT_POSITION}
    assert ends == pytest.approx({"j2": 0.5 - 2.0 * 1.5, "j3": 1.0 + 3.0 * -2.5})


def test_continuous_joints_turn_for_ever_and_zeros_are_no_limits():
    robot = load_robot(toys.robot(
        toys.link("l0"), toys.link("l1"), toys.link("l2"),
        '<joint name="turn" type="continuous"><parent link="l0"/><child link="l1"/>'
        '<limit effort="0" velocity="0"/></joint>',
        '<joint name="slide" type="prismatic"><parent link="l1"/><child link="l2"/>'
        '<limit lower="0" upper="0.5" effort="0" velocity="0.1"/></joint>',
    ))  # fmt: skip
    trajectory = Trajectory.through(("turn", "slide"), [0.0, 2.0], [[-20.0, 0.0], [20.0, 0.5]])
    check = check_joint_limits(trajectory, robot)
    (found,) = check.violations
    assert (found.subject, found.unit, found.limit) == ("slide", "m/s", 0.1)
    assert "no limit of position or velocity, so not checked: turn" in check.notes


def test_position_limits_given_for_a_continuous_joint_hold_in_the_turn_of_its_start():
    robot = load_robot(toys.robot(
        toys.link("l0"), toys.link("l1"), toys.joint("turn", "l0", "l1", "continuous"),
    ))  # fmt: skip
    limits, start = {"turn": JointLimits(-1.0, 1.0)}, 6.0 * math.pi
    for end, broken in ((0.9, 0), (1.1, 1)):
        motion = Trajectory.through(("turn",), [0.0, 2.0], [[start], [start + end]])
        found = check_joint_limits(motion, robot, limits).violations
        assert len(found) == broken
    assert (found[0].code, found[0].limit) == (Code.JOINT_POSITION, pytest.approx(start + 1.0))


def test_what_the_robot_lacks_is_refused():
    with pytest.raises(TrajectoryError, match=r"no joint 'j9' that moves; it has j[12], j[12]"):
        check_joint_limits(Trajectory.through(("j9",), [0.0], [[0.0]]), CHAIN)
    with pytest.raises(TrajectoryError, match="'j1' appears twice"):
        check_joint_limits(Trajectory.through(("j1", "j1"), [0.0], [[0.0, 0.0]]), CHAIN)
    with pytest.raises(JointLimitsError, match=r"no joint 'j9'; it has j[12], j[12]"):
        still = Trajectory.through(("j1",), [0.0], [[0.0]])
        check_joint_limits(still, CHAIN, {"j9": JointLimits(-1.0, 1.0)})


@pytest.mark.parametrize("key", ["lower", "upper", "velocity", "acceleration", "jerk", "effort"])
def test_a_limit_that_is_no_number_is_refused(key):
    with pytest.raises(JointLimitsError, match=f"{key}: nan is no limit"):
        JointLimits(**{key: math.nan})


# -- steps of rates at knots, and what they are taken for --


values = arrays(float, (6, 2), elements=st.floats(-2, 2))


@given(values, st.floats(0.001, LONGEST_STEP))
def test_even_samples_have_second_and_third_differences(rows, gap):
    steps = steps_of(Trajectory.through(("a", "b"), gap * np.arange(6), rows))
    # At rest before and after: the table goes on with its ends.
    longer = np.concatenate([rows[:1], rows, rows[-1:]])
    second = np.diff(longer, 2, axis=0) / gap**2
    scale = 1.0 + np.abs(rows).max() / gap**2
    assert np.allclose(steps.accelerations, second, atol=1e-9 * scale)
    third = np.abs(np.diff(second, axis=0)) / gap
    larger = np.maximum(np.pad(third, ((1, 0), (0, 0))), np.pad(third, ((0, 1), (0, 0))))
    assert np.allclose(np.abs(steps.jerks), larger, atol=1e-9 * scale / gap)


@given(arrays(float, (3, 4, 2), elements=st.floats(-2, 2)))
def test_what_joins_smoothly_has_no_steps(rows):
    steps = steps_of(Trajectory.through(("a", "b"), [0, 1, 3, 4], *rows), from_rest=False)
    assert np.abs(steps.velocity).max() < 1e-9
    assert np.abs(steps.acceleration).max() < 1e-8
    assert np.allclose(steps.velocities, rows[1], atol=1e-9)
    assert np.allclose(steps.accelerations, rows[2], atol=1e-7)


@pytest.mark.parametrize("rate", [10.0, 50.0, 100.0, 1000.0])
def test_a_joint_that_is_sampled_among_others_has_its_own_knots(rate):
    """A publisher at 100 Hz, and one that begins 0.1 ms after it and ends sooner."""
    parts = []
    for shift, size, each in ((0.0, 1.0, 100.0), (1e-4, 0.5, rate)):
        times = shift + np.arange(1.9 * each) / each
        rows = size * np.sin(2.0 * times)[:, None]
        c = np.stack([np.diff(rows, axis=0) * each, rows[:-1]])
        parts.append(PPoly(c, times))
    whole = joined(parts)
    knots = own_knots(parts, whole.x)
    assert knots.sum(axis=0).tolist() == [len(part.x) for part in parts]
    steps = steps_of(Trajectory(("a", "b"), whole, knots), from_rest=False)
    assert np.abs(steps.accelerations).max() < 4.0 * 1.01
    assert np.abs(steps.jerks).max() < 8.0 * 1.05
    for j, size in enumerate((-4.0, -2.0)):
        inner = np.flatnonzero(knots[:, j])[1:-1]
        expected = size * np.sin(2.0 * steps.times[inner])
        assert np.allclose(steps.accelerations[inner, j], expected, atol=0.05)


def test_a_joint_among_others_is_plotted_as_alone():
    """A publisher at 100 Hz, and one at 40 Hz; a third joint is held."""
    parts = []
    for each in (100, 40):
        times = np.arange(1.0 * each + 1.0) / each
        rows = (times**3)[:, None]
        parts.append(PPoly(np.stack([np.diff(rows, axis=0) * each, rows[:-1]]), times))
    whole = joined(parts)
    knots = own_knots(parts, whole.x)
    both = check_joint_limits(Trajectory(("j1", "j2"), whole, knots), CHAIN, from_rest=False)
    for j, part in enumerate(parts):
        alone = check_joint_limits(Trajectory((f"j{j + 1}",), part), CHAIN, from_rest=False)
        at = np.isin(both.times, alone.times)
        for rate in ("accelerations", "jerks"):
            drawn = getattr(both, rate)[at, j]
            assert drawn == pytest.approx(getattr(alone, rate)[:, 0], abs=1e-6)
    knots[:, 1] = False
    held = check_joint_limits(Trajectory(("j1", "j2"), whole, knots), CHAIN, from_rest=False)
    assert not held.jerks[:, 1].any()


def test_a_sample_after_a_long_rest_is_still_a_sample():
    times = np.array([0.0, 5.0, 5.01, 5.02])
    steps = steps_of(Trajectory.through(("a",), times, [[0.0], [0.0], [0.01], [0.02]]))
    assert steps.accelerations[1, 0] == pytest.approx(1.0 / 0.01)
