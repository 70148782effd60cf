# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Re-timing: within limits, never earlier, and no change without need."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from collision_monitor.errors import MissingDependencyError
from collision_monitor.motion.trajectory import Motion, Trajectory
from collision_monitor.self_collision.preparation import rest_to_rest
from collision_monitor.self_collision.retiming import moving_ends, moving_ends_warnings, retime
from collision_monitor.verification.joint_limits_check import steps_of

NONE = np.inf


def velocities(times, positions):
    """Of every interval, (n - 1, joints)."""
    return (positions[1:] - positions[:-1]) / (times[1:] - times[:-1])[:, None]


def accelerations(times, positions):
    """Finite differences at the inner waypoints, (n - 2, joints), one waypoint at a time."""
    v, found = velocities(times, positions), []
    for k in range(1, len(times) - 1):
        short, long = sorted((times[k] - times[k - 1], times[k + 1] - times[k]))
        lasting = 0.5 * (short + long) if long <= 2.0 * short * (1 + 1e-9) else short
        found.append((v[k] - v[k - 1]) / min(lasting, 0.1))
    return np.array(found).reshape(-1, positions.shape[1])


def checked(times, positions, fastest, hardest):
    """The new times, after everything that is promised of all of them has been looked at."""
    pytest.importorskip("toppra")
    before = times.copy(), positions.copy()
    new = retime(times, positions, fastest, hardest)
    assert (times == before[0]).all() and (positions == before[1]).all()
    assert new.shape == times.shape and np.isfinite(new).all()
    assert new[0] == times[0]
    assert (np.diff(new) >= np.diff(times)).all()
    if len(times) > 1:
        assert (np.abs(velocities(new, positions)) <= np.asarray(fastest) * (1 + 1e-6)).all()
        assert (np.abs(accelerations(new, positions)) <= np.asarray(hardest) * (1 + 1e-6)).all()
    return new


def wave(n=80, joints=3, seed=0, spacing=0.1):
    """A smooth motion of ``n`` waypoints, ``spacing`` s apart, all joints at about 1 rad/s."""
    times = spacing * np.arange(n)
    phases = np.random.default_rng(seed).uniform(0, 6, joints)
    return times, np.sin(times[:, None] * (1 + np.arange(joints) / 3) + phases)


@pytest.mark.parametrize("limits", [(NONE, NONE), (5.0, 5.0), (5.0, NONE)])
def test_a_motion_within_its_limits_keeps_its_times_exactly(limits):
    times, positions = wave()
    new = retime(times, positions, *limits)
    assert (new == times).all()
    assert new is not times


@given(
    positions=arrays(float, (12, 2), elements=st.floats(-3, 3, width=16)),
    spans=arrays(float, 11, elements=st.floats(0.015625, 4, width=16)),
    fastest=st.floats(0.01, 10),
    hardest=st.floats(0.01, 10),
)
@settings(deadline=None, max_examples=60)
def test_any_motion_comes_back_within_its_limits_and_not_earlier(
    positions, spans, fastest, hardest
):
    times = np.concatenate([[0.0], np.cumsum(spans)])
    checked(times, positions, fastest, hardest)


# Acceleration limits, times between waypoints, and the share of the limits that is used. If
# waypoints are further apart than `verify` assumes that a step lasts, slightly less is used.
SLOWED = [(0.5, 0.02, 0.9), (0.5, 0.1, 0.85), (1e-2, 0.1, 0.85), (1e-6, 0.1, 0.85)]


@pytest.mark.parametrize(
    ("fastest", "hardest", "spacing", "share"),
    [(0.4, *SLOWED[0]), *((NONE, *row) for row in SLOWED)],
)
def test_smooth_motions_are_slowed_no_more_than_needed(fastest, hardest, spacing, share):
    times, positions = wave(int(8.0 / spacing), spacing=spacing)
    new = checked(times, positions, fastest, hardest)
    used_v = np.abs(velocities(new, positions)).max(axis=1) / fastest
    used_a = np.abs(accelerations(new, positions)).max(axis=1) / hardest
    slowed = np.diff(new) > np.diff(times) * (1 + 1e-5)
    # Each slowed interval lies at a limit, or beside a waypoint that does.
    at_limit = np.maximum(used_v, np.maximum(np.r_[0, used_a], np.r_[used_a, 0]))
    assert at_limit[slowed].min() > share
    assert slowed.any()


@pytest.mark.parametrize("seed", range(12))
def test_accelerations_are_kept_as_verify_measures_them(seed):
    """In every second case some joints are sampled at each second or fourth waypoint only."""
    pytest.importorskip("toppra")
    rng, apart = np.random.default_rng(seed), (1, 2, 1, 4)[seed % 4]
    count = 4 * int(rng.integers(2, 23)) + 1
    longest = rng.choice([1.01, 3.0])
    spans = rng.choice([0.004, 0.01, 0.05, 0.3]) * rng.uniform(1.0, longest, count - 1)
    times = np.concatenate([[0.0], np.cumsum(spans)])
    positions = np.sin(np.outer(times, rng.uniform(0.3, 2.0, 4)) + rng.uniform(0.0, 6.0, 4))
    positions[:apart] = positions[apart]  # at rest
    positions[-apart:] = positions[-apart - 1]
    own = np.arange(0, count, apart)
    for joint in range(2):
        positions[:, joint] = np.interp(times, times[own], positions[own, joint])
    fastest, hardest = rng.uniform(0.3, 3.0, 2)
    new = (checked if apart == 1 else retime)(times, positions, fastest, hardest)
    found = steps_of(Trajectory.through(tuple("abcd"), new, positions)).accelerations
    assert np.abs(found).max() <= hardest * (1.0 + 1e-6)


def test_what_is_slow_enough_is_left_alone():
    times, positions = wave(300, 1)
    positions[150] += 0.2  # one bump
    new = checked(times, positions, NONE, 4.0)
    stretch = np.diff(new) / np.diff(times)
    assert (new[:130] == times[:130]).all()
    assert stretch[170:] == pytest.approx(1.0, abs=1e-12)
    assert stretch[149:151].min() > 1.5


def test_velocities_alone_need_no_solver(monkeypatch):
    monkeypatch.setitem(sys.modules, "toppra", None)
    times = np.array([0.0, 1.0, 2.0, 3.0])
    positions = np.array([[0.0, 0.0], [1.0, 0.1], [1.5, 3.1], [1.5, 3.1]])
    new = retime(times, positions, [0.5, 1.0], NONE)
    assert new == pytest.approx([0.0, 2.0, 5.0, 6.0])
    with pytest.raises(MissingDependencyError, match=r"pip install .*'toppra>="):
        retime(times, positions, NONE, 0.1)


def test_both_ends_are_as_fast_as_they_were_where_that_is_possible():
    times = np.arange(60) * 0.1
    positions = times[:, None].copy()  # 1 rad/s
    positions[25:35] = positions[25]  # stands for a second
    positions[35:] -= positions[35] - positions[25]
    new = checked(times, positions, 2.0, 2.0)
    assert velocities(new, positions)[[0, -1]] == pytest.approx(1.0)
    assert np.diff(new)[20] > 0.1, "brakes before the stop"
    assert np.diff(new)[40] > 0.1, "and takes up speed after it"


def test_pauses_and_repeated_waypoints_last_as_long_as_they_did():
    times, positions = wave(40)
    still = np.repeat(positions, 3, axis=0)
    new = checked(np.arange(120) * 0.05, still, 1.0, 5.0)
    assert new[-1] > 119 * 0.05
    stands = np.zeros((50, 2))
    assert (retime(np.arange(50.0), stands, 1e-3, 1e-3) == np.arange(50.0)).all()


def test_two_waypoints_and_one():
    new = checked(np.array([3.0, 4.0]), np.array([[0.0], [10.0]]), 2.0, 0.1)
    assert new == pytest.approx([3.0, 8.0])
    assert retime(np.ones(1), np.full((1, 1), 2.0), 1.0, 1.0) == pytest.approx([1.0])


@pytest.mark.parametrize("limit", [30.0, 10.0])
def test_jerks_are_kept_as_verify_measures_them(limit):
    pytest.importorskip("toppra")
    times = 0.05 * np.arange(160)
    positions = np.sin(times[:, None] * [1.0, 1.3, 1.7])
    ramp = np.clip(np.minimum(times, times[-1] - times) / 2.0, 0.0, 1.0)[:, None]
    positions *= ramp**3 * (10.0 - 15.0 * ramp + 6.0 * ramp**2)  # from standstill to standstill
    without = retime(times, positions, 1.0, 2.0)
    new = retime(times, positions, 1.0, 2.0, [limit, NONE, limit])

    def jerk(at):
        steps = steps_of(Trajectory.through(("a", "b", "c"), at, positions))
        return np.abs(steps.jerks).max(axis=0)[[0, 2]].max()

    assert jerk(without) > limit
    assert jerk(new) <= limit * (1 + 1e-6)
    assert (np.diff(new) >= np.diff(times)).all()
    assert (np.abs(accelerations(new, positions)) <= 2.0 * (1 + 1e-6)).all()
    assert new[-1] < without[-1] * (jerk(without) / limit) ** (1 / 3)  # not slowed as a whole


def test_slowing_for_jerks_keeps_accelerations_with_a_corner_at_speed():
    pytest.importorskip("toppra")
    times = np.round(np.linspace(0.0, 10.0, 231), 9)
    corners = np.array([[1.5225, -0.4769], [0.1786, -1.1817], [2.5182, 0.2666]])
    rows = np.linspace(0.0, 2.0, 231)
    positions = np.column_stack([np.interp(rows, [0.0, 1.0, 2.0], each) for each in corners.T])
    accelerations, jerks = [0.582, 1.178], [519.151, 7.159]
    new = retime(times, positions, [1.710423, 0.659], accelerations, jerks)
    steps = steps_of(Trajectory.through(("a", "b"), new, positions), from_rest=False)
    assert (np.abs(steps.accelerations) <= np.array(accelerations) * (1 + 1e-7)).all()
    assert (np.abs(steps.jerks) <= np.array(jerks) * (1 + 1e-7)).all()


def test_a_motion_that_starts_and_stops_at_speed_may_keep_its_own_jerk_there():
    times = np.linspace(0.0, 2.0, 41)
    positions = np.column_stack([times, -times])
    assert (retime(times, positions, 2.0, 6.0, 1.0) == times).all()


def smooth(count, duration, *distances):
    """From standstill to standstill."""
    s = np.linspace(0.0, 1.0, count)
    return duration * s, (10 * s**3 - 15 * s**4 + 6 * s**5)[:, None] * distances


@pytest.mark.parametrize("count, step", [(12, 0.01), (25, 0.05), (60, 0.3)])
def test_a_motion_that_is_much_too_fast_still_starts_and_stops_from_rest(count, step):
    pytest.importorskip("toppra")
    times, positions = smooth(count, step * count, 2.0, -1.5)
    new = retime(times, positions, 1.0, 0.2, 0.5)
    steps = steps_of(Trajectory.through(("a", "b"), new, positions))
    assert np.abs(steps.accelerations).max() <= 0.2 * (1 + 1e-6)
    assert np.abs(steps.jerks).max() <= 0.5 * (1 + 1e-6)


@pytest.mark.parametrize("first", [0.0, 12.3456789012345, 40_000.0])
def test_intervals_of_slowed_motions_last_whole_nanoseconds(first):
    times, positions = wave(200)
    times = first + times / 3.0
    new = checked(times, positions, 1.0, 3.0)
    assert (new > times).any()
    nanoseconds = 1e9 * np.diff(new)
    assert np.abs(nanoseconds - np.round(nanoseconds)).max() <= 4e9 * np.spacing(new[-1])


def test_whole_nanoseconds_do_not_slow_what_they_are_too_coarse_for():
    times, positions = smooth(8000, 0.01, 1e-3)  # 800 kHz
    new = checked(times, positions, NONE, 1.0)
    assert new[-1] < 1.06 * 2.0 * np.sqrt(1e-3)  # the shortest time from rest to rest


def test_times_of_the_wall_clock():
    times, positions = wave(30)
    new = checked(times + 1.7e9, positions, 0.5, 1.0)
    assert new[-1] - new[0] == pytest.approx(retime(times, positions, 0.5, 1.0)[-1], rel=1e-6)


def test_velocity_limits_hold_where_times_are_coarse():
    times, positions = wave(4000, spacing=0.001)
    checked(times + 1.7e9, positions, 0.5, NONE)


# -- motions that start or stop at speed -------------------------------------------------


def test_ends_at_speed_are_named_with_the_limit_that_they_exceed():
    times = np.arange(11) * 0.1
    motion = Motion(("a", "b"), times, np.column_stack([0.8 * times, 0.001 * times]))
    for limits, limit in (((1.0, None), "acceleration"), ((None, {"a": 5.0}), "jerk")):
        found = moving_ends(motion, motion, *limits)
        assert [(e.joint, e.end, e.limit) for e in found] == [
            ("a", "starts", limit), ("a", "stops", limit),
        ]  # fmt: skip
        assert [e.velocity for e in found] == pytest.approx([0.8, 0.8])
        first, last = moving_ends_warnings(found)
        assert f"starts at speed; from rest this exceeds the {limit} limit of a (0.8/s)" in first
        assert "stops at speed" in last
    assert moving_ends(motion, motion, 1e3, None) == moving_ends(motion, motion, None, None) == []
    slower = Motion(motion.joint_names, times, 0.5 * motion.positions)
    texts = moving_ends_warnings(moving_ends(slower, motion, 1.0, None))
    assert len(texts) == 4 and "a (0.4 instead of 0.8/s)" in texts[1]


@pytest.mark.parametrize("limits", [(1.0, None), (1.0, 5.0)])
def test_a_motion_from_rest_to_rest_has_no_ends_at_speed(limits):
    bounds = [np.full(1, np.inf if each is None else each) for each in limits]
    times, positions = rest_to_rest(np.zeros(1), np.ones(1), 0.0, np.full(1, np.inf), *bounds)
    motion = Motion(("a",), times, positions)
    assert moving_ends(motion, motion, *limits) == []
