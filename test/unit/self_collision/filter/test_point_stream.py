# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A stream of points: when each is due, and what it is adjusted from."""

import numpy as np
import pytest

from collision_monitor.errors import TrajectoryError
from collision_monitor.self_collision.filter.point_stream import PointStream

NAMES = ("torso", "r", "l")
PRESENT = {"torso": 0.4, "r": 0.1, "l": -0.1}


class Limited:
    """Moves every joint towards where it is wanted, by 1 rad/s at most."""

    def __init__(self):
        self.calls = []

    def reset(self, q):
        self.q = q.copy()
        self.calls.append(("reset", q.tolist()))

    def step(self, q, dt):
        self.calls.append((q.tolist(), dt))
        self.q = self.q + np.clip(q - self.q, -dt, dt)
        return self.q, 0.3, ("a", "b")


@pytest.fixture
def stream():
    return PointStream(Limited(), NAMES, ("l", "r"), horizon=1.0, timeout=0.5)


def calls(stream):
    return stream._streamer.calls


def test_the_first_point_is_gone_to_from_the_present_state(stream):
    assert not stream.active(10.0)
    streamed = stream.step({"r": 0.15, "l": -0.5}, due=10.1, now=10.0, present=PRESENT)
    assert calls(stream) == [
        ("reset", [0.4, 0.1, -0.1]),
        ([0.4, 0.15, -0.5], pytest.approx(0.1)),
    ]
    assert streamed.positions == {"r": pytest.approx(0.15), "l": pytest.approx(-0.2)}
    assert streamed.largest_change == pytest.approx(0.3)
    assert (streamed.clearance, streamed.pair) == (0.3, ("a", "b"))
    assert stream.active(10.0)


def test_the_next_has_the_time_between_the_two_whenever_it_comes(stream):
    stream.step({"r": 0.15, "l": -0.1}, 10.1, 10.0, PRESENT)
    stream.step({"r": 0.16, "l": -0.1}, 10.12, 10.001, {**PRESENT, "torso": 0.5, "r": 9.0})
    assert calls(stream)[2] == ([0.5, 0.16, -0.1], pytest.approx(0.02))
    assert (stream.points, stream.adjusted, stream.late) == (2, 0, 0)


def test_after_a_pause_a_new_stream_begins_where_the_robot_stands(stream):
    stream.step({"r": 0.1, "l": -0.1}, 10.1, 10.0, PRESENT)
    assert stream.active(10.6) and not stream.active(10.61)
    stream.step({"r": 0.2, "l": -0.1}, 11.2, 11.1, {**PRESENT, "r": 0.2})
    assert calls(stream)[2:] == [
        ("reset", [0.4, 0.2, -0.1]),
        ([0.4, 0.2, -0.1], pytest.approx(0.1)),
    ]


def test_an_ended_stream_begins_anew(stream):
    stream.step({"r": 0.1, "l": -0.1}, 10.1, 10.0, PRESENT)
    stream.end()
    assert not stream.active(10.0)
    stream.step({"r": 0.1, "l": -0.1}, 10.12, 10.02, PRESENT)
    assert calls(stream)[2][0] == "reset"


def test_points_that_are_due_already_are_counted(stream):
    stream.step({"r": 0.1, "l": -0.1}, 10.1, 10.0, PRESENT)
    stream.step({"r": 0.1, "l": -0.1}, 10.2, 10.3, PRESENT)
    assert stream.late == 1


@pytest.mark.parametrize(
    ("due", "now", "says"),
    [
        (11.2, 10.1, "due 1.1 s ahead; stream_horizon allows 1 s"),
        (10.15, 10.7, "was due 0.55 s ago"),
        (10.1, 10.05, "due 0 s before the point that was commanded last"),
        (10.08, 10.05, "due 0.02 s before the point that was commanded last"),
    ],
)
def test_points_out_of_time_are_refused_and_change_nothing(stream, due, now, says):
    stream.step({"r": 0.1, "l": -0.1}, 10.1, 10.0, PRESENT)
    before = list(calls(stream))
    with pytest.raises(TrajectoryError, match=says):
        stream.step({"r": 0.2, "l": -0.1}, due, now, PRESENT)
    assert calls(stream) == before
    stream.step({"r": 0.2, "l": -0.1}, 10.3, 10.2, PRESENT)
    assert calls(stream)[-1][1] == pytest.approx(0.2)


def test_a_stream_cannot_begin_with_a_point_that_is_due_already(stream):
    with pytest.raises(TrajectoryError, match="before the stream began.*ahead of time"):
        stream.step({"r": 0.1, "l": -0.1}, 10.0, 10.1, PRESENT)
    assert not stream.active(10.1)
