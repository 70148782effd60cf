# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Two meshes alone, without links: their distance and crossing triangles, called from Python."""

from __future__ import annotations

import math

import numpy as np

from collision_monitor.common.array_views import work_space
from collision_monitor.common.compiled import TRUE, ZERO, kernel
from collision_monitor.mesh_distance.crossings import crossing_triangles
from collision_monitor.mesh_distance.mesh_pair_distance import nearest_triangles
from collision_monitor.mesh_distance.mesh_tree import unpack_tree


@kernel
def mesh_distance(
    numbers_a, index_a, numbers_b, index_b, rotation, translation, guess_a, guess_b, limit,
    enough=np.inf,
):  # fmt: skip
    """Return (distance, row a, row b, 3 + 3 coordinates of the nearest points in frame A).

    Metres. 0, without points, if the surfaces touch or cross; a mesh completely inside another one
    has a positive distance. Trees of one kind, by `mesh_tree`; ``rotation`` (3, 3) and
    ``translation`` (3,) transform frame B into frame A. The rows refer to the trees' ``corners``
    and can be the guess of the next query. If the meshes are at least ``limit`` metres apart, the
    distance is ``limit``, the rows are -1, and the points nan. ``enough`` as in
    `nearest_triangles`.
    """
    pose = work_space(limit, 4, 3)
    points = work_space(limit, 2, 3)
    for i in range(3):
        for j in range(3):
            points[0, j] = points[1, j] = np.nan
            pose[i, j], pose[3, j] = rotation[i, j], translation[j]
    a = unpack_tree(numbers_a, index_a, ZERO, ZERO)
    b = unpack_tree(numbers_b, index_b, ZERO, ZERO)
    square, i, j = nearest_triangles(a, b, pose, guess_a, guess_b, limit, enough, TRUE, points)
    return (
        math.sqrt(square), i, j,
        points[0, 0], points[0, 1], points[0, 2], points[1, 0], points[1, 1], points[1, 2],
    )  # fmt: skip


@kernel
def mesh_crossing(numbers_a, index_a, numbers_b, index_b, rotation, translation, out):
    """`crossing_triangles` of two packed trees of `mesh_tree`.

    ``rotation`` (3, 3) and ``translation`` (3,), metres, transform frame B into frame A; ``out``
    (k, 2) int64.
    """
    pose = work_space(translation[0], 4, 3)
    for i in range(3):
        for j in range(3):
            pose[i, j], pose[3, j] = rotation[i, j], translation[j]
    a = unpack_tree(numbers_a, index_a, ZERO, ZERO)
    b = unpack_tree(numbers_b, index_b, ZERO, ZERO)
    return crossing_triangles(a, b, pose, out)
