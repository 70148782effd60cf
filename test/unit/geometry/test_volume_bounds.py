# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Bounds of volumes: never above the distance, and 0 only where volumes meet."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.geometry.box_cases import TwoBoxes, squared_bounds


def bounds_of(case, best=np.inf):
    return squared_bounds(case.rows(), best, case.margin)


@given(st.integers(0, 100_000), st.sampled_from([0.3, 1.0, 3.0]))
@settings(max_examples=150, deadline=None)
def test_bounds_never_exceed_the_distance_and_tell_apart_from_meeting(seed, reach):
    case = TwoBoxes(seed, reach)
    *bounds, near = bounds_of(case)
    aligned, oriented, swept = np.sqrt(bounds)
    true_aligned, true_oriented, true_swept = case.distances()
    assert aligned <= true_aligned + 1e-9
    assert oriented <= true_oriented + 1e-9
    assert swept <= true_swept + 1e-9
    # 15 axes decide: a gap shows on one of them, if not always all of it.
    if true_aligned > 1e-6:
        assert aligned > 0.0
    if true_oriented > 1e-6:
        assert oriented > 0.0
    assert near or true_oriented > case.margin - 1e-9
    assert not near or oriented <= case.margin


@given(st.integers(0, 100_000), st.sampled_from([1.0, 3.0]))
@settings(max_examples=100, deadline=None)
def test_swept_rectangles_are_apart_as_flat_boxes_less_their_radii(seed, reach):
    case = TwoBoxes(seed, reach)
    swept, radii = np.sqrt(bounds_of(case)[2]), case.half[:, 2].sum()
    case.half[:, 2] = 0.0
    flat = np.sqrt(bounds_of(case)[1])
    assert swept == pytest.approx(max(flat - radii, 0.0), abs=1e-9)


@given(st.integers(0, 100_000))
@settings(max_examples=100, deadline=None)
def test_a_search_that_is_done_early_says_enough(seed):
    case = TwoBoxes(seed, 1.5)
    exact = bounds_of(case)[:3]
    for part in (0.2, 0.9, 1.1, 3.0):
        for k in range(3):
            best = part * exact[k]
            found = bounds_of(case, best)[k]
            if best < exact[k] * (1 - 1e-9):
                assert best <= found <= exact[k] * (1 + 1e-9) + 1e-15
            elif best > exact[k] * (1 + 1e-9):
                assert found == pytest.approx(exact[k], rel=1e-9, abs=1e-15)
