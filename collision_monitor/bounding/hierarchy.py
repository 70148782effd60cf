# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Binary trees over leaves, level by level."""

from __future__ import annotations

from collections import deque

import numpy as np


def _halve(
    order: np.ndarray, centers: np.ndarray | None, groups: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Two halves: between groups, else across the longest side of the centres' box."""
    half = (len(order) + 1) // 2
    if groups is not None:
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
    nodes: list[list[int]] = []
    waiting: deque[tuple[np.ndarray, int, int]] = deque()
    if len(leaves):
        waiting.append((np.asarray(leaves, dtype=np.int64), -1, -1))
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


def _gathered(nodes: np.ndarray, of_leaves: np.ndarray) -> np.ndarray:
    """Rows of ``of_leaves`` (leaves, k) of bool, joined by "or" over what is below a node."""
    rows = np.zeros((len(nodes), of_leaves.shape[1]), dtype=bool)
    for k in range(len(nodes) - 1, -1, -1):
        first, second = nodes[k]
        rows[k] = of_leaves[second] if first < 0 else rows[first] | rows[second]
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
