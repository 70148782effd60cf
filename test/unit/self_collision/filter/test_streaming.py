# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Points adjusted one by one: every move safe, none too fast, and wrong use refused."""

from copy import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.robots import two_slides
from support.robots.dual_arm_cases import JOINTS, PAPER, capsule_model, refined
from support.robots.planar_arms import arm_distance, ball, meeting, planar_model

from collision_monitor.errors import AdjustmentError, ArmsError, ConfigurationError
from collision_monitor.self_collision.filter.point_stream import Streamer

SLACK = 2e-4  # m


def stream(streamer, rows, dt):
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
    out = stream(streamer, np.vstack([rows, waits]), 0.25)
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
    out = stream(streamer, np.vstack([start, *np.repeat(targets, 3, axis=0)]), dt)
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
    out = stream(streamer, np.repeat(start[None], 40, axis=0), 0.1)
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


def test_another_reset_begins_anew():
    streamer = Streamer(MODEL)
    rows = meeting(41, 0.3)
    first = stream(streamer, rows, 0.5)
    assert np.array_equal(stream(streamer, rows, 0.5), first)


def test_what_cannot_be_is_refused():
    streamer = Streamer(capsule_model(PAPER.offset))
    q = PAPER.desired[0]
    with pytest.raises(ConfigurationError, match=r"call reset\(\)"):
        streamer.step(q, 0.1)
    with pytest.raises(AdjustmentError, match="cannot be led from there") as caught:
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
    with pytest.raises(ArmsError):
        Streamer(model, ())
    with pytest.raises(ConfigurationError, match="safe_distance: nan"):
        Streamer(model, safe_distance=np.nan).reset(PAPER.desired[0])
    assert Streamer(model, ("left_arm", "right_arm")).arms[0].joint_names == JOINTS[:7]
