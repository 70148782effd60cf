# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The octree of Chen and Xie over the triangles of a mesh, in the frame of its link.

The link's box is halved along its three axes, again and again, down to a depth; a leaf cell keeps
the triangles that reach into it. Here a cell that holds few triangles is not divided, nor is one
whose triangles nearly all reach into every part, and cells are shrunk to what they hold: the box
around the parts of the triangles inside. Every point of the mesh is in the box of a leaf that
knows its triangle.
"""

from __future__ import annotations

import numpy as np

from collision_monitor.mesh_distance.bvh.octree_cells import divide
from collision_monitor.mesh_distance.bvh.triangle_halves import Branches
from collision_monitor.mesh_distance.bvh.triangle_volumes import volume_rows

IN_A_LEAF = 8
DEPTH = 6

# Cells reach over their borders by this part of the largest coordinate, so that no rounding
# leaves a point of a triangle between two cells.
_OVERLAP = 1e-12

# A cell whose parts would hold more than so many times its own triangles stays a leaf.
_MULTIPLE = 3.0

# A triangle is in so many leaves at most, in the mean: about ten in a mesh of a link, but a soup of
# triangles that are large against the cells would fill the memory.
_MOST = 32


def octree(corners: np.ndarray, in_a_leaf: int = IN_A_LEAF, depth: int = DEPTH) -> Branches:
    """An octree over triangles.

    Args:
        corners: (m, 3, 3).
        in_a_leaf: a cell with more triangles is divided,
        depth: unless it is so many levels below the root.
    """
    largest = np.abs(corners).max()
    members = np.arange(len(corners))
    boxes = np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)
    cells = np.concatenate([boxes[:, :3].min(axis=0), boxes[:, 3:].max(axis=0)])[None]
    starts = np.array([0, len(corners)])
    rows, levels, kept = [], [], []
    count = slots = 0
    for level in range(depth + 1):
        low = np.minimum.reduceat(boxes[:, :3], starts[:-1])
        high = np.maximum.reduceat(boxes[:, 3:], starts[:-1])
        rows.append(volume_rows("octree", low, high, np.empty(0), largest))
        most = in_a_leaf if level < depth else len(members)
        children, *deeper = divide(
            corners, cells, starts, members, boxes, most, _MULTIPLE, _OVERLAP * largest
        )
        sizes = np.diff(starts)
        if slots + sizes[children == 0].sum() + len(deeper[2]) > _MOST * len(corners):
            children[:] = 0
        count += len(cells)
        nodes = np.column_stack([count + np.cumsum(children) - children, children])
        leaf = children == 0
        held = sizes[leaf]
        nodes[leaf] = np.column_stack([slots + np.cumsum(held) - held, -held])
        slots += held.sum()
        levels.append(nodes)
        kept.append(members[np.repeat(leaf, sizes)])
        if leaf.all():
            break
        cells, starts, members, boxes = deeper
    kept = np.concatenate(kept)
    seen, at = np.unique(kept, return_index=True)
    names = seen[np.argsort(at)]
    place = np.empty(len(corners), dtype=np.int64)
    place[names] = np.arange(len(names))
    return Branches(np.concatenate(levels), place[kept], names, np.concatenate(rows), 7 * depth + 1)
