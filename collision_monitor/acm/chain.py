# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Two links and the joints between them: where they are, and how near their surfaces are.

Only the joints on the way from link A to link B move them against each other. They are numbered
from A to B: the first ``up`` lead from A down to the body that carries both, the others from there
to B. All is seen from that body.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from collision_monitor.common.array_views import work_space
from collision_monitor.common.compiled import offline_kernel
from collision_monitor.geometry.volume_bounds import place
from collision_monitor.hierarchy.packed import PRISMATIC
from collision_monitor.mesh_distance.bvh.mesh_tree import unpack_tree
from collision_monitor.mesh_distance.mesh_pair_distance import nearest_triangles


class Chain(NamedTuple):
    """Two links and the joints between them, as arrays; lengths in metres.

    ``joints`` (n, 2) kind and column of each; ``motion`` (n, 2) gain and offset, so that position =
    gain * q[column] + offset; ``placements`` (n, 12) rotation and translation in the parent's
    body at position 0, the axis along z. ``ends`` (2 m, 6) and ``radii`` (2 m, 1): leaves in their
    body's frame, first the ``leaves`` of A. Then come as many that are swept: each encloses a leaf
    at any position of its body's own joint, where ``swept`` (2,) says of A and B that this joint is
    between them and turns. ``hull_a``, ``hull_b`` (k, 3): vertices around which
    balls of the radii ``thick`` (2,) enclose the links. ``numbers_a``, ``index_a``: trees of
    triangles one after another, ``pieces_a`` (k, 2) where each begins, ``skins_a`` (k,) the
    radius of a ball swept along its triangles; the same for B. ``rows``: m.
    """

    joints: np.ndarray
    motion: np.ndarray
    placements: np.ndarray
    ends: np.ndarray
    radii: np.ndarray
    hull_a: np.ndarray
    hull_b: np.ndarray
    thick: np.ndarray
    numbers_a: np.ndarray
    index_a: np.ndarray
    pieces_a: np.ndarray
    skins_a: np.ndarray
    numbers_b: np.ndarray
    index_b: np.ndarray
    pieces_b: np.ndarray
    skins_b: np.ndarray
    swept: np.ndarray
    up: int
    leaves: int
    rows: int


@offline_kernel
def _advance(chain, k, q, pose, axes):
    """Move ``pose`` (12,) over joint k; write the joint's axis and a point of it."""
    placements = chain.placements
    position = chain.motion[k, 0] * q[chain.joints[k, 1]] + chain.motion[k, 1]
    slide, sine, cosine = 0.0, 0.0, 1.0
    if chain.joints[k, 0] == PRISMATIC:
        slide = position
    else:
        sine, cosine = math.sin(position), math.cos(position)
    for row in range(3):
        r0, r1, r2 = pose[3 * row], pose[3 * row + 1], pose[3 * row + 2]
        x = r0 * placements[k, 0] + r1 * placements[k, 3] + r2 * placements[k, 6]
        y = r0 * placements[k, 1] + r1 * placements[k, 4] + r2 * placements[k, 7]
        z = r0 * placements[k, 2] + r1 * placements[k, 5] + r2 * placements[k, 8]
        t = r0 * placements[k, 9] + r1 * placements[k, 10] + r2 * placements[k, 11]
        pose[3 * row] = cosine * x + sine * y
        pose[3 * row + 1] = cosine * y - sine * x
        pose[3 * row + 2] = z
        pose[9 + row] += t + slide * z
        axes[k, row] = z
        axes[k, 3 + row] = pose[9 + row]


@offline_kernel
def place_chain(chain, q, axes, poses):
    """Poses (2, 12) of the bodies of A and B at ``q``, and the ``axes`` (n, 6) of the joints."""
    for side in range(2):
        for m in range(12):
            poses[side, m] = 1.0 if m == 0 or m == 4 or m == 8 else 0.0
    for k in range(chain.up - 1, -1, -1):
        _advance(chain, k, q, poses[0], axes)
    for k in range(chain.up, len(chain.joints)):
        _advance(chain, k, q, poses[1], axes)


@offline_kernel
def carry(pose, local, i, at, out, j, to):
    """Write the point local[i, at:at + 3] of a body with ``pose`` (12,) to out[j, to:to + 3]."""
    x, y, z = local[i, at], local[i, at + 1], local[i, at + 2]
    for m in range(3):
        out[j, to + m] = pose[3 * m] * x + pose[3 * m + 1] * y + pose[3 * m + 2] * z + pose[9 + m]


@offline_kernel
def place_ends(chain, poses, ends):
    """End points (2 m, 6) of all leaves."""
    for i in range(len(ends)):
        side = 0 if i % chain.rows < chain.leaves else 1
        carry(poses[side], chain.ends, i, 0, ends, i, 0)
        carry(poses[side], chain.ends, i, 3, ends, i, 3)


@offline_kernel
def rate(chain, axes, k, x, y, z, nx, ny, nz):
    """Rate at which joint k moves a point (x, y, z) behind it along n, for a unit of the joint."""
    ax, ay, az = axes[k, 0], axes[k, 1], axes[k, 2]
    if chain.joints[k, 0] == PRISMATIC:
        return nx * ax + ny * ay + nz * az
    px, py, pz = x - axes[k, 3], y - axes[k, 4], z - axes[k, 5]
    return nx * (ay * pz - az * py) + ny * (az * px - ax * pz) + nz * (ax * py - ay * px)


@offline_kernel
def surface_distance(chain, poses, limit, guess, points):
    """Distance of the surfaces of A and B, at most ``limit``; 0 where they touch or cross.

    ``points`` (2, 3) gets the nearest points on the triangles and stays as it was where the links
    are ``limit`` or more apart. ``guess`` (k, 2), a row for each two pieces: nearest triangles
    of the last call.
    """
    relative, found = work_space(limit, 7, 3), work_space(limit, 2, 3)
    rotation, shift = np.empty((3, 3)), np.empty(3)
    a, b = poses[0], poses[1]
    for i in range(3):
        shift[i] = 0.0
        for m in range(3):
            shift[i] += a[3 * m + i] * (b[9 + m] - a[9 + m])
        for j in range(3):
            rotation[i, j] = a[i] * b[j] + a[3 + i] * b[3 + j] + a[6 + i] * b[6 + j]
    place(relative, rotation, shift)
    least = limit
    for i in range(len(chain.pieces_a)):
        tree_a = unpack_tree(
            chain.numbers_a, chain.index_a, chain.pieces_a[i, 0], chain.pieces_a[i, 1]
        )
        for j in range(len(chain.pieces_b)):
            tree_b = unpack_tree(
                chain.numbers_b, chain.index_b, chain.pieces_b[j, 0], chain.pieces_b[j, 1]
            )
            row = i * len(chain.pieces_b) + j
            skin = chain.skins_a[i] + chain.skins_b[j]
            square, first, second = nearest_triangles(
                tree_a, tree_b, relative, guess[row, 0], guess[row, 1], least + skin, True, found
            )
            if first < 0:
                continue
            guess[row, 0], guess[row, 1] = first, second
            apart = max(0.0, math.sqrt(square) - skin)
            if apart < least:
                least = apart
                for k in range(2):
                    for m in range(3):
                        points[k, m] = (
                            a[3 * m] * found[k, 0] + a[3 * m + 1] * found[k, 1]
                            + a[3 * m + 2] * found[k, 2] + a[9 + m]
                        )  # fmt: skip
            if least == 0.0:
                return 0.0
    return least
