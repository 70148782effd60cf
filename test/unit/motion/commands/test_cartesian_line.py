# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Lines of poses: ends are met, turns are even and about one axis, above 90 degrees too."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm, logm
from scipy.spatial.transform import Rotation, Slerp

from collision_monitor.motion.commands.cartesian_line import CartesianLine
from collision_monitor.robot.poses import pose

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
def test_poses_are_those_of_the_matrix_exponential_and_of_slerp(line, s):
    found = line.poses([0.0, s, 1.0])
    assert np.allclose(found[[0, 2]], [line.start, line.end], atol=1e-9)
    turn = line.end[:3, :3] @ line.start[:3, :3].T
    expected = expm(s * np.real(logm(turn))) @ line.start[:3, :3]
    assert np.allclose(found[1, :3, :3], expected, atol=1e-6)
    ends = Rotation.from_matrix(np.array([line.start[:3, :3], line.end[:3, :3]]))
    assert np.allclose(found[1, :3, :3], Slerp([0, 1], ends)(s).as_matrix(), atol=1e-6)
    assert np.allclose(found[1, :3, 3], (1 - s) * line.start[:3, 3] + s * line.end[:3, 3])


@given(lines(), parts, parts)
def test_what_leads_ahead_leads_there(line, s, other):
    at = line.poses([other])
    ahead = line.ahead([s], at)[0]
    assert np.allclose(ahead, (s - other) * line.twist, atol=1e-9)


@given(lines(), parts, st.floats(1e-6, 1e-2), st.integers(0, 2**31))
def test_the_pull_is_what_leads_ahead_but_for_the_third_order(line, s, size, seed):
    off = np.random.default_rng(seed).normal(size=6) * size
    at = line.poses([s])[0]
    at[:3, :3] = Rotation.from_rotvec(off[3:]).as_matrix() @ at[:3, :3]
    at[:3, 3] += off[:3]
    assert line.pull(s, at) == pytest.approx(line.ahead([s], at[None])[0], abs=30 * size**3 + 1e-12)


@pytest.mark.parametrize("degrees", [60, 89, 91, 150, 179, 180])
def test_angles_above_90_degrees_are_those_meant(degrees):
    turned = Rotation.from_euler("z", degrees, degrees=True).as_matrix()
    line = CartesianLine(np.eye(4), pose(turned, [0.0, 0.0, 2.0]))
    assert line.angle == pytest.approx(math.radians(degrees))
    assert line.length == 2.0
    # The paper's formula, half the sum of the axes' cross products, has the length of the sine.
    published = 0.5 * sum(np.cross(np.eye(3)[:, k], turned[:, k]) for k in range(3))
    wrong = math.degrees(math.asin(min(1.0, np.linalg.norm(published))))
    assert wrong == pytest.approx(degrees if degrees <= 90 else 180 - degrees, abs=1e-6)


def test_a_line_without_a_turn():
    line = CartesianLine(np.eye(4), pose(np.eye(3), [1.0, 0.0, 0.0]))
    assert line.angle == 0.0
    assert line.pull(0.5, np.eye(4)).tolist() == [0.5, 0, 0, 0, 0, 0]
