# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Links led along lines, against pinocchio: near them at every instant, or it is said."""

import math

import numpy as np
import pytest
from support.geometry.reference import pin
from support.robots.line_cases import TIPS, arm

from collision_monitor.motion.line_motion import CartesianLine, Trapezoid, follow_line, off_the_line
from collision_monitor.motion.violation import Code
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
