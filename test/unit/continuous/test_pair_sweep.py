# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How far leaves can go, against where they do go."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.geometry.scan_cases import random_motion, two_arms
from support.geometry.scan_kernels import leaf_bound

from collision_monitor.continuous.pair_sweep import FAR, OFF, SIZE
from collision_monitor.hierarchy.packed import windows
from collision_monitor.verification.clearance.scanner import Scanner
from collision_monitor.verification.clearance.schedule import Schedule


@pytest.fixture(scope="module")
def scanner():
    return Scanner(two_arms())


def fill(scanner, schedule, time, half):
    """(view, space) after a query at ``time`` for which every leaf matters."""
    motion = schedule.packed()
    space = scanner.tables.space(motion.order)
    numbers, index = scanner.model.work_space()
    for pair in range(len(scanner.model.pairs)):
        q = schedule.rest.copy()
        rates = np.zeros((len(q), 3))
        leaf_bound(numbers, index, space, motion, time, half, pair, 1e3, q, rates)
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
            if space.filled[leaf] == 0 and scanner.tables.firsts[pair].max() >= 0:
                assert ways[leaf].max() <= travel[leaf, 0] + 1e-9


def twin(view, joints, leaf, radius):
    """travel, stray and bend of points at ``radius`` from a leaf's axis, from each joint on."""
    chain, body = [], int(view.leaf_bodies[leaf, 0])
    while body > 0:
        chain.insert(0, body - 1)
        body = int(view.joint_table[body - 1, 0])
    points = view.ends[leaf].reshape(2, 3)
    near = {}
    for k in chain:
        pose = view.poses[k + 1]
        rotation, origin = pose[:9].reshape(3, 3), pose[9:]
        off = np.linalg.norm(np.cross(rotation[:, 2], points - origin), axis=1)
        near[k] = 1.0 if view.joint_table[k, 1] == 1 else off.max() + radius
    far = {
        k: 1.0
        if view.joint_table[k, 1] == 1
        else near[k] + sum(joints[m, SIZE] * near[m] for m in chain[n + 1 :])
        for n, k in enumerate(chain)
    }
    out = {}
    for n, first in enumerate(chain):
        rest = chain[n:]
        turned, bend = 0.0, 0.0
        for k in rest:
            bend += joints[k, SIZE] * far[k] * (joints[k, SIZE] + 2.0 * turned)
            turned += joints[k, SIZE]
        out[first] = (
            sum(joints[k, FAR] * near[k] for k in rest),
            sum(joints[k, OFF] * far[k] for k in rest),
            bend,
        )
    return out


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 3), st.floats(0.0, 3.0), st.floats(1e-3, 0.5))
def test_sums_are_those_written_out(scanner, seed, kind, time, half):
    schedule = Schedule(scanner.model, random_motion(scanner.model, seed, kind=kind))
    for view, space, pair in fill(scanner, schedule, time, half):
        shape = -1, len(view.joint_table)
        tables = [table.reshape(shape) for table in (space.travel, space.stray, space.bend)]
        joints = space.joints.reshape(-1, 4)
        for side in (0, 1):
            first = scanner.tables.firsts[pair, side]
            link = view.pairs[pair, side]
            body = view.moving_leaves + len(view.links) + link
            for leaf in range(*view.links[link]):
                if first >= 0 and space.filled[leaf] == 0:
                    for radius in (0.0, 0.3):
                        sums = [table[leaf, first] + radius * table[body, first]
                                for table in tables]  # fmt: skip
                        assert sums == pytest.approx(twin(view, joints, leaf, radius)[first])
