# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Binary trees over leaves, level by level."""

from __future__ import annotations

from collections import deque

import numpy as np


def _halve(
    order: np.ndarray, centers: np.ndarray | None, groups: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Two halves: between groups, else across the longest side of the centres' box."""
    half = (len(order) + 1) // 2
    borders = np.flatnonzero(np.diff(groups[order])) + 1
    if len(borders):
        half = int(borders[np.abs(borders - 0.5 * len(order)).argmin()])
        return order[:half], order[half:]
    if centers is not None:
        extents = np.ptp(centers[order], axis=0)
        order = order[np.argsort(centers[order, int(extents.argmax())], kind="stable")]
    return order[:half], order[half:]


def build_tree(
    leaves: np.ndarray, centers: np.ndarray | None = None, groups: np.ndarray | None = None
) -> np.ndarray:
    """Nodes (n, 2) of a balanced tree over the leaf indices ``leaves``, top down.

    Without ``centers`` the leaves keep their order along the chain (Zhang et al.):
    m leaves give ceil(log2 m) + 1 levels. With ``centers`` (all leaves, 3) each node
    is split across its longest extent: for leaves that do not move against each other.
    With ``groups`` (all leaves,) as well, nodes are first split between groups that stand
    one after another, the one nearest to half: links along the chain stay whole, and
    a link's leaves are split where they lie.

    Returns:
        Rows (first child, second child), or (-1, leaf). Node 0 is the root, and nodes
        come level by level, so a child's index is above its parent's.
    """
    leaves = np.asarray(leaves, dtype=np.int64)
    if groups is None:
        return _build_halving(leaves, centers)
    nodes: list[list[int]] = []
    waiting: deque[tuple[np.ndarray, int, int]] = deque()
    if len(leaves):
        waiting.append((leaves, -1, -1))
    while waiting:
        members, parent, side = waiting.popleft()
        if parent >= 0:
            nodes[parent][side] = len(nodes)
        if len(members) == 1:
            nodes.append([-1, int(members[0])])
            continue
        for k, half in enumerate(_halve(members, centers, groups)):
            waiting.append((half, len(nodes), k))
        nodes.append([-1, -1])
    return np.array(nodes, dtype=np.int64).reshape(-1, 2)


def _build_halving(order: np.ndarray, centers: np.ndarray | None) -> np.ndarray:
    """`build_tree` without groups: all nodes of a level at once, for scenes of many leaves."""
    levels = []
    sizes = np.array([len(order)] if len(order) else [], dtype=np.int64)
    count = 0  # of nodes so far
    while len(sizes):
        starts = np.cumsum(sizes) - sizes
        inner = sizes > 1
        rows = np.full((len(sizes), 2), -1, dtype=np.int64)
        rows[~inner, 1] = order[starts[~inner]]
        count += len(sizes)
        children = count + 2 * np.arange(inner.sum())
        rows[inner] = np.column_stack([children, children + 1])
        levels.append(rows)
        order, sizes = order[np.repeat(inner, sizes)], sizes[inner]
        if centers is not None and len(sizes):
            order = _sorted_within(order, sizes, centers)
        sizes = np.column_stack([(sizes + 1) // 2, sizes // 2]).ravel()
    return np.vstack(levels) if levels else np.empty((0, 2), dtype=np.int64)


def _sorted_within(order: np.ndarray, sizes: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Stretches of ``order``, ``sizes`` long, each sorted along the longest side of its box."""
    starts = np.cumsum(sizes) - sizes
    points = centers[order]
    extents = np.maximum.reduceat(points, starts) - np.minimum.reduceat(points, starts)
    stretch = np.repeat(np.arange(len(sizes)), sizes)
    along = points[np.arange(len(order)), extents.argmax(axis=1)[stretch]]
    return order[np.lexsort((along, stretch))]


def _levels(nodes: np.ndarray) -> list[np.ndarray]:
    """Indices of the nodes of one tree or several, level by level from the roots."""
    inner = nodes[:, 0] >= 0
    is_child = np.zeros(len(nodes), dtype=bool)
    is_child[nodes[inner]] = True
    levels = []
    level = np.flatnonzero(~is_child)
    while len(level):
        levels.append(level)
        level = nodes[level[inner[level]]].ravel()
    return levels


def _gathered(nodes: np.ndarray, of_leaves: np.ndarray) -> np.ndarray:
    """Rows of ``of_leaves`` (leaves, k) of bool, joined by "or" over what is below a node."""
    rows = np.zeros((len(nodes), of_leaves.shape[1]), dtype=bool)
    for level in reversed(_levels(nodes)):
        first, second = nodes[level].T
        inner = first >= 0
        rows[level[~inner]] = of_leaves[second[~inner]]
        rows[level[inner]] = rows[first[inner]] | rows[second[inner]]
    return rows


def open_bits(moving: np.ndarray, all_nodes: np.ndarray, checked: np.ndarray) -> np.ndarray:
    """Which node pairs have a leaf pair to be checked below them, as bits.

    Args:
        moving: nodes of the tree of moving leaves, which come first.
        all_nodes: nodes of both trees.
        checked: (moving leaves, leaves) of bool, symmetric where both sides move.

    Returns:
        (len(moving), words): bit j % 64 of word j // 64 in row i stands for nodes i, j.
    """
    partners = _gathered(moving, checked)  # moving nodes x leaves
    meets = _gathered(all_nodes, partners.T).T  # moving nodes x nodes
    words = max(1, -(-len(all_nodes) // 64))
    padded = np.zeros((len(moving), words * 64), dtype=np.uint8)
    padded[:, : len(all_nodes)] = meets
    return np.packbits(padded, axis=1, bitorder="little").view(np.int64)
