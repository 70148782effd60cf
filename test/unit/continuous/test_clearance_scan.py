# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Scans against dense sampling: no sample below what is certified, and bounds close together."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.geometry.scan_cases import (
    limits_of,
    random_motion,
    request,
    sampled,
    two_arms,
    two_motions,
)
from support.robots.robots import load_model

from collision_monitor import CollisionModel
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.verification.clearance.scanner import Scanner
from collision_monitor.verification.clearance.schedule import Schedule
from unit.continuous.test_certificate import ARM, PLATE


@pytest.fixture(scope="module")
def scanner():
    return Scanner(two_arms())


def is_certified(model, schedule, edges, scan, rows):
    """No sample is below the bound of its bin, and bounds are close together."""
    times = np.linspace(schedule.begin, schedule.end, rows)
    distances = sampled(model, schedule, times)
    bins = np.clip(np.searchsorted(edges, times, "right") - 1, 0, len(edges) - 2)
    assert (distances >= scan.lows[bins]).all()
    least = distances.min(axis=0)
    assert (scan.best <= least + 1e-3 + 0.01 * np.abs(least) + 1e-9).all()
    assert (scan.lows.min(axis=0) >= scan.best - 1.1e-3 - 0.01 * np.abs(scan.best)).all()


def check(scanner, schedule, limits, edges, rows):
    """Whether a scan and dense sampling agree; the scan."""
    scan = scanner.scan(request(scanner.model, schedule, edges, *limits, threads=1))
    limits = limits_of(scanner.model, *limits)
    is_certified(scanner.model, schedule, edges, scan, rows)
    assert (scan.best == scan.ups.min(axis=0)).all()
    assert (scan.lows >= scan.ups - 1.1e-3 - 0.1 * np.abs(scan.ups)).all()
    for k in range(0, scan.ups.shape[1], 3):
        for b in range(0, len(edges) - 1, 7):
            q = schedule.configuration(scan.when[b, k])
            assert scanner.model.distances(q)[k] == pytest.approx(scan.ups[b, k], abs=1e-9)
        i, j = scan.leaves[k]
        links = scanner.model.leaves[i].link, scanner.model.leaves[j].link
        assert links == scanner.model.pairs[k]
    kept = limits[None] <= scan.ups[:, :, None]
    undecided = (kept & (scan.lows[:, :, None] < limits[None])).any(axis=2)
    assert np.isfinite(scan.doubts[undecided]).all()
    return scan


@settings(deadline=None, max_examples=12)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 12), st.integers(2, 30))
def test_no_sample_is_below_what_is_certified(scanner, seed, kind, bins, points):
    model = scanner.model
    schedule = Schedule(model, random_motion(model, seed, points, kind))
    check(scanner, schedule, (0.0, 0.03, 0.1), schedule.bins(bins), 800)


@pytest.mark.parametrize(("seed", "start"), [(0, -0.7), (1, 0.5), (2, 2.0), (3, 3.5)])
def test_no_sample_of_two_motions_is_below_what_is_certified(scanner, seed, start):
    schedule = Schedule(scanner.model, two_motions(seed, start))
    edges = schedule.bins(12)
    scan = scanner.scan(request(scanner.model, schedule, edges, 0.0, 0.05))
    is_certified(scanner.model, schedule, edges, scan, 601)
    for k, time in enumerate(scan.times):
        there = scanner.model.distances(schedule.configuration(time))[k]
        assert there == pytest.approx(scan.best[k], abs=1e-9)


def test_the_first_instant_is_that_of_the_samples(scanner):
    schedule = Schedule(scanner.model, two_motions(1, 0.5))
    times = np.linspace(schedule.begin, schedule.end, 1601)
    rows, limit, seen = sampled(scanner.model, schedule, times), 0.25, 0
    for k in range(len(scanner.model.pairs)):
        first = scanner.first_below(schedule, k, limit, schedule.begin, schedule.end, 1e-3)
        below = times[rows[:, k] < limit]
        if not len(below):
            continue
        seen += 1
        assert below[0] - 2.0 * (times[1] - times[0]) <= first <= below[0] + 1e-3
    assert seen > 3


def test_the_first_instant_is_accurate_where_the_distance_hovers_at_the_limit(scanner):
    """Nearly at the limit for several instants, below it for two or three."""
    for seed, kind, pair in ((2, 3, 11), (4, 2, 18), (21, 1, 9)):
        schedule = Schedule(scanner.model, random_motion(scanner.model, seed, 6, kind))
        times = np.linspace(schedule.begin, schedule.end, 1501)
        distances = sampled(scanner.model, schedule, times)[:, pair]
        limit = distances.min() + 1e-6
        first = scanner.first_below(schedule, pair, limit, schedule.begin, schedule.end, 1e-4)
        assert first <= times[distances.argmin()] + 1e-4


@pytest.mark.parametrize("name", ["ur5", "baxter"])
def test_real_robots_are_scanned_rightly(name):
    table = {"name": "table", "type": "box", "size": [1, 1, 0.1], "position": [0.7, 0, -0.2]}
    model = load_model(name, scene={"obstacles": [table]}, max_leaves_per_link=1)
    scanner = Scanner(model)
    schedule = Schedule(model, random_motion(model, 7, 6, 2, 10.0))
    check(scanner, schedule, (0.0, 0.02, 0.1), schedule.bins(40), 600)


def test_pieces_far_from_everything_are_not_halved(scanner):
    """A quarter of a degree in ten seconds takes one look a bin."""
    model = scanner.model
    rows = np.array([[0.0] * len(model.joint_names), [0.004] * len(model.joint_names)])
    schedule = Schedule(model, Trajectory.through(model.joint_names, [0.0, 10.0], rows))
    scan = scanner.scan(request(model, schedule, 10))
    assert scan.looks[0] == 10


def test_a_thin_plate_between_two_samples_is_found():
    """Clear at both ends, in 30 ms through a plate of 2 mm."""
    model = CollisionModel.from_urdf(ARM, scene=PLATE)
    scanner = Scanner(model)
    k = [set(pair) for pair in model.pairs].index({"arm", "plate"})
    way = Trajectory.through(("turn",), [0.0, 0.03], [[-1.0], [1.2]])
    assert model.is_clear(np.array([[-1.0], [1.2]])).all()
    schedule = Schedule(model, way)
    scan = scanner.scan(request(model, schedule, np.array([0.0, 0.03]), 0.0))
    assert scan.best[k] < 0.0
    first = scanner.first_below(schedule, k, 0.0, 0.0, 0.03, 1e-6)
    before = model.distances(schedule.configuration(first - 2e-6))[k]
    assert before >= 0.0 > model.distances(schedule.configuration(first))[k]
    assert scanner.first_below(schedule, k, -1.0, 0.0, 0.03, 1e-6) == np.inf


def test_any_number_of_threads_says_the_same_of_every_bin(scanner):
    model = scanner.model
    schedule = Schedule(model, random_motion(model, 3, 8))
    one, three = (scanner.scan(request(model, schedule, 60, 0.0, threads=n)) for n in (1, 3))
    assert (one.lows == three.lows).all()
    assert (one.ups == three.ups).all()
    assert (one.best == three.best).all()
