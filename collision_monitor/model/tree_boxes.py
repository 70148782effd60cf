# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The boxes of a model's hierarchy, level by level, for display."""

from __future__ import annotations

import numpy as np

from collision_monitor.hierarchy.packed import windows
from collision_monitor.model.collision_model import CollisionModel


class TreeBoxes:
    """Boxes over the leaves of a model (Zhang et al.): a tree of those that move, one of the rest.

    Attributes:
        levels: (nodes,) of each box; 0 are the roots of both trees.
        depth: how many levels there are.
    """

    def __init__(self, model: CollisionModel) -> None:
        view = windows(*model.work_space())
        self._children = view.nodes.copy()
        self._radii = view.radii[:, 0].copy()
        self._moving = view.moving_nodes
        self.levels = np.zeros(len(view.nodes), dtype=np.int64)
        level = np.array([root for root in {0, self._moving} if root < len(view.nodes)])
        self.depth = 0
        while len(level):
            self.levels[level] = self.depth
            self.depth += 1
            level = self._children[level][self._children[level, 0] >= 0].ravel()
        self._boxes = np.empty((len(view.nodes), 6))
        count = len(view.nodes)
        self._steps = self._inner_levels(0, self._moving)
        fixed = self._inner_levels(self._moving, count)
        ends = view.ends.reshape(-1, 2, 3)  # of the leaves that do not move: placed at load
        self._refit(ends, self._moving, count, fixed)

    def _inner_levels(self, first: int, last: int) -> list[np.ndarray]:
        """Inner nodes of one tree, the deepest level first."""
        nodes = np.arange(first, last)
        inner = nodes[self._children[nodes, 0] >= 0]
        of_levels = self.levels[inner]
        return [inner[of_levels == level] for level in np.unique(of_levels)[::-1]]

    def _refit(
        self, ends: np.ndarray, first: int, last: int, inner_levels: list[np.ndarray]
    ) -> None:
        nodes = np.arange(first, last)
        lowest = nodes[self._children[nodes, 0] < 0]
        leaves = self._children[lowest, 1]
        radii = self._radii[leaves, None]
        self._boxes[lowest, :3] = ends[leaves].min(axis=1) - radii
        self._boxes[lowest, 3:] = ends[leaves].max(axis=1) + radii
        for inner in inner_levels:
            both = self._boxes[self._children[inner]]
            self._boxes[inner, :3] = both[:, :, :3].min(axis=1)
            self._boxes[inner, 3:] = both[:, :, 3:].max(axis=1)

    def at(self, segments: np.ndarray) -> np.ndarray:
        """(nodes, 6): lower and upper corner of every box, metres, in the base frame.

        ``segments`` (leaves, 2, 3) as of `CollisionModel.leaf_segments`. Valid until the next call.
        """
        self._refit(segments, 0, self._moving, self._steps)
        return self._boxes


def edges(boxes: np.ndarray) -> np.ndarray:
    """(n, 12, 2, 3): both ends of the twelve edges of boxes (n, 6)."""
    return np.take(boxes, _EDGES, axis=1)


def _edge_columns() -> np.ndarray:
    """(12, 2, 3): of every edge's ends, which column of a box each coordinate is."""
    found = []
    for axis in range(3):
        for corner in range(4):
            end = np.arange(3)
            others = [k for k in range(3) if k != axis]
            for bit, other in enumerate(others):
                end[other] += 3 * (corner >> bit & 1)
            far = end.copy()
            far[axis] += 3
            found.append([end, far])
    return np.array(found)


_EDGES = _edge_columns()
