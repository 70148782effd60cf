# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Braking paths: the law of motion, and bounds against densely sampled truth."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.robots.planar_arms import ball, planar_model
from support.robots.two_slides import distance as slides_distance
from support.robots.two_slides import model as slides_model

from collision_monitor.continuous import braking, braking_search
from collision_monitor.continuous.known_pairs import forget
from collision_monitor.continuous.near_pairs import DISTANCE, LEAST, PAIR, RATE, TRAVEL
from collision_monitor.model.proximity import Proximity
from collision_monitor.monitoring.settings import SpeedSettings
from collision_monitor.monitoring.speed_policy.braking_check import BrakingCheck
from collision_monitor.monitoring.speed_policy.braking_paths import BrakingInputs, BrakingPaths
from collision_monitor.monitoring.speed_policy.decision import RELEASE_PART

MODEL = planar_model(ball("post", 0.5, 0.0, 0.1))
STOP, WARN = 0.02, 0.1
RESOLUTION, REACTION = 0.001, 0.05
DECELERATIONS = np.full(6, 4.0)
SETTINGS = SpeedSettings()
CAUTIOUS = SpeedSettings(resolution=RESOLUTION, release_distance=0.0)
ANGLES = st.lists(st.floats(-2.0, 2.0), min_size=6, max_size=6).map(np.array)
SPEEDS = st.lists(st.floats(-1.5, 1.5), min_size=6, max_size=6).map(np.array)


def paths_of(model):
    paths = BrakingPaths(model)
    paths.set_thresholds(np.tile([STOP, WARN], (len(model.pairs), 1)))
    return paths


@pytest.fixture(scope="module")
def paths():
    """Of two arms and a post."""
    return paths_of(MODEL)


def path_of(q, v, decelerations, reaction, count=400):
    """Configurations (count, nq) of the braking path, by numpy."""
    end = reaction + (np.abs(v) / decelerations).max()
    rows = []
    for time in np.linspace(0.0, end, count):
        brake = np.clip(time - reaction, 0.0, np.abs(v) / decelerations)
        way = v * min(time, reaction) + v * brake - np.sign(v) * 0.5 * decelerations * brake**2
        rows.append(q + way)
    return np.array(rows)


def rows_of(paths, q, v, decelerations=DECELERATIONS, **options):
    """{pair: row} of one look."""
    inputs = BrakingInputs(q, v, v, decelerations, REACTION, CAUTIOUS)
    forget(*paths.known)
    count = paths.coarse_search(inputs)
    rows = paths.candidates[:count].copy()
    paths.set_rates(inputs, rows)
    stop, enough = np.full(len(rows), -np.inf), np.full(len(rows), WARN)
    paths.bound_leaves(inputs, rows, stop, enough, **options)
    return {int(row[PAIR]): row for row in rows}


@given(SPEEDS, st.floats(0.0, 0.3), st.floats(0.0, 1.0), st.floats(1e-3, 1.0))
@settings(max_examples=200, deadline=None)
def test_joints_stay_within_the_range_about_an_instant(v, reaction, part, share):
    decelerations = np.linspace(0.5, 4.0, 6)
    end = reaction + (np.abs(v) / decelerations).max()
    center = part * end
    half = share * min(center, end - center)
    q, motion = np.empty(6), np.empty((6, 3))
    path = braking.BrakingPath(np.zeros(6), v, decelerations, reaction)
    braking_search.braking_range(path, center, half, q, motion)
    times = center + half * np.linspace(-1.0, 1.0, 201)
    off = np.array(
        [[braking.braked(v[k], decelerations[k], reaction, t) for k in range(6)] for t in times]
    )
    off -= q
    slope, span, stray = motion.T
    assert np.allclose(np.abs(off).max(axis=0), span, atol=1e-9)
    away = np.abs(off - slope * (times - center)[:, None]).max(axis=0)
    assert (away <= stray + 1e-9).all() and (stray <= away + 1e-3).all()


@given(ANGLES, SPEEDS, st.booleans())
@settings(max_examples=180, deadline=None)
def test_distances_on_the_braking_path_are_lower_bounds_of_every_near_pair(paths, q, v, is_slow):
    v = (0.3 if is_slow else 1.0) * v
    rows = rows_of(paths, q, v)
    path = path_of(q, v, DECELERATIONS, REACTION)
    truth = np.array([MODEL.distances(row) for row in path])
    now = MODEL.distances(q)
    for pair, row in rows.items():
        assert row[DISTANCE] == pytest.approx(now[pair], abs=1e-9)
        assert row[LEAST] <= truth[:, pair].min() + 1e-9
        if is_slow and truth[:, pair].min() < WARN:
            assert row[LEAST] > truth[:, pair].min() - RESOLUTION - 1e-4
    missing = set(range(len(MODEL.pairs))) - rows.keys()
    assert all(truth[:, pair].min() > WARN for pair in missing)


@given(ANGLES, SPEEDS)
@settings(max_examples=100, deadline=None)
def test_rates_are_derivatives_of_distances(paths, q, v):
    step = 1e-6
    near = Proximity(MODEL).near(q, np.full(len(MODEL.pairs), WARN), 2e-3)
    counts = np.bincount(near.pairs, minlength=len(MODEL.pairs))
    before, after = MODEL.distances(q - step * v), MODEL.distances(q + step * v)
    for pair, row in rows_of(paths, q, v).items():
        if counts[pair] == 1 and row[DISTANCE] > 1e-3:  # else which points are nearest may change
            rate = (after[pair] - before[pair]) / (2.0 * step)
            assert row[RATE] == pytest.approx(rate, abs=1e-4)


@given(st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=40, deadline=None)
def test_only_pairs_are_left_out_that_stay_away_while_braking(seed, keeps):
    """Along a motion, though most pairs are not measured again at each configuration."""
    rng = np.random.default_rng(seed)
    paths, q, v = paths_of(MODEL), rng.uniform(-2.0, 2.0, 6), np.zeros(6)
    enough = WARN + min(SETTINGS.release_distance, RELEASE_PART * WARN)
    for _ in range(20):
        q = q + rng.normal(0.0, rng.choice([1e-3, 0.03, 0.5]), 6) * rng.integers(0, 2, 6)
        v = v + rng.normal(0.0, rng.choice([1e-3, 0.03, 0.5]), 6) * rng.integers(0, 2, 6)
        reaction = REACTION + rng.choice([0.0, 0.002])
        inputs = BrakingInputs(q, v, v, DECELERATIONS, reaction, SETTINGS)
        now = MODEL.distances(q)
        path = path_of(q, v, DECELERATIONS, reaction, count=60)
        truth = np.array([MODEL.distances(row) for row in path]).min(axis=0)
        count = paths.coarse_search(inputs, now=True)
        assert set(paths.candidates[:count, PAIR].astype(int)) == set(np.flatnonzero(now < enough))
        count = paths.coarse_search(inputs)
        paths.set_rates(inputs, rows := paths.candidates[:count].copy())
        found = {int(row[PAIR]): row for row in rows}
        assert (truth[list(set(range(len(now))) - found.keys())] >= enough - 1e-9).all()
        if keeps:
            pairs = rows[:, PAIR].astype(int)
            paths.keep(pairs, now[pairs], truth[pairs] - 1e-2)  # sampled: not a bound
        for pair, row in found.items():
            assert row[DISTANCE] == pytest.approx(now[pair], abs=1e-9)
            assert max(row[LEAST], row[DISTANCE] - row[TRAVEL]) <= truth[pair] + 1e-9


def test_other_decelerations_make_what_is_known_of_earlier_paths_useless():
    paths, v = paths_of(MODEL), np.full(6, 0.1)
    some = MODEL.random_configurations(1000)
    q = next(row for row in some if 0.0 < MODEL.distance(row).distance < WARN)
    pairs, counts = np.arange(len(MODEL.pairs)), []
    for decelerations in (4.0, 4.0, 3.0):
        inputs = BrakingInputs(q, v, v, np.full(6, decelerations), REACTION, SETTINGS)
        counts.append(paths.coarse_search(inputs))
        paths.keep(pairs, np.full(len(pairs), 9.0), np.full(len(pairs), 9.0))
    assert counts[0] > 0 and counts[1] == 0 and counts[2] == counts[0]


def test_on_slides_all_is_as_by_hand():
    model = slides_model()
    order = [model.joint_names.index(name) for name in ("r_x", "r_y", "l_x", "l_y")]
    q, v = np.zeros(len(model.joint_names)), np.zeros(len(model.joint_names))
    q[order] = [0.35, 0.0, -0.3, 0.0]
    v[order] = [0.5, 0.0, -0.3, 0.0]
    (row,) = rows_of(paths_of(model), q, v, np.full(len(q), 2.0)).values()
    gap = slides_distance(0.35, 0.0, -0.3, 0.0)
    assert row[DISTANCE] == pytest.approx(gap)
    assert row[RATE] == pytest.approx(-0.8)
    way = 0.8 * REACTION + (0.25 + 0.09) / 4.0
    assert row[LEAST] == pytest.approx(gap - way, abs=1e-9)  # the bound from now on is exact here


def test_more_pairs_than_there_is_room_for_are_all_there():
    balls = [ball(f"b{k}", 0.4 + 0.001 * k, -0.45, 0.05) for k in range(150)]
    model = planar_model(*balls)
    q, v = np.zeros(6), np.full(6, 0.1)
    rows = rows_of(paths_of(model), q, v)
    near = np.flatnonzero(model.distances(q) < WARN)
    assert len(near) > 150
    assert set(near) <= rows.keys()


def test_bound_of_a_search_that_was_cut_short_holds(paths):
    rng = np.random.default_rng(4)
    loose = 0.0
    for _ in range(40):
        q, v = rng.uniform(-2.0, 2.0, 6), rng.uniform(-2.0, 2.0, 6)
        path = path_of(q, v, DECELERATIONS, REACTION)
        truth = np.array([MODEL.distances(row) for row in path]).min(axis=0)
        for pair, row in rows_of(paths, q, v, most=2).items():
            assert row[LEAST] <= truth[pair] + 1e-9
            loose = max(loose, truth[pair] - row[LEAST])
    assert loose > 0.01  # it was


def test_velocities_whose_path_is_beyond_numbers_leave_no_distance(paths):
    rows = rows_of(paths, np.zeros(6), np.full(6, 1e200))
    assert rows
    assert all(row[LEAST] == -np.inf for row in rows.values())


def test_a_joint_stands_after_v_squared_over_2a():
    assert braking.braked(2.0, 4.0, 0.05, np.inf) == pytest.approx(0.1 + 4.0 / 8.0)
    both = np.array([1.0, -3.0])
    assert braking.braking_time(both, np.array([2.0, 4.0]), 0.05) == pytest.approx(0.8)
    assert braking.braking_time(np.zeros(2), both, 0.05) == 0.0


# -- time to collision: never too long, and right where it can be worked out --


ARMS = planar_model()


@pytest.fixture(scope="module")
def check():
    """The check of two arms."""
    return BrakingCheck(ARMS, np.full(6, 4.0))


def test_two_balls_meet_when_their_gap_is_used_up():
    model = slides_model()
    check = BrakingCheck(model, np.full(5, 2.0))
    q, v = np.zeros(5), np.zeros(5)
    v[model.joint_names.index("r_x")], v[model.joint_names.index("l_x")] = 0.3, -0.1
    assert check.collision_time(q, v) == pytest.approx(0.8 / 0.4, abs=0.01)
    assert check.collision_time(q, -v) == math.inf
    assert check.collision_time(q, 0.0 * v) == math.inf
    assert check.collision_time(q, v, horizon=1.0) == math.inf


@given(ANGLES, ANGLES)
@settings(max_examples=100, deadline=None)
def test_nothing_touches_before(check, q, v):
    assume(np.abs(v).max() > 1e-3)
    time = check.collision_time(q, v, 3.0)
    clear_until = min(time, 3.0) - 1e-9
    if clear_until > 0.0:
        rows = q + np.linspace(0.0, clear_until, 300)[:, None] * v
        assert ARMS.min_distances(rows).min() >= 0.0
    if time < 3.0 and 0.0 < ARMS.distance(q).distance:
        assert ARMS.distance(q + time * v).distance < 0.05  # nor is it said far too early
