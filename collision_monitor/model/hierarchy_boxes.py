# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Boxes of hierarchies for display: over the leaves of a model, and over the triangles of links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np

from collision_monitor.common.limits import LARGEST
from collision_monitor.geometry.bounding_volumes import RSS
from collision_monitor.hierarchy.packed import levels_of, windows
from collision_monitor.mesh_distance import mesh_tree
from collision_monitor.mesh_distance.parts import SOLID, Part
from collision_monitor.model.collision_model import CollisionModel


class TreeBoxes:
    """Boxes over the leaves of a model (Zhang et al.): trees of moving and of static leaves.

    Attributes:
        levels: (nodes,) level of each box; 0 for the roots of both trees.
        depth: number of levels.
    """

    def __init__(self, model: CollisionModel) -> None:
        self._model = model.twin()
        view = windows(*self._model.packed)
        self._boxes = view.boxes
        levels = levels_of(view.nodes)
        self.depth, self.levels = len(levels), np.zeros(len(view.nodes), dtype=np.int64)
        for number, nodes in enumerate(levels):
            self.levels[nodes] = number

    def at(self, q: np.ndarray) -> np.ndarray:
        """Lower and upper corner of every box at ``q`` (nq,), (nodes, 6), metres, base frame.

        Valid until the next call.
        """
        self._model.contacts(q, -LARGEST)  # places the boxes, and compares none
        return self._boxes


# Whether a corner of a box is at the upper end of x, y and z; corners that differ in one share an
# edge.
_UPPER = np.array(list(product((False, True), repeat=3)))
_EDGES = np.argwhere(np.triu((_UPPER[:, None] != _UPPER).sum(axis=2) == 1))
_AT_ONCE = 100_000  # pairs of boxes compared at once
# Maximum number of boxes shown: each takes 576 bytes of a message.
MOST_BOXES = 1000


def edges(boxes: np.ndarray) -> np.ndarray:
    """Return (n, 12, 2, 3): both ends of the twelve edges of boxes (n, 6)."""
    return np.where(_UPPER, boxes[:, None, 3:], boxes[:, None, :3])[:, _EDGES]


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes in one frame.

    Attributes:
        centers: (n, 3) metres.
        axes: (n, 3, 3) unit axes as columns.
        halves: (n, 3) half sides along them.
        levels: (n,) depth in the hierarchy; 0 is the box of a part of a link.
        lowest: (n,) bool: whether a box holds triangles and no smaller boxes.
        children: (n, 2) row of the first child, and number of children; 0 for the lowest.
    """

    centers: np.ndarray
    axes: np.ndarray
    halves: np.ndarray
    levels: np.ndarray
    lowest: np.ndarray
    children: np.ndarray

    def __getitem__(self, rows: np.ndarray) -> Boxes:
        """Return the boxes of ``rows``; their ``children`` still refer to all rows."""
        return Boxes(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    def moved(self, pose: np.ndarray) -> Boxes:
        """Return the boxes in a frame in which theirs has ``pose`` (4, 4)."""
        centers = self.centers @ pose[:3, :3].T + pose[:3, 3]
        return replace(self, centers=centers, axes=pose[:3, :3] @ self.axes)

    def edges(self) -> np.ndarray:
        """Return (n, 12, 2, 3): both ends of the edges."""
        halves = self.halves[:, None]
        corners = np.where(_UPPER, halves, -halves) @ self.axes.transpose(0, 2, 1)
        return (corners + self.centers[:, None])[:, _EDGES]


def _boxes_of_part(part: Part) -> Boxes:
    tree = mesh_tree.windows(*part.tree)
    if part.kind == SOLID:
        half = (part.solid[:3] + part.solid[4])[None]
        if half.max() == 0.0:
            half = np.full((1, 3), part.ball[3])
        return Boxes(
            part.place[None, :3, 3], part.place[None, :3, :3], half, np.zeros(1, int),
            np.ones(1, bool), np.zeros((1, 2), int),
        )  # fmt: skip
    volumes, count = tree.volumes, len(tree.nodes)
    if volumes.shape[1] == 8:
        axes, halves = np.tile(np.eye(3), (count, 1, 1)), volumes[:, 3:6].copy()
    else:
        axes = volumes[:, 3:12].reshape(-1, 3, 3).transpose(0, 2, 1)
        halves = volumes[:, 12:15].copy()
    if tree.kind == RSS:  # the box around a rectangle swept by a sphere
        halves[:, :2] += halves[:, 2:]
    lowest = tree.nodes[:, 1] < 0
    levels, row, level = np.zeros(count, dtype=int), np.array([0]), 0
    while len(row):
        levels[row] = level
        inner = tree.nodes[row[~lowest[row]]]
        row = np.concatenate([np.arange(f, f + n) for f, n in inner.tolist()] or [row[:0]])
        level += 1
    children = np.where(lowest[:, None], 0, tree.nodes)
    return Boxes(volumes[:, :3], axes, halves, levels, lowest, children)


class TreeSize(NamedTuple):
    """Size of the hierarchy over the meshes of a link.

    Attributes:
        link: or obstacle.
        triangles: of its meshes.
        levels: including that of the root.
        cells: boxes of all levels.
        leaves: boxes that hold triangles.
        indices: of triangles, in all leaves: an octree stores a triangle in several.
    """

    link: str
    triangles: int
    levels: int
    cells: int
    leaves: int
    indices: int


def tree_sizes(model: CollisionModel) -> list[TreeSize]:
    """Sizes of the hierarchies over triangles of a model."""
    sizes = []
    for name, link in model.exact_shapes.links().items():
        for part in link.parts:
            if part.kind != SOLID:
                tree, boxes = mesh_tree.windows(*part.tree), _boxes_of_part(part)
                levels, leaves = 1 + int(boxes.levels.max()), int(boxes.lowest.sum())
                cells = len(tree.nodes)
                sizes.append(
                    TreeSize(name, len(tree.corners), levels, cells, leaves, len(tree.slots))
                )
    return sizes


def overlapping(a: Boxes, b: Boxes) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest rows of ``a`` and of ``b``, in one frame, that overlap the other hierarchy.

    Both hierarchies are traversed together. Pairs separated by one of 15 axes are skipped;
    otherwise the larger box is opened.
    """
    sizes = [np.linalg.norm(boxes.halves, axis=1) for boxes in (a, b)]
    overlap = [np.zeros(len(boxes.centers), bool) for boxes in (a, b)]
    roots = [np.flatnonzero(boxes.levels == 0) for boxes in (a, b)]
    i, j = (rows.ravel() for rows in np.meshgrid(*roots, indexing="ij"))
    while len(i):
        meet = np.concatenate(
            [_meet(a[i[k : k + _AT_ONCE]], b[j[k : k + _AT_ONCE]])
             for k in range(0, len(i), _AT_ONCE)]
        )  # fmt: skip
        i, j = i[meet], j[meet]
        done = a.lowest[i] & b.lowest[j]
        overlap[0][i[done]] = overlap[1][j[done]] = True
        i, j = i[~done], j[~done]
        first = ~a.lowest[i] & (b.lowest[j] | (sizes[0][i] >= sizes[1][j]))
        deeper = [_divided(a.children, i[first], j[first])]
        deeper.append(_divided(b.children, j[~first], i[~first])[::-1])
        i, j = (np.concatenate(rows) for rows in zip(*deeper, strict=True))
    return np.flatnonzero(overlap[0]), np.flatnonzero(overlap[1])


def _divided(
    children: np.ndarray, parents: np.ndarray, others: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Children of ``parents``, each with its entry of ``others``."""
    counts = children[parents, 1]
    starts = np.cumsum(counts) - counts
    within = np.arange(counts.sum()) - np.repeat(starts, counts)
    return np.repeat(children[parents, 0], counts) + within, np.repeat(others, counts)


def _meet(a: Boxes, b: Boxes) -> np.ndarray:
    """Whether (n,) the boxes of ``a`` and ``b`` in the same row overlap."""
    turn = np.einsum("kji,kjl->kil", a.axes, b.axes)  # axes of b in the frame of a
    size = np.abs(turn) + 1e-12
    offset = np.einsum("kji,kj->ki", a.axes, b.centers - a.centers)
    apart = (np.abs(offset) > a.halves + np.einsum("kij,kj->ki", size, b.halves)).any(axis=1)
    along = np.abs(np.einsum("ki,kij->kj", offset, turn))
    apart |= (along > b.halves + np.einsum("kij,ki->kj", size, a.halves)).any(axis=1)
    for i in range(3):
        i1, i2 = (i + 1) % 3, (i + 2) % 3
        for j in range(3):
            j1, j2 = (j + 1) % 3, (j + 2) % 3
            gap = np.abs(offset[:, i2] * turn[:, i1, j] - offset[:, i1] * turn[:, i2, j])
            apart |= gap > (
                a.halves[:, i1] * size[:, i2, j] + a.halves[:, i2] * size[:, i1, j]
                + b.halves[:, j1] * size[:, i, j2] + b.halves[:, j2] * size[:, i, j1]
            )  # fmt: skip
    return ~apart


class MeshBoxes:
    """All boxes of a model, in its hierarchy.

    Attributes:
        of_links: boxes by link or obstacle, each in its frame.
        depth: number of levels.
    """

    def __init__(self, model: CollisionModel) -> None:
        self._carriers = model.carriers
        self.of_links: dict[str, Boxes] = {}
        for name, link in model.exact_shapes.links().items():
            parts, count = [], 0
            for part in link.parts:
                boxes = _boxes_of_part(part)
                parts.append(replace(boxes, children=boxes.children + [count, 0]))
                count += len(boxes.levels)
            joined = [np.concatenate([getattr(part, field) for part in parts])
                      for field in Boxes.__dataclass_fields__]  # fmt: skip
            self.of_links[name] = Boxes(*joined)
        self.depth = 1 + max(int(boxes.levels.max()) for boxes in self.of_links.values())

    def at_level(self, name: str, level: int) -> Boxes:
        """Boxes of a link at a level, in its frame, and higher ones without children."""
        boxes = self.of_links[name]
        rows = (boxes.levels == level) | (boxes.lowest & (boxes.levels < level))
        return boxes[np.flatnonzero(rows)]

    def deepest_level(self, most: int) -> int:
        """The deepest level at which all links together have at most ``most`` boxes, or 0."""
        for level in range(self.depth - 1, 0, -1):
            if sum(len(self.at_level(name, level).levels) for name in self.of_links) <= most:
                return level
        return 0

    def pose(self, poses: dict[str, np.ndarray], name: str) -> np.ndarray:
        """Pose (4, 4) of a link or an obstacle, from ``poses`` of `CollisionModel.link_poses`."""
        return poses[self._carriers[name]]

    def colliding(self, poses: dict[str, np.ndarray], pair: Sequence[str]) -> np.ndarray:
        """Edges (n, 12, 2, 3) of the lowest overlapping boxes of two links, base frame."""
        both = [self.of_links[name].moved(self.pose(poses, name)) for name in pair]
        rows = overlapping(*both)
        return np.concatenate([boxes[r].edges() for boxes, r in zip(both, rows, strict=True)])

    def meeting(
        self, model: CollisionModel, q: np.ndarray, most: int = 1000
    ) -> tuple[np.ndarray, np.ndarray]:
        """Edges (n, 12, 2, 3) of overlapping boxes, and crossing triangles (k, 3, 3), at ``q``.

        Only of checked pairs of known links whose leaves touch; at most ``most`` of both. Base
        frame.
        """
        poses = model.link_poses(q)
        pairs = {
            tuple(sorted({model.leaves[k].link for k in pair})) for pair in model.contacts(q, 0.0)
        }
        boxes, triangles = [np.empty((0, 12, 2, 3))], [np.empty((0, 3, 3))]
        for pair in sorted(pairs):
            if not set(pair) <= self.of_links.keys():
                continue
            boxes.append(self.colliding(poses, pair))
            if len(boxes[-1]):
                corners = model.crossing_triangles(q, pair, most).corners.reshape(-1, 3, 3)
                triangles.append(corners[np.isfinite(corners).all(axis=(1, 2))])
        return np.concatenate(boxes)[:most], np.concatenate(triangles)[:most]
