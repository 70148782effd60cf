# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Recorded joint states become one motion, whoever published which joints when."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.files.made_bags import command, state, write_bag
from support.robots.toys import chain

from collision_monitor.errors import MotionError
from collision_monitor.motion.bags import STATES, StateMessage, Topic, recorded
from collision_monitor.motion.motion_files import load_trajectory
from collision_monitor.robot.urdf import load_robot


def message(received, stamp, **positions):
    """A message; times in seconds."""
    return StateMessage(
        round(received * 1e9),
        round(stamp * 1e9),
        tuple(positions),
        np.array(list(positions.values()), dtype=float),
    )


def topic(*messages):
    return Topic("/joint_states", STATES, list(messages), ())


def by_joint(found, times):
    """Positions at ``times`` by joint."""
    out = {}
    for name, polynomial in found:
        out[name] = polynomial(np.clip(times, polynomial.x[0], polynomial.x[-1]))[:, 0]
    return out


@given(
    st.lists(
        st.tuples(
            st.sets(st.sampled_from("abcd"), min_size=1), st.integers(1, 300), st.floats(-3, 3)
        ),
        min_size=1,
        max_size=30,
    )
)
def test_each_joint_is_linear_through_its_own_messages(parts):
    """Whatever joints come in a message; the reference looks at one joint at a time."""
    now, messages, series = 0, [], {}
    for names, milliseconds, value in parts:
        now += milliseconds
        rows = {name: value + 0.1 * k for k, name in enumerate(sorted(names))}
        messages.append(message(1000.0 + now / 1000, 5.0 + now / 1000, **rows))
        for name, position in rows.items():
            series.setdefault(name, []).append((now / 1000, position))
    found, zero, _ = recorded(topic(*messages), "header", "bag")
    first = min(points[0][0] for points in series.values())
    assert zero == round((5.0 + first) * 1e9)
    times = np.linspace(0.0, now / 1000 - first, 40)
    positions = by_joint(found, times)
    assert positions.keys() == series.keys()
    for name, points in series.items():
        at, values = np.array(points).T
        assert np.allclose(positions[name], np.interp(times + first, at, values), atol=1e-6)


def test_the_time_of_recording_counts_where_it_is_asked_for():
    messages = topic(message(50.0, 7.0, a=0), message(52.0, 7.5, a=1))
    assert recorded(messages, "header", "bag")[0][0][1].x[-1] == 0.5
    assert recorded(messages, "receive", "bag")[0][0][1].x[-1] == 2.0


def test_nanoseconds_of_this_century_are_kept():
    start = 1_790_000_000 * 10**9 + 123_456_789
    messages = [StateMessage(0, start + k * 1_000_001, ("a",), np.array([k])) for k in range(3)]
    found, zero, _ = recorded(topic(*messages), "header", "bag")
    assert zero == start
    assert found[0][1].x == pytest.approx([0.0, 0.001000001, 0.002000002], abs=1e-15)


def test_messages_of_one_time_that_agree_are_one():
    found, _, _ = recorded(
        topic(message(1, 1, a=0), message(2, 2, a=1), message(3, 2, a=1), message(4, 3, a=0)),
        "header",
        "bag",
    )
    assert found[0][1].x.tolist() == [0.0, 1.0, 2.0]


def test_publishers_may_be_late_but_not_go_back():
    late = [message(1, 1, a=0), message(2, 3, a=2), message(3, 2, a=1, b=0), message(4, 4, a=3)]
    found, _, _ = recorded(topic(*late), "header", "bag")
    assert by_joint(found, np.arange(4.0))["a"].tolist() == [0, 1, 2, 3]
    back = topic(message(1, 1, a=0), message(2, 3, a=2), message(3, 2, a=1))
    with pytest.raises(MotionError, match=r"bag: /joint_states: stamps do not increase: 2\.0.* s "
                       r"after 3\.0.* in messages 2 and 3 of those with 'a'"):  # fmt: skip
        recorded(back, "header", "bag")
    assert recorded(back, "receive", "bag")[0][0][1].x.tolist() == [0.0, 1.0, 2.0]


def test_what_contradicts_itself_is_refused():
    twice = topic(message(1, 1, a=0), message(2, 2, a=1), message(3, 2, a=1.5))
    says = "two positions of 'a' at one time, 2.0.* s, 0.5 apart; .*--stamps receive"
    with pytest.raises(MotionError, match=says):
        recorded(twice, "header", "bag")


def test_stamps_that_are_not_set():
    unset = topic(message(1, 0, a=0), message(2, 2, a=1))
    with pytest.raises(MotionError, match="1 of 2 messages with 'a' have no stamp.*'receive'"):
        recorded(unset, "header", "bag")
    assert recorded(unset, "receive", "bag")[2] == []


def test_continuous_joints_go_the_short_way():
    turning = topic(*(message(k, k, a=a, b=a) for k, a in enumerate([3.0, 3.1, -3.1, -3.0], 1)))
    found, _, warnings = recorded(turning, "header", "bag", ["a"])
    found = by_joint(found, np.array([1.5]))
    assert found["a"][0] == pytest.approx(np.pi, abs=1e-9)
    assert found["b"][0] == 0.0
    assert warnings == [
        "bag: /joint_states: continuous joint 'a' jumps by a full turn 1 times: the short "
        "way is assumed"
    ]


def test_silence_is_told():
    times = [*np.arange(1, 3, 0.1), *np.arange(6, 7, 0.1)]
    _, _, warnings = recorded(topic(*(message(t, t, a=0) for t in times)), "header", "bag")
    assert "no samples of 'a' for 3.1 s from 1.900 s on" in warnings[0]


# -- bags become motions of a robot --


ROBOT = load_robot(chain())


def test_two_controllers_topics_are_one_motion(tmp_path):
    go = [(0, [0.0], [0.0]), (2, [1.0], [0.0])]
    later = [(0.5, [0.0], [0.0]), (2.5, [1.0], [0.0])]
    path = write_bag(
        tmp_path / "bag",
        [
            ("/left/joint_trajectory", 100.0, command(0, ["j1"], go)),
            ("/right/joint_trajectory", 99.0, command(100.5, ["j3"], later)),
        ],
    )
    loaded = load_trajectory(
        path, ROBOT, topic=["/left/joint_trajectory", "/right/joint_trajectory"]
    )
    assert loaded.trajectory.positions([0, 1, 2, 3]) == pytest.approx(
        np.array([[0, 0, 0], [0.5, 0, 0], [1, 0, 0.5], [1, 0, 1]])
    )
    assert loaded.begin == 100.0
    texts = " ".join(loaded.warnings)
    assert "no positions of j3 in the first 1 s: held" in texts
    assert "no positions of j1 in the last 1 s: held" in texts
    assert "/right/joint_trajectory: the first point is at 0.500 s" in texts


@pytest.mark.parametrize(
    ("messages", "options", "says"),
    [
        ([("/s", 1, state(1, ["j9"], [0]))], {}, "no joint 'j9'"),
        ([("/s", 1, state(1, ["j1"], [0]))], {"stamps": "sent"}, "stamps: 'sent' is not"),
        (
            [("/s", 1, state(1, ["j1"], [0])), ("/c", 1, command(1, ["j1"], [(1, [0.0])]))],
            {"topic": ["/s", "/c"]},
            "names joint 'j1' twice",
        ),
        ([("/c", k, command(0, ["j1"], [(1, [0.0])])) for k in (1, 2)], {}, "/c: has 2 trajec"),
        ([("/c", 9e8, command(12, ["j1"], [(1, [0])]))], {}, "two clocks; stamps='receive'"),
        ([("/s", 1, state(1, ["j1"], [1e308])), ("/s", 1, state(1.1, ["j1"], [-1e308]))], {},
         "positions too large"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_motion(tmp_path, messages, options, says):
    path = write_bag(tmp_path / "bag", messages)
    with pytest.raises(MotionError, match=says) as caught:
        load_trajectory(path, ROBOT, **options)
    assert str(path) in str(caught.value)


def test_joints_that_are_left_out_do_not_make_the_motion_longer(tmp_path):
    arm = [("/js", t, state(t, ["j1", "j2"], [0.1 * t, 0.0])) for t in (10.0, 10.5, 11.0)]
    hand = [("/hand", t, state(t, ["finger"], [0.0])) for t in (3.0, 10.2, 70.0)]
    bag = write_bag(tmp_path / "bag", sorted([*arm, *hand], key=lambda each: each[1]))
    robot, topics = load_robot(chain(3)), ["/js", "/hand"]
    motion = load_trajectory(bag, robot, topic=topics, ignored=["fing*"])
    assert motion.trajectory.duration == pytest.approx(1.0)
    assert motion.begin == pytest.approx(10.0)
    assert "no positions" not in str(motion.warnings)
    with pytest.raises(MotionError, match=r"all joints of the motion are left out \('finger'\)"):
        load_trajectory(bag, robot, topic="/hand", ignored=["fing*"])
