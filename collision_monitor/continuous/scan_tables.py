# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Balls around leaves and links, and the joints between two links: tables of a scan of a model."""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from collision_monitor.continuous.scan_space import Space
from collision_monitor.hierarchy.packed import windows


class ScanTables(NamedTuple):
    """What all scans of one model have in common.

    Attributes:
        radii: (leaves + links,) of balls around leaves and links, metres.
        link_centers: (links, 4) body of a link, and the centre of its ball in the body's frame.
        firsts: (pairs, 2) the innermost joint (index in kernels) that moves one link of a pair and
            not the other; -1 if there is none.
        hints: (pairs, 2) a leaf of each link of a pair.
        rows: number of moving leaves and of links.
        joints: number of joints in kernels.
    """

    radii: np.ndarray
    link_centers: np.ndarray
    firsts: np.ndarray
    hints: np.ndarray
    rows: int
    joints: int

    def space(self, order: int) -> Space:
        """Work space of one thread, for motions of polynomials of ``order``."""
        table = self.rows * self.joints
        return Space(
            np.zeros(3 * len(self.radii)),
            self.radii,
            self.link_centers.ravel(),
            np.full(self.rows, -1, dtype=np.int64),
            self.firsts.ravel(),
            np.zeros(4 * self.joints),
            np.empty(table),
            np.empty(table),
            np.empty(table),
            np.empty(order),
        )


_TABLES: WeakKeyDictionary[Any, ScanTables] = WeakKeyDictionary()


def scan_tables(model: Any) -> ScanTables:
    """Return the tables of a CollisionModel; they are kept as long as the model."""
    if model not in _TABLES:
        _TABLES[model] = _tables(model)
    return _TABLES[model]


def _tables(model: Any) -> ScanTables:
    view = windows(*model.work_space())
    half = 0.5 * (view.leaf_ends[:, 3:] - view.leaf_ends[:, :3])
    leaf_radii = np.linalg.norm(half, axis=1) + view.radii[:, 0]
    link_radii, link_centers = np.empty(len(view.links)), np.empty((len(view.links), 4))
    for link, (first, stop) in enumerate(view.links.tolist()):
        ends, radii = view.leaf_ends[first:stop].reshape(-1, 2, 3), view.radii[first:stop]
        low = (ends.min(axis=1) - radii).min(axis=0)
        high = (ends.max(axis=1) + radii).max(axis=0)
        center = 0.5 * (low + high)
        link_radii[link] = (np.linalg.norm(ends - center, axis=2) + radii).max()
        link_centers[link] = view.leaf_bodies[first, 0], *center
    bodies = link_centers[:, 0].astype(int).tolist()
    between = [model.bodies.between(bodies[a], bodies[b]) for a, b in view.pairs.tolist()]
    firsts = [[up[-1] if up else -1, down[0] if down else -1] for up, down in between]
    return ScanTables(
        np.concatenate([leaf_radii, link_radii]), link_centers,
        np.array(firsts, dtype=np.int64).reshape(-1, 2),
        view.links[view.pairs, 0].astype(np.int64),
        int(view.moving_leaves) + len(view.links), len(view.joint_table),
    )  # fmt: skip
