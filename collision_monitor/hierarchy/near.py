# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Leaf pairs nearer than a limit of their own, and how their distances change with q.

``pair_table[a, b]`` is the index of the pair of links a and b, or -1; ``leaf_links`` the link
of each leaf; ``limits`` one distance for each pair of links, -inf for those that do not matter.
"""

from __future__ import annotations

import numpy as np

from collision_monitor.common.compiled import offline_kernel
from collision_monitor.geometry.segments import capsule_distance, capsule_witness, surely_farther
from collision_monitor.hierarchy.aabb_tree import box_size, boxes_overlap, is_open
from collision_monitor.hierarchy.kinematics import point_rate
from collision_monitor.hierarchy.packed import unpack
from collision_monitor.hierarchy.query import first_bad, move

_STACK = 512  # as in tree.py


@offline_kernel
def near_leaves(view, leaf_links, pair_table, limits, widest, found, values):
    """Write leaf pairs closer than their limit to ``found`` (k, 3): leaf, leaf, pair of links.

    Their distances go into the first column of ``values``.

    Returns how many there are; those that ``found`` has no room for are counted alone.
    ``widest`` is the largest limit.
    """
    nodes, boxes = view.nodes, view.boxes
    first = np.empty(_STACK, np.int64)
    second = np.empty(_STACK, np.int64)
    size = 0
    if len(nodes) > view.moving_nodes and is_open(view, 0, view.moving_nodes):
        first[0], second[0] = 0, view.moving_nodes
        size = 1
    if view.moving_nodes > 0 and is_open(view, 0, 0):
        first[size], second[size] = 0, 0
        size += 1
    count = 0
    while size > 0:
        size -= 1
        i, j = first[size], second[size]
        left, right = nodes[i, 0], nodes[i, 1]
        if i == j:
            if left < 0:
                continue
            for a, b in ((left, left), (right, right), (left, right)):
                if is_open(view, a, b) and (a == b or boxes_overlap(boxes, a, b, widest)):
                    first[size], second[size] = a, b
                    size += 1
            continue
        if left < 0 and nodes[j, 0] < 0:
            a, b = right, nodes[j, 1]
            pair = pair_table[leaf_links[a], leaf_links[b]]
            if surely_farther(view.ends, view.radii, a, b, limits[pair]):
                continue
            distance = capsule_distance(view.ends, view.radii, a, b)
            if distance < limits[pair]:
                if count < len(found):
                    found[count, 0], found[count, 1], found[count, 2] = a, b, pair
                    values[count, 0] = distance
                count += 1
            continue
        split_i = nodes[j, 0] < 0 or (left >= 0 and box_size(boxes, i) >= box_size(boxes, j))
        for m in range(2):
            a, b = (nodes[i, m], j) if split_i else (i, nodes[j, m])
            if is_open(view, a, b) and boxes_overlap(boxes, a, b, widest):
                first[size], second[size] = a, b
                size += 1
    return count


@offline_kernel
def add_motion(view, leaf, x, y, z, nx, ny, nz, sign, row):
    """Add sign * n . dp/dq to ``row`` (nq,), for the point p = (x, y, z) of a leaf's body."""
    body = view.leaf_bodies[leaf, 0]
    while body > 0:
        k = body - 1
        rate = point_rate(view, k, x, y, z, nx, ny, nz)
        row[view.joint_table[k, 2]] += sign * view.joint_motion[k, 0] * rate
        body = view.joint_table[k, 0]


@offline_kernel
def nearest_of_pairs(limits, found, values, count, spread):
    """Keep, of ``count`` leaf pairs, those within ``spread`` of the nearest of their links."""
    least = np.full(len(limits), np.inf)
    for k in range(count):
        least[found[k, 2]] = min(least[found[k, 2]], values[k, 0])
    kept = 0
    for k in range(count):
        if values[k, 0] <= least[found[k, 2]] + spread:
            found[kept, 0], found[kept, 1] = found[k, 0], found[k, 1]
            found[kept, 2], values[kept, 0] = found[k, 2], values[k, 0]
            kept += 1
    return kept


@offline_kernel
def near(
    numbers, index, leaf_links, pair_table, limits, widest, spread, q, found, values, gradients
):
    """Leaf pairs closer than their limit at q, their distances and gradients.

    Of the leaf pairs of two links only those within ``spread`` metres of the nearest.

    ``found`` (k, 3) as in `near_leaves`; ``values`` (k, 10): distance, points on both,
    normal, as in `capsule_witness`; ``gradients`` (k, nq): d distance / d q. Returns their number
    (which may be above k: then some are missing), or -2 - i for a bad q[i].

    The gradient is that of the nearest points held in their bodies (Danskin's theorem).
    """
    bad = first_bad(q)
    if bad >= 0:
        return -2 - bad
    view = unpack(numbers, index)
    move(view, q)
    count = near_leaves(view, leaf_links, pair_table, limits, widest, found, values)
    if count > len(found):
        return count
    if spread < np.inf:
        count = nearest_of_pairs(limits, found, values, count, spread)
    for k in range(count):
        i, j = found[k, 0], found[k, 1]
        d, ax, ay, az, bx, by, bz, nx, ny, nz = capsule_witness(view.ends, view.radii, i, j)
        values[k, 0] = d
        values[k, 1], values[k, 2], values[k, 3] = ax, ay, az
        values[k, 4], values[k, 5], values[k, 6] = bx, by, bz
        values[k, 7], values[k, 8], values[k, 9] = nx, ny, nz
        gradients[k, :] = 0.0
        add_motion(view, i, ax, ay, az, nx, ny, nz, -1.0, gradients[k])
        add_motion(view, j, bx, by, bz, nx, ny, nz, 1.0, gradients[k])
    return count
