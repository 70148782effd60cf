# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How far the triangles below the nodes of a tree reach along one direction, exactly.

Between two bodies that a plane could part, the way from one nearest point to the other is such a
direction that hardly any triangles reach nearer to the other body than those points. So
two numbers tell for most pairs of nodes, as soon as a good guess is known, that they are farther
apart; a box along that direction would be too coarse for it.
"""

from __future__ import annotations

import math

from collision_monitor.common.compiled import kernel


@kernel
def fill_reaches(tree, column, x, y, z):
    """``tree.reaches[node, column]``: largest (x, y, z) . p over the triangles below each node.

    From the leaves to the root: a child's index is above its parent's.
    """
    for node in range(len(tree.nodes) - 1, -1, -1):
        first, count = tree.nodes[node, 0], tree.nodes[node, 1]
        largest = -1e300
        if count > 0:
            for child in range(first, first + count):
                largest = max(largest, tree.reaches[child, column])
        else:
            for slot in range(first, first - count):
                row = tree.slots[slot, 0]
                for k in range(0, 9, 3):
                    reach = (
                        x * tree.corners[row, k]
                        + y * tree.corners[row, k + 1]
                        + z * tree.corners[row, k + 2]
                    )
                    largest = max(largest, reach)
        tree.reaches[node, column] = largest


@kernel
def fill_both_reaches(a, b, pose, points):
    """Reaches towards each other, along the way between ``points`` (2, 3); where B begins on it.

    That, less the reach of a node of A (column 0), less the reach of a node of B (column
    1), is at most the distance of what is below the nodes. Frames by ``pose`` as of
    `volume_bounds.place`. Points that coincide show no way, and everything is 0 then.
    """
    x, y, z = points[1, 0] - points[0, 0], points[1, 1] - points[0, 1], points[1, 2] - points[0, 2]
    length = math.sqrt(x * x + y * y + z * z)
    scale = 1.0 / length if length > 0.0 else 0.0
    x, y, z = scale * x, scale * y, scale * z
    fill_reaches(a, 0, x, y, z)
    fill_reaches(
        b,
        1,
        -pose[0, 0] * x - pose[1, 0] * y - pose[2, 0] * z,
        -pose[0, 1] * x - pose[1, 1] * y - pose[2, 1] * z,
        -pose[0, 2] * x - pose[1, 2] * y - pose[2, 2] * z,
    )
    return x * pose[3, 0] + y * pose[3, 1] + z * pose[3, 2]
