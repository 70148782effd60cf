# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Bounds over boxes of joint values, held to what dense samples find."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.geometry.range_cases import (
    branched,
    fill_box,
    hulls_gap,
    leaves_gap,
    nearest_leaves,
    pair_of,
    place_links,
)
from support.geometry.segment_distance import segment_distance

from collision_monitor.acm.range_proof import travel
from collision_monitor.hierarchy.packed import PRISMATIC, windows

_kept = {}


def case(seed, names):
    if (seed, names) not in _kept:
        _kept[seed, names] = pair_of(branched(np.random.default_rng(seed)), *names)
    return _kept[seed, names]


class Box:
    """All that the kernels fill for a box, and a slow way to the same numbers."""

    def __init__(self, pair, q, half):
        chain = pair.chain
        self.chain, self.view = chain, windows(chain.numbers, chain.index)
        joints, rows = len(chain.joints), 2 * chain.rows
        self.q, self.half = q, half
        self.widths, self.chords = np.empty(joints), np.empty(joints)
        self.reaches = np.empty((rows + 2, joints))
        self.bends = np.empty((rows + 2, joints + 1))
        self.radii = self.view.radii[:, 0]
        self.slides = self.view.joint_table[chain.joints, 1] == PRISMATIC
        fill_box(chain, q, half, self.widths, self.chords, self.reaches, self.bends)

    def distances(self, values):
        """Signed distance (rows, rows) of leaves of A and B at other values of the columns."""
        place_links(self.chain, values)
        ends = self.view.ends.reshape(-1, 2, 3)
        out = np.full((len(ends), len(ends)), np.inf)
        for start in (0, self.chain.rows):
            for i in range(start, start + self.chain.leaves):
                for j in range(start + self.chain.leaves, start + self.chain.rows):
                    apart = segment_distance(ends[i], ends[j])
                    out[i, j] = apart - self.radii[i] - self.radii[j]
        place_links(self.chain, self.q)
        return out


PAIRS = st.tuples(
    st.integers(1, 4),
    st.sampled_from([("a3", "b3"), ("base", "a3"), ("a0", "a3"), ("b3", "b0"), ("a1", "b2")]),
)


def box_of(drawn, seed, largest):
    model, pair = case(*drawn)
    rng = np.random.default_rng(seed)
    half = rng.uniform(0.0, largest, len(pair.columns)) * rng.uniform()
    q = rng.uniform(pair.low + half, np.maximum(pair.high - half, pair.low + half))
    return pair, Box(pair, q, half), rng


@settings(deadline=None, max_examples=40)
@given(PAIRS, st.integers(0, 10**6), st.sampled_from([0.05, 0.3, 1.5, 4.0]))
def test_nothing_comes_nearer_than_the_bounds_say(drawn, seed, largest):
    pair, box, rng = box_of(drawn, seed, largest)
    chain = box.chain
    middle = box.distances(box.q)
    rows = [box.q + box.half * s for s in rng.choice([-1.0, 0.0, 1.0], (10, len(box.q)))]
    rows += [box.q + box.half * s for s in rng.uniform(-1.0, 1.0, (6, len(box.q)))]
    least = np.min([box.distances(row) for row in rows], axis=0)
    for start in (0, chain.rows):
        lowest = np.inf
        for i in range(start, start + chain.leaves):
            for j in range(start + chain.leaves, start + chain.rows):
                loss = travel(box.chords, box.reaches, i, j)
                assert least[i, j] >= middle[i, j] - loss - 1e-9
                lowest = min(lowest, least[i, j])
                if middle[i, j] > 0.0:
                    gap = leaves_gap(chain, box.widths, box.bends, i, j)
                    assert least[i, j] >= gap - 1e-9
        i, _ = nearest_leaves(chain, box.widths, box.chords, box.reaches, box.bends, start)
        assert i >= 0 or lowest >= -1e-9
    # What is swept encloses what is not.
    assert least[chain.rows :, chain.rows :].min() <= least[: chain.rows, : chain.rows].min() + 1e-9


@settings(deadline=None, max_examples=40)
@given(PAIRS, st.integers(0, 10**6), st.sampled_from([0.05, 0.3, 1.0]))
def test_hulls_stay_beyond_the_plane(drawn, seed, largest):
    pair, box, rng = box_of(drawn, seed, largest)
    n = rng.normal(size=3)
    n /= np.linalg.norm(n)
    gap = hulls_gap(box.chain, box.widths, box.bends, *n)
    for s in rng.uniform(-1.0, 1.0, (30, len(box.q))):
        place_links(box.chain, box.q + box.half * s)
        poses = box.view.poses[box.chain.bodies]
        hulls = [
            hull[:, :3] @ pose[:9].reshape(3, 3).T + pose[9:]
            for hull, pose in zip((box.chain.hull_a, box.chain.hull_b), poses, strict=True)
        ]
        if gap > 0.0:  # a plane parts them, so the distance of any two points is no less
            apart = np.linalg.norm(hulls[0][:, None] - hulls[1][None], axis=2).min()
            radii = box.chain.hull_a[:, 3].max() + box.chain.hull_b[:, 3].max()
            assert apart - radii >= gap - 1e-9


def twin_reaches(box, radii):
    """Reaches of points at ``radii`` (rows,) from the axes of the leaves, by their definition."""
    chain = box.chain
    joints = len(chain.joints)
    out = np.zeros((chain.rows, joints))
    for i in range(chain.rows):
        order = range(joints) if i < chain.leaves else range(joints - 1, -1, -1)
        done = []
        for k in order:
            if box.slides[k]:
                out[i, k] = 1.0
            else:
                pose = box.view.poses[chain.joints[k] + 1]
                axis, origin = pose[[2, 5, 8]], pose[9:]
                points = box.view.ends[i].reshape(2, 3) - origin
                radial = np.linalg.norm(np.cross(points, axis), axis=1).max()
                between = sum(box.chords[j] * out[i, j] for j in done)
                out[i, k] = radial + radii[i] + between
            done.append(k)
    return out


def twin_bends(box, reaches):
    """Accelerations as sums over pairs of joints."""
    chain, w = box.chain, box.widths
    joints = len(w)
    turns = ~box.slides
    out = np.zeros((chain.rows, joints + 1))
    for i in range(chain.rows):
        first = i < chain.leaves
        for s in range(joints + 1):
            movers = range(s) if first else range(s, joints)
            for k in movers:
                if turns[k]:
                    out[i, s] += w[k] ** 2 * reaches[i, k]
                for j in movers:
                    nearer = j > k if first else j < k
                    if nearer and turns[j]:
                        out[i, s] += 2.0 * w[j] * w[k] * reaches[i, k]
    return out


@settings(deadline=None, max_examples=25)
@given(PAIRS, st.integers(0, 10**6))
def test_reaches_and_accelerations_are_those_of_the_twin(drawn, seed):
    _, box, _ = box_of(drawn, seed, 1.0)
    rows = box.chain.rows
    reaches = twin_reaches(box, np.zeros(rows))
    assert box.reaches[:rows] == pytest.approx(reaches, rel=1e-9)
    assert box.bends[:rows] == pytest.approx(twin_bends(box, reaches), rel=1e-9, abs=1e-12)
    of_points = twin_reaches(box, box.radii)
    assert box.reaches[-2] == pytest.approx(of_points[: box.chain.leaves].max(axis=0))
    assert box.reaches[-1] == pytest.approx(of_points[box.chain.leaves :].max(axis=0))


def test_a_box_of_one_configuration_loses_nothing():
    pair, box, _ = box_of((2, ("base", "a3")), 5, 0.0)
    assert travel(box.chords, box.reaches, 0, box.chain.leaves) == 0.0
    middle = box.distances(box.q)[0, box.chain.leaves]
    if middle > 0.0:
        gap = leaves_gap(box.chain, box.widths, box.bends, 0, box.chain.leaves)
        assert gap == pytest.approx(middle, abs=1e-9)
