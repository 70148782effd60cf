# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Yes or no in lanes against the distances of all pairs, on random robots in random scenes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collision_monitor.batch_clear.clear import CHUNK, CLEAR, DOUBTFUL, TOO_CLOSE, clear
from collision_monitor.batch_clear.tables import clear_tables, link_solid
from collision_monitor.geometry.leaf import Leaf, distances_to_segment
from collision_monitor.hierarchy import query
from collision_monitor.hierarchy.packed import pack_model, windows
from collision_monitor.robot.bodies import Bodies

SLACK = 1e-9


class Cell:
    """A random tree of joints; links of one to five leaves on its bodies and on the base."""

    def __init__(self, seed, moving, static, share):
        rng = np.random.default_rng(seed)
        self.columns = moving
        joints = moving + 1  # one is a mimic of the first, so gains and offsets matter
        placements = np.tile(np.eye(4), (joints, 1, 1))
        placements[:, :3, :3] = np.linalg.qr(rng.normal(size=(joints, 3, 3)))[0]
        placements[:, :3, :3] *= np.linalg.det(placements[:, :3, :3])[:, None, None]
        placements[:, :3, 3] = rng.normal(size=(joints, 3))
        bodies = Bodies(
            joints=(),
            parents=np.array([rng.integers(0, k + 1) for k in range(joints)], dtype=np.int64),
            slides=rng.random(joints) < 0.3,
            columns=np.r_[np.arange(moving), 0],
            gains=np.r_[np.ones(moving), -2.0],
            offsets=np.r_[np.zeros(moving), 0.5],
            placements=placements,
            link_bodies={},
            link_poses={},
        )
        carriers = np.r_[np.sort(rng.integers(1, joints + 1, moving)), np.zeros(static, np.int64)]
        counts = rng.integers(1, 6, moving + static)
        middles = rng.normal(size=(moving + static, 3)) * (0.3 + 3.0 * (carriers == 0))[:, None]
        leaves = [
            Leaf(str(link), p, p + rng.normal(size=3) * rng.choice([0.0, 0.3]), rng.uniform(0, 0.2))
            for link, count in enumerate(counts.tolist())
            for p in middles[link] + rng.normal(size=(count, 3)) * 0.2
        ]
        stops = np.cumsum(counts)
        ranges = np.column_stack([stops - counts, stops])
        order = [
            (a, b)
            for a in range(moving)
            for b in range(a + 1, moving + static)
            if carriers[a] != carriers[b]
        ]
        self.pairs = [pair for pair in order if rng.random() < share]
        pairs = np.array(self.pairs, dtype=np.int64).reshape(-1, 2)
        self.arrays = pack_model(bodies, leaves, np.repeat(carriers, counts), ranges, pairs)
        query.place_all(*self.arrays)
        self.rows = rng.normal(size=(int(rng.integers(1, 60)), moving)) * 2.0

    def tables(self):
        """New tables for `clear`."""
        return clear_tables(windows(*self.arrays), self.columns)

    def least(self, rows):
        """Smallest distance (N,) over all pairs, one by one."""
        out = np.empty((len(rows), len(self.pairs)))
        assert query.pair_distances(*self.arrays, rows, out) == -1
        return out.min(axis=1, initial=np.inf)


def states(tables, rows, margin, slack=SLACK):
    """What the kernel says of each row; nothing is left as it was."""
    out = np.full(len(rows), 77, dtype=np.uint8)
    assert clear(tables, rows, margin, slack, out) == -1
    assert set(out.tolist()) <= {TOO_CLOSE, CLEAR, DOUBTFUL}
    return out


cells = st.builds(
    Cell,
    st.integers(0, 100_000),
    st.integers(1, 20),
    st.sampled_from([0, 1, 7, 31, 33, 80]),
    st.sampled_from([0.05, 0.4, 1.0]),
)


@given(cells, st.sampled_from([0.0, 0.1, 1.0, -0.05, -0.3, -10.0]))
@settings(max_examples=60, deadline=None)
def test_clear_is_what_the_distances_of_all_pairs_say(cell, margin):
    tables, least = cell.tables(), cell.least(cell.rows)
    for _ in range(3):  # each time with the pairs in another order
        found = states(tables, cell.rows, margin)
        sure = np.abs(least - margin) > 2 * SLACK
        assert np.array_equal(found[sure] == CLEAR, least[sure] >= margin)
        assert not (found[sure] == DOUBTFUL).any()


@given(cells)
@settings(max_examples=30, deadline=None)
def test_a_row_at_the_margin_is_doubtful_and_near_it_is_decided(cell):
    tables, least = cell.tables(), cell.least(cell.rows)
    for row in range(0, len(least), 7):
        if np.isfinite(least[row]):
            one = cell.rows[row : row + 1]
            assert states(tables, one, least[row]) == [DOUBTFUL]
            assert states(tables, one, least[row] - 2 * SLACK) == [CLEAR]
            assert states(tables, one, least[row] + 2 * SLACK) == [TOO_CLOSE]


@pytest.mark.parametrize("static", [10, 50])
def test_a_row_gets_the_same_answer_in_any_company(static):
    cell = Cell(5, 18, static, 1.0)
    assert len(cell.pairs) > 3 * CHUNK  # so that rows wait
    rows = np.random.default_rng(0).normal(size=(300, cell.columns)) * 1.5
    tables = cell.tables()
    margin = float(np.median(cell.least(rows))) + 1e-6
    together = states(tables, rows, margin)
    assert 100 < (together == CLEAR).sum() < 200
    alone = [int(states(tables, row[None], margin)[0]) for row in rows]
    assert together.tolist() == alone
    assert np.array_equal(states(tables, rows[::-1].copy(), margin)[::-1], together)


def test_pairs_that_meet_often_come_to_the_front_and_none_is_lost():
    cell = Cell(5, 18, 10, 1.0)
    tables = cell.tables()
    before = sorted(zip(tables.first.tolist(), tables.second.tolist(), strict=True))
    rows = np.random.default_rng(1).normal(size=(4000, cell.columns)) * 1.5
    states(tables, rows, 0.0)
    after = list(zip(tables.first.tolist(), tables.second.tolist(), strict=True))
    assert sorted(after) == before and after != before
    reach = tables.solids[tables.first, 7] + tables.solids[tables.second, 7] + SLACK
    assert tables.limits == pytest.approx(reach**2)
    assert tables.hits[:5].min() > tables.hits[CHUNK:].max()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", [0, 7, 8, 100, 102])
def test_the_row_of_a_value_that_is_not_finite_is_returned(bad, row):
    cell = Cell(3, 6, 10, 1.0)
    rows = np.zeros((103, 6))
    rows[row, 4] = bad
    assert clear(cell.tables(), rows, 0.0, SLACK, np.empty(103, np.uint8)) == row


def test_large_angles_are_angles_and_large_slides_are_slides():
    cell = Cell(11, 8, 20, 1.0)
    rows = np.random.default_rng(4).normal(size=(200, 8)) * 10.0 ** np.arange(-2.0, 6.0)
    least = cell.least(rows)
    sure = np.abs(least) > 1e-6
    assert np.array_equal((states(cell.tables(), rows, 0.0) == CLEAR)[sure], (least >= 0.0)[sure])


def test_no_rows_and_no_pairs_are_no_trouble():
    cell = Cell(3, 6, 10, 1.0)
    assert len(states(cell.tables(), np.empty((0, 6)), 0.0)) == 0
    lonely = Cell(3, 6, 10, 0.0)
    assert (states(lonely.tables(), lonely.rows, 0.0) == CLEAR).all()


@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from([0.0, 1e-6, 0.2, 3.0]))
@settings(max_examples=150, deadline=None)
def test_leaves_lie_inside_capsule_and_ball(seed, count, spread):
    rng = np.random.default_rng(seed)
    p = rng.normal(size=(count, 3)) * rng.choice([0.0, 1.0, 10.0], size=3)
    ends = np.hstack([p, p + spread * rng.normal(size=(count, 3))])
    radii = rng.uniform(0.0, 0.5, count)
    center, half, radius, reach = link_solid(ends, radii)
    directions = rng.normal(size=(200, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    for leaf, r in zip(ends, radii, strict=True):
        t = rng.uniform(size=(200, 1))
        surface = leaf[:3] * (1 - t) + leaf[3:] * t + r * directions
        scale = 1e-12 * (1.0 + np.abs(surface).max())
        assert distances_to_segment(surface, center - half, center + half).max() <= radius + scale
        assert np.linalg.norm(surface - center, axis=1).max() <= reach + scale
