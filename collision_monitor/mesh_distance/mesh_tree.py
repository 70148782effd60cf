# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Hierarchies over the triangles of a mesh: binary trees and an octree, packed as two arrays.

A hierarchy is built once, in the frame of the link of the mesh: when links move, only the transform
between them changes. A node of a binary tree is halved across the longest side of its box, at the
mean of the centres of its triangles. Volumes are boxes, or rectangles swept by spheres.

The octree follows Chen and Xie. The box of the link is halved repeatedly along its three axes, down
to a depth; a leaf cell lists the triangles that overlap it. Cells with few triangles are not
divided, nor are cells whose triangles nearly all overlap every part. Cells are shrunk to the box
around the parts of the triangles inside. Every point of the mesh is in the box of a leaf that lists
its triangle.

``index`` begins with a header: kind, nodes, slots, triangles. Then come, one after another,

=========  =================  ==================================================================
nodes      (nodes, 2)         (first child, children), or (first slot, -slots) at a leaf
slots      (slots, 1)         which row of ``corners``; an octree stores a triangle in many leaves
names      (triangles, 1)     number of the triangle in the mesh
=========  =================  ==================================================================

and in ``numbers``

=========  =================  ==================================================================
volumes    (nodes, columns)   see below
corners    (triangles, 9)     x y z of the three corners, in the order of the leaves
reaches    (nodes, 2)         work space, see `mesh_pair_distance`
=========  =================  ==================================================================

A box along the link's axes (kinds ``aabb`` and ``octree``) has 8 columns: centre, half sides,
half diagonal, 0. The others have 16: centre, three unit axes, half sides, size. For a box the half
sides belong to the axes; for a rectangle swept by a sphere they are the half sides of the
rectangle, along the first two axes, and the radius.

The arrays contain work space, so threads must not query the same arrays at the same time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from collision_monitor.common.array_views import borrow
from collision_monitor.common.compiled import kernel, offline_kernel
from collision_monitor.errors import FitError
from collision_monitor.geometry.bounding_volumes import AABB, OBB, OCTREE, RSS
from collision_monitor.geometry.segments import RELATIVE_ROUNDING
from collision_monitor.hierarchy.aabb_tree import STACK
from collision_monitor.mesh_distance.mesh_halving import halve

# -- volumes of nodes --

def volume_rows(
    kind: str, low: np.ndarray, high: np.ndarray, axes: np.ndarray, largest: float
) -> np.ndarray:
    """Rows of `mesh_tree`'s ``volumes`` for boxes along ``axes``.

    Args:
        kind: of the volume.
        low: (k, 3) least coordinates along the axes.
        high: (k, 3) largest.
        axes: (k, 3, 3) as columns.
        largest: absolute coordinate of the whole mesh.

    Boxes grow by more than the rounding errors of the transforms into their axes and back, so that
    no point of a triangle is lost.
    """
    center = 0.5 * (low + high)
    half = 0.5 * (high - low) + RELATIVE_ROUNDING * largest
    if kind in ("aabb", "octree"):
        size = np.linalg.norm(half, axis=1)
        return np.column_stack([center, half, size, np.zeros(len(low))])
    # Longest side first, shortest last.
    ranks = np.argsort(-half, axis=1, kind="stable")
    axes = np.take_along_axis(axes, ranks[:, None, :], axis=2)
    center = np.take_along_axis(center, ranks, axis=1)
    half = np.take_along_axis(half, ranks, axis=1)
    size = np.linalg.norm(half, axis=1)
    middle = np.einsum("kij,kj->ki", axes, center)
    return np.column_stack([middle, axes.transpose(0, 2, 1).reshape(-1, 9), half, size])


# -- binary trees --

_AT_A_TIME = 20_000  # nodes: bounds the memory of temporary arrays


class Branches(NamedTuple):
    """A tree over triangles; as in `mesh_tree`, with ``rows`` as the ``names``."""

    nodes: np.ndarray
    slots: np.ndarray
    rows: np.ndarray
    volumes: np.ndarray
    waiting: int  # stack size of a traversal


def halved(corners: np.ndarray, kind: str, in_a_leaf: int = 1) -> Branches:
    """Return a binary tree over triangles.

    Args:
        corners: (m, 3, 3).
        kind: of the volumes: ``aabb``, ``obb`` or ``rss``.
        in_a_leaf: maximum number of triangles in a leaf.
    """
    order = np.arange(len(corners))
    most = 2 * len(corners) - 1
    nodes, axes = np.empty((most, 2), dtype=np.int64), np.tile(np.eye(3), (most, 1, 1))
    low, high = np.empty((2, most, 3))
    count, levels = halve(corners, kind != "aabb", in_a_leaf, order, nodes, axes, low, high)
    largest = np.abs(corners).max()
    volumes = np.empty((count, columns_of(KINDS[kind])))
    for k in range(0, count, _AT_A_TIME):
        some = slice(k, min(k + _AT_A_TIME, count))
        volumes[some] = volume_rows(kind, low[some], high[some], axes[some], largest)
    return Branches(nodes[:count], np.arange(len(order)), order, volumes, levels)


# -- the octree: overlaps of triangles with cells and their eighths --
#
# A box, of a cell or of a part, is six numbers: lower and upper corner. Used at load time.


# Corners of a triangle cut by the six planes of a box: each plane adds at most one.
_MAX_CORNERS = 9


@offline_kernel
def _clip_by_plane(polygon, count, axis, border, sign, out):
    """Return the number of corners of a convex polygon beyond a plane (Sutherland and Hodgman).

    Of ``polygon`` (9, 3), the first ``count`` corners, clipped to sign (x - border) >= 0 along the
    axis; written to ``out`` (9, 3).
    """
    left = 0
    for corner in range(count):
        ahead = corner + 1 if corner + 1 < count else 0
        here = sign * (polygon[corner, axis] - border)
        there = sign * (polygon[ahead, axis] - border)
        if here >= 0.0:
            for i in range(3):
                out[left, i] = polygon[corner, i]
            left += 1
        if (here >= 0.0) != (there >= 0.0):
            part = here / (here - there)
            for i in range(3):
                out[left, i] = polygon[corner, i] + part * (polygon[ahead, i] - polygon[corner, i])
            out[left, axis] = border
            left += 1
    return left


@offline_kernel
def clip(corners, cell, polygon, other, box):
    """Whether a triangle (3, 3) overlaps a cell (6,); ``box`` (6,) gets the box of its part there.

    ``polygon`` and ``other`` (9, 3) are work space.
    """
    count = 3
    polygon[:3] = corners
    for axis in range(3):
        count = _clip_by_plane(polygon, count, axis, cell[axis], 1.0, other)
        count = _clip_by_plane(other, count, axis, cell[3 + axis], -1.0, polygon)
    for axis in range(3):
        low, high = np.inf, -np.inf
        for k in range(count):
            low, high = min(low, polygon[k, axis]), max(high, polygon[k, axis])
        # Rounding may have moved the part out of the cell.
        box[axis] = min(max(low, cell[axis]), cell[3 + axis])
        box[3 + axis] = max(min(high, cell[3 + axis]), box[axis])
    return count > 0


@offline_kernel
def _eighth(cell, number, overlap, out):
    """Write one eighth of a cell, grown by ``overlap`` on every side."""
    for axis in range(3):
        middle = 0.5 * (cell[axis] + cell[3 + axis])
        upper = (number >> axis) & 1
        out[axis] = (middle if upper else cell[axis]) - overlap
        out[3 + axis] = (cell[3 + axis] if upper else middle) + overlap


@offline_kernel
def divide(corners, cells, starts, members, boxes, in_a_leaf, multiple, overlap):
    """Return the cells of the next level of an octree, and the triangles that overlap each.

    Args:
        corners: (m, 3, 3).
        cells: (k, 6).
        starts: (k + 1,) first member of each cell.
        members: (n,) rows of ``corners``.
        boxes: (n, 6) around each member's part in the cell.
        in_a_leaf: cells with at most this many members are not divided.
        multiple: cells whose eighths would have more than this many times its members are not
            divided.
        overlap: metres that cells extend beyond their borders.

    Returns:
        Number of children of each cell (k,), and their cells, starts, members and boxes.
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
    polygon, other = np.empty((_MAX_CORNERS, 3)), np.empty((_MAX_CORNERS, 3))
    size = count = 0
    for c in range(len(cells)):
        held = starts[c + 1] - starts[c]
        if held <= in_a_leaf:
            continue
        first, first_count = size, count
        for number in range(8):
            _eighth(cells[c], number, overlap, eighth)
            for member in range(starts[c], starts[c + 1]):
                reaches = within = True
                for axis in range(3):
                    low, high = boxes[member, axis], boxes[member, 3 + axis]
                    reaches &= low <= eighth[3 + axis] and high >= eighth[axis]
                    within &= low >= eighth[axis] and high <= eighth[3 + axis]
                if not reaches:
                    continue
                if within:
                    new_boxes[size] = boxes[member]
                elif not clip(corners[members[member]], eighth, polygon, other, new_boxes[size]):
                    continue
                new_members[size] = members[member]
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
_DEEPEST = 20  # a cell is then a millionth of the mesh: the precision of a float32 in its file
_MOST_IN_A_LEAF = 1000  # far beyond what is of use

# A cell whose parts would have more than this many times its own triangles stays a leaf.
_MULTIPLE = 3.0

# Mean number of leaves that list a triangle, at most. About ten for the mesh of a link, but
# triangles that are large compared with the cells would fill the memory.
_MAX_REPEATS = 32


def octree(corners: np.ndarray, in_a_leaf: int = IN_A_LEAF, depth: int = DEPTH) -> Branches:
    """Return an octree over triangles.

    Args:
        corners: (m, 3, 3).
        in_a_leaf: cells with more triangles are divided,
        depth: down to this many levels below the root.
    """
    largest = np.abs(corners).max()
    members = np.arange(len(corners))
    boxes = np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)
    cells = np.concatenate([boxes[:, :3].min(axis=0), boxes[:, 3:].max(axis=0)])[None]
    starts = np.array([0, len(corners)])
    volumes, levels, kept = [], [], []
    count = slots = 0
    for level in range(depth + 1):
        low = np.minimum.reduceat(boxes[:, :3], starts[:-1])
        high = np.maximum.reduceat(boxes[:, 3:], starts[:-1])
        volumes.append(volume_rows("octree", low, high, np.empty(0), largest))
        most = in_a_leaf if level < depth else len(members)
        children, *deeper = divide(
            corners, cells, starts, members, boxes, most, _MULTIPLE, RELATIVE_ROUNDING * largest
        )
        sizes = np.diff(starts)
        if slots + sizes[children == 0].sum() + len(deeper[2]) > _MAX_REPEATS * len(corners):
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
    return Branches(
        np.concatenate(levels), place[kept], names, np.concatenate(volumes), 7 * depth + 1
    )


# -- the arrays --

KINDS = {"aabb": AABB, "obb": OBB, "rss": RSS, "octree": OCTREE}

HEADER = 4


class MeshTree(NamedTuple):
    """Windows into the packed arrays; see the tables of the module."""

    nodes: np.ndarray
    slots: np.ndarray
    names: np.ndarray
    volumes: np.ndarray
    corners: np.ndarray
    reaches: np.ndarray
    kind: int


def columns_of(kind: int) -> int:
    """Number of columns of ``volumes``."""
    return 8 if kind in (AABB, OCTREE) else 16


def pack(tree: MeshTree) -> tuple[np.ndarray, np.ndarray]:
    """Return (numbers, index): the windows of ``tree`` one after another in two arrays."""
    header = [tree.kind, len(tree.nodes), len(tree.slots), len(tree.corners)]
    integers = (np.asarray(w, dtype=np.int64).ravel() for w in tree[:3])
    floats = (np.asarray(w, dtype=np.float64).ravel() for w in tree[3:6])
    return np.concatenate(list(floats)), np.concatenate([np.array(header), *integers])


def windows(numbers: np.ndarray, index: np.ndarray) -> MeshTree:
    """Return the MeshTree of two packed arrays for numpy, without copies."""
    kind, nodes, slots, triangles = index[:HEADER].tolist()
    at_slots = HEADER + 2 * nodes
    at_corners = nodes * columns_of(kind)
    return MeshTree(
        index[HEADER:at_slots].reshape(nodes, 2),
        index[at_slots : at_slots + slots].reshape(slots, 1),
        index[at_slots + slots : at_slots + slots + triangles].reshape(triangles, 1),
        numbers[:at_corners].reshape(nodes, -1),
        numbers[at_corners : at_corners + 9 * triangles].reshape(triangles, 9),
        numbers[at_corners + 9 * triangles :][: 2 * nodes].reshape(nodes, 2),
        kind,
    )


@kernel
def unpack_tree(numbers, index, first_number, first_index):
    """The MeshTree that begins at these positions of two packed arrays; valid while they exist."""
    kind, nodes = index[first_index], index[first_index + 1]
    slots, triangles = index[first_index + 2], index[first_index + 3]
    columns = 16 if kind == OBB or kind == RSS else 8
    at_slots = first_index + HEADER + 2 * nodes
    return MeshTree(
        borrow(index, first_index + HEADER, nodes, 2),
        borrow(index, at_slots, slots, 1),
        borrow(index, at_slots + slots, triangles, 1),
        borrow(numbers, first_number, nodes, columns),
        borrow(numbers, first_number + nodes * columns, triangles, 9),
        borrow(numbers, first_number + nodes * columns + 9 * triangles, nodes, 2),
        kind,
    )


@dataclass(frozen=True, eq=False)
class TriangleTree:
    """A packed hierarchy for the kernels of `mesh_pair_distance`.

    ``numbers`` and ``index`` are those of `pack`.
    """

    kind: str
    numbers: np.ndarray
    index: np.ndarray


class Hierarchy(NamedTuple):
    """Settings of a hierarchy, written as ``octree`` or ``octree:depth=5,leaf=4``.

    Attributes:
        kind: the volumes, see `build_triangle_tree`.
        leaf: maximum number of triangles in a leaf.
        depth: of an octree: levels below the root at most. Binary trees are as deep as needed.
    """

    kind: str
    leaf: int
    depth: int

    @classmethod
    def parse(cls, text: str) -> Hierarchy:
        """Return the settings in ``text``, with defaults of its kind.

        Raises:
            FitError: the kind or a setting is unknown, or a number is out of range.
        """
        kind, colon, given = text.partition(":")
        if kind not in KINDS:
            raise FitError(f"unknown hierarchy {text!r}: choose from {', '.join(KINDS)}")
        ranges = {"leaf": _MOST_IN_A_LEAF} | ({"depth": _DEEPEST} if kind == "octree" else {})
        settings = {"leaf": IN_A_LEAF if kind == "octree" else 1, "depth": DEPTH}
        for part in given.split(",") if colon else ():
            name, _, number = part.partition("=")
            if not (name in ranges and number.isdecimal() and 1 <= int(number) <= ranges[name]):
                known = ", ".join(f"{key}=1 to {most}" for key, most in ranges.items())
                raise FitError(f"hierarchy {text!r}: {part!r} is not a setting of {kind}: {known}")
            settings[name] = int(number)
        return cls(kind, **settings)


def build_triangle_tree(
    vertices: np.ndarray, triangles: np.ndarray, hierarchy: str = "aabb"
) -> TriangleTree:
    """Build a hierarchy over all triangles of a mesh.

    Args:
        vertices: (n, 3), metres, in the link's frame.
        triangles: (m, 3) indices of vertices.
        hierarchy: the volumes: ``aabb`` boxes along the link's axes, ``obb`` boxes along the
            principal axes of their vertices, ``rss`` rectangles swept by a sphere (both after Liu
            et al.), ``octree`` cells of an octree in the link's frame, shrunk to their contents
            (after Chen and Xie). The first three are binary trees. Settings as of `Hierarchy`.

    Raises:
        FitError: the hierarchy is unknown, there are no triangles, indices are out of range, or
            vertices are not finite.
    """
    kind, leaf, depth = Hierarchy.parse(hierarchy)
    corners = corners_of(vertices, triangles)
    if kind == "octree":
        branches = octree(corners, leaf, depth)
    else:
        branches = halved(corners, kind, leaf)
    names = branches.rows
    tree = MeshTree(
        nodes=branches.nodes,
        slots=branches.slots[:, None],
        names=names[:, None],
        volumes=branches.volumes,
        corners=corners[names].reshape(-1, 9),
        reaches=np.zeros((len(branches.nodes), 2)),
        kind=KINDS[kind],
    )
    if branches.waiting > STACK // 2:
        raise FitError(
            f"a hierarchy of kind {kind!r} over {len(corners)} triangles is too deep: "
            f"{branches.waiting} nodes can wait on a descent, {STACK // 2} have room"
        )
    return TriangleTree(kind, *pack(tree))


def corners_of(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Return corners (m, 3, 3) of the triangles (m, 3) over ``vertices`` (n, 3).

    Raises:
        FitError: there are no triangles, indices are out of range, or vertices are not finite.
    """
    vertices, triangles = np.asarray(vertices, dtype=float).reshape(-1, 3), np.asarray(triangles)
    if triangles.size == 0:
        raise FitError("cannot build a hierarchy over no triangles: at least one is needed")
    if triangles.shape[1:] != (3,) or triangles.dtype.kind not in "iu":
        raise FitError(
            f"triangles are of shape {triangles.shape} and type {triangles.dtype}; three indices "
            "of vertices for each are needed, as integers"
        )
    if triangles.min() < 0 or triangles.max() >= len(vertices):
        raise FitError(
            f"triangles name vertices {triangles.min()} to {triangles.max()}, "
            f"but the mesh has vertices 0 to {len(vertices) - 1}"
        )
    corners = vertices[triangles]
    bad = np.flatnonzero(~np.isfinite(corners).all(axis=(1, 2)))
    if len(bad):
        raise FitError(f"triangle {bad[0]} has a corner that is not finite: {corners[bad[0]]}")
    return corners
