# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The leaves of the right arm against those of the left: the pairs of the published method."""

from __future__ import annotations

import numpy as np

from collision_monitor.robot.bodies import Bodies
from collision_monitor.self_collision.field.nine_cases import control_points, leaf_gaps
from collision_monitor.self_collision.problem import Problem


class CrossPairs:
    """All pairs of a right and a left leaf that take part, and how far apart they are.

    Attributes:
        right, left: (m,) indices into ``model.leaves``.
        pair: (m,) index into ``model.pairs`` of each.
        depth: (m,) joints of the arm before the nearer to its base of the two links.
    """

    def __init__(self, problem: Problem, bodies: Bodies) -> None:
        """Sort the pairs of ``problem.model``; what an arm carries counts as the arm."""
        model = problem.model
        carrier = {obstacle.name: obstacle.link for obstacle in model.scene.obstacles}
        self._bodies = np.array(
            [bodies.link_bodies[carrier.get(leaf.link, leaf.link)] for leaf in model.leaves]
        )
        leaves: dict[str, list[int]] = {}
        for k, leaf in enumerate(model.leaves):
            leaves.setdefault(leaf.link, []).append(k)
        sides = [set(arm.links) for arm in problem.arms]
        rows = []
        for k, (a, b) in enumerate(model.pairs):
            if problem.margins.safe[k] == -np.inf:
                continue
            at = [carrier.get(name, name) for name in (a, b)]
            if at[0] in sides[1] and at[1] in sides[0]:
                a, b = b, a
            elif not (at[0] in sides[0] and at[1] in sides[1]):
                continue
            rows += [(i, j, k) for i in leaves[a] for j in leaves[b]]
        table = np.array(rows, dtype=np.int64).reshape(-1, 3)
        self.right, self.left, self.pair = (np.ascontiguousarray(c) for c in table.T)
        depths = _depths(bodies)[self._bodies]
        self.depth = np.minimum(depths[self.right], depths[self.left])
        self._radii = np.array([leaf.radius for leaf in model.leaves])
        self._model = model
        self._gaps = np.empty(len(table))

    def gaps(self, q: np.ndarray, enough: float = np.inf) -> np.ndarray:
        """Signed distances (m,) of all pairs at ``q``, metres; overwritten by the next call.

        Those beyond ``enough`` metres may be given too small, but not below it.
        """
        ends = self._model.leaf_segments(q)
        leaf_gaps(ends, self._radii, self.right, self.left, enough, self._gaps)
        return self._gaps

    def gap(self, q: np.ndarray, k: int) -> float:
        """Signed distance of pair k alone, metres."""
        right, left = self.segments(q, k)
        radii = self._radii[self.right[k]] + self._radii[self.left[k]]
        return control_points(right, left).distance - float(radii)

    def segments(self, q: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Segments (2, 3) of the right and the left leaf of pair k at ``q``."""
        ends = self._model.leaf_segments(q)
        return ends[self.right[k]], ends[self.left[k]]

    def bodies_of(self, k: int) -> tuple[int, int]:
        """Bodies that carry the right and the left leaf of pair k."""
        return int(self._bodies[self.right[k]]), int(self._bodies[self.left[k]])


def _depths(bodies: Bodies) -> np.ndarray:
    """Moving joints between the base and each body."""
    depths = np.zeros(len(bodies.parents) + 1, dtype=np.int64)
    for k, parent in enumerate(bodies.parents):
        depths[k + 1] = depths[parent] + 1
    return depths
