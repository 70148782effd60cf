# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Binary trees over triangles: balanced enough, and split where the triangles are apart."""

import numpy as np
import pytest
from support.geometry.mesh_cases import mesh

from collision_monitor.mesh_distance.mesh_tree import corners_of, halved


@pytest.mark.parametrize("kind", ["aabb", "obb", "rss"])
@pytest.mark.parametrize("in_a_leaf", [1, 3])
def test_leaves_hold_no_more_than_they_may(kind, in_a_leaf):
    corners = corners_of(*mesh("ring"))
    found = halved(corners, kind, in_a_leaf)
    held = -found.nodes[found.nodes[:, 1] < 0, 1]
    assert held.sum() == len(corners) and held.max() <= in_a_leaf
    assert np.log2(len(corners) / in_a_leaf) <= found.waiting <= 2 * np.log2(len(corners))


@pytest.mark.parametrize("kind", ["aabb", "obb", "rss"])
def test_two_lumps_are_parted_first(kind):
    rng = np.random.default_rng(2)
    corners = rng.normal(size=(90, 3, 3)) * 0.1
    far = np.arange(90) % 3 == 0
    corners[far] += [0.0, 5.0, 0.0]
    found = halved(corners, kind)
    first = found.nodes[0, 0]
    sides = found.volumes[[first, first + 1], 1]
    assert sides.min() < 0.5 and sides.max() > 4.5
