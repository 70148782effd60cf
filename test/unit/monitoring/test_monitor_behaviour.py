# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A monitor with a behaviour: actions, reasons, holds, and the way back out of contact."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.robots import toys
from support.robots.robots import require
from support.robots.two_slides import JOINTS, RADIUS, URDF, apart, model

from collision_monitor import CollisionModel
from collision_monitor.errors import BehaviourError, ConfigurationError, ThresholdsError
from collision_monitor.hierarchy.query import Clearance
from collision_monitor.model.thresholds import Rule, Thresholds
from collision_monitor.monitoring.monitor import Level, Monitor
from collision_monitor.monitoring.monitor_state import MonitorState
from collision_monitor.monitoring.settings import SpeedSettings
from collision_monitor.monitoring.speed_policy.decision import Decision
from collision_monitor.monitoring.speed_policy.speed_policy import SpeedPolicy

MODEL = model()
NAMES = [*JOINTS, "mast_joint"]
AT_ONCE = SpeedSettings(release_distance=0.0, release_cycles=1, rise_time=0.0)
PERIOD = 0.01


def test_the_default_policy_is_that_of_the_node():
    story = Story(SpeedSettings())
    by_default = Monitor(MODEL)
    for gap in (0.4, 0.3, 0.2, 0.1, 0.05, 0.01, 0.05, 0.2):
        expected = story.at(gap)
        state = by_default.update(NAMES, (*apart(gap), 0.3), story.now, story.now)
        assert (state.level, state.action, state.speed_scale) == (
            expected.level, expected.action, expected.speed_scale,
        )  # fmt: skip
    assert state.decision is not None


class Story:
    """Joint states of two balls on a line, one every PERIOD."""

    def __init__(self, settings=AT_ONCE, **options):
        self.behaviour = SpeedPolicy(MODEL, settings)
        self.monitor = Monitor(MODEL, 0.1, 0.02, behaviour=self.behaviour, **options)
        self.now = 50.0

    def at(self, gap, velocity=None):
        """The state with a gap between the balls; its rate by the driver, if given."""
        self.now += PERIOD
        speeds = () if velocity is None else (0.0, 0.0, velocity, 0.0, 0.0)
        return self.monitor.update(NAMES, (*apart(gap), 0.3), self.now, self.now, 0.0, speeds)

    def moving(self, gap, velocity, cycles=8):
        """The state after some cycles of an even motion that has arrived at the gap."""
        for k in range(cycles, -1, -1):
            state = self.at(gap - k * PERIOD * velocity)
        return state


@pytest.mark.parametrize(
    ("gap", "velocity", "level", "action", "says"),
    [
        (0.5, 0.0, Level.OK, "none", "clear: 0.500 m"),
        (0.06, 0.0, Level.WARN, "slowdown", "near: 0.060 m between"),
        (0.06, 0.3, Level.WARN, "none", "near: 0.060 m, moving away, between"),
        (0.01, 0.0, Level.ERROR, "stop", "too close: 0.010 m between"),
        (0.01, 0.3, Level.ERROR, "limit", "too close: 0.010 m, moving away, between"),
        (-0.03, 0.0, Level.ERROR, "stop", "collision: at most 0.030 m deep between"),
        (-0.03, 0.3, Level.ERROR, "limit", "collision: at most 0.030 m deep, moving away, between"),
        (0.15, -0.7, Level.WARN, "approach", "approaching: 0.150 m now, 0.05"),
        (0.15, -1.2, Level.ERROR, "stop", "cannot stop in time: 0.150 m now, -0.0"),
        (0.5, -0.5, Level.OK, "none", "clear: 0.500 m"),
    ],
)
def test_what_to_do_follows_from_distance_and_direction(gap, velocity, level, action, says):
    story = Story()
    state = story.moving(gap, velocity)
    assert (state.level, state.action) == (level, action)
    assert state.message.startswith(says)
    time_left = story.behaviour.time_to_collision(story.monitor.buffer.q)
    assert (time_left == 0.0) == (action == "stop" and gap < 0.0)  # at rest, too
    message, _, threshold = state.message.partition(" (")
    assert {*message.split()[-3:]} == {"r_ball", "and", "l_ball"}
    assert threshold == {
        Level.OK: "", Level.WARN: "warning at 0.100 m)", Level.ERROR: "stop at 0.020 m)"
    }[level]  # fmt: skip
    assert state.safe == (level < Level.ERROR)
    assert state.distance == pytest.approx(gap)
    expected = {
        "none": 1.0, "limit": 0.25, "stop": 0.0, "slowdown": (gap - 0.02) / 0.08,
        # 0.05 s to react, and each ball brakes with 2 m/s^2 from half of the velocity
        "approach": (0.15 - 0.7 * 0.05 - 2.0 * 0.35**2 / 4.0 - 0.02) / 0.08,
    }[action]  # fmt: skip
    assert state.speed_scale == pytest.approx(expected, abs=0.02)


def test_a_level_that_is_held_is_not_called_clear():
    story = Story(SpeedSettings())
    story.moving(0.09, 0.3)
    states = [story.at(0.101) for _ in range(60)]  # within release_distance
    states.append(story.at(0.3))
    assert {(state.level, state.action) for state in states} == {(Level.WARN, "none")}
    message = "warning held by hysteresis: 0.{} m between r_ball and l_ball"
    assert {state.message for state in states} == {message.format(x) for x in ("101", "300")}
    while story.at(0.3).level is Level.WARN:
        pass
    assert story.at(0.3).message.startswith("clear: 0.300 m")


def test_while_hysteresis_holds_the_pair_that_is_named_with_its_cause_is_the_nearest_one():
    """The one that decides may be far, or near by design."""
    held = Decision(near=True, slow=True, pair=1, distance=1.3, warn_distance=0.1)
    nearest = Clearance(0.14, ("c", "d"), np.zeros((2, 3)), np.zeros(3))
    state = MonitorState(Level.WARN, "", "", nearest, 0.0, 0.0, held, ("e", "f"), (), ("a", "b"))
    assert state.message == "slowdown held by hysteresis of a and b: now 0.140 m between c and d"


def box_at_a_ball():
    """A box, and where it is 0.103 m from a ball by its one leaf, and more by its shape."""
    ball = {"name": "ball", "type": "sphere", "radius": 0.1, "position": [1.0, 0.0, 0.0]}
    urdf = toys.robot(
        toys.link("rail", ""), toys.link("box", '<box size="0.2 0.2 0.2"/>'),
        toys.joint("slide", "rail", "box", "prismatic", xyz="0 0 0", axis="1 0 0"),
    )  # fmt: skip
    model = CollisionModel.from_urdf(urdf, scene={"obstacles": [ball]}, max_leaves_per_link=1)
    there = model.distance([0.0]).distance - 0.103
    assert model.distance([there]).distance == pytest.approx(0.103, abs=1e-3)
    assert model.distance([there], exact=True).distance > 0.12
    return model, there


def test_shapes_decide_within_a_stop_distance_without_a_warning_distance():
    model, there = box_at_a_ball()
    monitor = Monitor(model, warn_distance=0.0, stop_distance=0.11, behaviour=None)
    assert monitor.update(["slide"], [there], 1.0).level is Level.OK


def test_leaves_hold_no_level_that_the_shapes_do_not_hold():
    """By its one leaf a box is within ``release_distance``, by its shape it is not."""
    model, there = box_at_a_ball()
    monitor, now = Monitor(model), 0.0
    for place, level in ((0.75, Level.WARN), (there, Level.OK)):
        for _ in range(200):
            now += 0.01
            state = monitor.update(["slide"], [place], now, now)
        assert state.level == level


@pytest.mark.parametrize("first", ["post", "zone"])
def test_a_stop_by_prediction_is_told_with_the_numbers_of_one_pair(first):
    """Two pairs stop the robot; the other has a larger clearance, and a larger stop distance."""
    balls = [
        {"name": name, "type": "sphere", "radius": 0.1, "position": [0.2 + gap, 0.0, 0.0]}
        for name, gap in (("post", 0.15), ("zone", 0.5))
    ]
    urdf = toys.robot(
        toys.link("rail", ""), toys.link("ball"),
        toys.joint("slide", "rail", "ball", "prismatic", xyz="0 0 0", axis="1 0 0"),
    )  # fmt: skip
    balls.sort(key=lambda ball: ball["name"] != first)
    model = CollisionModel.from_urdf(urdf, scene={"obstacles": balls})
    monitor = Monitor(model, narrow_phase="leaf")
    monitor.set_thresholds(Thresholds(0.1, 0.02, (Rule("ball zone", 0.4, 0.3),)))
    for k in range(10, -1, -1):  # braking at 2 m/s^2 after 0.05 s takes 0.3 m
        now = 1.0 - k * PERIOD
        state = monitor.update(["slide"], [-k * PERIOD], now, now, velocities=[1.0])
    assert state.action == "stop" and set(state.pair) == {"ball", "post"}
    assert state.decision.braking_clearance == pytest.approx(-0.15, abs=1e-3)
    numbers = "0.150 m now, -0.150 m while braking between ball and post (stop at 0.020 m)"
    assert state.message.startswith(f"cannot stop in time: {numbers}")


def test_a_stop_by_prediction_names_joints_at_their_speed_limits():
    """Positions of another publisher jump: faster than the joint can be, so at its limit."""
    story = Story()
    story.behaviour.velocities.limits[:] = 1.5
    mast = MODEL.joint_names.index("mast_joint")
    story.behaviour.velocities.limits[mast] = 0.0  # at its limit, but it does not move the pair
    story.moving(0.6, 0.0)
    state = story.at(0.3)
    assert state.message.startswith("cannot stop in time: 0.300 m now, ")
    assert state.message.endswith("(stop at 0.020 m), with r_x, l_x at the speed limit")
    assert not story.moving(0.06, -0.3).message.endswith("limit")


def test_without_prediction_only_the_direction_counts():
    blind = SpeedSettings(prediction=False, release_distance=0.0, release_cycles=1, rise_time=0.0)
    assert Story(blind).moving(0.15, -1.2).action == "none"
    assert Story(blind).moving(0.06, -1.2).speed_scale == pytest.approx(0.5)
    assert Story(blind).moving(0.06, 0.3).action == "none"


@pytest.mark.parametrize(
    ("gap", "velocity", "action"), [(0.15, -1.2, "stop"), (0.06, 0.3, "slowdown")]
)
def test_with_an_unknown_velocity_all_others_are_predicted_and_nothing_moves_away(
    gap, velocity, action
):
    """The velocity of the mast is unknown: it is in the first joint state alone."""
    story = Story()
    story.at(gap - 0.09 * velocity)
    for k in range(8, -1, -1):
        story.now += PERIOD
        q = apart(gap - k * PERIOD * velocity)
        state = story.monitor.update(JOINTS, q, story.now, story.now)
    assert state.action == action and math.isnan(state.decision.rate)
    assert not story.behaviour.velocities.known


def test_after_contact_monitoring_continues_and_motion_out_of_contact_is_allowed():
    story = Story(SpeedSettings(release_cycles=3))
    actions = [story.at(0.05 - 0.002 * k).action for k in range(40)]  # into contact
    assert actions[-1] == "stop"
    state = story.at(-0.028)
    assert state.message.startswith("collision: at most 0.028 m deep")
    q = story.monitor.buffer.q
    out = story.behaviour.escape_direction(q)
    assert MODEL.distance(q + 0.01 * out).distance > state.distance + 0.009
    states = [story.at(-0.028 + 0.002 * k) for k in range(80)]
    actions = [state.action for state in states]
    first = actions.index("limit")
    assert first < 12
    assert actions[:first] == ["stop"] * first
    last = len(actions) - 1 - actions[::-1].index("limit")
    assert actions[first:] == ["limit"] * (last + 1 - first) + ["none"] * (len(actions) - last - 1)
    assert states[-1].level is Level.OK
    assert story.behaviour.escape_direction(story.monitor.buffer.q) is None


def test_a_robot_that_is_stopped_may_say_that_it_would_move_away():
    story = Story()
    for _ in range(5):
        assert story.at(0.01).action == "stop"
    intention = story.behaviour.command
    intention.update(["l_x"], [0.2], story.now)
    state = story.at(0.01)
    assert (state.action, state.speed_scale) == ("limit", 0.25)
    intention.update(["l_x"], [-0.2], story.now)
    assert story.at(0.01).action == "stop"
    intention.update(["l_x"], [0.2], story.now)
    assert story.moving(0.01, -0.1).action == "stop"  # what it does counts


def test_each_pair_has_thresholds_of_its_own():
    story = Story()
    story.monitor.set_thresholds(Thresholds(0.1, 0.02, (Rule("r_* l_*", 0.4, 0.2),)))
    assert story.moving(0.3, 0.0).action == "slowdown"
    assert story.moving(0.19, 0.0).action == "stop"
    story.monitor.set_thresholds(Thresholds(0.1, 0.02, (Rule("r_* l_*", 0.005, 0.001),)))
    assert story.moving(0.02, 0.0).action == "none"
    with pytest.raises(ThresholdsError, match=r"'nobody \*' matches none"):
        story.monitor.set_thresholds(Thresholds(0.1, 0.02, (Rule("nobody *", 0.4, 0.2),)))
    assert story.moving(0.02, 0.0).action == "none"


def test_rules_need_a_behaviour():
    with pytest.raises(ConfigurationError, match="require a monitor with a behaviour"):
        Monitor(MODEL, behaviour=None).set_thresholds(Thresholds(0.1, 0.02, (Rule("* *", 0.2),)))


def test_a_latched_stop_outlasts_its_cause_and_is_said_to():
    story = Story()
    story.behaviour.latch.latches = True
    story.at(0.01)
    state = story.moving(0.5, 0.0)
    assert (state.level, state.action, state.cause) == (Level.ERROR, "stop", "latched")
    assert state.message.startswith("stopped until ~/reset is called; now clear: 0.500 m")
    assert (state.speed_scale, state.safe) == (0.0, False)
    story.behaviour.latch.reset()
    assert story.at(0.5).action == "none"


def test_disabled_it_measures_and_says_but_does_nothing():
    story = Story()
    story.behaviour.enabled = False
    story.behaviour.latch.latches = True
    state = story.at(0.01)
    assert (state.level, state.action, state.speed_scale) == (Level.ERROR, "none", 1.0)
    said = "disabled by ~/enable: the robot is neither slowed nor stopped; too"
    assert state.message.startswith(said)
    assert story.moving(0.5, 0.0).level is Level.WARN
    stale = story.monitor.state(story.now + 5.0)
    assert (stale.level, stale.action, stale.cause) == (Level.STALE, "none", "disabled")
    story.behaviour.enabled = True
    assert story.at(0.5).cause == ""


def test_faults_come_before_everything():
    story = Story()
    story.behaviour.latch.latches = True
    story.at(0.01)
    state = story.monitor.update(NAMES, [math.nan] * 5, story.now + PERIOD)
    assert (state.level, state.cause, state.action) == (Level.ERROR, "fault", "stop")


@given(
    st.lists(st.tuples(st.floats(-0.05, 0.3), st.booleans()), min_size=1, max_size=40),
    st.integers(1, 10),
    st.floats(0.0, 1.0),
)
@settings(max_examples=60, deadline=None)
def test_whatever_happens_the_scale_is_no_more_than_the_distance_allows_what_comes_nearer(
    story, cycles, rise
):
    told = Story(SpeedSettings(release_cycles=cycles, rise_time=rise))
    gap = 0.2
    for target, quickly in story:
        step = np.clip(target - gap, -0.02, 0.02) * (1.0 if quickly else 0.1)
        gap += step
        state = told.at(gap)
        assert 0.0 <= state.speed_scale <= 1.0
        if state.decision.rate < -0.005:
            assert state.speed_scale <= max(0.0, min(1.0, (gap - 0.02) / 0.08)) + 1e-9
        if gap <= 0.02:
            assert state.speed_scale <= 0.25
            assert not state.safe


class Shapes:
    """A model whose shapes are ``more`` metres farther apart than its leaves."""

    def __init__(self, more, real=MODEL):
        self.more, self.real, self.asked = more, real, 0

    def __getattr__(self, name):
        return getattr(self.real, name)

    def twin(self, pairs=None):
        return Shapes(self.more, self.real.twin(pairs))

    def prepare_exact(self):
        pass

    def distance(self, q, exact=False, any_contact=False):
        found = self.real.distance(q)
        if exact:
            (one, other), normal = found.points, found.normal
            points = one, other + self.more * normal
            distance = found.distance + self.more
            return Clearance(distance, found.links, points, normal, found.leaves, exact=True)
        return found

    def exact_bounds(self, q, pairs, leaves, within, loose, near, seconds):
        self.asked += np.isfinite(loose).any()
        return np.where(leaves <= within, leaves + self.more, leaves)


@pytest.mark.parametrize(
    ("gap", "velocity", "action", "scale"),
    [
        (-0.05, 0.0, "slowdown", 0.625),  # of shapes: 0.07
        (-0.11, 0.0, "stop", 0.0),
        (-0.05, -0.2, "slowdown", 0.4375),  # 0.07 less 10 mm of reaction and 5 mm of braking
        (0.0, -0.4, "approach", 0.75),
        (0.2, 0.0, "none", 1.0),
    ],
)
def test_on_the_shapes_themselves_their_distances_count(gap, velocity, action, scale):
    shapes = Shapes(0.12)
    monitor = Monitor(shapes, 0.1, 0.02, behaviour=SpeedPolicy(shapes, AT_ONCE))
    for k in range(8, -1, -1):
        now = 50.0 - k * PERIOD
        state = monitor.update(NAMES, (*apart(gap - k * PERIOD * velocity), 0.3), now, now)
    assert state.action == action
    assert state.speed_scale == pytest.approx(scale, abs=0.02)
    assert shapes.asked == 0  # one pair is near, and it is the nearest


def test_of_several_near_pairs_all_are_measured_on_their_shapes():
    ball = {"name": "ball", "type": "sphere", "radius": RADIUS, "position": [-0.1, 0.25, 0.0]}
    real = CollisionModel.from_urdf(URDF, scene={"obstacles": [ball]})
    asked = []

    class Both(Shapes):
        def exact_bounds(self, q, pairs, leaves, within, loose, near, seconds):
            if np.isfinite(loose).any():
                asked.append(within)
            assert leaves == pytest.approx(real.distances(q)[pairs], abs=1e-9)
            return leaves + 0.05

    both = Both(0.05, real)
    monitor = Monitor(both, 0.1, 0.02, behaviour=SpeedPolicy(both, AT_ONCE))
    for k in range(5):
        state = monitor.update(NAMES, (*apart(-0.01), 0.3), 50.0 + 0.01 * k, 50.0 + 0.01 * k)
    assert len(asked) == 1  # the other pair is far enough, and the robot rests
    assert state.decision.distance == pytest.approx(0.04)
    assert state.speed_scale == pytest.approx(0.25, abs=0.01)


def test_the_tolerated_error_of_bounds_is_small_beside_a_small_warning_distance():
    gap, gap_of_ball = 0.0024, 0.0006
    ball = {
        "name": "ball", "type": "sphere", "radius": RADIUS,
        "position": [-0.1 - gap / 2 - 2.0 * RADIUS - gap_of_ball, 0.0, 0.0],
    }  # fmt: skip
    real = CollisionModel.from_urdf(URDF, scene={"obstacles": [ball]})

    class Loose(Shapes):
        def exact_bounds(self, q, pairs, leaves, within, loose, near, seconds):
            return np.minimum(leaves, within) - np.where(np.isinf(loose), 0.001, loose)

    rules = (Rule("r_ball l_ball", 0.002, 0.001), Rule("r_ball ball", 0.0005, 0.0002))
    loose = Loose(0.0, real)
    monitor = Monitor(loose, behaviour=SpeedPolicy(loose, AT_ONCE))
    monitor.set_thresholds(Thresholds(0.002, 0.001, rules))
    for k in range(5):
        state = monitor.update(NAMES, (*apart(gap), 0.3), 50.0 + 0.01 * k, 50.0 + 0.01 * k)
    assert state.distance == pytest.approx(gap_of_ball)
    assert (state.level, state.action) == (Level.OK, "none"), state.message


def test_a_velocity_limit_of_zero_is_no_limit():
    """Some descriptions have it for want of a better number; the robot moves all the same."""
    model = CollisionModel.from_urdf(URDF.replace('velocity="1"', 'velocity="0"'))
    policy = SpeedPolicy(model, AT_ONCE)
    assert np.isinf(model.velocity_limits).all()
    for k in range(10):
        policy.velocities.update(
            np.full(len(model.joint_names), 0.01 * k), np.full(len(model.joint_names), np.nan),
            10.0 + 0.01 * k,
        )  # fmt: skip
    assert policy.velocities.values == pytest.approx(np.ones(len(model.joint_names)))


@pytest.mark.parametrize("value", [-1.0, 0.0, math.nan, math.inf])
def test_decelerations_that_no_robot_brakes_with_are_refused_and_change_nothing(value):
    """With a negative one there was no braking path, and all was clear."""
    decelerations = np.full(len(MODEL.joint_names), 2.0)
    policy = SpeedPolicy(MODEL, AT_ONCE, decelerations)
    bad = decelerations.copy()
    bad[1] = value
    says = f"{value:g} of joint '{MODEL.joint_names[1]}'"
    with pytest.raises(BehaviourError, match=says):
        policy.decelerations = bad
    with pytest.raises(BehaviourError, match=says):
        SpeedPolicy(MODEL, AT_ONCE, bad)
    with pytest.raises(BehaviourError, match="one for each of"):
        policy.decelerations = decelerations[:-1]
    assert (policy.decelerations == 2.0).all()


def test_a_clear_state_names_the_minimum_distance():
    """Also while a pair near by design, which does not count for it, decides on the speed."""
    files = require("ur5")
    model = CollisionModel.from_urdf(files.urdf, package_dirs=files.package_dirs)
    monitor, others = Monitor(model), 0
    start = np.clip(0.0, model.lower, model.upper)
    for cycle in range(1000):
        now = 0.002 * cycle
        speeds = 0.3 * np.array([1.0, -1.0, 0.8, -0.6, 1.0, 0.7])
        state = monitor.update(model.joint_names, start + speeds * np.sin(3.0 * now), now, now)
        if state.action == "none" and "clear" in state.message:
            assert f"{state.distance:.3f} m between" in state.message
            others += state.pair is not None and state.pair != state.clearance.links
    assert others > 10
