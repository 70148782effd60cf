# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Scans of simultaneous motions that begin at different times."""

import numpy as np
import pytest
from support.geometry.scan_cases import request, sampled, two_arms

from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.verification.clearance.scanner import Scanner
from collision_monitor.verification.clearance.schedule import Schedule, Scheduled


@pytest.fixture(scope="module")
def scanner():
    return Scanner(two_arms())


def arms(seed, start):
    """Random motions of the two arms, in their own joints; the second begins at ``start``."""
    rng = np.random.default_rng(seed)
    one, other = (
        Trajectory.through(names, np.arange(4.0), rng.uniform(-1.5, 1.5, (4, len(names))))
        for names in (("a_1", "a_2", "a_3"), ("b_1", "b_2"))
    )
    return [one, Scheduled(other, start)]


@pytest.mark.parametrize(("seed", "start"), [(0, -0.7), (1, 0.5), (2, 2.0), (3, 3.5)])
def test_no_sample_of_two_motions_is_below_what_is_certified(scanner, seed, start):
    model = scanner.model
    schedule = Schedule(model, arms(seed, start))
    edges = schedule.bins(12)
    scan = scanner.scan(request(model, schedule, edges, 0.0, 0.05))
    times = np.linspace(schedule.begin, schedule.end, 601)
    bins = np.clip(np.searchsorted(edges, times, "right") - 1, 0, len(edges) - 2)
    rows = sampled(model, schedule, times)
    assert (rows >= scan.lows[bins]).all()
    least = rows.min(axis=0)
    assert (scan.best <= least + 1e-3 + 0.01 * np.abs(least) + 1e-9).all()
    assert (scan.lows.min(axis=0) >= scan.best - 1.1e-3 - 0.01 * np.abs(scan.best)).all()
    for k, time in enumerate(scan.times):
        there = model.distances(schedule.configuration(time))[k]
        assert there == pytest.approx(scan.best[k], abs=1e-9)


def test_the_first_instant_is_that_of_the_samples(scanner):
    model = scanner.model
    schedule = Schedule(model, arms(1, 0.5))
    times = np.linspace(schedule.begin, schedule.end, 1601)
    rows, limit, seen = sampled(model, schedule, times), 0.25, 0
    for k in range(len(model.pairs)):
        first = scanner.first_below(schedule, k, limit, schedule.begin, schedule.end, 1e-3)
        below = times[rows[:, k] < limit]
        if not len(below):
            continue
        seen += 1
        assert below[0] - 2.0 * (times[1] - times[0]) <= first <= below[0] + 1e-3
    assert seen > 3
