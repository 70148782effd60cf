# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Verdicts: levels by distance, and never a distance that is not known."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.robots.toys import chain

from collision_monitor import Clearance, CollisionModel
from collision_monitor.errors import ConfigurationError
from collision_monitor.monitoring.monitor import Level, Monitor, MonitorState

MODEL = CollisionModel.from_urdf(chain(4))
NAMES = MODEL.joint_names
STRETCHED = [0.1, 0.0, 0.0]  # 1.8 m between every second link
FOLDED = [0.1, 2.0, 2.0]  # the last link near the first


def monitor(**options):
    """A monitor of a chain of four."""
    return Monitor(MODEL, behaviour=None, **options)


def test_levels_follow_the_distance():
    distance = MODEL.distance(FOLDED).distance
    assert 0.0 < distance < 1.0
    for warn, stop, level, action in (
        (distance - 0.01, 0.0, Level.OK, "none"),
        (distance + 0.01, 0.0, Level.WARN, "slowdown"),
        (distance + 0.02, distance + 0.01, Level.ERROR, "stop"),
        (distance, 0.0, Level.WARN, "slowdown"),
        (distance, distance, Level.ERROR, "stop"),
    ):
        state = monitor(warn_distance=warn, stop_distance=stop).update(NAMES, FOLDED, now=0.0)
        assert (state.level, state.action) == (level, action)
        assert state.distance == distance
        assert state.safe == (level != Level.ERROR)
        assert f"{distance:.3f} m between" in state.message


class RecordingModel(CollisionModel):
    """Notes how much time each call for exact distances is given."""

    given_seconds = []

    def exact_bounds(self, *arguments, seconds, **options):
        self.given_seconds.append(seconds)
        return super().exact_bounds(*arguments, seconds=seconds, **options)


def test_only_the_first_update_has_more_time_for_exact_distances():
    model = RecordingModel.from_urdf(chain(5))
    near = [0.1, 1.5, 1.5, 0.5]

    def times(watch, now):
        model.given_seconds.clear()
        watch.update(model.joint_names, near, now=now)
        return list(model.given_seconds)

    distances = {"warn_distance": 2.0, "stop_distance": 0.0}
    first = Monitor(model, **distances)
    assert max(times(first, 0.0)) > 0.1
    assert 0.0 < max(times(first, 0.01)) < 0.01
    other = Monitor(model, **distances)
    other.take_over(first, 0.02)
    assert max(times(other, 0.02)) < 0.01
    later = Monitor(model, **distances, narrow_phase="leaf")
    assert times(later, 0.0) == []
    later.narrow_phase = "auto"
    assert max(times(later, 0.01)) < 0.01


@pytest.mark.parametrize("seconds", [math.nan, math.inf, -1.0])
@pytest.mark.parametrize("option", ["joint_state_timeout", "zero_state_confirmation"])
def test_a_time_that_never_ends_is_refused(option, seconds):
    with pytest.raises(ConfigurationError, match=f"{option}: .* is not a finite number of seconds"):
        monitor(**{option: seconds})


def test_data_of_unknown_age_are_stale():
    watch = monitor()
    assert watch.update(NAMES, STRETCHED, now=1.0).safe
    state = watch.state(math.nan)
    assert state.level is Level.STALE
    assert state.message == "joint states are nan s old (all joints); 0.5 s is allowed"


def test_a_joint_state_at_no_time_is_an_error_and_is_forgotten():
    watch = Monitor(MODEL)
    watch.update(NAMES, STRETCHED, now=1.0)
    state = watch.update(NAMES, STRETCHED, now=math.nan)
    assert state.level is Level.ERROR
    assert state.message == "joint state at nan s, which is not a finite time"
    assert watch.update(NAMES, STRETCHED, now=1.01).safe


@pytest.mark.parametrize("stamp", [math.nan, 1e300])
@pytest.mark.parametrize("earlier", [0, 3])
def test_an_impossible_stamp_is_an_error(stamp, earlier):
    watch = monitor()
    for k in range(earlier):
        watch.update(NAMES, STRETCHED, now=1.0 + 0.01 * k, stamp=1.0 + 0.01 * k)
    state = watch.update(NAMES, STRETCHED, now=1.1, stamp=stamp)
    assert state.level is Level.ERROR and not state.safe
    assert "stamped" in state.message and len(state.message) < 200


@given(st.floats(-0.5, 0.5), st.floats(0.0, 0.3), st.floats(0.001, 0.3))
def test_the_speed_scale_falls_from_one_to_zero(distance, stop, band):
    m = Monitor(
        TwoPhases(distance, mesh=math.nan), warn_distance=stop + band, stop_distance=stop,
        narrow_phase="leaf", behaviour=None,
    )  # fmt: skip
    scale = m.update(NAMES, STRETCHED, now=0.0).speed_scale
    assert 0.0 <= scale <= 1.0
    assert (scale == 0.0) == (distance <= stop) or 0.0 < distance - stop < 1e-12
    assert (scale == 1.0) == (distance > stop + band) or abs(distance - stop - band) < 1e-9


class TwoPhases:
    """A model whose leaves and meshes are at distances that are given."""

    joint_names, velocity_limits, robot = NAMES, MODEL.velocity_limits, MODEL.robot
    bodies = MODEL.bodies

    def __init__(self, leaf, mesh):
        self.by_phase = {False: leaf, True: mesh}
        self.prepared = False
        self.asked = []

    def prepare_exact(self):
        self.prepared = True

    def distance(self, q, exact=False, any_contact=False):
        assert self.prepared or not exact
        self.asked.append(exact)
        return Clearance(self.by_phase[exact], ("a", "b"), np.zeros((2, 3)), [1, 0, 0], exact=exact)

    def exact_bounds(self, q, pairs, leaves, within, loose, seconds):
        raise AssertionError("the distance alone decides here")


@pytest.mark.parametrize(
    ("phase", "leaf", "asked", "level"),
    [
        ("leaf", 0.05, [False], Level.WARN),
        ("auto", 0.11, [False], Level.OK),
        ("auto", 0.1, [False, True], Level.OK),
        ("auto", -0.3, [False, True], Level.OK),
        ("auto", math.nan, [False, True], Level.OK),
    ],
)
def test_triangles_are_asked_where_leaves_are_near(phase, leaf, asked, level):
    model = TwoPhases(leaf, mesh=0.2)
    m = Monitor(model, warn_distance=0.1, narrow_phase=phase, behaviour=None)
    state = m.update(NAMES, STRETCHED, now=0.0)
    assert (model.asked, state.level) == (asked, level)
    assert model.prepared == (phase != "leaf")
    assert state.clearance.exact == asked[-1]


def test_contact_is_reported_with_its_depth_and_ends_by_itself():
    ball = {"name": "ball", "type": "sphere", "radius": 0.2, "position": [2.0, 0.0, 0.0]}
    model = CollisionModel.from_urdf(chain(4), scene={"obstacles": [ball]})
    m = Monitor(model, behaviour=None)
    state = m.update(NAMES, [1e-9, 0.0, 0.0], now=0.0)
    assert state.level == Level.ERROR
    assert "collision: at most 0.300 m deep between l2 and ball" in state.message
    assert np.linalg.norm(state.clearance.normal) == pytest.approx(1.0)
    assert m.update(NAMES, [1.5, 0.0, 0.0], now=0.1).level == Level.OK


def test_before_the_first_joint_state_nothing_is_known():
    state = monitor().state(now=100.0)
    assert (state.level, state.cause, state.safe) == (Level.STALE, "waiting", False)
    assert math.isnan(state.distance) and state.speed_scale == 0.0 and state.age == math.inf
    assert state.action == "stop"


def test_silence_is_an_alarm_and_news_end_it():
    m = monitor(joint_state_timeout=0.5)
    assert m.update(NAMES, STRETCHED, now=10.0).level == Level.OK
    assert m.state(now=10.4).level == Level.OK
    stale = m.state(now=10.6)
    assert (stale.level, stale.cause, stale.safe) == (Level.STALE, "stale", False)
    assert stale.clearance is None and "0.60 s old (all joints); 0.5 s is allowed" in stale.message
    assert m.update(NAMES, STRETCHED, now=11.0).level == Level.OK


def test_one_publisher_of_two_that_dies_is_named():
    m = monitor(joint_state_timeout=0.5)
    m.update(NAMES, STRETCHED, now=0.0)
    for k in range(10):
        state = m.update(NAMES[1:], STRETCHED[1:], now=0.1 * k)
    assert state.level == Level.STALE
    assert "(j1)" in state.message
    assert state.clearance is None


def test_old_stamps_are_stale_from_the_start():
    state = monitor().update(NAMES, STRETCHED, now=0.0, stamp=5.0, lag=3.0)
    assert (state.level, state.clearance) == (Level.STALE, None)


def test_a_fault_followed_by_silence_stays_an_alarm():
    m = monitor()
    m.update(NAMES, STRETCHED, now=0.0)
    m.update(NAMES, [np.nan] * 3, now=0.1)
    for now in (0.3, 0.7, 5.0, 500.0):
        state = m.state(now)
        assert not state.safe and state.clearance is None
    assert state.level == Level.ERROR and "nan" in state.message


def test_an_internal_error_is_reported_and_monitoring_continues():
    class Failing:
        joint_names, velocity_limits, robot = NAMES, MODEL.velocity_limits, MODEL.robot
        bodies = MODEL.bodies
        broken = True

        def distance(self, q, exact=False, any_contact=False):
            if self.broken:
                raise ZeroDivisionError("out of order")
            return MODEL.distance(q)

    model = Failing()
    m = Monitor(model, narrow_phase="leaf", behaviour=None)
    state = m.update(NAMES, STRETCHED, now=0.0)
    assert (state.level, state.safe) == (Level.ERROR, False)
    assert "out of order" in state.message
    model.broken = False
    assert m.update(NAMES, STRETCHED, now=1.0).level == Level.OK


@given(st.lists(st.tuples(
    st.sampled_from(["good", "nan", "short", "part", "unknown", "silence"]),
    st.floats(0.001, 0.7)), max_size=40))  # fmt: skip
@settings(max_examples=100, deadline=None)
def test_safe_is_true_only_for_fresh_and_complete_data(story):
    m = monitor(joint_state_timeout=0.5)
    now, heard = 0.0, np.full(3, -np.inf)
    for kind, wait in story:
        now += wait
        if kind == "good":
            m.update(NAMES, STRETCHED, now)
            heard[:] = now
        elif kind == "part":
            m.update(NAMES[:2], STRETCHED[:2], now)
            heard[:2] = now
        elif kind == "nan":
            m.update(NAMES, [np.nan] * 3, now)
        elif kind == "short":
            m.update(NAMES, [0.1], now)
        elif kind == "unknown":
            m.update(["x"], [0.1], now)
        state = m.state(now)
        if state.safe:
            assert now - heard.min() <= 0.5
            assert state.distance == MODEL.distance(STRETCHED).distance
        if state.clearance is None:
            assert not state.safe and math.isnan(state.distance) and state.speed_scale == 0.0


def test_a_remark_is_said_beside_the_verdict_and_makes_it_a_warning_at_least():
    state = monitor().update(NAMES, STRETCHED, now=0.0)
    assert state.level == Level.OK
    warned = state.with_remark("something is odd")
    assert (warned.level, warned.safe) == (Level.WARN, True)
    assert warned.message == f"{state.message}; something is odd"
    assert warned.clearance is state.clearance
    stale = MonitorState(Level.STALE, "nothing has come", "stale")
    assert stale.with_remark("so") == stale._replace(reason="nothing has come; so")


def test_triangles_take_half_of_the_period_of_joint_states_at_most():
    monitor = Monitor(CollisionModel.from_urdf(chain(3)))

    def seconds_at(period, publishers=1):
        monitor.forget()
        for k in range(50):
            monitor.update(["j1", "j2"], [0.1, 0.1], 1.0 + k // publishers * period)
        return pytest.approx(sum(monitor.mesh_seconds))

    assert seconds_at(0.1) == 0.012
    assert seconds_at(0.01) == 0.005
    assert seconds_at(0.005) == 0.0025
    assert seconds_at(0.01, publishers=2) == 0.0025
    assert seconds_at(0.001) == 0.002  # faster ones are merged
    monitor.forget()
    assert sum(monitor.mesh_seconds) == pytest.approx(0.012)
