# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Connected pieces of a mesh, and which of them are closed surfaces.

Meshes in files may be defective: duplicate triangles, triangles whose area was lost to rounding, a
second, inverted copy of the surface, or flipped triangles. Pieces that are closed in spite of that
have an inside.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


def connected_pieces(vertex_count: int, triangles: np.ndarray) -> np.ndarray:
    """Number (m,) of the connected piece that each triangle belongs to."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    first, second = triangles[:, [0, 0]].ravel(), triangles[:, [1, 2]].ravel()
    links = coo_matrix((np.ones(len(first)), (first, second)), (vertex_count, vertex_count))
    return connected_components(links, directed=False)[1][triangles[:, 0]]


def closed_pieces(vertex_count: int, triangles: np.ndarray, pieces: np.ndarray) -> np.ndarray:
    """Whether each triangle's piece is closed: edges occur equally often in both directions."""
    edge, ways = _edges(vertex_count, triangles)
    return ~_is_in_piece_with(np.bincount(edge, ways)[edge] != 0.0, pieces)


class ClosedSurfaces(NamedTuple):
    """The closed surfaces of a mesh.

    Attributes:
        triangles: (m, 3) those of the mesh, some flipped, so that closed pieces are wound
            consistently.
        pieces: (m,) number of the connected piece that each one belongs to.
        closed: (m,) bool: the triangles that a closed piece is made of, each of them once.
    """

    triangles: np.ndarray
    pieces: np.ndarray
    closed: np.ndarray


def closed_surfaces(vertices: np.ndarray, triangles: np.ndarray) -> ClosedSurfaces:
    """Find the closed surfaces of a mesh of vertices (n, 3) and triangles (m, 3).

    A piece is closed if every edge occurs equally often in both directions (a cavity is wound the
    other way, and stays one), or if this holds once duplicates are removed and triangles are turned
    outwards. Triangles with two equal corners are ignored.
    """
    count = len(vertices)
    pieces = connected_pieces(count, triangles)
    whole = (triangles != triangles[:, [1, 2, 0]]).all(axis=1)
    edge, ways = _edges(count, triangles)
    loose = _is_in_piece_with(np.bincount(edge, ways)[edge] != 0.0, pieces)
    once = _is_in_piece_with((np.bincount(edge)[edge] < 4) & np.repeat(whole, 3), pieces)
    closed = whole & ~loose
    # Where every edge occurs four times, the surface may be duplicated, with opposite winding.
    rest = np.flatnonzero(whole & ~(closed & once))
    if len(rest) == 0:
        return ClosedSurfaces(triangles, pieces, closed)
    alike = np.unique(np.sort(triangles[rest], axis=1), axis=0, return_index=True)[1]
    chosen = rest[np.sort(alike)]
    edge, _ = _edges(count, triangles[chosen])
    chosen = chosen[~_is_in_piece_with(np.bincount(edge)[edge] % 2 == 1, pieces[chosen])]
    if len(chosen) == 0:
        return ClosedSurfaces(triangles, pieces, closed)
    turned = _turned_outwards(vertices, triangles[chosen])
    mended = closed_pieces(count, turned, pieces[chosen])
    chosen, turned = chosen[mended], turned[mended]
    result = triangles.copy()
    result[chosen] = turned
    closed[np.isin(pieces, pieces[chosen])] = False
    closed[chosen] = True
    return ClosedSurfaces(result, pieces, closed)


def _edges(vertex_count: int, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number (3 m,) of every edge of every triangle, and its direction: 1, -1, 0 for none."""
    start, end = triangles.ravel(), triangles[:, [1, 2, 0]].ravel()
    low, high = np.minimum(start, end), np.maximum(start, end)
    _, edge = np.unique(low * vertex_count + high, return_inverse=True)
    return edge, np.sign(end - start).astype(float)


def _is_in_piece_with(of_edges: np.ndarray, pieces: np.ndarray) -> np.ndarray:
    """Whether each triangle's piece has one of the edges (3 m,) marked."""
    return np.isin(pieces, np.repeat(pieces, 3)[of_edges])


def _turned_outwards(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Triangles with neighbours turned alike, and each surface so that its volume is positive.

    Neighbours are two that share an edge with no third. Every triangle is a node twice, as it is
    and turned, and is linked to its neighbours as they should turn then: a surface with two sides
    falls apart into its two ways of turning.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    count = len(triangles)
    edge, ways = _edges(len(vertices), triangles)
    order = np.argsort(edge, kind="stable")
    first = np.flatnonzero(np.diff(np.r_[-1, edge[order]]))
    pairs = first[np.bincount(edge) == 2]
    a, b = order[pairs], order[pairs + 1]
    against = (ways[a] == ways[b]).astype(np.int64)
    a, b = a // 3, b // 3
    nodes = np.r_[a, a + count], np.r_[b + count * against, b + count * (1 - against)]
    links = coo_matrix((np.ones(2 * len(a)), nodes), (2 * count, 2 * count))
    labels = connected_components(links, directed=False)[1].reshape(2, count)
    turned = labels[0] > labels[1]
    result = np.where(turned[:, None], triangles[:, ::-1], triangles)
    surface = labels.min(axis=0)
    p = vertices[result] - vertices.mean(axis=0)
    volume = np.bincount(surface, np.linalg.det(p))
    return np.where((volume < 0.0)[surface][:, None], result[:, ::-1], result)
