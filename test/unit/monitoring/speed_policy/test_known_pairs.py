# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs that are left out because they were far apart: only as long as that is certain."""

from functools import partial

import numpy as np
import pytest
from support.robots.toy_models import toy_model
from support.robots.toys import box_and_ball_on_slides, joint, link

from collision_monitor import CollisionModel, Monitor
from collision_monitor.continuous.near_pairs import PAIR
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.model.thresholds import Rule, Thresholds
from collision_monitor.monitoring.monitor import Level
from collision_monitor.monitoring.settings import SpeedSettings
from collision_monitor.monitoring.speed_policy.braking_check import BrakingCheck, Measured
from collision_monitor.monitoring.speed_policy.braking_paths import BrakingInputs, BrakingPaths
from collision_monitor.monitoring.speed_policy.speed_policy import SpeedPolicy

# The wall is always within the warning distance of the hand, so that other pairs are looked for.
WALL = {"name": "wall", "type": "sphere", "radius": 0.1, "position": [0.0, 0.26, 3.0]}


def turning_arm(reach, *more):
    """An arm that turns a ball to a post at ``reach``; its turn comes first in q."""
    return toy_model(
        link("base", ""), link("arm", ""), link("hand"), *more,
        joint("a_turn", "base", "arm", "continuous", xyz="0 0 0"),
        joint("wag", "base", "hand", xyz="0 0 3"),
        scene={"obstacles": [WALL, {**WALL, "name": "post", "position": [reach, 0.0, 0.0]}]},
    )  # fmt: skip


def levels_of_turn(monitor, q, step):
    """Level of each cycle while the arm turns from 1.2 rad to the post; with the distance."""
    found = []
    for k in range(round(1.2 / step)):
        q[monitor.model.joint_names.index("a_turn")] = 1.2 - step * k
        state = monitor.update(monitor.model.joint_names, q, now=100.0 + 0.002 * k)
        found.append((state.distance, state.level))
    return found


def sliding_arm(reach, tool='<sphere radius="0.1"/>'):
    """A `turning_arm` with a tool on a slide of 0.1 m."""
    limit = '<limit lower="0" upper="0.1" effort="1" velocity="1"/>'
    return turning_arm(
        reach, link("tool", tool),
        f'<joint name="slide" type="prismatic"><parent link="arm"/><child link="tool"/>{limit}'
        '<axis xyz="1 0 0"/></joint>',
    )  # fmt: skip


@pytest.mark.parametrize("slide", [0.1, 0.4, 2.0])
def test_a_sliding_joint_beyond_its_limit_hides_no_contact(slide):
    """How far a joint moves the tool is only known for positions within the limits."""
    model = sliding_arm(slide)
    q = np.zeros(len(model.joint_names))
    q[model.joint_names.index("slide")] = slide
    found = levels_of_turn(Monitor(model), q, 0.001)
    assert all(level == Level.ERROR for distance, level in found if distance <= 0.02)
    assert sum(level == Level.ERROR for _, level in found) > 10


@pytest.mark.parametrize("narrow_phase", ["leaf", "auto"])
@pytest.mark.parametrize(("slide", "speed"), [(0.11, 1.0), (0.4, 0.0)])
@pytest.mark.parametrize("is_live", [False, True])
def test_a_slide_outside_its_range_hides_nothing_on_the_braking_path(
    slide, speed, narrow_phase, is_live
):
    """The farther out the tool is, the farther the arm moves it in the same turn."""
    reaction, deceleration = SpeedSettings().reaction_time, 2.0
    reach = slide + speed * reaction + 0.5 * speed**2 / deceleration

    def gap(position, angle):
        tool = position * np.array([np.cos(angle), np.sin(angle)])
        return np.linalg.norm(tool - (reach, 0.0)) - 0.2

    model = sliding_arm(50.0 if is_live else reach)
    live = LiveScene(model) if is_live else None
    if is_live:
        live.add("thing", np.array([[reach, 0.0, 0.0, reach, 0.0, 0.0, 0.1]]))
    monitor = Monitor(model, narrow_phase=narrow_phase, live=live)
    names = model.joint_names
    q, velocities = np.zeros(len(names)), np.zeros(len(names))
    slides, turns = names.index("slide"), names.index("a_turn")
    q[slides], velocities[slides], velocities[turns] = slide, speed, -1.0
    assert (monitor.behaviour.decelerations == deceleration).all()
    stopped, early = 0, 0
    for k in range(1000):
        q[turns] = 1.2 - 0.001 * k
        state = monitor.update(names, q, now=100.0 + 0.001 * k, velocities=velocities)
        end = q[turns] - reaction - 0.5 / deceleration
        if k > 10 and gap(reach, end) <= monitor.stop_distance:
            assert monitor.behaviour.decision.stop, (q, state.message)
            early += gap(slide, q[turns]) > 0.1
            stopped += 1
    assert stopped > 100 and early > 10  # some are far from the post when they have to stop


@pytest.mark.parametrize("exact", [False, True])
def test_a_slide_below_its_limit_that_moves_out_hides_nothing(exact):
    """It is nearer to 0 than its other limit, while its braking path leads far out."""
    settings = SpeedSettings(release_distance=0.0, release_cycles=1, rise_time=0.0)
    slide, speed, deceleration = -0.05, -2.0, 2.0
    reach = slide + speed * settings.reaction_time - 0.5 * speed**2 / deceleration
    model = sliding_arm(reach, '<sphere radius="0.01"/>')
    names, pair = model.joint_names, model.pairs.index(("tool", "post"))
    check = BrakingCheck(model.twin(), np.full(len(names), deceleration), settings)
    check.prepare_exact()
    check.set_thresholds(np.tile([0.02, 0.1], (len(model.pairs), 1)))
    q, velocities = np.zeros(len(names)), np.zeros(len(names))
    velocities[names.index("slide")] = speed
    stops = 0
    for turn in np.arange(2.2, 0.0, -0.001):
        q[names.index("a_turn")] = turn
        q[names.index("slide")] = reach
        collides = model.distances(q)[pair] <= 0.02
        q[names.index("slide")] = slide
        bounds = partial(model.exact_bounds, q, seconds=1.0) if exact else None
        measured = Measured(model.distance(q, exact=exact), bounds, path_seconds=1.0)
        decision = check.decide(q.copy(), velocities, measured)
        assert decision.stop or not collides
        stops += collides
    assert stops > 50


def test_a_slide_outside_its_range_makes_no_time_to_collision_too_long():
    """The arm turns slowly at first, while its tool slides outwards to where the post is."""
    model = sliding_arm(3.0)
    names = model.joint_names
    q, velocities = np.zeros(len(names)), np.zeros(len(names))
    q[names.index("slide")], q[names.index("a_turn")] = 0.2, 3.0
    velocities[names.index("slide")], velocities[names.index("a_turn")] = 0.5, -0.5
    time = BrakingCheck(model, np.full(len(names), 2.0)).collision_time(q, velocities)
    rows = q + np.linspace(0.0, time, 1000)[:, None] * velocities
    assert 4.0 < time < 6.0 and model.min_distances(rows).min() >= 0.0


def test_a_collision_on_the_path_is_not_hidden_by_what_was_measured_with_larger_thresholds():
    """What ends the measuring of a braking path is a distance on it, but no bound of it."""
    post = {"name": "post", "type": "sphere", "radius": 0.01, "position": [1.0, 0.0, 0.0]}
    model = toy_model(
        link("base", ""), link("arm", '<sphere radius="0.01"/>', xyz="1 0 0"),
        joint("turn", "base", "arm", xyz="0 0 0").replace('velocity="1"', 'velocity="4"'),
        scene={"obstacles": [post]},
    )  # fmt: skip
    distances = {"warn_distance": 0.2, "stop_distance": 0.1}
    kept = Monitor(model.twin(), **distances)
    for k in range(100):
        if k == 30:
            distances = {"warn_distance": 0.03, "stop_distance": 0.01}
            kept.set_thresholds(Thresholds(*distances.values()))
        one, other = (
            monitor.update(["turn"], [0.3 - 0.002 * k], 100.0 + 0.001 * k, velocities=[-2.0])
            for monitor in (kept, Monitor(model.twin(), **distances))
        )
        assert one.distance > 0.05  # now; the braking path leads through the post
        assert one.decision.stop and other.decision.stop


def two_tips(aside=0.0):
    """Two tips that turn, ``turn`` and ``wag``, each to a ball of its own at 0 rad.

    That of ``turn`` is so many metres ``aside`` of its way.
    """
    tip, ball = '<sphere radius="0.01"/>', {"type": "sphere", "radius": 0.01}
    return toy_model(
        link("base", ""), link("arm", tip, xyz="1 0 0"), link("hand", tip, xyz="1 0 0"),
        joint("turn", "base", "arm", xyz="0 0 0").replace('velocity="1"', 'velocity="4"'),
        joint("wag", "base", "hand", xyz="0 0 3"),
        scene={
            "obstacles": [
                {**ball, "name": "post", "position": [1.0 + aside, 0.0, 0.0]},
                {**ball, "name": "wall", "position": [1.0, 0.0, 3.0]},
            ]
        },
    )  # fmt: skip


def test_a_collision_on_the_path_is_not_hidden_by_a_search_that_another_pair_ended():
    model = two_tips()
    settings = SpeedSettings(release_distance=0.0, release_cycles=1, rise_time=0.0)
    behaviour = SpeedPolicy(model, settings)
    monitor = Monitor(model, 0.1, 0.02, narrow_phase="leaf", behaviour=behaviour)
    # The turn leads past the post: at both ends of its path the tip is far from it.
    for wag, pair in ((-1.0, ("hand", "wall")), (0.0, ("arm", "post"))):
        velocities = [{"turn": -3.0, "wag": wag}[name] for name in model.joint_names]
        now = 100.0 if wag else 100.001
        state = monitor.update(model.joint_names, [0.3, 0.3], now, velocities=velocities)
        assert state.decision.stop and state.pair == pair


def test_a_distance_that_is_no_number_among_others_stops():
    model = two_tips()
    check = BrakingCheck(model, np.full(2, 4.0))
    check.prepare_exact()
    check.set_thresholds(np.tile([0.02, 0.1], (len(model.pairs), 1)))
    q, still, unknown = np.array([0.08, 0.07]), np.zeros(2), model.pairs.index(("arm", "post"))

    def exact(pairs, leaves, within, loose, near):
        return np.where(pairs == unknown, np.nan, leaves)

    measured = Measured(model.distance(q, exact=True), exact)
    assert measured.nearest.links == ("hand", "wall") and measured.nearest.distance > 0.02
    decision = check.decide(q, still, measured)
    assert decision.stop and decision.pair == unknown and decision.scale == 0.0


def test_a_stop_goes_on_while_an_unknown_velocity_leaves_open_what_comes_nearer():
    """A pair that comes nearer holds a stop, and ends the search, only if velocities are known."""
    model = two_tips(aside=0.07)
    settings = SpeedSettings(release_distance=0.0, release_cycles=1, rise_time=0.0)
    check = BrakingCheck(model, np.full(2, 4.0), settings)
    check.prepare_exact()
    check.set_thresholds(np.tile([0.02, 0.1], (len(model.pairs), 1)))
    where, exact = {"turn": 0.5, "wag": 0.1}, model.exact_bounds
    q = np.array([where[name] for name in model.joint_names])
    measured = Measured(
        model.distance(q, exact=True), partial(exact, q, seconds=1.0), path_seconds=1.0
    )
    for turn, known in ((0.0, True), (-4.0, False), (-4.0, False)):
        velocities = np.array([{"turn": turn, "wag": -1.0}[name] for name in model.joint_names])
        assert check.decide(q, velocities, measured, known=known).stop  # the wag ends in the wall


def test_large_positions_make_small_ways_no_smaller():
    model = turning_arm(
        2.0, link("tool", '<sphere radius="0.1"/>'),
        joint("end", "arm", "tool", "fixed", xyz="2 0 0"),
    )  # fmt: skip
    paths, settings = BrakingPaths(model), SpeedSettings(release_distance=0.0)
    paths.set_thresholds(np.tile([0.02, 0.1], (len(model.pairs), 1)))
    q, still = np.zeros(len(model.joint_names)), np.zeros(len(model.joint_names))
    turn, count = model.joint_names.index("a_turn"), 0
    # The first is so far away as many ways of large positions are long.
    for position in (1e15, *np.arange(1.2, 0.0, -0.001)):
        q[turn] = position
        size = paths.coarse_search(BrakingInputs(q, still, still, still + 4.0, 0.05, settings))
        if position > 2.0:
            continue
        near = np.flatnonzero(model.distances(q) < 0.1)
        assert {*near} <= {*paths.candidates[:size, PAIR].astype(int)}
        count += len(near)
    assert count > 1200  # the wall always, and the post at the end


def test_a_robot_without_pairs_of_its_own_is_monitored_among_live_objects():
    parts = link("base", ""), link("arm", xyz="1 0 0"), joint("j", "base", "arm", xyz="0 0 0")
    model = toy_model(*parts)
    live = LiveScene(model)
    monitor = Monitor(model, live=live)
    live.add("ball", np.array([[1, 0, 0, 1, 0, 0, 0.1]]))
    levels = [
        monitor.update(["j"], [0.6 - 0.01 * k], now=100.0 + 0.01 * k).level for k in range(60)
    ]
    assert levels[0] == Level.OK and levels[-1] == Level.ERROR


def test_distances_of_shapes_do_not_count_for_leaves_after_a_change_of_the_narrow_phase():
    post = {"name": "post", "type": "box", "size": [0.2, 0.4, 0.1], "position": [0.6, 0.5, 0.0]}
    ball = {"name": "ball", "type": "sphere", "radius": 0.05, "position": [0.0, 0.0, 2.0]}
    model = CollisionModel.from_urdf(
        box_and_ball_on_slides(), scene={"obstacles": [post, ball]}, max_leaves_per_link=1
    )
    q, pair = np.array([0.1, 0.05, 0.0]), model.pairs.index(("hand", "post"))
    leaves, shapes = (model.distances(q, exact=exact)[pair] for exact in (False, True))
    assert leaves < shapes - 0.05
    monitor = Monitor(model)
    rules = Rule("tip ball", 0.01, 0.0), Rule("hand post", leaves + 0.002, 0.0)
    monitor.set_thresholds(Thresholds(0.2, 0.0, rules))
    levels = []
    for k in range(40):
        if k == 20:
            monitor.narrow_phase = "leaf"
        now = 10.0 + 0.01 * k
        state = monitor.update(model.joint_names, q + 1e-6 * k, now, now)
        assert "ball" in state.clearance.links
        levels.append(state.level)
    assert levels[19] is Level.OK and set(levels[20:]) == {Level.WARN}
