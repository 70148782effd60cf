# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Binary trees over triangles, all nodes of a level at once.

A node is halved across the longest side of its box, at the mean of its triangles' centres.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from collision_monitor.mesh_distance.bvh.triangle_volumes import boxes_along, frames, volume_rows

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
