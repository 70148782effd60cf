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

from collision_monitor.bounding.triangle_halves import Branches
from collision_monitor.bounding.triangle_volumes import volume_rows

IN_A_LEAF = 8
DEPTH = 6

# Cells reach over their borders by this part of the largest coordinate, so that no rounding
# leaves a point of a triangle between two cells.
_OVERLAP = 1e-12

# A cell whose parts would hold more than so many times its own triangles stays a leaf.
_MULTIPLE = 3.0


def octree(corners: np.ndarray, in_a_leaf: int = IN_A_LEAF, depth: int = DEPTH) -> Branches:
    """An octree over triangles.

    Args:
        corners: (m, 3, 3).
        in_a_leaf: a cell with more triangles is divided,
        depth: unless it is so many levels below the root.
    """
    largest = np.abs(corners).max()
    overlap = _OVERLAP * largest
    cells = np.array([[corners.min(axis=(0, 1)), corners.max(axis=(0, 1))]])
    owner = np.zeros(len(corners), dtype=np.int64)  # the cell of each entry, ascending
    members = np.arange(len(corners))
    boxes = np.stack([corners.min(axis=1), corners.max(axis=1)], axis=1)
    rows, levels, kept = [], [], []
    count = slots = 0
    for level in range(depth + 1):
        sizes = np.bincount(owner, minlength=len(cells))
        starts = np.cumsum(sizes) - sizes
        low = np.minimum.reduceat(boxes[:, 0], starts)
        high = np.maximum.reduceat(boxes[:, 1], starts)
        rows.append(volume_rows("octree", low, high, np.empty(0), largest))
        inner = (sizes > in_a_leaf) & (level < depth)
        parts = _divided(corners, cells, owner, members, inner, overlap)
        pieces = np.bincount(parts.parent, minlength=len(cells))
        inner &= pieces <= _MULTIPLE * sizes
        stays = inner[parts.parent]
        cell, owner_next = np.unique(parts.cell[stays], return_inverse=True)
        children = np.bincount(cell // 8, minlength=len(cells))
        nodes = np.empty((len(cells), 2), dtype=np.int64)
        count += len(cells)
        first = count + np.cumsum(children) - children
        nodes[inner] = np.column_stack([first, children])[inner]
        held = sizes[~inner]
        nodes[~inner] = np.column_stack([slots + np.cumsum(held) - held, -held])
        slots += held.sum()
        levels.append(nodes)
        kept.append(members[~inner[owner]])
        if len(cell) == 0:
            break
        cells = _eighths(cells)[cell // 8, cell % 8]
        owner, members, boxes = owner_next, parts.members[stays], parts.boxes[stays]
    kept = np.concatenate(kept)
    seen, at = np.unique(kept, return_index=True)
    names = seen[np.argsort(at)]
    place = np.empty(len(corners), dtype=np.int64)
    place[names] = np.arange(len(names))
    return Branches(np.concatenate(levels), place[kept], names, np.concatenate(rows), 7 * depth + 1)


class _Parts:
    """Triangles in the eighths of cells: ``cell`` is 8 times the cell and the eighth, ascending."""

    def __init__(self, parent, cell, members, boxes) -> None:
        order = np.argsort(cell, kind="stable")
        self.parent, self.cell = parent[order], cell[order]
        self.members, self.boxes = members[order], boxes[order]


def _divided(corners, cells, owner, members, inner, overlap) -> _Parts:
    """Which triangles reach into which eighths of the ``inner`` cells, and the boxes there."""
    entry = np.repeat(np.flatnonzero(inner[owner]), 8)
    eighth = np.tile(np.arange(8), len(entry) // 8)
    into = _eighths(cells)[owner[entry], eighth]
    into = into + np.array([[-overlap], [overlap]])
    points = corners[members[entry]]
    # What is surely outside need not be cut.
    near = (points.min(axis=1) <= into[:, 1]).all(1) & (points.max(axis=1) >= into[:, 0]).all(1)
    entry, eighth = entry[near], eighth[near]
    boxes, there = clipped_boxes(points[near], into[near])
    entry, eighth = entry[there], eighth[there]
    return _Parts(owner[entry], 8 * owner[entry] + eighth, members[entry], boxes[there])


def _eighths(cells: np.ndarray) -> np.ndarray:
    """(k, 8, 2, 3): least and largest corner of the eighths of cells (k, 2, 3)."""
    upper = (np.arange(8)[:, None] >> np.arange(3)) & 1
    middle = cells.mean(axis=1)[:, None]
    low = np.where(upper, middle, cells[:, None, 0])
    high = np.where(upper, cells[:, None, 1], middle)
    return np.stack([low, high], axis=2)


def clipped_boxes(corners: np.ndarray, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Boxes (n, 2, 3) around what cells (n, 2, 3) leave of triangles (n, 3, 3), and where (n,) any.

    The triangle is cut by one plane of the cell after another (Sutherland and Hodgman). A polygon
    here is a fixed number of points of which some may repeat.
    """
    polygons = corners
    there = np.ones(len(corners), dtype=bool)
    for axis in range(3):
        for side, sign in ((0, 1.0), (1, -1.0)):
            height = sign * (polygons[:, :, axis] - cells[:, side, axis, None])
            inside = height >= 0.0
            there &= inside.any(axis=1)
            if inside.all():
                continue
            ahead, height_ahead = np.roll(polygons, -1, axis=1), np.roll(height, -1, axis=1)
            crosses = inside != np.roll(inside, -1, axis=1)
            with np.errstate(invalid="ignore", divide="ignore"):
                part = np.where(crosses, height / (height - height_ahead), 0.0)
            cut = polygons + part[:, :, None] * (ahead - polygons)
            cut[:, :, axis] = np.where(crosses, cells[:, side, axis, None], cut[:, :, axis])
            both = np.stack([polygons, cut], axis=2).reshape(len(polygons), -1, 3)
            valid = np.stack([inside, crosses], axis=2).reshape(len(polygons), -1)
            # The valid points to the front, and the first of them in the place of the others.
            order = np.argsort(~valid, axis=1, kind="stable")[:, : valid.sum(1).max(initial=1)]
            picked = np.where(np.take_along_axis(valid, order, 1), order, order[:, :1])
            polygons = np.take_along_axis(both, picked[:, :, None], axis=1)
    low = np.maximum(polygons.min(axis=1), cells[:, 0])
    high = np.minimum(polygons.max(axis=1), cells[:, 1])
    return np.stack([low, np.maximum(low, high)], axis=1), there
