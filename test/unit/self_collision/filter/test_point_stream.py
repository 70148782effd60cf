# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Streams of points: the stream, and the arms that are kept safe in it."""

from copy import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.robots import two_slides
from support.robots.dual_arm_cases import JOINTS, PAPER, capsule_model, refined
from support.robots.planar_arms import arm_distance, ball, meeting, planar_model

from collision_monitor.errors import AdjustmentError, ArmsError, ConfigurationError, TrajectoryError
from collision_monitor.self_collision.point_stream import PointStream, Streamer
from collision_monitor.simulation.trajectory_execution import Command, TrajectoryExecution

# -- a stream of points: when each is due, and what it is adjusted from ------------------


NAMES = ("torso", "r", "l")
PRESENT = {"torso": 0.4, "r": 0.1, "l": -0.1}


class Limited:
    """Moves every joint towards where it is wanted, by 1 rad/s at most."""

    fastest = np.ones(3)
    endless = np.zeros(3, dtype=bool)

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
def limited():
    return Limited()


@pytest.fixture
def stream(limited):
    return PointStream(limited, NAMES, ("l", "r"), horizon=1.0, timeout=0.5)


def test_the_first_point_is_gone_to_from_the_present_state(stream, limited):
    assert not stream.active(10.0)
    streamed = stream.step({"r": 0.15, "l": -0.5}, due=10.1, now=10.0, present=PRESENT)
    assert limited.calls == [("reset", [0.4, 0.1, -0.1]), ([0.4, 0.15, -0.5], pytest.approx(0.1))]
    assert streamed.motion.joint_names == ("l", "r")
    assert streamed.motion.times == pytest.approx([10.1])
    assert streamed.motion.positions == pytest.approx(np.array([[-0.2, 0.15]]))
    assert streamed.largest_change == pytest.approx(0.3)
    assert (streamed.clearance, streamed.pair) == (0.3, ("a", "b"))
    assert stream.active(10.0)


def test_the_next_has_the_time_between_the_two_whenever_it_comes(stream, limited):
    stream.step({"r": 0.15, "l": -0.1}, 10.1, 10.0, PRESENT)
    stream.step({"r": 0.16, "l": -0.1}, 10.12, 10.001, {**PRESENT, "torso": 0.5, "r": 9.0})
    assert limited.calls[2] == ([0.5, 0.16, -0.1], pytest.approx(0.02))
    assert (stream.points, stream.adjusted, stream.late) == (2, 0, 0)


def test_after_a_pause_a_new_stream_begins_where_the_robot_stands(stream, limited):
    stream.step({"r": 0.1, "l": -0.1}, 10.1, 10.0, PRESENT)
    assert stream.active(10.6) and not stream.active(10.61)
    stream.step({"r": 0.2, "l": -0.1}, 11.2, 11.1, {**PRESENT, "r": 0.2})
    assert limited.calls[2:] == [
        ("reset", [0.4, 0.2, -0.1]),
        ([0.4, 0.2, -0.1], pytest.approx(0.1)),
    ]


def test_an_ended_stream_begins_anew(stream, limited):
    stream.step({"r": 0.1, "l": -0.1}, 10.1, 10.0, PRESENT)
    stream.end()
    assert not stream.active(10.0)
    stream.step({"r": 0.1, "l": -0.1}, 10.12, 10.02, PRESENT)
    assert limited.calls[2][0] == "reset"


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
def test_points_out_of_time_are_refused_and_change_nothing(stream, limited, due, now, says):
    stream.step({"r": 0.1, "l": -0.1}, 10.1, 10.0, PRESENT)
    before = list(limited.calls)
    with pytest.raises(TrajectoryError, match=says):
        stream.step({"r": 0.2, "l": -0.1}, due, now, PRESENT)
    assert limited.calls == before
    stream.step({"r": 0.2, "l": -0.1}, 10.3, 10.2, PRESENT)
    assert limited.calls[-1][1] == pytest.approx(0.2)


def test_points_that_are_not_reached_yet_are_sent_again(stream):
    for k in range(5):
        streamed = stream.step({"r": 0.1, "l": 0.01 * k}, 10.1 + 0.05 * k, 10.0 + 0.02 * k, PRESENT)
    assert streamed.motion.times == pytest.approx(10.1 + 0.05 * np.arange(5))
    assert streamed.motion.positions[:, 0] == pytest.approx([-0.0, 0.01, 0.02, 0.03, 0.04])
    streamed = stream.step({"r": 0.1, "l": 0.05}, 10.35, 10.2, PRESENT)
    assert streamed.motion.times == pytest.approx([10.25, 10.3, 10.35])


def test_a_point_is_not_reached_faster_than_velocity_limits_allow(stream):
    stream.step({"r": 0.1, "l": -0.1}, 10.1, 10.0, PRESENT)
    streamed = stream.step({"r": 0.1, "l": 0.2}, 10.41, 10.4, PRESENT)
    assert streamed.motion.times == pytest.approx([10.7]) and streamed.late
    # It catches up as soon as it may.
    streamed = stream.step({"r": 0.1, "l": 0.25}, 10.8, 10.45, PRESENT)
    assert streamed.motion.times == pytest.approx([10.7, 10.8]) and not streamed.late


def test_the_number_of_points_that_are_not_reached_yet_is_bounded(stream):
    for k in range(100):
        stream.step({"r": 0.1, "l": -0.1}, 10.5 + 0.001 * k, 10.0, PRESENT)
    with pytest.raises(TrajectoryError, match="while 100 commanded points are not reached yet"):
        stream.step({"r": 0.1, "l": -0.1}, 10.6, 10.0, PRESENT)
    assert len(stream.step({"r": 0.1, "l": -0.1}, 10.6, 10.5, PRESENT).motion.times) == 100


def distance_to_polyline(rows, points):
    """Of each row (n, joints) to the polyline through ``points``."""
    out = np.full(len(rows), np.inf)
    for a, b in zip(points[:-1], points[1:], strict=True):
        way = b - a
        s = np.clip((rows - a) @ way / max(way @ way, 1e-300), 0.0, 1.0)
        out = np.minimum(out, np.linalg.norm(rows - a - s[:, None] * way, axis=1))
    return out


@pytest.mark.parametrize("stamped", [True, False])
@pytest.mark.parametrize("ahead", [0.9, 0.5, 0.2, 0.02, -0.02])
def test_the_executed_motion_is_the_commanded_polyline_within_the_limits(ahead, stamped):
    """Points every 50 ms; each comes up to 90 ms later than it should."""
    stream = PointStream(Limited(), NAMES, ("l", "r"), horizon=1.0, timeout=0.5)
    rng, clock, dt = np.random.default_rng(3), 10.0, 1e-3
    polyline = [np.array([PRESENT["l"], PRESENT["r"]])]
    executed = TrajectoryExecution(("l", "r"), polyline[0])
    rows, late = [polyline[0]], 0.0
    for k in range(60):
        while clock < 10.0 + 0.05 * k + late:
            clock += dt
            rows.append(executed.advance(clock, dt, 1.0).copy())
        late = rng.uniform(0.0, 0.09)
        due = 10.0 + 0.05 * k + (ahead if k else max(ahead, 0.025))
        left, right = 0.3 * np.sin(0.4 * k) + rng.uniform(-0.1, 0.1, 2)
        motion = stream.step({"l": left, "r": right}, due, clock, PRESENT).motion
        polyline.append(motion.positions[-1])
        start = clock - 0.01 if stamped else clock
        command = Command(motion.joint_names, motion.times - start, motion.positions, start=start)
        executed.accept(command, clock)
    while executed.moving:
        clock += dt
        rows.append(executed.advance(clock, dt, 1.0).copy())
    rows = np.array(rows)
    assert rows[-1] == pytest.approx(polyline[-1])
    # A step of the controller passes a corner.
    assert distance_to_polyline(rows, np.array(polyline)).max() < 2.0 * dt
    assert np.abs(np.diff(rows, axis=0)).max() < dt * 1.01


def test_a_robot_that_does_not_follow_is_noticed_and_one_that_is_late_is_not(stream):
    def at(time):  # until 10.3 it stands, then it goes at 0.5 rad/s
        return {**PRESENT, "l": -0.1 + 0.5 * max(time - 10.3, 0.0)}

    noticed = []
    for now in np.arange(10.0, 12.0, 0.05):
        assert stream.departure(now, at(now - 0.45), 0.01) == ""
        if reason := stream.departure(now, PRESENT, 0.01):
            assert reason.startswith("joint 'l' is at -0.1, ")
            noticed.append(now)
        stream.step({"r": 0.1, "l": at(now + 0.1)["l"]}, now + 0.1, now, PRESENT)
    assert 10.8 < noticed[0] < 10.95  # 0.5 s after it should have moved
    assert np.diff(noticed) == pytest.approx(0.05)
    stream.end()
    assert stream.departure(now, PRESENT, 0.01) == ""


def test_a_stream_cannot_begin_with_a_point_that_is_due_already(stream):
    with pytest.raises(TrajectoryError, match="before the stream began.*ahead of time"):
        stream.step({"r": 0.1, "l": -0.1}, 10.0, 10.1, PRESENT)
    assert not stream.active(10.1)


# -- points adjusted one by one: every move safe, none too fast, and wrong use refused ---


SLACK = 2e-4  # m


def streamed(streamer, rows, dt):
    """Everything that comes out, the start first."""
    streamer.reset(rows[0])
    out = [rows[0]]
    for desired in rows[1:]:
        q, clearance, pair = streamer.step(desired, dt)
        distance = streamer.model.distances(q)[streamer.model.pairs.index(pair)]
        assert clearance == pytest.approx(distance, abs=1e-9)
        out.append(q)
    return np.array(out)


@pytest.mark.parametrize("yielding", ["both", "right"])
def test_the_paper_s_motion_is_followed_and_kept_safe(yielding):
    model = capsule_model(PAPER.offset)
    # d_dan is what each arm may not fold upon itself by, too
    streamer = Streamer(model, safe_distance=0.1, danger_distance=0.0, yielding=yielding)
    rows = refined(PAPER.desired, 4)
    waits = np.repeat(rows[-1:], 60, axis=0)
    out = streamed(streamer, np.vstack([rows, waits]), 0.25)
    # safe at every instant, and the end is reached, if late
    assert PAPER.segment_distances(refined(out, 5)).min() >= PAPER.safe - SLACK
    assert out[-1] == pytest.approx(rows[-1], abs=1e-6)
    # where nothing is near it is the desired motion
    assert out[: 4 * 38] == pytest.approx(rows[: 4 * 38], abs=1e-9)
    speed = np.abs(np.diff(out, axis=0)) / 0.25
    assert (speed <= model.velocity_limits + 1e-9).all()
    if yielding == "right":
        assert out[: len(rows), 7:] == pytest.approx(rows[:, 7:], abs=1e-9)


MODEL = planar_model(ball("ball", 1.0, 0.0))
angles = st.lists(st.floats(-9.0, 9.0), min_size=6, max_size=6).map(np.array)


@settings(max_examples=25, deadline=None)
@given(
    targets=st.lists(angles, min_size=1, max_size=8), dt=st.floats(0.001, 2.0),
    yielding=st.sampled_from(["both", "left", "right"]),
)  # fmt: skip
def test_no_stream_of_points_brings_the_arms_together(targets, dt, yielding):
    streamer = Streamer(MODEL, safe_distance=0.08, danger_distance=0.02, yielding=yielding)
    start = meeting()[0]
    out = streamed(streamer, np.vstack([start, *np.repeat(targets, 3, axis=0)]), dt)
    ball_pairs = [k for k, pair in enumerate(MODEL.pairs) if "ball" in pair]
    for q in refined(out, 8):
        assert arm_distance(q) >= 0.08 - SLACK
        assert MODEL.distances(q)[ball_pairs].min() >= 0.08 - SLACK
    assert (np.abs(np.diff(out, axis=0)) <= MODEL.velocity_limits * dt + 1e-9).all()
    assert ((MODEL.lower <= out) & (out <= MODEL.upper)).all()


def test_many_small_steps_do_not_creep_nearer():
    streamer = Streamer(MODEL, safe_distance=0.08, danger_distance=0.02)
    streamer.reset(meeting()[0])
    into = np.array([0.5, 0.0, 0.0, -0.5, 0.0, 0.0])
    assert arm_distance(into) < 0.0
    rows = [streamer.step(into, 0.004)[0] for _ in range(1500)]
    arms = [k for k, pair in enumerate(MODEL.pairs) if "base" not in pair]
    least = [MODEL.distances(q)[arms].min() for q in rows]
    assert min(map(arm_distance, rows)) >= 0.08 - SLACK
    assert min(least) >= 0.08 - SLACK
    assert least[-1] < 0.09  # it is as near as it may be


def test_a_start_below_the_safe_distance_is_led_out_and_no_nearer():
    model = capsule_model(PAPER.offset)
    streamer = Streamer(model, safe_distance=0.1, danger_distance=0.02)
    start = PAPER.desired[58]
    before = PAPER.segment_distances(start[None])[0]
    assert 0.12 < before < 0.2
    out = streamed(streamer, np.repeat(start[None], 40, axis=0), 0.1)
    distances = PAPER.segment_distances(refined(out, 5))
    assert np.all(np.diff(PAPER.segment_distances(out)) > -2.0 * SLACK)
    assert distances.min() >= before - SLACK
    way = out[-1] - start
    assert np.abs(way).max() == 0.0 or distances[-1] >= PAPER.safe - SLACK


def test_joints_of_neither_arm_are_where_they_are_said_to_be():
    model = copy(two_slides.model())
    mast = model.joint_names.index("mast_joint")
    model.upper = model.upper.copy()
    model.upper[mast] = 0.1  # the brake is open, or the limit a bad guess
    streamer = Streamer(model, two_slides.ARMS)
    q = np.zeros(len(model.joint_names))
    q[[model.joint_names.index(name) for name in two_slides.JOINTS]] = two_slides.apart(0.5)
    q[mast] = 0.15
    streamer.reset(q)
    assert np.array_equal(streamer.step(q, 0.1)[0], q)


def test_what_cannot_be_is_refused():
    streamer = Streamer(capsule_model(PAPER.offset))
    q = PAPER.desired[0]
    with pytest.raises(ConfigurationError, match=r"call reset\(\)"):
        streamer.step(q, 0.1)
    with pytest.raises(AdjustmentError, match="a stream cannot start below") as caught:
        streamer.reset(PAPER.desired[50])
    assert caught.value.distance == pytest.approx(0.014067 - 0.1, abs=1e-6)
    assert {name.split("_")[0] for name in caught.value.pair} == {"right", "left"}
    with pytest.raises(ConfigurationError, match=r"call reset\(\)"):
        streamer.step(q, 0.1)  # it still does not know
    for bad in (q[:5], np.full(14, np.nan), [[0.0] * 14]):
        with pytest.raises(ConfigurationError):
            streamer.reset(bad)
    streamer.reset(q)
    for dt in (0.0, -1.0, np.nan, np.inf, "1"):
        with pytest.raises(ConfigurationError, match="dt: "):
            streamer.step(q, dt)
    for bad in (q[:5], np.full(14, np.nan), np.full(14, np.inf), 0.0):
        with pytest.raises(ConfigurationError, match="desired: "):
            streamer.step(bad, 0.1)
    assert np.array_equal(streamer.step(q, 0.1)[0], q)


def test_options_that_mean_nothing_are_refused():
    model = capsule_model(PAPER.offset)
    with pytest.raises(ConfigurationError, match="yielding: 'nobody'"):
        Streamer(model, yielding="nobody")
    with pytest.raises(ArmsError):
        Streamer(model, ("right_arm", "tail"))
    with pytest.raises(ConfigurationError, match="safe_distance: nan"):
        Streamer(model, safe_distance=np.nan).reset(PAPER.desired[0])
    assert Streamer(model, ("left_arm", "right_arm")).arms[0].joint_names == JOINTS[:7]
