# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Resolved rates: the pseudo-inverse's away from singularities, bounded at them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation, Slerp
from support.robots.line_cases import arm

from collision_monitor.motion.line_motion import SINGULAR, CartesianLine, ResolvedRates
from collision_monitor.robot.bodies import link_poses
from collision_monitor.robot.poses import pose


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
