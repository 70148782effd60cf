# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Scans of motions that begin at any instant of a range, and the tables that scans need."""

import numpy as np
import pytest
from support.geometry.scan_cases import request, two_arms

from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.verification.clearance.scanner import Scanner, scan_any_start
from collision_monitor.verification.clearance.schedule import Schedule, Scheduled


@pytest.fixture(scope="module")
def scanner():
    return Scanner(two_arms())


def arms(seed):
    """Random motions of the two arms, in their own joints."""
    rng = np.random.default_rng(seed)
    return [
        Trajectory.through(names, np.arange(4.0), rng.uniform(-1.5, 1.5, (4, len(names))))
        for names in (("a_1", "a_2", "a_3"), ("b_1", "b_2"))
    ]


@pytest.mark.parametrize("seed", range(4))
def test_no_start_of_the_range_is_worse_than_certified(scanner, seed):
    model = scanner.model
    one, other = arms(seed)
    schedule = Schedule(model, [one, Scheduled(other, 0.5, 2.0)])
    edges = schedule.bins(12)
    scan = scan_any_start(scanner.scan, scanner, request(model, schedule, edges, 0.0, 0.05))
    times = np.linspace(schedule.begin, schedule.end, 97)
    bins = np.clip(np.searchsorted(edges, times, "right") - 1, 0, len(edges) - 2)
    least = np.full(len(model.pairs), np.inf)
    for start in np.linspace(0.5, 2.0, 13):
        rows = [model.distances(schedule.configuration(time, (0.0, start))) for time in times]
        assert (np.array(rows) >= scan.lows[bins]).all()
        least = np.minimum(least, np.min(rows, axis=0))
    assert (scan.best <= least + 1e-3 + 0.01 * np.abs(least) + 1e-9).all()
    assert (scan.lows.min(axis=0) >= scan.best - 1.1e-3 - 0.01 * np.abs(scan.best)).all()
    for k, (time, *starts) in enumerate(scan.instants):
        assert 0.5 <= starts[1] <= 2.0
        there = model.distances(schedule.configuration(time, starts))[k]
        assert there == pytest.approx(scan.best[k], abs=1e-9)


def test_the_first_instant_is_that_of_the_worst_start(scanner):
    model = scanner.model
    one, other = arms(1)
    schedule = Schedule(model, [one, Scheduled(other, 0.0, 1.0)])
    pairs = [k for k, pair in enumerate(model.pairs) if {p[0] for p in pair} == {"a", "b"}]
    limit, found = 0.25, 0
    for k in pairs:
        first = scanner.first_below(schedule, k, limit, schedule.begin, schedule.end, 1e-3)
        times = np.linspace(schedule.begin, schedule.end, 161)
        below = [
            time
            for start in np.linspace(0.0, 1.0, 11)
            for time in times
            if model.distances(schedule.configuration(time, (0.0, start)))[k] < limit
        ]
        assert first <= min(below, default=np.inf) + 1e-3
        if below and first > 0.01:
            found += 1
            assert first >= min(below) - 0.15  # between the starts of the grid
    assert found
