# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Connected pieces of a mesh, and which of them are closed."""

import numpy as np
from mesh_cases import mesh

from collision_monitor.bounding.closed_surfaces import closed_pieces, connected_pieces


def test_pieces_hang_together_by_corners():
    vertices, triangles = mesh("ball")
    both = np.vstack([triangles, triangles + len(vertices)])
    pieces = connected_pieces(2 * len(vertices), both)
    assert len(set(pieces[: len(triangles)])) == 1
    assert len(set(pieces[len(triangles) :])) == 1
    assert pieces[0] != pieces[-1]


def test_a_hole_or_a_turned_triangle_opens_its_own_piece_alone():
    vertices, triangles = mesh("ball")
    count = len(triangles)
    turned = triangles.copy()
    turned[7] = turned[7][::-1]
    for broken in (triangles[1:], turned):
        both = np.vstack([triangles, broken + len(vertices)])
        pieces = connected_pieces(2 * len(vertices), both)
        closed = closed_pieces(2 * len(vertices), both, pieces)
        assert closed[:count].all()
        assert not closed[count:].any()
