# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A path about an instant: nothing strays farther than told, and little is told too much."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from collision_monitor.common.array_views import borrow
from collision_monitor.common.compiled import offline_kernel
from collision_monitor.continuous.scan_space import (
    SLOPE,
    SPAN,
    STRAY,
    ScanMotion,
    path_of,
    path_range,
)
from collision_monitor.motion.trajectory import Trajectory

JOINTS = ("a", "b")


@offline_kernel
def about(motion, center, half, work, q, rates):
    path_range(path_of(motion), center, half, borrow(work, 0, motion.order, 1), q, rates)


def told(trajectory: Trajectory, center: float, half: float) -> tuple[np.ndarray, np.ndarray]:
    """Places q (2,) and rates (2, 3) by the kernel."""
    polynomial = trajectory.polynomial
    order = polynomial.c.shape[0]
    motion = ScanMotion(
        polynomial.x, polynomial.c[::-1].transpose(1, 2, 0).ravel(),
        np.arange(2), order,
    )  # fmt: skip
    q, rates = np.empty(2), np.empty((2, 3))
    about(motion, center, half, np.empty(order), q, rates)
    return q, rates


def path(seed: int, kind: int, points: int) -> Trajectory:
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(0.1, 1.0, points))
    return Trajectory.through(JOINTS, times, *rng.uniform(-2, 2, (kind, points, 2)))


@settings(deadline=None, max_examples=100)
@given(
    st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 6),
    st.floats(-0.3, 1.3), st.floats(1e-6, 1.5),
)  # fmt: skip
def test_a_path_stays_within_what_is_told(seed, kind, points, part, half):
    trajectory = path(seed, kind, points)
    center = part * trajectory.duration
    q, rates = told(trajectory, center, half)
    times = center + half * np.linspace(-1.0, 1.0, 401)
    rows = trajectory.positions(times)
    assert np.allclose(q, trajectory.positions(np.array([center]))[0], atol=1e-12)
    off = np.abs(rows - q).max(axis=0)
    straight = q + rates[:, SLOPE] * (times - center)[:, None]
    stray = np.abs(rows - straight).max(axis=0)
    assert (off <= rates[:, SPAN] + 1e-9).all()
    assert (stray <= rates[:, STRAY] + 1e-9).all()


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 10**6), st.integers(2, 6), st.floats(0.1, 0.9), st.floats(0.01, 1.5))
def test_of_straight_pieces_nothing_is_told_too_much(seed, points, part, half):
    trajectory = path(seed, 1, points)
    center = part * trajectory.duration
    q, rates = told(trajectory, center, half)
    inside = trajectory.times[np.abs(trajectory.times - center) < half]
    times = np.r_[center - half, inside, center + half]
    rows = trajectory.positions(times)
    straight = q + rates[:, SLOPE] * (times - center)[:, None]
    assert np.allclose(np.abs(rows - q).max(axis=0), rates[:, SPAN], atol=1e-9)
    assert np.allclose(np.abs(rows - straight).max(axis=0), rates[:, STRAY], atol=1e-9)
