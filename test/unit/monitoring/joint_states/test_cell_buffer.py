# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states of several robots: each judged by itself, one configuration of all."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.joint_states import send

from collision_monitor.errors import ConfigurationError, JointStateError
from collision_monitor.monitoring.cell_buffer import CellBuffer, joint_groups
from collision_monitor.monitoring.joint_state_buffer import JointStateBuffer

ROBOTS = {
    "left": ("l/a", "l/b", "l/finger", "l/mount"),
    "right": ("r/a", "r/b"),
    "table": ("table/mount",),  # it has no joint that moves
}
# Not one robot after the other: one may stand on a link of the other.
NAMES = ("l/a", "r/a", "l/b", "r/b")
LEFT, RIGHT = ["l/a", "l/b"], ["r/a", "r/b"]


def buffer(zeros=0.3):
    return CellBuffer(NAMES, [math.inf] * 4, ROBOTS, zeros)


def heard(now=10.0):
    """A buffer that has a pose of both robots."""
    cell = buffer()
    send(cell, LEFT, [0.1, 0.2], now, now)
    send(cell, RIGHT, [0.3, 0.4], now, now)
    return cell


moves = st.lists(
    st.tuples(
        st.lists(st.sampled_from([*NAMES, "l/finger", "x"]), min_size=1, max_size=6, unique=True)
        .filter(lambda names: set(names) & set(NAMES)),
        st.lists(st.floats(-0.02, 0.02), min_size=6, max_size=6),
        st.booleans(),
    ),
    max_size=25,
)  # fmt: skip


@given(moves)
@settings(deadline=None)
def test_it_knows_what_a_buffer_of_each_robot_knows(messages):
    cell = heard()
    single = {
        "left": JointStateBuffer(LEFT, [math.inf] * 2, ROBOTS["left"]),
        "right": JointStateBuffer(RIGHT, [math.inf] * 2, ROBOTS["right"]),
    }
    send(single["left"], LEFT, [0.1, 0.2], 10.0, 10.0)
    send(single["right"], RIGHT, [0.3, 0.4], 10.0, 10.0)
    now = 10.0
    for names, values, has_speeds in messages:
        now += 0.01
        values = values[: len(names)]
        speeds = [10.0 * value for value in values] if has_speeds else []
        send(cell, names, values, now, now, 0.0, speeds)
        touched = set()
        for k, (robot, part) in enumerate(single.items()):
            own = [n for n, name in enumerate(names) if name in ROBOTS[robot]]
            if own:
                touched.add(k)
                send(part,
                    [names[n] for n in own], [values[n] for n in own], now, now, 0.0,
                    [speeds[n] for n in own] if has_speeds else [],
                )  # fmt: skip
        assert set(cell.touched) == touched
        assert {NAMES[k] for k in cell.joints} == set(names) & set(NAMES)
        (l_a, l_b), (r_a, r_b) = single["left"].q, single["right"].q
        assert cell.q.tolist() == [l_a, r_a, l_b, r_b]
        (l_a, l_b), (r_a, r_b) = single["left"].velocities, single["right"].velocities
        np.testing.assert_array_equal(cell.velocities, [l_a, r_a, l_b, r_b])
        assert cell.age(now) == max(part.age(now) for part in single.values())


def test_each_robot_is_waited_for_by_its_name_but_not_one_without_joints():
    cell = buffer()
    assert cell.missing() == (
        "left: no joint state received yet; right: no joint state received yet"
    )
    send(cell, LEFT, [0.1, 0.2], 1.0)
    assert cell.missing() == "right: no joint state received yet"
    send(cell, ["r/b"], [0.1], 1.0)
    assert cell.missing() == "right: no joint state yet for r/a"
    send(cell, RIGHT, [0.1, 0.2], 1.0)
    assert cell.missing() == ""


def test_zeros_of_one_robot_are_not_made_a_pose_by_the_other():
    cell = buffer(zeros=0.5)
    send(cell, LEFT, [0.1, 0.2], 1.0)
    send(cell, RIGHT, [0.0, 0.0], 1.0)
    assert cell.missing().startswith("right: joint states are all zeros")
    send(cell, RIGHT, [0.0, 0.0], 1.6)
    assert cell.missing() == ""


def test_the_older_robot_counts_and_is_named():
    cell = heard(10.0)
    for now in (10.1, 10.2, 10.3, 10.4, 10.5):
        send(cell, LEFT, [0.1, 0.2], now, now)
    assert cell.age(10.6) == pytest.approx(0.6)
    assert cell.ages(10.6) == pytest.approx({"left": 0.1, "right": 0.6})
    assert cell.too_old(0.5, 10.6) == "right: joint states are 0.60 s old (all joints)"
    assert cell.too_old(0.7, 10.6) == ""
    # A verdict is as late as what it is made of, not as the message that brings it about.
    assert cell.lateness(0.01, 10.6) == pytest.approx(0.6)


def test_two_robots_may_have_two_clocks():
    cell = buffer()
    for k in range(5):
        now = 10.0 + 0.01 * k
        send(cell, LEFT, [0.1 + 0.01 * k, 0.2], now, 5000.0 + 0.01 * k)
        send(cell, RIGHT, [0.3 + 0.01 * k, 0.4], now, 3000.0 + 0.01 * k)
    assert cell.q == pytest.approx([0.14, 0.34, 0.2, 0.4])


@pytest.mark.parametrize(
    ("kind", "names", "positions", "says"),
    [
        ("length", LEFT, [0.5], "2 names but 1 positions; received: l/a, l/b"),
        ("not_finite", LEFT, [0.5, math.nan], "left: position of joint 'l/b' is nan"),
        ("not_finite", ["l/a", "r/a"], [0.5, math.inf], "position of joint 'r/a' is inf"),
        ("twice", ["r/a", "r/a"], [0.5, 0.5], "right: joint 'r/a' appears twice"),
        ("twice", ["l/a", "r/a", "r/a"], [0.5, 0.5, 0.5], "joint 'r/a' appears twice"),
        ("unknown", ["a"], [0.5], "no joint of left, right, table; received: a; expected: l/a"),
        ("unknown", [], [], "contains no joint of left, right, table; received: none"),
        ("future", RIGHT, [0.5, 0.5], "right: joint state stamped 5.0 s in the future"),
    ],
)
def test_an_invalid_message_is_rejected_whole(kind, names, positions, says):
    cell = heard()
    with pytest.raises(JointStateError, match=says) as rejection:
        send(cell, names, positions, 10.1, 10.1, -5.0 if kind == "future" else 0.0)
    assert rejection.value.kind == kind
    assert cell.q.tolist() == [0.1, 0.3, 0.2, 0.4] and cell.touched == ()


def test_joints_that_no_robot_has_are_named():
    cell = heard()
    send(cell, [*LEFT, "gripper"], [0.1, 0.2, 0.3], 10.1)
    send(cell, ["l/a", "r/a", "light"], [0.1, 0.3, 1.0], 10.2)
    assert cell.unknown_names == {"gripper", "light"}


def test_two_publishers_of_one_robot_are_noticed():
    cell = heard()
    for k in range(8):
        send(cell, RIGHT, [0.3 + (k % 2), 0.4], 10.1 + 0.01 * k)
    assert cell.conflict(10.2).startswith("right: joint 'r/a' jumps between")


def test_another_model_of_the_cell_goes_on_with_what_is_known():
    old, new = heard(10.0), buffer()
    new.take_over(old)
    assert new.missing() == "" and new.q.tolist() == old.q.tolist()
    assert new.ages(10.2) == pytest.approx({"left": 0.2, "right": 0.2})
    more = CellBuffer((*NAMES, "r/c"), [math.inf] * 5, {**ROBOTS, "right": (*RIGHT, "r/c")})
    more.take_over(old)
    assert more.missing() == "right: no joint state yet for r/c"
    send(more, ["r/c"], [0.5], 10.1)
    assert more.q.tolist() == [0.1, 0.3, 0.2, 0.4, 0.5]


def test_a_joint_is_of_one_robot():
    for robots, count in (({"a": ("x",)}, 0), ({"a": ("x", "y"), "b": ("y",)}, 2)):
        with pytest.raises(ConfigurationError, match=f"belongs to {count} of the robots a"):
            joint_groups(("x", "y"), robots)


def test_what_is_behind_or_set_back_is_that_of_the_last_message_alone():
    cell = heard()
    send(cell, LEFT, [0.1, 0.2], 10.1, 9.7)
    assert cell.behind == pytest.approx(0.3) and cell.set_back == 0.0
    send(cell, RIGHT, [0.3, 0.4], 10.1, 10.1)
    assert cell.behind == cell.set_back == 0.0
    # Of both robots, and news of one of them: not ignored.
    send(cell, [*LEFT, *RIGHT], [0.1, 0.2, 0.3, 0.4], 10.2, 10.05)
    assert cell.behind == cell.set_back == 0.0
    send(cell, [*LEFT, *RIGHT], [0.1, 0.2, 0.3, 0.4], 10.3, 5.0)
    assert cell.set_back == pytest.approx(5.1) and cell.behind == 0.0
