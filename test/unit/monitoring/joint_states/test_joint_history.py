# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Joint velocities out of positions: against numpy's fit of a line, noise and bad drivers."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.robots.toys import chain

from collision_monitor import CollisionModel, Monitor
from collision_monitor.monitoring.joint_history import JointHistory, JointVelocities

NOTHING = np.full(2, np.nan)
FIRST, SECOND = np.array([0]), np.array([1])


def fed(rows, times, window=0.05, velocities=None):
    """Speeds after rows (n, 2) at times (n,)."""
    speeds = JointVelocities(2, window)
    for k, (row, time) in enumerate(zip(rows, times, strict=True)):
        given_now = NOTHING if velocities is None else np.array(velocities[k], dtype=float)
        speeds.update(np.array(row, dtype=float), given_now, time, time)
    return speeds


@given(
    st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3)), min_size=3, max_size=12),
    st.lists(st.floats(0.004, 0.02), min_size=12, max_size=12),
)
@settings(deadline=None)
def test_the_slope_is_that_of_the_line_of_least_squares(rows, steps):
    times = 100.0 + np.cumsum(steps[: len(rows)])
    recent = np.flatnonzero(times >= times[-1] - 0.05)
    first = min(recent[0], len(times) - 3)
    speeds = fed(rows, times)
    assert speeds.known
    for k in range(2):
        slope = np.polyfit(times[first:] - times[-1], np.array(rows)[first:, k], 1)[0]
        assert speeds.values[k] == pytest.approx(slope, abs=1e-6)


@pytest.mark.parametrize("rate", [5.0, 125.0, 4000.0])
def test_an_even_motion_has_its_velocity_at_every_rate(rate):
    times = 7.0 + np.arange(60) / rate
    rows = np.column_stack([0.7 * times, -2.0 * times])
    speeds = fed(rows, times)
    assert speeds.known
    assert speeds.values == pytest.approx([0.7, -2.0], abs=1e-9)


def test_noise_and_jitter_of_encoders_average_out():
    rng = np.random.default_rng(0)
    times = 3.0 + np.arange(400) * 0.001
    rows = np.column_stack([0.5 * times, 0.0 * times])
    rows = np.round((rows + rng.normal(0.0, 2e-5, rows.shape)) / 1e-4) * 1e-4
    speeds, errors = JointVelocities(2, 0.05), []
    for row, time in zip(rows, times, strict=True):
        speeds.update(row, NOTHING, time + rng.uniform(0.0, 0.003), time)
        errors.append(np.abs(speeds.values - [0.5, 0.0]).max())
    assert max(errors[60:]) < 0.01


def test_one_joint_state_says_nothing_and_two_in_one_moment_neither():
    speeds = JointVelocities(2)
    speeds.update(np.array([1.0, 2.0]), NOTHING, 5.0)
    assert not speeds.known
    assert (speeds.values == 0.0).all()
    speeds.update(np.array([1.1, 2.1]), NOTHING, 5.0 + 1e-5)
    assert not speeds.known
    speeds.update(np.array([1.1, 2.1]), NOTHING, 5.01)
    assert speeds.known


def test_after_a_gap_nothing_is_known_and_a_clock_set_back_is_a_gap():
    speeds = fed([[0, 0], [0.1, 0]], [10.0, 10.01])
    assert speeds.known
    for time in (12.0, 5.0):
        speeds.update(np.array([3.0, 0.0]), NOTHING, 20.0, time)
        assert not speeds.known
        speeds.update(np.array([3.0, 0.01]), NOTHING, 20.01, time + 0.01)
        assert speeds.known
        assert speeds.values == pytest.approx([0.0, 1.0])


def test_two_publishers_whose_stamps_cross_are_both_heard():
    """The second joint comes in messages of its own, whose stamps are behind."""
    speeds, q, passed = JointVelocities(2), np.zeros(2), 0.0
    for k in range(60):
        time = 50.0 + 0.01 * k
        q[0] = 0.6 * 0.01 * k
        speeds.update(q, NOTHING, time, time, FIRST)
        passed += speeds.passed if k else 0.0
        q[1] = -0.4 * 0.01 * k
        speeds.update(q, NOTHING, time + 0.001, time - 7.0, SECOND)
        passed += speeds.passed
    assert speeds.known
    assert speeds.values == pytest.approx([0.6, -0.4])
    assert passed == pytest.approx(0.59)


@pytest.mark.parametrize(
    ("given_velocity", "believed"),
    [
        (1.0, 1.0),
        (1.2, 1.2),  # ahead of the slope: the robot speeds up
        (0.9, 0.9),
        (0.0, 1.0),  # a driver that sends zeros
        (-1.0, 1.0),  # the wrong sign
        (np.nan, 1.0),
        (np.inf, 1.0),
    ],
)
def test_what_a_driver_gives_counts_unless_positions_say_more(given_velocity, believed):
    times = 1.0 + 0.01 * np.arange(20)
    rows = np.column_stack([times, 0.0 * times])
    speeds = fed(rows, times, velocities=[[given_velocity, 0.001]] * 20)
    assert speeds.values == pytest.approx([believed, 0.001], abs=1e-9)


def test_what_a_driver_gives_counts_from_the_first_joint_state_on():
    speeds = fed([[0.3, 0.4]], [1.0], velocities=[[0.5, -0.5]])
    assert speeds.known
    assert speeds.values.tolist() == [0.5, -0.5]
    assert not fed([[0.3, 0.4]], [1.0], velocities=[[0.5, np.nan]]).known
    speeds = JointVelocities(2)
    speeds.update(np.array([0.3, 0.4]), np.array([0.5, -0.5]), 1.0, 1.0, SECOND)
    assert speeds.known and speeds.values.tolist() == [0.5, -0.5]


@pytest.mark.parametrize("given_velocity", [0.5, np.nan])
@pytest.mark.parametrize("stamps", [True, False])
def test_joints_of_a_slow_publisher_have_their_velocity(stamps, given_velocity):
    """Joint 0 stands, by joint states of 500 Hz; the others move, by joint states of 10 Hz."""
    model = CollisionModel.from_urdf(chain(4))
    monitor, names, seen = Monitor(model), list(model.joint_names), []
    for k in range(1000):
        now = 5.0 + 0.002 * k
        stamp = 95.0 + now if stamps else 0.0
        monitor.update(names[:1], [0.1], now, stamp, velocities=[0.0])
        if k % 50 == 3:
            q = [-0.4 + 0.5 * 0.002 * k, 0.2]
            monitor.update(names[1:], q, now, stamp, velocities=[given_velocity, 0.0])
        if k > 200:
            seen.append(monitor.behaviour.velocities.values.copy())
    assert np.array(seen) == pytest.approx(np.tile([0.0, 0.5, 0.0], (len(seen), 1)), abs=1e-6)


@pytest.mark.parametrize("rate", [50.0, 500.0])
@pytest.mark.parametrize("stall", [0.07, 0.4])
def test_a_stall_of_one_of_two_publishers_is_no_speed(rate, stall):
    """The backlog is stamped with the times of measurement; the other publisher goes on."""
    due = np.arange(0.0, 1.0, 1.0 / rate)
    held = (due > 0.5) & (due < 0.501 + stall)
    sent = np.where(held, 0.5 + stall + 1e-5 * held.cumsum(), due)
    messages = [(at, time, SECOND) for at, time in zip(sent, due, strict=True)]
    messages += [(time, time, FIRST) for time in np.arange(0.0005, 1.0, 0.002)]
    speeds, q, seen = JointVelocities(2), np.zeros(2), []
    for at, time, joints in sorted(messages, key=lambda message: message[:2]):
        q[joints] = 1.5 * time if joints is SECOND else 0.0
        speeds.update(q, NOTHING, 7.0 + at, 7.0 + time, joints)
        seen.append(speeds.values.copy())
    seen = np.array(seen[200:])
    assert seen == pytest.approx(np.tile([0.0, 1.5], (len(seen), 1)))


def test_a_message_with_some_joints_divides_a_history_without_a_loss():
    speeds = fed([[0.0, 0.0], [0.1, 0.2], [0.2, 0.4]], [5.0, 5.1, 5.2])
    speeds.update(np.array([0.3, 0.4]), NOTHING, 5.3, 5.3, FIRST)
    assert speeds.known and speeds.values == pytest.approx([1.0, 2.0])
    speeds.update(np.array([0.4, 0.8]), NOTHING, 5.4, 5.4)  # both again
    assert speeds.known and speeds.values == pytest.approx([1.0, 2.0])
    tracemalloc.start()
    for k in range(1000):  # a faulty publisher
        speeds.update(np.array([0.4, 0.8]), NOTHING, 6.0, 6.0, np.array([0] * k, dtype=int))
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 1_500_000  # the lists have 4 MB


@given(
    rate=st.sampled_from([50.0, 125.0, 500.0, 1000.0]),
    stall=st.floats(0.03, 0.4),
    spacing=st.floats(1e-5, 2e-4),
    speed=st.floats(-3.0, 3.0),
)
@settings(deadline=None, max_examples=50)
def test_joint_states_held_up_and_sent_at_once_are_no_speed(rate, stall, spacing, speed):
    """A publisher stalls, then sends its backlog: without stamps, or with those of sending."""
    speeds, sent = JointVelocities(2, limits=np.array([20.0, 20.0])), 0.0
    seen = []
    for k in range(int(rate)):
        due = k / rate
        sent = max(due + (max(0.0, 0.5 + stall - due) if due >= 0.5 else 0.0), sent + spacing)
        speeds.update(np.array([speed * due, 0.0]), NOTHING, 7.0 + sent, 7.0 + sent)
        if k > 3:
            seen.append(abs(speeds.values[0]))
    assert max(seen) <= 1.4 * abs(speed) + 1e-6
    assert seen[-1] == pytest.approx(abs(speed), abs=1e-6)


def test_a_speed_above_the_limit_needs_two_sources():
    limits = np.array([2.0, 2.0])
    for driver, believed in ((np.nan, 2.0), (0.0, 2.0), (9.0, 9.0)):
        speeds = JointVelocities(2, limits=limits)
        for k in range(10):
            speeds.update(np.array([0.1 * k, 0.0]), np.array([driver, 0.0]), 5.0 + 0.01 * k)
        assert speeds.values[0] == pytest.approx(believed)
    speeds = JointVelocities(2, limits=limits)
    for k in range(10):
        speeds.update(np.array([0.01 * k, 0.0]), np.array([-9.0, 5.0]), 5.0 + 0.01 * k)
    assert speeds.values.tolist() == pytest.approx([1.0, 2.0])


@pytest.mark.parametrize(
    ("driver", "slope", "believed"),
    [(3.4, 1.7, 2.0), (3.4, 1.9, 2.0), (3.4, 2.1, 3.4), (1.9, 1.7, 1.9), (-3.4, -1.7, -2.0)],
)
def test_a_driver_is_believed_above_the_limit_only_if_positions_are_above_it_too(
    driver, slope, believed
):
    speeds = JointVelocities(1, limits=np.array([2.0]))
    for k in range(10):
        speeds.update(np.array([0.01 * slope * k]), np.array([driver]), 5.0 + 0.01 * k)
        assert abs(speeds.values[0]) <= max(2.0, abs(believed)) + 1e-9  # in all states so far
    assert speeds.values[0] == pytest.approx(believed)


def test_a_driver_alone_is_not_believed_above_the_limit():
    """In the first joint state, and in the first after a gap."""
    speeds = JointVelocities(2, limits=np.array([2.0, 2.0]))
    for time in (5.0, 12.0):
        speeds.update(np.array([0.3, 0.4]), np.array([50.0, -1.5]), time)
        assert speeds.known and speeds.values.tolist() == [2.0, -1.5]


@pytest.mark.parametrize("rate", [50.0, 1000.0])
def test_a_stall_does_not_hide_a_motion_after_it(rate):
    """The robot stands during a stall of 0.3 s and for a while; then it moves at 2 rad/s."""
    speeds, time, q = JointVelocities(2), 5.0, 0.0
    for phase, seconds in (("stand", 0.3), ("stall", 0.3), ("stand", 1.0), ("move", 0.1)):
        for _ in range(0 if phase == "stall" else round(seconds * rate)):
            time += 1.0 / rate
            q += 2.0 / rate if phase == "move" else 0.0
            speeds.update(np.array([q, 0.0]), NOTHING, time, time)
        time += seconds if phase == "stall" else 0.0
    assert speeds.values[0] == pytest.approx(2.0)


# At 3.4 times the rate and more it looks like a burst, until more came than were held up.
@pytest.mark.parametrize(
    ("period", "faster", "pause"),
    [(0.01, 1.67, 0.3), (0.0474, 1.5, 0.32), (0.1, 10.0, 0.3), (0.1, 20.0, 0.9), (0.02, 5.0, 0.4)],
)
def test_a_publisher_that_comes_back_at_a_higher_rate_was_not_held_up(period, faster, pause):
    """The robot begins to move at 2 rad/s with the first joint state after the pause."""
    speeds, time = JointVelocities(1), 100.0
    for _ in range(80):
        time += period
        speeds.update(np.array([0.0]), NOTHING[:1], time, time)
    time = begin = time + pause
    while time < begin + 0.16:
        speeds.update(np.array([2.0 * (time - begin)]), NOTHING[:1], time, time)
        time += period / faster
    assert speeds.values[0] == pytest.approx(2.0, rel=0.1)


# -- recent joint positions by their stamps --


@given(
    st.lists(st.floats(1e-3, 0.1), min_size=2, max_size=30),
    st.lists(st.floats(-3.0, 3.0), min_size=30, max_size=30),
    st.floats(0.0, 1.0),
)
def test_it_is_on_the_line_between_two_joint_states(steps, values, share):
    times = 1e9 + np.cumsum(steps)
    history = JointHistory()
    rows = np.column_stack([values, values[::-1]])[: len(times)]
    for stamp, row in zip(times, rows, strict=True):
        history.add(stamp, row)
    stamp = times[0] + share * (times[-1] - times[0])
    expected = [np.interp(stamp, times, column) for column in rows.T]
    np.testing.assert_allclose(history.at(stamp), expected, atol=1e-4)


def test_a_slow_publisher_is_on_its_line_though_a_fast_one_reports_in_between():
    """A camera on a neck that is published at 10 Hz, beside an arm at 500 Hz."""
    monitor = Monitor(CollisionModel.from_urdf(chain(4)), behaviour=None, joint_state_timeout=0.0)
    begin = 100.0
    for k in range(500):
        now = begin + 0.002 * k
        monitor.update(["j2", "j3"], [0.1, 0.002 * k], now, stamp=now)
        if k % 50 == 25:
            monitor.update(["j1"], [now - begin], now, stamp=now)
    for passed in (0.1, 0.349, 0.731):
        there = monitor.history.at(begin + passed)
        np.testing.assert_allclose(there, [passed, 0.1, passed], atol=1e-9)
    assert monitor.history.at(begin + 0.04) is None  # the neck is not known before 0.05 s


def test_what_is_newer_is_the_newest_and_what_is_older_is_not_known():
    history = JointHistory()
    assert history.at(5.0) is None and history.is_empty
    history.add(1.0, np.array([0.1]))
    assert not history.is_empty
    history.add(2.0, np.array([0.2]))
    assert history.at(9.0) == history.at(2.0) == pytest.approx([0.2])
    assert history.at(1.0) == pytest.approx([0.1])
    assert history.at(0.999) is None


def test_the_oldest_are_forgotten():
    history = JointHistory()
    for k in range(10_000):
        history.add(float(k), np.array([float(k)]))
    known = [k for k in range(7000, 10_000) if history.at(float(k)) is not None]
    assert 2000 <= len(known) < 3000 and known == list(range(known[0], 10_000))
    for stamp in (known[0], known[0] + 0.5, 9998.5):  # across the end of the memory too
        assert history.at(stamp) == pytest.approx([stamp])
    assert history.at(known[0] - 0.5) is None


def test_late_ones_are_passed_over_and_a_clock_that_was_set_back_begins_anew():
    history = JointHistory()
    history.add(10.0, np.array([1.0]))
    history.add(9.5, np.array([7.0]))
    history.add(11.0, np.array([2.0]))
    assert history.at(10.5) == pytest.approx([1.5])
    history.add(3.0, np.array([5.0]))
    assert history.at(10.5) == history.at(3.0) == pytest.approx([5.0])
    assert history.at(2.0) is None


@pytest.mark.parametrize(
    ("before", "after"), [([FIRST, SECOND], [None]), ([None], [FIRST]), ([None], [FIRST, SECOND])]
)
@pytest.mark.parametrize("begin", [100.0, 1.0])
def test_joints_that_arrive_with_others_after_a_gap_begin_anew(before, after, begin):
    """As of a driver that is started again with the gripper; or the clock was set back."""
    history = JointHistory()
    for stamp in (50.0, 50.5):
        for joints in before:
            history.add(stamp, np.array([1.0, 2.0]), joints)
    for stamp in (begin, begin + 0.5):
        for joints in after:
            history.add(stamp, np.array([3.0, 4.0]), joints)
    assert history.at(begin - 0.1) is None
    assert history.at(50.2) is None or begin < 50.0  # later than all that is known
    assert history.at(begin + 0.2)[0] == 3.0


def test_joints_in_two_histories_that_go_on_are_known_by_both():
    history = JointHistory()
    for k in range(100):
        joints = None if k % 10 == 0 else SECOND
        history.add(1.0 + 0.01 * k, np.array([0.0, 0.1 * k]), joints)
    for k in range(100):
        assert history.at(1.0 + 0.01 * k) == pytest.approx([0.0, 0.1 * k])


def test_joints_that_nobody_has_published_yet_have_no_history():
    monitor = Monitor(CollisionModel.from_urdf(chain(4)), behaviour=None, joint_state_timeout=0.0)
    monitor.update(["j1"], [0.7], 10.0, 100.0)
    assert monitor.history.is_empty
    monitor.update(["j2", "j3"], [0.1, 0.2], 10.1)  # without a stamp
    assert monitor.history.at(100.0) is None
    monitor.update(["j1"], [0.8], 10.2, 100.2)
    np.testing.assert_array_equal(monitor.history.at(100.2), [0.8, 0.1, 0.2])
    assert monitor.history.at(100.1) is None


def test_positions_that_were_not_known_are_not_known():
    history = JointHistory()
    history.add(1.0, np.array([0.0, math.nan]))
    history.add(2.0, np.array([0.0, 0.0]))
    assert history.at(1.0) is None and history.at(1.5) is None
    assert history.at(2.0) == pytest.approx([0.0, 0.0])
