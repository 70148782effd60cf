# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states: merged, distrusted until complete, and refused with a reason."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.joint_states import send

from collision_monitor.errors import JointStateError
from collision_monitor.monitoring.joint_state_buffer import JointStateBuffer

NAMES = ("a", "b", "c")


def buffer(**options):
    """Three joints, at most 1 rad/s, with a mimic."""
    return JointStateBuffer(NAMES, [1.0, 1.0, 1.0], known_names=["mimic"], **options)


@given(st.permutations(range(3)), st.integers(1, 2))
def test_any_order_and_any_split_give_the_same_configuration(order, cut):
    values = np.array([0.1, 0.2, 0.3])
    b = buffer()
    for part in (order[:cut], order[cut:]):
        send(b, [NAMES[k] for k in part], values[list(part)], now=1.0)
    assert b.missing() == ""
    assert b.q == pytest.approx(values)


def test_joints_are_missing_until_every_joint_was_received():
    b = buffer()
    assert b.missing() == "no joint state received yet"
    send(b, ["c"], [0.3], now=0.0)
    assert b.missing() == "no joint state yet for a, b"
    send(b, ["a", "b"], [0.1, 0.2], now=0.0)
    assert b.missing() == ""


@pytest.mark.parametrize(
    ("names", "positions", "says"),
    [
        (["a", "b", "c"], [0.1, 0.2], "3 names but 2 positions"),
        (["a", "b"], [0.1, 0.2, 0.3], "2 names but 3 positions"),
        (["a", "b", "c"], [], "3 names but 0 positions; received: a, b, c"),
        ([], [], "contains no joint of this robot; received: none"),
        (["a", "b", "c"], [0.1, np.nan, 0.3], "joint 'b' is nan: its driver .* 'position'"),
        (["a", "b", "c"], [0.1, 0.2, -np.inf], "joint 'c' is -inf"),
        (["a", "b", "c"], [0.1, 0.2, 1e160], "joint 'c' is 1e[+]160; at most 1e[+]09"),
        (["x", "y"], [1, 2], "no joint of this robot; received: x, y; expected: a, b, c"),
        (["a", "a"], [1, 2], "joint 'a' appears twice"),
    ],
)
def test_what_cannot_be_used_is_refused_whole(names, positions, says):
    b = buffer()
    send(b, NAMES, [1.0, 2.0, 3.0], now=0.0)
    for _ in range(2):  # known layouts are refused again
        with pytest.raises(JointStateError, match=says):
            send(b, names, positions, now=0.1)
    assert b.q == pytest.approx([1, 2, 3])
    assert b.age(0.1) == pytest.approx(0.1)


def test_joints_that_are_not_monitored_are_ignored_and_remembered():
    b = buffer()
    send(b, ["gripper", "a", "mimic", "b", "c"], [9, 1, np.nan, 2, 3], now=0.0)
    assert b.q == pytest.approx([1, 2, 3])
    assert b.unknown_names == {"gripper"}
    send(b, ["mimic"], [5.0], now=1.0)  # no news, and no fault
    assert b.age(1.0) == 1.0


def test_the_age_is_that_of_the_joint_heard_longest_ago():
    b = buffer()
    assert b.age(0.0) == np.inf
    send(b, NAMES, [1, 2, 3], now=0.0)
    send(b, ["a", "c"], [1, 3], now=2.0)
    assert b.age(2.5) == pytest.approx(2.5)
    assert b.older_than(1.0, 2.5) == ["b"]
    send(b, ["b"], [2], now=2.5, lag=0.4)  # it was on its way for 0.4 s
    assert b.age(2.6) == pytest.approx(0.6)


def test_a_first_state_of_zeros_is_a_pose_only_when_it_repeats():
    b = buffer(zero_confirmation=0.3)
    send(b, NAMES, [0, 0, 0], now=0.0)
    assert "all zeros" in b.missing()
    send(b, NAMES, [0, 0, 0], now=0.2)
    assert "all zeros" in b.missing()
    send(b, NAMES, [0, 0, 0], now=0.31)
    assert b.missing() == ""


def test_a_first_state_of_zeros_is_dropped_when_the_encoders_speak():
    b = buffer()
    send(b, NAMES, [0, 0, 0], now=0.0)
    send(b, NAMES, [0.5, 0, 0], now=0.01)
    assert b.missing() == ""
    send(b, NAMES, [0, 0, 0], now=1.0)  # later a robot may well stand at zero
    assert b.missing() == ""


ZEROS_OF_ALL = "joint states are all zeros: accepted once they have repeated for 0.3 s"


@pytest.mark.parametrize(
    ("happens", "wait"),
    [
        (lambda b, now: b.report_loss(0.5, now), 3.0),
        (lambda b, now: b.report_other_publishers(now), 0.2),
        (lambda b, now: None, 0.01),  # too far for this time
    ],
)
def test_zeros_after_a_loss_or_of_another_publisher_or_after_a_jump_are_confirmed(happens, wait):
    b = buffer()
    for k in range(5):
        send(b, list(NAMES), [0.2, 0.4, 0.2], now=0.01 * k)
    then = 0.04 + wait
    happens(b, then)
    assert b.missing() == ""
    send(b, list(NAMES), [0, 0, 0], now=then)
    assert b.missing() == b.unconfirmed() == ZEROS_OF_ALL.replace("0.3 s", "3 s")
    send(b, list(NAMES), [0, 0, 0], now=then + 2.99)
    assert b.missing() == ZEROS_OF_ALL.replace("0.3 s", "3 s")
    send(b, list(NAMES), [0, 0, 0], now=then + 3.01)
    assert b.missing() == b.unconfirmed() == ""


def test_zeros_after_a_loss_at_zero_are_confirmed_as_at_the_start():
    b = buffer()
    for now in (0.0, 0.2, 0.4):
        send(b, NAMES, [0, 0, 0], now=now)
    b.report_loss(0.5, 5.0)
    send(b, NAMES, [0, 0, 0], now=5.0)
    assert b.missing() == ZEROS_OF_ALL
    send(b, NAMES, [0, 0, 0], now=5.31)
    assert b.missing() == ""


def test_zeros_of_one_publisher_are_confirmed_without_the_joints_of_the_other():
    b = buffer()
    send(b, NAMES, [0.2, 0.4, 0.2], now=0.0)
    send(b, ["a"], [0.2], now=0.9)
    b.report_loss(0.5, 1.0)
    send(b, ["a"], [0.0], now=1.0)
    assert b.missing() == ""
    send(b, ["b", "c"], [0, 0], now=1.0)
    assert b.missing().startswith("joint states of b, c are all zeros: accepted once")
    send(b, ["b", "c"], [0, 0.1], now=1.1)
    assert b.missing() == ""


def test_the_confirmation_of_zeros_begins_again_with_another_publisher():
    b = buffer()
    send(b, NAMES, [0, 0, 0], now=0.0)
    b.report_other_publishers(0.2)
    assert b.missing() == ZEROS_OF_ALL
    send(b, NAMES, [0, 0, 0], now=0.4)
    assert b.missing() == ZEROS_OF_ALL
    send(b, NAMES, [0, 0, 0], now=0.51)
    assert b.missing() == ""


def test_a_gripper_at_zero_is_not_interrupted_by_another_publisher():
    b = buffer()
    for k in range(40):
        send(b, ["a"], [0.0], now=0.01 * k)
        send(b, ["b", "c"], [1.0, 2.0], now=0.01 * k)
    assert b.missing() == ""
    b.report_other_publishers(0.4)
    send(b, ["a"], [0.0], now=0.41)
    send(b, ["b", "c"], [1.0, 2.0], now=0.41)
    assert b.missing() == ""


def test_messages_that_come_late_do_not_overwrite_newer_ones():
    b = buffer()
    send(b, NAMES, [1, 2, 3], now=0.0, stamp=100.0)
    send(b, NAMES, [9, 9, 9], now=0.01, stamp=99.9)
    assert b.q == pytest.approx([1, 2, 3])
    send(b, ["a"], [1.01], now=0.02, stamp=100.02)
    send(b, NAMES, [7, 2.01, 3.01], now=0.03, stamp=100.01)  # late for a, news for the others
    assert b.q == pytest.approx([1.01, 2.01, 3.01])
    assert b.joints.tolist() == [1, 2]


def test_a_message_that_is_ignored_does_not_make_newer_positions_late():
    b = buffer()
    send(b, NAMES, [1, 2, 3], now=5.0, stamp=100.0, lag=0.01)
    assert b.lateness(0.01, 5.0) == pytest.approx(0.01)
    send(b, NAMES, [9, 9, 9], now=5.001, stamp=99.7, lag=0.311)
    assert b.lateness(0.311, 5.001) == pytest.approx(0.011)


def test_how_far_stamps_went_back_is_known_of_the_last_message():
    b = buffer()
    send(b, NAMES, [1, 2, 3], now=0.0, stamp=100.0)
    assert (b.behind, b.set_back) == (0.0, 0.0)
    send(b, NAMES, [1, 2, 3], now=0.01, stamp=99.7)
    assert (b.behind, b.set_back) == (pytest.approx(0.3), 0.0)
    send(b, ["a"], [1.0], now=0.02, stamp=100.2)
    send(b, NAMES, [1, 2, 3], now=0.03, stamp=100.1)  # late for a alone: it is of use
    assert (b.behind, b.set_back) == (0.0, 0.0)
    send(b, NAMES, [1, 2, 4], now=0.04, stamp=3.0)
    assert (b.behind, b.set_back) == (0.0, pytest.approx(97.2))
    assert b.q == pytest.approx([1, 2, 4])  # all starts anew
    send(b, ["mimic"], [1.0], now=0.05, stamp=1.0)
    assert (b.behind, b.set_back) == (0.0, 0.0)


PATTERNS = {
    # seconds between two messages, and the publisher of each
    "10 Hz each": (0.05, "ab"),
    "5 Hz each": (0.1, "ab"),
    "2.5 Hz each": (0.2, "ab"),
    "pairs": (0.005, "aabb"),
    "bursts": (0.005, "aaaaabbbbb"),
    "long bursts": (0.01, 20 * "a" + 20 * "b"),
    "three": (0.005, "abc"),
    "three, slowly": (0.05, "abc"),
    "four": (0.01, "abcd"),
    "at 1 Hz beside 100 Hz": (0.01, 100 * "a" + "b"),
}


@pytest.mark.parametrize("moves", [0.0, 0.3])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_publishers_that_contradict_each_other_are_found_at_any_rate(pattern, moves):
    b = buffer()
    period, turns = PATTERNS[pattern]
    for k in range(int(5.0 / period)):
        now = k * period
        offset = 0.7 * "abcd".index(turns[k % len(turns)])
        # The first moves while the others stand.
        send(b, NAMES, [1, 2 + (offset or moves * np.sin(now)), 3], now=now)
        if now > 4.0:
            assert "joint 'b' jumps between" in b.conflict(now)
    assert "two publishers" in b.conflict(now)
    assert b.conflict(now + 2.0) == ""


@pytest.mark.parametrize("rate", [2.0, 10.0, 100.0])
@pytest.mark.parametrize("stalls", [0.0, 0.4])
@pytest.mark.parametrize("faster", [1.0, 1.4], ids=["", "above the limit"])
def test_a_robot_that_goes_to_and_fro_at_its_limits_does_not_quarrel_with_itself(
    rate, stalls, faster
):
    rng = np.random.default_rng(0)
    at_once = max(int(stalls * rate), 1)
    for hertz in (0.3, 1.0, 3.0) if stalls < 0.4 else (0.3, 1.0):  # less than once in a stall
        b = buffer()
        for k in range(int(6.0 * rate)):
            time = k / rate
            angle = 2.0 * np.pi * hertz * time + np.array([0.0, 0.7, 2.0])
            positions = 1.0 + faster * np.sin(angle) / (2.0 * np.pi * hertz)
            now = (k // at_once + 1) * at_once / rate + 1e-5 * (k % at_once)
            send(b, NAMES, positions, now=now + 0.1 / rate * rng.uniform() * (at_once == 1))
            assert b.conflict(now) == ""


def test_two_publishers_of_different_joints_or_of_the_same_values_do_not_quarrel():
    b = buffer()
    for k in range(200):
        wave = np.sin(0.02 * k)
        send(b, ["a", "b"], [wave, 2.0], now=0.01 * k)
        send(b, ["c", "a"], [3.0, wave], now=0.01 * k + 0.003)
        assert b.conflict(0.01 * k + 0.004) == ""


def test_a_robot_set_to_new_poses_does_not_quarrel_with_itself():
    rng = np.random.default_rng(0)
    b = buffer()
    for k in range(50):
        pose = rng.uniform(-2, 2, 3)
        for m in range(3):
            send(b, NAMES, pose, now=0.1 * k + 0.01 * m)
        assert b.conflict(0.1 * k + 0.05) == ""


@pytest.mark.parametrize("large", [-1e10, np.inf])
@pytest.mark.parametrize("names", [NAMES, ["x", *NAMES]])
def test_velocities_that_no_joint_has_are_refused_whole(names, large):
    b = buffer()
    others = [5.0] * (len(names) - 3)
    for k in range(3):  # the second is merged in the quick way
        send(b, list(names), [*others, 1, 2, 3], now=0.01 * k, velocities=[*others, 0.1, np.nan, 0])
    with pytest.raises(JointStateError, match="velocity of joint 'b' is .*at most 1e[+]09"):
        send(b, list(names), [*others, 1, 2, 3], now=0.1, velocities=[*others, 0.1, large, 0])
    assert b.velocities[0] == 0.1 and np.isnan(b.velocities[1])
    assert b.age(0.1) == pytest.approx(0.08)


def test_velocities_of_another_number_are_none_and_those_of_other_joints_are_ignored():
    for velocities in ((), (0.1,), (0.1, 0.2, 0.3, 0.4)):
        b = buffer()
        for k, given_velocities in enumerate([(0.1, 0.2, 0.3), velocities]):
            send(b, list(NAMES), [1, 2, 3], now=0.01 * k, velocities=given_velocities)
            assert np.isnan(b.velocities).all() == (k == 1)
    for k in range(3):
        send(b, ["x", *NAMES], [0, 1, 2, 3], now=0.1 + 0.01 * k, velocities=[1e300, 1, 2, 3])
        assert b.velocities.tolist() == [1, 2, 3]


class WithoutShortcut(JointStateBuffer):
    """Every message takes the long way."""

    def _update_ordinary(self, *message):
        return False


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["all", "turned", "part", "gripper", "nan", "far", "back"]),
            st.floats(-0.01, 0.01),  # by how far it has moved on
            st.sampled_from([0.001, 0.01, 0.4]),  # seconds since the last message
            st.sampled_from([0.0, 0.002, -2.0, 3.0]),  # lag
            st.booleans(),  # whether it has a stamp
            st.sampled_from([list, list, tuple]),  # of names
        ),
        max_size=30,
    )
)
def test_the_short_way_for_ordinary_messages_does_what_the_long_way_does(story):
    short, long = buffer(), WithoutShortcut(NAMES, [1.0, 1.0, 1.0], known_names=["mimic"])
    pose, now = np.array([0.1, 0.2, 0.3]), 10.0
    for kind, step, wait, lag, stamped, names_type in story:
        now += wait
        pose = pose + step + (1.0 if kind == "far" else 0.0)
        names, values = list(NAMES), pose.tolist()
        if kind == "turned":
            names, values = names[::-1], values[::-1]
        elif kind == "part":
            names, values = names[:2], values[:2]
        elif kind == "gripper":
            names, values = ["gripper", *names], [5.0, *values]
        elif kind == "nan":
            values[1] = np.nan
        elif kind == "back":
            values = [x - 1.0 for x in values]
        stamp = now - lag if stamped else 0.0
        said = []
        for b in (short, long):
            try:
                send(b, names_type(names), values, now, stamp, lag)
                said.append(f"{b.behind} {b.set_back}")
            except JointStateError as error:
                said.append(str(error))
        assert said[0] == said[1]
        assert short.q.tolist() == long.q.tolist()
        assert np.array_equal(short.joints, long.joints)
        assert (short.missing(), short.conflict(now)) == (long.missing(), long.conflict(now))
        assert short.age(now) == long.age(now)
        assert short.older_than(0.1, now) == long.older_than(0.1, now)


def test_ever_new_lists_of_names_do_not_fill_the_memory():
    b = buffer()
    tracemalloc.start()
    for k in range(1000):
        send(b, ["a", f"x{k}" * 1000], [1.0, 2.0], now=0.0)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 1_500_000 and len(b.unknown_names) <= 65  # the names have 4 MB
