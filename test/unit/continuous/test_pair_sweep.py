# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How far leaves can go, against where they do go."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.geometry.scan_cases import random_motion, two_arms

from collision_monitor.continuous.clearance_scan import interval_leaf_bound
from collision_monitor.hierarchy.packed import windows
from collision_monitor.verification.clearance.scanner import Scanner
from collision_monitor.verification.clearance.schedule import Schedule


@pytest.fixture(scope="module")
def scanner():
    return Scanner(two_arms())


def fill(scanner, schedule, time, half):
    """(view, space) after a query at ``time`` for which every leaf matters."""
    motion = schedule.packed()
    space = scanner.space(1, motion.order)
    numbers, index = scanner.model.work_space()
    for pair in range(len(scanner.model.pairs)):
        interval_leaf_bound(
            numbers, index, space, motion, schedule.starts, schedule.widths, time, half, pair, 1e3,
            schedule.rest.copy(),
        )  # fmt: skip
        yield windows(numbers, index), space, pair


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 3), st.floats(0.0, 3.0), st.floats(1e-3, 0.5))
def test_no_leaf_goes_farther(scanner, seed, kind, time, half):
    """From the base: links of the base are those whose innermost joint is the first of all."""
    model = scanner.model
    schedule = Schedule(model, random_motion(model, seed, kind=kind))
    here = model.leaf_segments(schedule.configuration(time))
    ways = np.zeros((len(model.leaves), 2))
    for s in time + half * np.linspace(-1.0, 1.0, 25):
        way = np.linalg.norm(model.leaf_segments(schedule.configuration(s)) - here, axis=2)
        ways = np.maximum(ways, way)
    for view, space, pair in fill(scanner, schedule, time, half):
        travel = space.travel.reshape(-1, len(view.joint_table))
        for leaf in range(view.moving_leaves):
            if space.filled[leaf] == 0 and scanner.firsts[pair].max() >= 0:
                assert ways[leaf].max() <= travel[leaf, 0] + 1e-9
