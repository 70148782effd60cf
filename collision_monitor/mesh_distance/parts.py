# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The shapes of links as parts, packed as flat arrays, and the windows of exact queries on these.

All meshes of a link form one part, with a hierarchy over their triangles in the frame of the link.
Every box, cylinder, sphere and capsule is a separate part: an exact convex solid.

`Shapes` are constant and may be shared by threads; `State` is written by queries and may not.

Shapes, integers:

==========  =============  =====================================================================
links       links x 3      body, first part, parts
parts       parts x 8      kind; of a mesh's tree: first number, first integer, first node in
                           ``reaches``, first row in ``closed``, and whether any row is closed;
                           first probe, probes
leaf_links  leaves x 1     the link of each leaf
closed      rows x 1       whether a triangle is a part of a closed surface
==========  =============  =====================================================================

Shapes, floats, in the frames of the links:

==========  =============  =====================================================================
frames      links x 12     pose of the link in its body: the rotation row by row, then the origin
extents     links x 6      centre and half sizes of a box around the link's shapes
balls       parts x 4      the same of each part
boxes       parts x 6      least and largest coordinates of the closed triangles of a mesh
places      parts x 12     pose of a solid in its link
solids      parts x 5      as in `geometry.convex`
probes      probes x 3     a point of every connected piece of a part
==========  =============  =====================================================================

They are followed by the trees of the meshes, as in `mesh_tree`; a solid has a tree of one node.

State, integers:

===========  ==============  ====================================================================
pair_table   links x links   the pair of two links, or -1
guesses      pairs x 4       the nearest parts and rows of their triangles at the last query, or -1
near         pairs x 1       pairs whose leaves are near
near_leaves  pairs x 2       their nearest leaves
touching     pairs x 1       pairs whose shapes touch
last         1 x 2           the nearest pair of the last query; how many were near
===========  ==============  ====================================================================

State, floats:

===========  ==============  ====================================================================
least        pairs x 1       distance of the nearest leaves of a pair that is near; else infinity
kept         pairs x 13      a distance that a pair once had at least, and the pose of its second
                             link in its first then: the rotation row by row, then the origin
reaches      nodes x 2       as in `mesh_pair_distance`
===========  ==============  ====================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from collision_monitor.common.array_views import borrow, lend
from collision_monitor.common.compiled import kernel, small_kernel
from collision_monitor.geometry.closed_surfaces import closed_surfaces
from collision_monitor.geometry.convex import SOLID_COLUMNS
from collision_monitor.geometry.segments import RELATIVE_ROUNDING
from collision_monitor.mesh_distance import mesh_tree
from collision_monitor.mesh_distance.mesh_tree import (
    KINDS,
    Hierarchy,
    MeshTree,
    TriangleTree,
    build_triangle_tree,
    columns_of,
    pack,
    volume_rows,
)
from collision_monitor.robot.description import Shape
from collision_monitor.robot.shape_kinds import solid_row

# -- the parts of a link --

_GROWTH = 1.0 + RELATIVE_ROUNDING


@dataclass(frozen=True, eq=False)
class Part:
    """One part of a link, in the link's frame.

    Attributes:
        kind: MESH or SOLID.
        tree: (numbers, index) as in `mesh_tree`; of a solid, only its volume.
        ball: (4,) centre and radius of a bounding ball.
        place: (4, 4) pose of a solid.
        solid: (5,) as in `geometry.convex`; zeros for a mesh.
        closed: (rows,) whether each row of the tree belongs to a closed surface.
        box: (6,) least and largest coordinates of the closed surfaces.
        probes: (k, 3) a point of every connected piece.
    """

    kind: int
    tree: tuple[np.ndarray, np.ndarray]
    ball: np.ndarray
    place: np.ndarray
    solid: np.ndarray
    closed: np.ndarray
    box: np.ndarray
    probes: np.ndarray

    @property
    def nodes(self) -> int:
        """Number of nodes of the tree."""
        return int(self.tree[1][1])

    @property
    def extent(self) -> np.ndarray:
        """(6,) least and largest coordinates."""
        if self.kind == SOLID:
            return extents_of_solids(self.solid[None], self.place[None])[0]
        corners = mesh_tree.windows(*self.tree).corners.reshape(-1, 3)
        return np.r_[corners.min(axis=0), corners.max(axis=0)]


def parts_of(shapes: Sequence[Shape], hierarchy: str) -> list[Part]:
    """Return the parts of a link, meshes first; ``hierarchy`` as of `build_triangle_tree`."""
    kind = Hierarchy.parse(hierarchy).kind
    meshes = [shape for shape in shapes if shape.kind == "mesh"]
    parts = [_mesh_part(*merged(meshes), hierarchy)] if meshes else []
    return parts + [_solid_part(shape, kind) for shape in shapes if shape.kind != "mesh"]


def merged(meshes: Sequence[Shape]) -> tuple[np.ndarray, np.ndarray]:
    """Return (vertices, triangles) of all meshes of a link, in its frame, one after another."""
    vertices = [m.vertices @ m.pose[:3, :3].T + m.pose[:3, 3] for m in meshes]
    starts = np.cumsum([0, *map(len, vertices)])
    triangles = [m.triangles + start for m, start in zip(meshes, starts, strict=False)]
    return np.concatenate(vertices), np.concatenate(triangles)


def _mesh_part(vertices: np.ndarray, triangles: np.ndarray, hierarchy: str) -> Part:
    triangles, pieces, closed = closed_surfaces(vertices, triangles)
    tree: TriangleTree = build_triangle_tree(vertices, triangles, hierarchy)
    _, first = np.unique(pieces, return_index=True)
    names = mesh_tree.windows(tree.numbers, tree.index).names[:, 0]
    inside = vertices[triangles[closed]].reshape(-1, 3)
    used = vertices[np.unique(triangles)]
    return Part(
        kind=MESH,
        tree=(tree.numbers, tree.index),
        ball=_ball(used),
        place=np.eye(4),
        solid=np.zeros(SOLID_COLUMNS),
        closed=closed[names].astype(np.int64),
        box=np.r_[inside.min(axis=0, initial=np.inf), inside.max(axis=0, initial=-np.inf)],
        probes=vertices[triangles[first, 0]],
    )


def _ball(points: np.ndarray) -> np.ndarray:
    """Centre and radius of a ball around points (n, 3)."""
    center = 0.5 * (points.min(axis=0) + points.max(axis=0))
    radius = np.linalg.norm(points - center, axis=1).max()
    return np.r_[center, radius * _GROWTH]


def volumes_of_solids(kind: str, solids: np.ndarray) -> np.ndarray:
    """Volumes of solids (k, 5), in their own frames; ``kind`` is that of the hierarchy."""
    half = solids[:, :3]
    axes = np.tile(np.eye(3), (len(half), 1, 1))
    return volume_rows(kind, -half, half, axes, float(half.max()))


def balls_of_solids(solids: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """(k, 4) centres and radii of balls around ``solids`` (k, 5) at ``centers`` (k, 3)."""
    half = solids[:, :3]
    reach = np.where(
        solids[:, 3] > 0.0, np.hypot(half[:, 0], half[:, 2]), np.linalg.norm(half, axis=1)
    )
    return np.column_stack([centers, (reach + solids[:, 4]) * _GROWTH])


def extents_of_solids(solids: np.ndarray, places: np.ndarray) -> np.ndarray:
    """(k, 6) least and largest coordinates of ``solids`` (k, 5) at ``places`` (k, 4, 4)."""
    half = np.einsum("kij,kj->ki", np.abs(places[:, :3, :3]), solids[:, :3]) + solids[:, 4:]
    return np.hstack([places[:, :3, 3] - half, places[:, :3, 3] + half])


def box_around(extents: np.ndarray) -> np.ndarray:
    """Return (6,) centre and half sizes of a box around extents (k, 6)."""
    low, high = extents[:, :3].min(axis=0), extents[:, 3:].max(axis=0)
    return np.r_[0.5 * (low + high), 0.5 * (high - low) * _GROWTH]


def _solid_part(shape: Shape, kind: str) -> Part:
    solid = solid_row(shape)
    volumes = volumes_of_solids(kind, solid[None])
    assert volumes.shape[1] == columns_of(KINDS[kind])
    tree = MeshTree(
        nodes=np.zeros((1, 2), dtype=np.int64),
        slots=np.empty((0, 1), dtype=np.int64),
        names=np.empty((0, 1), dtype=np.int64),
        volumes=volumes,
        corners=np.empty((0, 9)),
        reaches=np.zeros((1, 2)),
        kind=KINDS[kind],
    )
    return Part(
        kind=SOLID,
        tree=pack(tree),
        ball=balls_of_solids(solid[None], shape.pose[None, :3, 3])[0],
        place=shape.pose,
        solid=solid,
        closed=np.empty(0, dtype=np.int64),
        box=np.r_[np.full(3, np.inf), np.full(3, -np.inf)],
        probes=shape.pose[None, :3, 3],
    )


# -- flat arrays --

MESH, SOLID = range(2)

INTEGERS_OF_SHAPES = ("links", "parts", "leaf_links", "closed")
_STATE_HEADER = 3


class Shapes(NamedTuple):
    """Windows into the arrays of shapes; see the module's tables."""

    links: np.ndarray
    parts: np.ndarray
    leaf_links: np.ndarray
    closed: np.ndarray
    frames: np.ndarray
    extents: np.ndarray
    balls: np.ndarray
    boxes: np.ndarray
    places: np.ndarray
    solids: np.ndarray
    probes: np.ndarray


class State(NamedTuple):
    """Windows into the arrays that queries write; see the module's tables."""

    pair_table: np.ndarray
    guesses: np.ndarray
    near: np.ndarray
    near_leaves: np.ndarray
    touching: np.ndarray
    last: np.ndarray
    least: np.ndarray
    kept: np.ndarray
    reaches: np.ndarray


def pack_shapes(
    tables: dict[str, np.ndarray], trees: list[tuple[np.ndarray, np.ndarray]]
) -> tuple[np.ndarray, np.ndarray]:
    """Return (numbers, index) of `Shapes`.

    ``tables`` by name; the offsets of the trees are filled in. ``trees``: (numbers, index) of each
    part.
    """
    count = len(INTEGERS_OF_SHAPES)
    integers = [np.asarray(tables[name], dtype=np.int64) for name in INTEGERS_OF_SHAPES]
    floats = [np.asarray(tables[name], dtype=np.float64) for name in Shapes._fields[count:]]
    header, at, first = [], 3 * len(Shapes._fields), 0  # begin, rows and columns of each window
    for array in integers:
        header += [at, *array.shape]
        at += array.size
    for array in floats:
        header += [first, *array.shape]
        first += array.size
    for part, (numbers, index) in zip(integers[1], trees, strict=True):
        part[1], part[2] = first, at
        first, at = first + len(numbers), at + len(index)
    return (
        np.concatenate([*(a.ravel() for a in floats), *(n for n, _ in trees)]),
        np.concatenate([np.array(header), *(a.ravel() for a in integers), *(i for _, i in trees)]),
    )


def windows(numbers: np.ndarray, index: np.ndarray) -> Shapes:
    """Return the Shapes of two packed arrays for numpy, without copies."""
    arrays = []
    for k, name in enumerate(Shapes._fields):
        source = index if name in INTEGERS_OF_SHAPES else numbers
        first, rows, columns = index[3 * k : 3 * k + 3].tolist()
        arrays.append(source[first : first + rows * columns].reshape(rows, columns))
    return Shapes(*arrays)


def new_state(links: int, pairs: np.ndarray, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (numbers, index) of a `State` without results; ``pairs`` (p, 2) of links."""
    count = len(pairs)
    table = np.full((links, links), -1, dtype=np.int64)
    table[pairs[:, 0], pairs[:, 1]] = table[pairs[:, 1], pairs[:, 0]] = np.arange(count)
    kept = np.full((count, 13), -np.inf)
    return (
        np.concatenate([np.full(count, np.inf), kept.ravel(), np.zeros(2 * nodes)]),
        np.concatenate(
            [[links, count, nodes], table.ravel(), np.full(8 * count + 1, -1, dtype=np.int64), [0]]
        ),
    )


def pair_table(index: np.ndarray) -> np.ndarray:
    """Return (links, links) pair numbers in a state's ``index``, without a copy."""
    links = int(index[0])
    return index[_STATE_HEADER : _STATE_HEADER + links * links].reshape(links, links)


def forget_pairs(numbers: np.ndarray, index: np.ndarray, which: np.ndarray | slice) -> None:
    """Clear the results of some pairs in a state, because their shapes have changed."""
    links, pairs, _ = index[:_STATE_HEADER].tolist()
    numbers[pairs : 14 * pairs].reshape(pairs, 13)[which] = -np.inf
    guesses = _STATE_HEADER + links * links
    index[guesses : guesses + 4 * pairs].reshape(pairs, 4)[which] = -1


@kernel
def unpack_shapes(numbers, index):
    """The Shapes of two packed arrays; valid as long as the arrays exist."""
    return Shapes(
        borrow(index, index[0], index[1], 3),
        borrow(index, index[3], index[4], 8),
        borrow(index, index[6], index[7], 1),
        borrow(index, index[9], index[10], 1),
        borrow(numbers, index[12], index[13], 12),
        borrow(numbers, index[15], index[16], 6),
        borrow(numbers, index[18], index[19], 4),
        borrow(numbers, index[21], index[22], 6),
        borrow(numbers, index[24], index[25], 12),
        borrow(numbers, index[27], index[28], 5),
        borrow(numbers, index[30], index[31], 3),
    )


@kernel
def unpack_state(numbers, index):
    """The State of two packed arrays; valid as long as the arrays exist."""
    links, pairs, nodes = index[0], index[1], index[2]
    at = _STATE_HEADER + links * links
    return State(
        borrow(index, _STATE_HEADER, links, links),
        borrow(index, at, pairs, 4),
        borrow(index, at + 4 * pairs, pairs, 1),
        borrow(index, at + 5 * pairs, pairs, 2),
        borrow(index, at + 7 * pairs, pairs, 1),
        borrow(index, at + 8 * pairs, 1, 2),
        borrow(numbers, 0, pairs, 1),
        borrow(numbers, pairs, pairs, 13),
        borrow(numbers, 14 * pairs, nodes, 2),
    )


@small_kernel
def data_of(numbers, index, work, work_index, calls):
    """Return what `part_distance` needs to find trees: arrays, begin of ``reaches``, and addresses.

    ``numbers`` and ``index`` of the shapes, ``work`` and ``work_index`` of the state.
    """
    return lend(numbers), lend(index), lend(work), 14 * work_index[1], lend(calls)
