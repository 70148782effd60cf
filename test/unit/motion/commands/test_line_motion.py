# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Links led along lines, against pinocchio: near them at every instant, or it is said."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.spatial.transform import Rotation, Slerp
from support.geometry.reference import pin
from support.robots.line_cases import TIPS, arm

from collision_monitor.errors import MotionError
from collision_monitor.motion.line_motion import (
    SINGULAR,
    CartesianLine,
    ResolvedRates,
    Trapezoid,
    follow_line,
    off_the_line,
)
from collision_monitor.motion.violation import Code
from collision_monitor.robot.bodies import link_poses
from collision_monitor.robot.poses import pose

PROFILE = Trapezoid(10.0, 2.0, 3.0)
LINES = 4  # of each robot


def share(t):
    """The profile from 0 to 1, in the words of the paper: the area under a trapezoid."""
    peak = 1.0 / (PROFILE.tf - (PROFILE.tsa + PROFILE.tsd) / 2)
    left = np.minimum(t, PROFILE.tsa) ** 2 / (2 * PROFILE.tsa)
    middle = np.clip(t, PROFILE.tsa, PROFILE.tf - PROFILE.tsd) - PROFILE.tsa
    gone = np.maximum(t - (PROFILE.tf - PROFILE.tsd), 0.0)
    return peak * (left + middle + gone - gone**2 / (2 * PROFILE.tsd))


def of(violations, *codes):
    """Violations of these codes that do not only warn."""
    return [v for v in violations if v.code in codes and not v.warning]


@pytest.mark.parametrize("name", TIPS)
def test_the_line_is_held_at_every_instant(name):
    robot, rng = arm(name), np.random.default_rng(0)
    held = 0
    for _ in range(LINES):
        q, line = robot.line(rng)
        trajectory, violations = follow_line(robot.bodies, robot.tip, q, line, PROFILE)
        start, end = pin.SE3(robot.pose(q)), pin.SE3(line.end)
        turn = pin.log3(end.rotation @ start.rotation.T)
        worst = np.zeros(2)
        times = np.concatenate([[0.0, PROFILE.tf], rng.uniform(0.0, PROFILE.tf, 30)])
        for s, row in zip(share(times), trajectory.positions(times), strict=True):
            at = robot.pose(row)
            place = (1 - s) * start.translation + s * end.translation
            off = pin.log3((pin.exp3(s * turn) @ start.rotation) @ at[:3, :3].T)
            worst = np.maximum(worst, [np.linalg.norm(at[:3, 3] - place), np.linalg.norm(off)])
        if of(violations, Code.SINGULARITY):
            continue  # damped there, and reported
        held += 1
        assert worst[0] < 1e-5 and worst[1] < math.radians(0.001), "a tenth of what is asked"
        assert not of(violations, Code.OFF_THE_LINE)
    assert held >= LINES // 2


def test_accelerations_are_those_of_the_motion_and_continuous_but_for_the_ramps():
    robot = arm("panda")
    q, line = robot.line(np.random.default_rng(3))
    trajectory, _ = follow_line(robot.bodies, robot.tip, q, line, PROFILE)
    inner = [t for t in trajectory.times[1:-1] if min(abs(t - 2.0), abs(t - 7.0)) > 1e-9]
    before, after = (trajectory.sample(np.array(inner) + d) for d in (-1e-9, 1e-9))
    assert before.accelerations == pytest.approx(after.accelerations, abs=1e-6)
    at = np.linspace(0.1, 9.9, 77)
    ahead, behind = (trajectory.sample(at + d).velocities for d in (1e-5, -1e-5))
    assert trajectory.sample(at).accelerations == pytest.approx((ahead - behind) / 2e-5, abs=1e-4)
    ends = trajectory.sample(np.array([0.0, 10.0]))
    assert np.abs(ends.velocities).max() < 1e-12


def test_joints_that_do_not_lead_the_link_rest_and_chosen_ones_alone_may_move():
    robot = arm("panda")
    q, line = robot.line(np.random.default_rng(3), most=0.3)
    seven = [f"panda_joint{k}" for k in range(1, 8)]
    for chosen, moving in ((None, seven), (seven[:6], seven[:6])):
        trajectory, _ = follow_line(robot.bodies, robot.tip, q, line, PROFILE, chosen)
        moved = np.ptp(trajectory.positions(np.linspace(0, 10, 50)), axis=0) > 0
        assert [n for n, m in zip(robot.bodies.joint_names, moved, strict=True) if m] == moving


def test_a_line_out_of_reach_is_cut_off_and_said_so():
    robot = arm("ur5")
    q = np.array([0.3, -1.2, 1.4, -0.8, 1.1, 0.2])
    start = robot.pose(q)
    end = pose(start[:3, :3], start[:3, 3] + [3.0, 0.0, 0.0])
    line = CartesianLine(start, end)
    trajectory, violations = follow_line(robot.bodies, "tool0", q, line, PROFILE)
    assert trajectory.duration < PROFILE.tf
    codes = {v.code for v in violations}
    assert {Code.SINGULARITY, Code.OFF_THE_LINE} <= codes
    off = of(violations, Code.OFF_THE_LINE)[0]
    assert off.first < off.worst <= trajectory.duration
    assert "cannot be followed beyond" in off.text
    # It is at the rim of its reach when it leaves the line: pinocchio's Jacobian is singular.
    at = robot.jacobian(trajectory.positions(np.array([off.worst]))[0])
    assert np.linalg.svd(at, compute_uv=False)[-1] < 0.02
    # Until then the link was on its line.
    before = trajectory.positions(np.array([0.9 * off.first]))[0]
    place = start[:3, 3] + share(np.array([0.9 * off.first])) * [3.0, 0.0, 0.0]
    assert robot.pose(before)[:3, 3] == pytest.approx(place, abs=1e-4)


def test_a_singularity_that_is_crossed_between_two_nodes_is_found():
    """A UR5's fifth joint passes zero while the tool turns about an axis that needs no more."""
    robot = arm("ur5")
    q = np.array([0.3, -1.2, 1.4, -0.8, 0.5, 0.2])
    frames = [robot.pose(q + [0, 0, 0, 0, step, 0]) for step in (0.0, -0.93)]
    trajectory, violations = follow_line(robot.bodies, "tool0", q, CartesianLine(*frames), PROFILE)
    (singular,) = [v for v in violations if v.code is Code.SINGULARITY]
    row = trajectory.positions(np.array([singular.worst]))[0]
    assert abs(row[4]) < 0.01
    assert singular.value < 1e-3 and not singular.warning
    assert singular.first < singular.worst


TIMES = np.array([0.0, 1.0, 2.0, 3.0])


def test_the_first_and_the_worst_instant():
    off = np.array([[0.0, 0.0], [0.5e-4, 0.0], [3e-4, 1e-3], [2e-4, 0.0]])
    metres, radians = off_the_line(TIMES, off, "tool", 1.0)
    assert (metres.code, metres.subject, metres.unit) == (Code.OFF_THE_LINE, "tool", "m")
    assert metres.first == pytest.approx(1.2), "straight between the instants"
    assert (metres.worst, metres.value, metres.limit) == (2.0, 3e-4, 1e-4)
    assert (radians.unit, radians.value) == ("rad", 1e-3)
    assert radians.first == pytest.approx(1.0 + math.radians(0.01) / 1e-3)
    assert "cut off" not in metres.text


def test_a_line_that_is_given_up_is_a_violation_even_if_it_was_not_left():
    (found,) = off_the_line(TIMES, np.zeros((4, 2)), "tool", 0.25)
    assert found.first == found.worst == 3.0
    assert "cannot be followed beyond 25 % of its length, at 3 s" in found.text


# -- trapezoidal profiles, against numeric integration of the rate that the paper describes --


times = st.floats(0.05, 100.0)


@st.composite
def profiles(draw):
    tf = draw(times)
    tsa, rest = draw(st.floats(0.0, 1.0)), draw(st.floats(0.0, 1.0))
    tsa, tsd = (0.0 if part < 1e-3 else part * tf for part in (tsa, rest * (1.0 - tsa)))
    return Trapezoid(tf, tsa, tsd)


def rate(profile, t, change):
    """The published rate at ``t``, written the slow way."""
    peak = change / (profile.tf - (profile.tsa + profile.tsd) / 2)
    if t < profile.tsa:
        return peak * t / profile.tsa
    if t > profile.tf - profile.tsd:
        return peak * (profile.tf - t) / profile.tsd
    return peak


@given(profiles(), st.floats(-5, 5), st.floats(-5, 5), st.floats(0, 1))
def test_positions_are_the_integral_of_the_rate(profile, start, change, part):
    path = profile.path([start], [change])
    t = part * profile.tf
    kinks = [k for k in (profile.tsa, profile.tf - profile.tsd) if 0 < k < t] or None
    area = quad(lambda x: rate(profile, x, change), 0.0, t, points=kinks)[0] if t else 0.0
    assert path(t)[0] == pytest.approx(start + area, abs=1e-8)
    assert path(t, 1)[0] == pytest.approx(rate(profile, t, change), rel=1e-6, abs=1e-8)
    assert path.x[0] == 0.0 and path.x[-1] == profile.tf


@given(st.floats(0.01, 5), st.floats(0.01, 5), times, times)
def test_a_peak_rate_is_kept_or_refused(change, speed, tsa, tsd):
    assume(abs(change / speed - (tsa + tsd) / 2) > 1e-9 * tsa)
    if change / speed < (tsa + tsd) / 2:
        with pytest.raises(MotionError, match="does not reach the peak rate"):
            Trapezoid.at_rate(change, speed, tsa, tsd)
    else:
        assert change * Trapezoid.at_rate(change, speed, tsa, tsd).peak == pytest.approx(speed)


@given(st.floats(0.01, 5), st.floats(0.01, 5), st.floats(0.001, 5))
def test_the_fastest_profile_reaches_one_of_its_limits_and_exceeds_none(change, most, acceleration):
    profile = Trapezoid.within(most / change, acceleration / change)
    rates = change * profile.peak, change * profile.peak / profile.tsa
    assert rates[1] == pytest.approx(acceleration)
    assert rates[0] <= most * (1 + 1e-9)
    cruises = profile.tf > (profile.tsa + profile.tsd) * (1 + 1e-9)
    assert not cruises or rates[0] == pytest.approx(most)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((0.0, 0.0, 0.0), "tf is 0 s, not 1e-06 to 1e\\+08 s"),
        ((-1.0, 0.0, 0.0), "tf is -1 s"),
        ((float("nan"), 0.0, 0.0), "tf is nan s"),
        ((9.0, -1.0, 0.0), "tsa is -1 s; it must not be negative"),
        ((9.0, 1.0, float("inf")), "tsd is inf s"),
        ((9.0, 5.0, 5.0), "tf is 9 s, but the ramps tsa and tsd alone take 10 s"),
    ],
)
def test_times_that_make_no_profile(arguments, says):
    with pytest.raises(MotionError, match=says):
        Trapezoid(*arguments)


# -- resolved rates: the pseudo-inverse's away from singularities, bounded at them --


def start(name, seed=0):
    """An arm, a configuration, a line, and rates at its start."""
    robot = arm(name)
    q, line = robot.line(np.random.default_rng(seed))
    return robot, q, line, ResolvedRates(robot.bodies, robot.tip, line, q)


@pytest.mark.parametrize("name", ["ur5", "panda", "xarm7", "space_arm"])
def test_rates_are_those_of_the_pseudo_inverse(name):
    compared = 0
    for seed in range(8):
        robot, q, line, rates = start(name, seed)
        moving = q[rates.columns]
        jacobian = robot.jacobian(q)[:, rates.columns]
        scale = np.r_[[1 / rates.reach] * 3, [1.0] * 3]
        least = np.linalg.svd(jacobian * scale[:, None], compute_uv=False)[-1]
        assert rates.smallest_singular_value(moving) == pytest.approx(least, abs=1e-9)
        if least > SINGULAR:
            compared += 1
            expected = np.linalg.pinv(jacobian) @ line.twist
            assert rates.per_s(0.0, moving) == pytest.approx(expected, rel=1e-6, abs=1e-8)
    assert compared >= 4


def test_rates_at_a_singularity_are_bounded():
    robot = arm("ur5")
    q = np.array([0.3, -1.2, 1.4, -0.8, 0.0, 0.2])  # the wrist's axes are parallel
    at = robot.pose(q)
    line = CartesianLine(at, pose(at[:3, :3], at[:3, 3] + [0.1, 0.1, 0.1]))
    rates = ResolvedRates(robot.bodies, "tool0", line, q)
    assert rates.smallest_singular_value(q) < 1e-9
    wanted = np.linalg.norm(line.twist * np.r_[[1 / rates.reach] * 3, [1.0] * 3])
    assert np.linalg.norm(rates.per_s(0.0, q)) <= wanted / SINGULAR * 1.0001


def test_drift_is_made_up_for():
    """From a start that is off the line, the link comes onto it."""
    robot, q, line, _ = start("panda", 1)
    aside = q.copy()
    aside[:7] += 1e-3
    rates = ResolvedRates(robot.bodies, robot.tip, line, aside)
    path, reached = rates.path()
    assert reached == 1.0
    s = np.array([0.0, 0.5, 1.0])
    poses = link_poses(robot.bodies, [robot.tip], rates.configurations(path(s)))[robot.tip]
    off = np.abs(line.ahead(s, poses)).max(axis=1)
    assert off[0] > 1e-4
    assert off[1] < 1e-6 and off[2] < 1e-8


@pytest.mark.parametrize("degrees", [60, 89, 91, 150, 179, 180])
def test_angles_above_90_degrees_are_those_meant(degrees):
    turned = Rotation.from_euler("z", degrees, degrees=True).as_matrix()
    line = CartesianLine(np.eye(4), pose(turned, [0.0, 0.0, 2.0]))
    assert line.angle == pytest.approx(math.radians(degrees))
    assert line.length == 2.0


parts = st.floats(0.0, 1.0)


@st.composite
def lines(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    angle = draw(st.floats(0.0, math.radians(179.0)))
    axis = rng.normal(size=3)
    start = Rotation.random(random_state=rng)
    end = Rotation.from_rotvec(angle * axis / np.linalg.norm(axis)) * start
    return CartesianLine(
        pose(start.as_matrix(), rng.normal(size=3)), pose(end.as_matrix(), rng.normal(size=3))
    )


@given(lines(), parts)
def test_poses_are_those_of_slerp(line, s):
    found = line.poses([0.0, s, 1.0])
    assert np.allclose(found[[0, 2]], [line.start, line.end], atol=1e-9)
    ends = Rotation.from_matrix(np.array([line.start[:3, :3], line.end[:3, :3]]))
    assert np.allclose(found[1, :3, :3], Slerp([0, 1], ends)(s).as_matrix(), atol=1e-6)
    assert np.allclose(found[1, :3, 3], (1 - s) * line.start[:3, 3] + s * line.end[:3, 3])


@given(lines(), parts, parts)
def test_what_leads_ahead_leads_there(line, s, other):
    at = line.poses([other])
    ahead = line.ahead([s], at)[0]
    assert np.allclose(ahead, (s - other) * line.twist, atol=1e-9)
