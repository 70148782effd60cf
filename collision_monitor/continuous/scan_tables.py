# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Balls around leaves and links, and the joints between two links: tables of a scan of a model."""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from collision_monitor.continuous.scan_space import Space, fill_balls
from collision_monitor.hierarchy.packed import windows


class ScanTables(NamedTuple):
    """What all scans of one model have in common.

    Attributes:
        centers: (leaves + links, 3) of balls around leaves and links, where these do not move; base
            frame, metres.
        radii: (leaves + links,) of these balls, metres.
        link_centers: (links, 4) body of a link, and the centre of its ball in the body's frame.
        firsts: (pairs, 2) the innermost joint (index in kernels) that moves one link of a pair and
            not the other; -1 if there is none.
        hints: (pairs, 2) a leaf of each link of a pair.
        rows: number of leaves that may move and of links.
        joints: number of joints in kernels.
    """

    centers: np.ndarray
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
            self.centers.ravel().copy(),
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
    arrays = model.work_space()
    tables = empty_tables(*arrays, windows(*arrays).moving_leaves)
    space = tables.space(1)
    fill_balls(*arrays, space, np.arange(len(tables.firsts)))
    return tables._replace(centers=space.centers)


def empty_tables(numbers: np.ndarray, index: np.ndarray, most_moving: int) -> ScanTables:
    """Return tables for a packed model with nothing in them, but for ``hints``.

    ``most_moving``: how many leaves may ever move; in a live scene more than do so now.
    """
    view = windows(numbers, index)
    links, pairs = len(view.links), view.pairs
    balls = len(view.leaf_bodies) + links
    return ScanTables(
        np.zeros((balls, 3)), np.zeros(balls), np.zeros((links, 4)), np.full((len(pairs), 2), -1),
        view.links[pairs, 0], int(most_moving) + links, len(view.joint_table),
    )  # fmt: skip
