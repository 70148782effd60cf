# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Crossing triangles of two meshes, and whether there are any, with hierarchies.

Method of Chen and Xie: boxes select the pairs of triangles, by the 15 separating axes in the
relative pose of the links. All kinds of hierarchies give the same result as a test of all pairs of
triangles, with those of B transformed into frame A in floating point.
"""

from __future__ import annotations

import numpy as np

from collision_monitor.common.array_views import work_space
from collision_monitor.common.compiled import THREE, ZERO, kernel
from collision_monitor.geometry.bounding_volumes import OCTREE
from collision_monitor.geometry.triangles import triangles_touch
from collision_monitor.hierarchy.aabb_tree import STACK
from collision_monitor.mesh_distance.mesh_pair_distance import place_corners, take_corners
from collision_monitor.mesh_distance.traversal import Search, next_leaves, start

# Metres by which rounding may enlarge the bound of two volumes that touch, with a reserve. Where
# edges are nearly parallel, errors are divided by the sine of their angle, at least 1e-5.
CROSSING_ROUNDING = 1e-7


@kernel
def _is_listed(out, count, row_a, row_b):
    """Whether the first ``count`` rows of ``out`` contain a pair."""
    for k in range(count):
        if out[k, 0] == row_a and out[k, 1] == row_b:
            return True
    return False


@kernel
def crossing_triangles(a, b, pose, out):
    """Return the number of pairs of triangles of two trees of one kind that touch.

    At most the rows of ``out`` (k, 2), which gets the rows of ``corners`` of the pairs, unordered;
    one row gives a yes/no test. ``pose`` (4, 3) is B's in A's frame. Only surfaces are tested: a
    mesh completely inside another one crosses nothing.
    """
    pair = work_space(1.0, 6, 3)
    search = Search(work_space(np.int64(0), STACK, 2), work_space(1.0, STACK, 2))
    near = CROSSING_ROUNDING * CROSSING_ROUNDING
    count, most = np.int64(0), len(out)
    size = start(a, b, pose, near, search) if most > 0 else 0
    while True:
        size, i, j = next_leaves(a, b, pose, near, -np.inf, search, size)
        if i < 0:
            return count
        first_a, count_a = a.nodes[i, 0], a.nodes[i, 1]
        first_b, count_b = b.nodes[j, 0], b.nodes[j, 1]
        for m in range(first_b, first_b - count_b):
            row_b = b.slots[m, 0]
            place_corners(b.corners, row_b, pose, pair)
            for k in range(first_a, first_a - count_a):
                row_a = a.slots[k, 0]
                take_corners(a.corners, row_a, pair)
                if not triangles_touch(pair, ZERO, THREE, near):
                    continue
                # An octree has a triangle in several leaves.
                if a.kind == OCTREE and _is_listed(out, count, row_a, row_b):
                    continue
                out[count, 0], out[count, 1] = row_a, row_b
                count += 1
                if count == most:
                    return count
