# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Watchdogs in a monitor: what becomes of its verdict, and what is counted."""

import math

import numpy as np
import pytest
from support.robots.toys import chain

from collision_monitor import CollisionModel
from collision_monitor.model.thresholds import Thresholds
from collision_monitor.monitoring.joint_state_buffer import JointState
from collision_monitor.monitoring.monitor import Level, Monitor, MonitorState
from collision_monitor.monitoring.publisher_watch import Publisher
from collision_monitor.monitoring.settings import SpeedSettings
from collision_monitor.monitoring.speed_policy.speed_policy import SpeedPolicy
from collision_monitor.monitoring.watchdogs import REFUSALS, REMARKS

MODEL = CollisionModel.from_urdf(chain(4))
NAMES = list(MODEL.joint_names)
TOPIC = "joint_states"
STRETCHED = [0.1, 0.0, 0.0]


@pytest.fixture
def monitor():
    """One that has heard joint states for a second, stamped as of 100 s on."""
    watching = Monitor(MODEL, behaviour=SpeedPolicy(MODEL))
    watching.watchdogs.publishers.update(TOPIC, 1, 0.0)
    for k in range(50):
        send(watching, 0.02 * k)
    assert watching.state(1.0).level == Level.OK
    return watching


def send(monitor, now, positions=STRETCHED, stamp=None, lag=0.0, names=NAMES):
    """The state after a joint state."""
    monitor.watchdogs.publishers.report_message(TOPIC, now)
    return monitor.update(names, positions, now, 100.0 + now if stamp is None else stamp, lag)


def test_a_publisher_that_is_gone_is_stale_before_the_timeout(monitor):
    monitor.watchdogs.publishers.update(TOPIC, 0, 1.05)
    state = monitor.state(1.05)
    assert (state.level, state.cause, state.safe) == (Level.STALE, "stale", False)
    assert state.message == "the publisher of the joint states is gone"
    assert state.clearance is None and state.action == "stop"
    monitor.watchdogs.publishers.update(TOPIC, 1, 1.5)
    assert send(monitor, 1.6).level == Level.OK


@pytest.mark.parametrize("is_seen", [False, True], ids=["silent", "ended"])
def test_zeros_of_a_restarted_driver_are_stale_until_they_have_repeated(monitor, is_seen):
    if is_seen:
        monitor.report_other_publishers(1.05)
    for now in np.arange(1.6, 4.55, 0.1):
        state = send(monitor, now, [0.0, 0.0, 0.0])
        assert (state.level, state.cause, state.action) == (Level.STALE, "stale", "stop")
        assert state.message.startswith("joint states are all zeros") and not state.safe
    assert send(monitor, 4.65, [0.0, 0.0, 0.0]).level == Level.OK


def test_a_missing_publisher_is_reported():
    waiting = Monitor(MODEL, behaviour=None)
    waiting.watchdogs.publishers.update(TOPIC, 0, 0.0)
    assert waiting.state(0.0).message == "no joint state received yet: no publisher"


@pytest.mark.parametrize(
    ("happen", "cause", "says"),
    [
        (lambda w: w.cycles.add(0.9, 1.0), "overrun", "overloaded: a cycle took 100 ms"),
        (lambda w: (w.publishers.update(TOPIC, 2, 0.9), w.publishers.update(TOPIC, 1, 1.0)),
         "publisher", "1 of 2"),
        (lambda w: w.clock.update(1.0, 0.95, False) or w.clock.update(90.0, 1.0, False), "clock",
         "set forward by 89.0 s"),
        (lambda w: w.report_late(0.3, 1.0), "late", "go back by 0.300 s"),
    ],
)  # fmt: skip
def test_a_remark_is_a_warning_and_distances_decide(monitor, happen, cause, says):
    happen(monitor.watchdogs)
    state = send(monitor, 1.0)
    assert cause in REMARKS
    assert (state.level, state.cause, state.safe) == (Level.WARN, cause, True)
    assert says in state.message and "; clear: " in state.message
    assert (state.action, state.speed_scale) == ("none", 1.0)
    assert state.clearance is not None
    state = send(monitor, 2.2)
    assert (state.level, state.cause, state.message[:5]) == (Level.OK, "", "clear")


def test_what_distances_say_is_not_hidden_by_a_remark(monitor):
    monitor.watchdogs.cycles.add(0.9, 1.0)
    monitor.warn_distance, monitor.stop_distance = 9.5, 9.0
    state = send(monitor, 1.0)
    assert (state.level, state.cause, state.action) == (Level.ERROR, "", "stop")
    monitor.stop_distance = 0.0
    state = MonitorState(Level.WARN, "overloaded; near", "overrun", speed_scale=0.4)
    assert state.action == "slowdown"


def test_stamps_that_go_back_a_little_are_ignored_counted_and_said_of_one_publisher(monitor):
    state = send(monitor, 1.0, [0.1, 0.5, 0.0], stamp=100.95)
    assert (state.level, state.cause) == (Level.WARN, "late")
    assert "joint state stamps go back by 0.030 s" in state.message
    assert monitor.buffer.q.tolist() == STRETCHED
    assert monitor.watchdogs.late == 1
    # of two publishers that both have these joints it is ordinary
    monitor.watchdogs.publishers.update(TOPIC, 2, 2.0)
    send(monitor, 2.0)
    state = send(monitor, 2.01, stamp=101.97)
    assert (state.level, monitor.watchdogs.late) == (Level.OK, 2)
    assert send(monitor, 2.02, stamp=101.7).cause == "late"


def test_a_clock_set_back_is_a_fault_and_then_goes_on(monitor):
    state = send(monitor, 1.0, stamp=5.0)
    assert (state.level, state.cause, state.safe) == (Level.ERROR, "fault", False)
    assert "stamped 96.0 s earlier than the previous ones" in state.message
    assert monitor.watchdogs.clock_resets == 1
    for k in range(1, 40):
        state = send(monitor, 1.0 + 0.02 * k, stamp=5.0 + 0.02 * k)
    assert (state.level, monitor.watchdogs.clock_resets) == (Level.OK, 1)


def test_a_clock_set_back_makes_joint_states_old_where_the_node_has_another(monitor):
    state = send(monitor, 1.0, stamp=95.0, lag=5.0)
    assert (state.level, state.cause) == (Level.STALE, "stale")
    assert monitor.watchdogs.clock_resets == 1


def test_a_fault_while_the_clock_jumps_names_the_jump(monitor):
    monitor.watchdogs.clock.update(1.0, 0.95, False)
    monitor.watchdogs.clock.update(90.0, 1.0, False)
    state = send(monitor, 1.0, lag=-88.0)
    assert (state.level, state.cause) == (Level.ERROR, "fault")
    assert "in the future" in state.message and "was set forward by 89.0 s" in state.message


def test_two_publishers_whose_clocks_disagree_are_a_fault_for_as_long_as_they_do(monitor):
    monitor.watchdogs.publishers.update(TOPIC, 2, 1.0)
    for k in range(100):
        state = send(monitor, 1.0 + 0.01 * k, stamp=100.0 + 0.01 * k - (5.0 if k % 2 else 0.0))
        if k:
            assert state.level == Level.ERROR
    assert "the clocks of two publishers disagree" in state.message


@pytest.mark.parametrize("ahead", [0.05, 0.9])
def test_a_publisher_whose_clock_is_ahead_does_not_hide_the_other(monitor, ahead):
    publishers = [Publisher((k,), f"/node_{k}") for k in range(2)]
    monitor.watchdogs.publishers.update(TOPIC, 2, 1.0)
    monitor.watchdogs.publishers.identify(TOPIC, publishers, 1.0)
    for k in range(200):
        now = 1.0 + 0.01 * k
        state = send(monitor, now, [0.1, 2.0, 2.0])
        if k % 10 == 0:
            state = send(monitor, now + 0.001, stamp=100.0 + now + ahead, lag=-ahead)
        if k > 50:
            assert (state.level, state.safe) == (Level.ERROR, False)
    if ahead > 0.1:
        assert "clocks of their publishers disagree" in state.message
        assert "/node_0 and /node_1" in state.message


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("length", (NAMES, [0.1])),
        ("not_finite", (NAMES, [0.1, math.inf, 0.0])),
        ("unknown", (["x"], [0.1])),
        ("twice", (["j1", "j1"], [0.1, 0.1])),
        ("future", (NAMES, STRETCHED, -7.0)),
        ("stamp", (NAMES, STRETCHED, 0.0, -5.0)),
    ],
)
def test_rejected_joint_states_are_counted_by_kind(monitor, kind, message):
    names, positions, lag, stamp = (*message, 0.0, None)[:4]
    for k in range(3):
        state = send(monitor, 1.0 + 0.01 * k, positions, stamp, lag, names=names)
        assert (state.level, state.cause, state.clearance) == (Level.ERROR, "fault", None)
    counts = monitor.watchdogs.counts()
    assert counts[f"refused_{kind}"] == 3
    assert sum(counts.values()) == 3
    assert kind in REFUSALS
    # A good message does not make the fault good at once, but soon.
    held = send(monitor, 1.03)
    assert (held.level, held.safe) == (Level.ERROR, False)
    assert send(monitor, 1.7).level == Level.OK


OTHERS = ((["finger"], [0.1]), (NAMES, []), (["wheel"], []))


@pytest.mark.parametrize(("names", "positions"), OTHERS)
def test_another_publisher_may_send_joints_of_another_device_or_efforts_alone(
    monitor, names, positions
):
    monitor.watchdogs.publishers.update(TOPIC, 2, 1.0)
    known, updates = send(monitor, 1.0), monitor.updates
    for k in range(1, 40):  # the robot's own joint states end
        state = send(monitor, 1.0 + 0.02 * k, positions, names=names)
        if 0.02 * k < 0.49:
            assert (state.level, state.distance) == (Level.OK, known.distance)
        elif 0.02 * k > 0.51:
            assert (state.level, state.safe) == (Level.ERROR, False)
    assert sum(monitor.watchdogs.counts().values()) == 39
    assert monitor.updates == updates


@pytest.mark.parametrize(("names", "positions"), OTHERS)
def test_joints_of_another_device_do_not_hide_what_was_merged(monitor, names, positions):
    monitor.watchdogs.publishers.update(TOPIC, 2, 1.0)
    send(monitor, 1.0)
    monitor.merge(JointState(names, positions, 1.01))
    assert monitor.state(1.01).level == Level.OK
    folded = [0.1, 0.2, 0.3]
    monitor.merge(JointState(NAMES, folded, 1.01, 101.01))
    updates = monitor.updates
    state = send(monitor, 1.02, positions, names=names)
    assert monitor.updates == updates + 1
    assert state.distance == MODEL.distance(folded).distance


def test_joints_of_another_device_do_not_make_a_rejected_joint_state_good(monitor):
    monitor.watchdogs.publishers.update(TOPIC, 2, 1.0)
    monitor.joint_state_timeout = 5.0
    send(monitor, 1.0)
    send(monitor, 1.01, [math.nan] * 3)
    for k in range(100):
        state = send(monitor, 1.02 + 0.01 * k, [0.1], names=["finger"])
        assert state.clearance is None and not state.safe
    assert state.message == "no usable joint state since the last fault"
    # The stop goes on: a robot that was monitored is not waited for as at the start.
    assert (state.action, state.cause) == ("stop", "stale")
    assert send(monitor, 3.0).level == Level.OK


def test_messages_that_are_merged_make_the_next_verdict_and_no_one_of_their_own(monitor):
    updates = monitor.updates
    monitor.merge(JointState(NAMES[:2], [0.3, 0.2], 1.0, 101.0))
    monitor.merge(JointState(NAMES[2:], [0.1], 1.0, 101.0))
    state = send(monitor, 1.001, [0.31], 101.001, names=NAMES[:1])
    assert monitor.updates == updates + 1
    assert monitor.buffer.q.tolist() == [0.31, 0.2, 0.1]
    assert state.distance == MODEL.distance([0.31, 0.2, 0.1]).distance
    assert monitor.watchdogs.cycles.skipped == 2


def test_a_fault_in_a_message_that_is_merged_is_not_lost(monitor):
    monitor.merge(JointState(NAMES, [np.nan] * 3, 1.0))
    state = send(monitor, 1.001)
    assert (state.level, state.cause) == (Level.ERROR, "fault")
    assert monitor.watchdogs.refused["not_finite"] == 1


def test_a_motion_that_begins_in_a_backlog_has_its_speed_though_the_node_merges_it():
    """It stands, is not heard for 0.2 s, and moved at 1 rad/s in the last 0.04 s of these."""
    behaviour = SpeedPolicy(MODEL)
    monitor = Monitor(MODEL, behaviour=behaviour)

    def joint_state(time, now):
        return JointState(NAMES, [0.1 + max(time - 0.36, 0.0), 0.2, 0.1], now, 100.0 + time)

    for k in range(21):
        monitor.process(joint_state(0.01 * k, 0.01 * k))
    for k in range(21, 40):
        monitor.merge(joint_state(0.01 * k, 0.4))
    monitor.process(joint_state(0.4, 0.4))
    assert behaviour.velocities.values[0] == pytest.approx(1.0, abs=0.01)


def test_a_robot_of_several_whose_messages_are_merged_is_not_taken_to_stand():
    robots = {"left": NAMES[:2], "right": NAMES[2:]}
    behaviour = SpeedPolicy(MODEL, SpeedSettings(release_cycles=1))
    several = Monitor(MODEL, behaviour=behaviour, robots=robots)
    scales = []
    several.set_thresholds(Thresholds(4.0, 0.1))  # everything is near
    for k in range(20):
        now = 0.01 * k
        if k == 10:
            several.set_thresholds(Thresholds(0.1, 0.02))
        left = JointState(NAMES[:2], [0.1 + 0.3 * now, 0.2 * now], now, 100.0 + now)
        several.merge(left)
        state = several.update(NAMES[2:], [0.1 + 0.1 * now], now, 100.0 + now)
        scales.append(state.speed_scale)
    assert several.state(now).level == Level.OK
    assert behaviour.velocities.known
    assert behaviour.velocities.values == pytest.approx([0.3, 0.2, 0.1], abs=1e-6)
    # Time passes by joint states of the left one, which were all merged: 1 s from 0 to 1.
    assert np.diff(scales[10:]) == pytest.approx(np.full(9, 0.01))


@pytest.mark.parametrize("lag", [0.7, 3600.0, 1.7e9])  # a clock, a bag of today, simulated time
def test_joint_states_that_arrive_with_old_stamps_hint_at_the_clocks(monitor, lag):
    for k in range(40):
        state = send(monitor, 1.0 + 0.02 * k, lag=lag, stamp=200.0 + 0.02 * k)
    assert state.level == Level.STALE
    assert f"stamped {lag:.2f} s before they were received" in state.message
    assert "use_sim_time is the same on all nodes" in state.message


def test_joint_states_that_end_do_not_hint_at_the_clocks(monitor):
    for k in range(40):
        send(monitor, 1.0 + 0.02 * k, lag=0.1)
    state = monitor.state(2.3)
    assert state.message == "joint states are 0.62 s old (all joints); 0.5 s is allowed"
