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

from collision_monitor.common.compiled import offline_kernel
from collision_monitor.mesh_distance.bvh.triangle_halves import Branches, volume_rows

# -- which parts of triangles lie in which eighths of the cells of an octree --
#
# A box, of a cell or of a part, is six numbers: least and largest coordinates. For load time.


# Corners of a triangle that the six planes of a box have cut: each adds one at most.
_MOST_CORNERS = 9


@offline_kernel
def _cut(polygon, count, axis, border, sign, out):
    """Corners of the part of a convex polygon beyond a plane (Sutherland and Hodgman).

    Those of ``polygon`` (9, 3), the first ``count``, where sign (x - border) >= 0 along the axis;
    into ``out``.
    """
    left = 0
    for k in range(count):
        ahead = k + 1 if k + 1 < count else 0
        here = sign * (polygon[k, axis] - border)
        there = sign * (polygon[ahead, axis] - border)
        if here >= 0.0:
            for i in range(3):
                out[left, i] = polygon[k, i]
            left += 1
        if (here >= 0.0) != (there >= 0.0):
            part = here / (here - there)
            for i in range(3):
                out[left, i] = polygon[k, i] + part * (polygon[ahead, i] - polygon[k, i])
            out[left, axis] = border
            left += 1
    return left


@offline_kernel
def clip(corners, cell, polygon, other, box):
    """Whether a triangle (3, 3) reaches into a cell (6,); ``box`` (6,) is around its part there.

    ``polygon`` and ``other``: (9, 3), work space.
    """
    count = 3
    polygon[:3] = corners
    for axis in range(3):
        count = _cut(polygon, count, axis, cell[axis], 1.0, other)
        count = _cut(other, count, axis, cell[3 + axis], -1.0, polygon)
    for axis in range(3):
        low, high = np.inf, -np.inf
        for k in range(count):
            low, high = min(low, polygon[k, axis]), max(high, polygon[k, axis])
        # What a rounding has put outside comes back.
        box[axis] = min(max(low, cell[axis]), cell[3 + axis])
        box[3 + axis] = max(min(high, cell[3 + axis]), box[axis])
    return count > 0


@offline_kernel
def _eighth(cell, number, overlap, out):
    """One eighth of a cell, and ``overlap`` more on every side."""
    for axis in range(3):
        middle = 0.5 * (cell[axis] + cell[3 + axis])
        upper = (number >> axis) & 1
        out[axis] = (middle if upper else cell[axis]) - overlap
        out[3 + axis] = (cell[3 + axis] if upper else middle) + overlap


@offline_kernel
def divide(corners, cells, starts, members, boxes, in_a_leaf, multiple, overlap):
    """The cells of the next level of an octree, and which triangles reach into each.

    Args:
        corners: (m, 3, 3).
        cells: (k, 6).
        starts: (k + 1,) where the members of each cell begin.
        members: (n,) rows of ``corners``.
        boxes: (n, 6) around the member's part in the cell.
        in_a_leaf: a cell with so many members or fewer is not divided,
        multiple: nor is one whose eighths had more than so many times its members.
        overlap: metres that cells reach over their borders.

    Returns:
        How many children each cell has (k,), and their cells, starts, members and boxes.
    """
    divided = 0
    for c in range(len(cells)):
        divided += starts[c + 1] - starts[c] > in_a_leaf
    room = np.int64(multiple * len(members)) + 1
    children = np.zeros(len(cells), dtype=np.int64)
    new_cells = np.empty((8 * divided, 6))
    new_starts = np.zeros(8 * divided + 1, dtype=np.int64)
    new_members = np.empty(room, dtype=np.int64)
    new_boxes = np.empty((room, 6))
    eighth = np.empty(6)
    polygon, other = np.empty((_MOST_CORNERS, 3)), np.empty((_MOST_CORNERS, 3))
    size = count = 0
    for c in range(len(cells)):
        held = starts[c + 1] - starts[c]
        if held <= in_a_leaf:
            continue
        first, first_count = size, count
        for number in range(8):
            _eighth(cells[c], number, overlap, eighth)
            for k in range(starts[c], starts[c + 1]):
                reaches = within = True
                for axis in range(3):
                    low, high = boxes[k, axis], boxes[k, 3 + axis]
                    reaches &= low <= eighth[3 + axis] and high >= eighth[axis]
                    within &= low >= eighth[axis] and high <= eighth[3 + axis]
                if not reaches:
                    continue
                if within:
                    new_boxes[size] = boxes[k]
                elif not clip(corners[members[k]], eighth, polygon, other, new_boxes[size]):
                    continue
                new_members[size] = members[k]
                size += 1
                if size - first > multiple * held:
                    break
            if size - first > multiple * held:
                break
            if size > new_starts[count]:
                _eighth(cells[c], number, 0.0, new_cells[count])
                count += 1
                new_starts[count] = size
        if size - first > multiple * held:
            size, count = first, first_count
        children[c] = count - first_count
    starts = new_starts[: count + 1]
    return children, new_cells[:count], starts, new_members[:size], new_boxes[:size]


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
