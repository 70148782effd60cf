# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Which triangles of a mesh hang together, and which of those pieces have an inside."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components


def connected_pieces(vertex_count: int, triangles: np.ndarray) -> np.ndarray:
    """Number (m,) of the connected piece that each triangle belongs to."""
    first, second = triangles[:, [0, 0]].ravel(), triangles[:, [1, 2]].ravel()
    links = coo_matrix((np.ones(len(first)), (first, second)), (vertex_count, vertex_count))
    return connected_components(links, directed=False)[1][triangles[:, 0]]


def closed_pieces(vertex_count: int, triangles: np.ndarray, pieces: np.ndarray) -> np.ndarray:
    """Whether each triangle's piece is closed: every edge runs as often back as forth."""
    start = triangles.ravel()
    end = triangles[:, [1, 2, 0]].ravel()
    low, high = np.minimum(start, end), np.maximum(start, end)
    _, edge = np.unique(low * vertex_count + high, return_inverse=True)
    balance = np.bincount(edge, np.where(start < end, 1.0, -1.0))
    open_pieces = np.unique(np.repeat(pieces, 3)[balance[edge] != 0.0])
    return ~np.isin(pieces, open_pieces)
