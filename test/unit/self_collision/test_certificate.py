# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Certificates of whole motions: against dense sampling and closed-form distances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.robots.planar_arms import RADIUS, arm_distance, meeting, planar_model

from collision_monitor.model.proximity import Proximity
from collision_monitor.self_collision.motion_clearance import failures

MODEL = planar_model()
PROXIMITY = Proximity(MODEL)
BETWEEN = np.array([a.split("_")[0] != b.split("_")[0] != "base" for a, b in MODEL.pairs])
BETWEEN &= np.array(["base" not in pair for pair in MODEL.pairs])


def limits(value):
    return np.where(BETWEEN, value, -np.inf)


def densely(a, b, count=201):
    """Least distance of the arms between two rows, by sines and cosines."""
    return min(arm_distance(a + s * (b - a)) for s in np.linspace(0.0, 1.0, count))


def test_the_segments_that_fail_are_those_that_come_too_near():
    rows, limit = meeting(25), 0.1
    least = np.array([densely(a, b) for a, b in zip(rows[:-1], rows[1:], strict=True)])
    found = failures(PROXIMITY, rows, limits(limit))
    assert [f.segment for f in found] == np.flatnonzero(least < limit).tolist()
    assert 3 < len(found) < 20
    for f in found:
        q = rows[f.segment] + f.s * (rows[f.segment + 1] - rows[f.segment])
        at = MODEL.distances(q)[f.pair]
        assert BETWEEN[f.pair] and 0.0 <= f.s <= 1.0
        # one of the pair's leaves, which is not always the nearest one; links here have one leaf
        assert f.missing == pytest.approx(limit - at, abs=1e-9) or f.missing == 0.0
    first = failures(PROXIMITY, rows, limits(limit), first_only=True)
    assert first == found[:1]
    assert failures(PROXIMITY, rows[: found[0].segment + 1], limits(limit)) == []


angles = st.lists(st.floats(-1.2, 1.2), min_size=6, max_size=6).map(np.array)


@settings(max_examples=150, deadline=None)
@given(a=angles, b=angles, limit=st.floats(-0.02, 0.3))
def test_no_failure_is_a_proof(a, b, limit):
    least = densely(a, b, 101)
    if not failures(PROXIMITY, np.array([a, b]), limits(limit)):
        assert least >= limit - 1e-7
    elif least > limit + 1e-4:  # what is not so near can be told
        # ... but for what lies between the samples
        assert densely(a, b, 4001) < limit + 1e-4


def test_a_dip_between_two_waypoints_that_are_safe_is_found():
    rows = np.array([[-0.6, 0, 0, 0.0, 0, 0], [0.9, 0, 0, 1.5, 0, 0]])
    rows = np.array([[0.0, -2.0, 0, 0.55, 0, 0], [0.9, -2.0, 0, 0.55, 0, 0]])
    ends = min(map(arm_distance, rows))
    middle = densely(*rows)
    if middle > ends - 1e-3:  # the elbow passes by
        rows = meeting(5)[1:4:2]
        ends, middle = min(map(arm_distance, rows)), densely(*rows)
    assert failures(PROXIMITY, rows, limits(min(ends, middle) - 1e-3)) == []
    assert failures(PROXIMITY, rows, limits(middle + 1e-3))


def test_limits_of_single_segments_count_for_these():
    rows = meeting(25)
    whole = failures(PROXIMITY, rows, limits(0.1))
    each = np.repeat(limits(0.1)[None, :], len(rows) - 1, axis=0)
    assert failures(PROXIMITY, rows, each) == whole
    each[[f.segment for f in whole[1:]]] = -2.0 * RADIUS - 1.0
    assert failures(PROXIMITY, rows, each) == whole[:1]


def test_one_row_is_tested_where_it_is():
    rows = meeting(25)
    assert failures(PROXIMITY, rows[:1], limits(0.1)) == []
    (bad,) = failures(PROXIMITY, rows[12:13], limits(0.1))
    assert bad.segment == 0 and bad.missing > 0.1


def test_pairs_that_take_no_part_are_not_looked_at():
    assert failures(PROXIMITY, meeting(25), np.full(len(MODEL.pairs), -np.inf)) == []
