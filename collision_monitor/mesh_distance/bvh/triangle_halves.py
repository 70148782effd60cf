# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Binary trees over triangles, built level by level, and the volumes of their nodes.

A node is halved across the longest side of its box, at the mean of its triangles' centres. Volumes
are boxes, or rectangles swept by spheres. They are computed for many sets of triangles at once:
the triangles are an array of corners (m, 3, 3) in which each set is a contiguous range, and
``starts`` (k,) holds the first row of each set.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# What sides grow by, as a part of the largest coordinate: more than the rounding errors of the
# transforms into a box's axes and back.
_ROUNDING = 16.0 * np.finfo(float).eps


def frames(points: np.ndarray, starts: np.ndarray, kind: str) -> np.ndarray:
    """Axes (k, 3, 3), as columns, for the box of each set.

    The link's own for ``aabb``. Otherwise the principal axes of the vertices, after Liu et al.;
    for a triangle alone, its longest edge, its normal and their cross product. The first
    two are the sides of the rectangle, the last its normal.
    """
    if kind == "aabb":
        return np.broadcast_to(np.eye(3), (len(starts), 3, 3))
    sizes = np.diff(np.append(starts, len(points)))
    stretch = np.repeat(np.arange(len(starts)), sizes)
    mean = np.add.reduceat(points.sum(axis=1), starts) / (3 * sizes[:, None])
    centred = points - mean[stretch][:, None]
    products = np.einsum("mci,mcj->mij", centred, centred)
    axes = np.linalg.eigh(np.add.reduceat(products, starts))[1][:, :, ::-1].copy()
    alone = np.flatnonzero(sizes == 1)
    axes[alone] = _edge_frames(points[starts[alone]], axes[alone])
    return axes


def _edge_frames(corners: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """Axes (k, 3, 3) of triangles (k, 3, 3) by their longest edges; where it has no area, as is."""
    edges = np.roll(corners, -1, axis=1) - corners
    lengths = np.linalg.norm(edges, axis=2)
    longest = lengths.argmax(axis=1)
    edge = edges[np.arange(len(edges)), longest]
    normal = np.cross(edges[:, 0], edges[:, 1])
    area = np.linalg.norm(normal, axis=1)
    sound = area > 1e-9 * lengths.max(axis=1, initial=0.0) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        x = edge / np.linalg.norm(edge, axis=1)[:, None]
        z = normal / area[:, None]
        found = np.stack([x, np.cross(z, x), z], axis=2)
    return np.where(sound[:, None, None], found, otherwise)


def boxes_along(
    points: np.ndarray, axes: np.ndarray, starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Least and largest coordinates (k, 3) of each set along its axes, and all (m, 3, 3)."""
    sizes = np.diff(np.append(starts, len(points)))
    local = points @ np.repeat(axes, sizes, axis=0)
    low = np.minimum.reduceat(local.min(axis=1), starts)
    high = np.maximum.reduceat(local.max(axis=1), starts)
    return low, high, local


def volume_rows(
    kind: str, low: np.ndarray, high: np.ndarray, axes: np.ndarray, largest: float
) -> np.ndarray:
    """Rows of `mesh_distance.bvh.mesh_tree`'s ``volumes`` for boxes along ``axes``.

    Args:
        kind: of the volume.
        low: (k, 3) least coordinates along the axes.
        high: (k, 3) largest.
        axes: (k, 3, 3) as columns.
        largest: coordinate of all of the mesh, by absolute value.
    """
    center = 0.5 * (low + high)
    half = 0.5 * (high - low) + _ROUNDING * largest
    if kind in ("aabb", "octree"):
        size = np.linalg.norm(half, axis=1)
        return np.column_stack([center, half, size, np.zeros(len(low))])
    # The longest side first, the shortest last.
    ranks = np.argsort(-half, axis=1, kind="stable")
    axes = np.take_along_axis(axes, ranks[:, None, :], axis=2)
    center = np.take_along_axis(center, ranks, axis=1)
    half = np.take_along_axis(half, ranks, axis=1)
    size = np.linalg.norm(half, axis=1)
    middle = np.einsum("kij,kj->ki", axes, center)
    return np.column_stack([middle, axes.transpose(0, 2, 1).reshape(-1, 9), half, size])


# -- trees --

# A half has this part of the triangles at least: a tree is never deeper than log(n) / log(6/5).
_LEAST_PART = 1.0 / 6.0


class Branches(NamedTuple):
    """A tree over triangles; as in `mesh_distance.bvh.mesh_tree`, ``rows`` being the ``names``."""

    nodes: np.ndarray
    slots: np.ndarray
    rows: np.ndarray
    volumes: np.ndarray
    waiting: int  # nodes that can wait on a descent


def halved(corners: np.ndarray, kind: str, in_a_leaf: int = 1) -> Branches:
    """A binary tree over triangles.

    Args:
        corners: (m, 3, 3).
        kind: of the volumes: ``aabb``, ``obb`` or ``rss``.
        in_a_leaf: triangles that a leaf may hold.
    """
    order = np.arange(len(corners))
    sizes = np.array([len(corners)])
    levels, volumes, leaves = [], [], []
    count = slots = 0
    while len(sizes):
        starts = np.cumsum(sizes) - sizes
        points = corners[order]
        axes = frames(points, starts, kind)
        low, high, local = boxes_along(points, axes, starts)
        volumes.append(volume_rows(kind, low, high, axes, np.abs(points).max()))
        inner = sizes > in_a_leaf
        nodes = np.empty((len(sizes), 2), dtype=np.int64)
        count += len(sizes)
        nodes[inner] = np.column_stack(
            [count + 2 * np.arange(inner.sum()), np.full(inner.sum(), 2)]
        )
        held = sizes[~inner]
        nodes[~inner] = np.column_stack([slots + np.cumsum(held) - held, -held])
        slots += held.sum()
        levels.append(nodes)
        goes_on = np.repeat(inner, sizes)
        leaves.append(order[~goes_on])
        order, sizes = _split(order[goes_on], local[goes_on].mean(axis=1), sizes[inner])
    rows = np.concatenate(leaves)
    return Branches(
        np.concatenate(levels), np.arange(len(rows)), rows, np.concatenate(volumes), len(levels)
    )


def _split(
    order: np.ndarray, centers: np.ndarray, sizes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Stretches of ``order``, ``sizes`` long, each in two: their order, and twice as many sizes."""
    if len(sizes) == 0:
        return order, sizes
    starts = np.cumsum(sizes) - sizes
    spread = np.maximum.reduceat(centers, starts) - np.minimum.reduceat(centers, starts)
    stretch = np.repeat(np.arange(len(sizes)), sizes)
    along = centers[np.arange(len(order)), spread.argmax(axis=1)[stretch]]
    mean = np.add.reduceat(along, starts) / sizes
    below = np.add.reduceat((along < mean[stretch]).astype(np.int64), starts)
    least = np.maximum(1, (sizes * _LEAST_PART).astype(np.int64))
    first = np.clip(below, least, sizes - least)
    order = order[np.lexsort((along, stretch))]
    return order, np.column_stack([first, sizes - first]).ravel()
