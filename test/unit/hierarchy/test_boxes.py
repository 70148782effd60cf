# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Box kernels against plain numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collision_monitor.geometry.segments import capsule_distance
from collision_monitor.hierarchy.aabb_tree import box_gap, boxes_overlap


def slow_gap(a, b):
    """Distance of two boxes; where they overlap, the largest (least negative) axis gap."""
    gaps = np.maximum(a[:3] - b[3:], b[:3] - a[3:])
    return gaps.max() if (gaps <= 0).all() else np.linalg.norm(np.maximum(gaps, 0.0))


@given(st.integers(0, 100_000))
@settings(max_examples=400, deadline=None)
def test_gap_and_overlap_are_those_of_plain_numpy(seed):
    rng = np.random.default_rng(seed)
    low = rng.normal(size=(2, 3))
    boxes = np.hstack([low, low + rng.uniform(0, 2, (2, 3))])
    assert box_gap(boxes, 0, 1) == pytest.approx(slow_gap(*boxes), abs=1e-15)
    assert box_gap(boxes, 1, 0) == box_gap(boxes, 0, 1)
    margin = rng.uniform(0, 1)
    grown = (boxes[0, :3] - margin <= boxes[1, 3:]) & (boxes[1, :3] - margin <= boxes[0, 3:])
    assert boxes_overlap(boxes, 0, 1, margin) == grown.all()


@given(st.integers(0, 100_000))
@settings(max_examples=400, deadline=None)
def test_the_gap_is_never_above_the_signed_distance_of_enclosed_capsules(seed):
    rng = np.random.default_rng(seed)
    ends = rng.normal(size=(2, 6))
    radii = rng.uniform(0, 1.5, (2, 1))
    low = np.minimum(ends[:, :3], ends[:, 3:]) - radii
    high = np.maximum(ends[:, :3], ends[:, 3:]) + radii
    boxes = np.hstack([low, high])
    assert box_gap(boxes, 0, 1) <= capsule_distance(ends, radii, 0, 1) + 1e-12
