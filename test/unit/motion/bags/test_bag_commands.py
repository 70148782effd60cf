# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Commands in a bag, against a slow twin of the controller that asks message after message."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import BPoly

from collision_monitor.errors import MotionError
from collision_monitor.motion.bags import COMMANDS, CommandMessage, Topic, commanded
from collision_monitor.motion.points import Points


def message(received, points, stamp=0.0, names=("a",)):
    """Points are (seconds, position, velocity or None, acceleration or None), of all joints."""
    rows = np.full((3, len(points), len(names)), np.nan)
    for k, (_, *values) in enumerate(points):
        for row, value in enumerate(values):
            if value is not None:
                rows[row, k] = value
    table = Points(names, np.array([float(point[0]) for point in points]), rows)
    return CommandMessage(round(received * 1e9), round(stamp * 1e9), table)


def topic(*messages):
    return Topic("/go", COMMANDS, list(messages), ())


class Controller:
    """What a joint_trajectory_controller has for one joint at a time; by recursion."""

    def __init__(self, messages):
        self.messages = messages

    def state(self, time, number=None):
        """Position, velocity, acceleration; ``number`` of the message under way."""
        if number is None:
            number = max(k for k, m in enumerate(self.messages) if m.received / 1e9 <= time)
        message = self.messages[number]
        start = (message.stamp or message.received) / 1e9
        points = [
            (start + t, [v for v in message.points.rows[:, k, 0] if not np.isnan(v)])
            for k, t in enumerate(message.points.times)
        ]
        now = message.received / 1e9
        if number and points[0][0] > now + 1e-6:
            points = [(now, list(self.state(now, number - 1)))] + points
        if time >= points[-1][0]:
            return np.array([points[-1][1][0], 0.0, 0.0])
        for (t0, a), (t1, b) in zip(points[:-1], points[1:], strict=True):
            if t0 <= time < t1:
                order = min(len(a), len(b))
                curve = BPoly.from_derivatives([t0, t1], [a[:order], b[:order]])
                return np.array([curve(time), curve(time, 1), curve(time, 2)])
        raise AssertionError("before the first point")


@st.composite
def streams(draw):
    """Messages whose first points lie ahead, with rates or without."""
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    now, messages = 100.0, []
    for k in range(draw(st.integers(1, 6))):
        count, given = draw(st.integers(1, 4)), draw(st.integers(1, 3))
        stamp = draw(st.sampled_from([0.0, 0.4]))
        times = np.cumsum(rng.uniform(0.1, 1.0, count)) - (0.0 if k else 0.1)
        points = [(t, *rng.normal(size=given)) for t in times]
        messages.append(message(now, points, stamp and now + stamp))
        now += float(rng.uniform(0.05, 2.5))
    return messages


@given(streams())
def test_it_is_what_the_controller_makes_of_the_messages(messages):
    (found,), zero, _ = commanded(topic(*messages), "header", "bag")
    joints, polynomial = found
    assert joints == ("a",)
    twin = Controller(messages)
    begin, end = polynomial.x[[0, -1]]
    times = np.random.default_rng(0).uniform(begin, end, 60)
    first = max(k for k, m in enumerate(messages) if (m.received - zero) / 1e9 <= begin + 1e-9)
    twin.messages = messages[first:]
    for time in times:
        expected = twin.state(time + zero / 1e9)
        size = 1.0 + np.abs(expected)
        for order in range(2):
            assert abs(polynomial(time, order)[0] - expected[order]) < 1e-4 * size[order]


def test_a_message_that_begins_at_once_goes_on_from_there():
    messages = [
        message(10, [(0, 0.0, 0.0), (2, 2.0, 0.0)]),
        message(11, [(0, 1.0, 1.5), (1, 3.0, 0.0)]),  # where the first one is then
    ]
    (found,), _, warnings = commanded(topic(*messages), "header", "bag")
    polynomial = found[1]
    assert polynomial(np.array([1.0 - 1e-6, 1.0 + 1e-6]))[:, 0] == pytest.approx([1, 1], abs=1e-5)
    curve = BPoly.from_derivatives([1, 2], [[1.0, 1.5], [3.0, 0.0]])
    at = np.linspace(1.0, 2.0, 30)
    assert polynomial(at)[:, 0] == pytest.approx(curve(at))
    assert not warnings


def test_a_jump_takes_a_hundredth_of_a_second_and_is_told():
    messages = [message(10, [(0, 0.0), (2, 2.0)]), message(11, [(0, 1.5), (1, 2.5)])]
    (found,), _, warnings = commanded(topic(*messages), "header", "bag")
    polynomial = found[1]
    assert polynomial(1.0)[0] == pytest.approx(1.0)
    assert polynomial(1.01)[0] == pytest.approx(1.51)
    assert polynomial(1.5)[0] == pytest.approx(2.0)
    assert warnings == [
        "bag: /go: 1 messages start away from the commanded positions: at 1.000 s 'a' is 0.5 "
        "off, which is corrected within 0.01 s"
    ]


def test_a_message_that_is_all_past_is_gone_to_at_once():
    messages = [
        message(10, [(0, 0.0), (4, 0.0)]),
        message(12, [(0.5, 1.0), (1.0, 1.0)], stamp=10.5),
    ]
    (found,), _, warnings = commanded(topic(*messages), "header", "bag")
    assert found[1](found[1].x[-1])[0] == pytest.approx(1.0)
    assert "start away from the commanded positions" in warnings[0]


def test_messages_at_one_time_the_last_one_counts():
    messages = [message(10, [(0, 0.0)]), message(10, [(0, 0.0)]), message(10, [(0, 0), (1, 1)])]
    (found,), _, _ = commanded(topic(*messages), "header", "bag")
    assert found[1](np.array([0.0, 0.5, 1.0]))[:, 0] == pytest.approx([0.0, 0.5, 1.0])
    (found,), _, _ = commanded(topic(*messages[:2]), "header", "bag")
    assert found[1](found[1].x).tolist() == [[0.0]] * len(found[1].x)


def test_a_message_replaced_before_it_began():
    messages = [message(10, [(3, 5.0)]), message(11, [(1, 2.0), (2, 3.0)])]
    (found,), _, warnings = commanded(topic(*messages), "header", "bag")
    assert found[1].x.tolist() == [2.0, 3.0]
    assert found[1](2.5)[0] == 2.5
    assert any("is replaced by another before its first point" in w for w in warnings)


def test_joints_of_different_controllers_go_on():
    messages = [
        message(10, [(0, 0.0), (4, 4.0)], names=("a", "b")),
        message(11, [(1, 9.0)], names=("b",)),
    ]
    found, _, warnings = commanded(topic(*messages), "header", "bag")
    found = dict(found)
    assert found["a",](3.0)[0] == pytest.approx(3.0)
    assert found["b",](1.5)[0] == pytest.approx(5.0)
    assert any("messages name different joints" in w for w in warnings)


def test_two_clocks_are_refused_and_the_time_of_recording_helps():
    messages = topic(message(1.79e9, [(0, 0.0), (1, 1.0)], stamp=12.0))
    with pytest.raises(MotionError, match="two clocks; stamps='receive'"):
        commanded(messages, "header", "bag")
    (found,), _, _ = commanded(messages, "receive", "bag")
    assert found[1].x.tolist() == [0.0, 1.0]
