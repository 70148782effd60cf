# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels that halve a set of triangles repeatedly, for the binary trees of `mesh_tree`.

Every set has a box: along the axes of the link, or along the principal axes of its vertices (Liu et
al.). It is halved across the longest side of the box around the centres of its triangles, at their
mean.
"""

from __future__ import annotations

import math

import numpy as np

from collision_monitor.common.compiled import ZERO, inlined_kernel, offline_kernel
from collision_monitor.geometry.fixed_order import make_orthonormal, turn_to_principal_axes

# Each half has at least this share of the triangles, so the depth is at most log(n) / log(6/5).
_MIN_SHARE = 1.0 / 6.0


@offline_kernel
def halve(corners, oriented, in_a_leaf, order, nodes, axes, low, high):
    """Halve triangles down to leaves, one level after another; return numbers of nodes and levels.

    Args:
        corners: (m, 3, 3).
        oriented: whether boxes have axes of their own.
        in_a_leaf: maximum number of triangles in a leaf.
        order: (m,) rows of ``corners``; permuted, so that every node has a range of them.
        nodes: (2 m - 1, 2) as in `mesh_tree`, written. First, every node is a leaf of its range.
        axes: (2 m - 1, 3, 3) of the boxes, as columns: those of the link, replaced if ``oriented``.
        low: (2 m - 1, 3) least coordinates along the axes, written.
        high: (2 m - 1, 3) largest, written.
    """
    along = np.empty(len(order))
    least, most = np.empty(3), np.empty(3)  # of the centres
    mean_point, products = np.empty(3), np.empty((3, 3))
    nodes[0, 0], nodes[0, 1] = 0, -len(order)
    node, count, levels, next_level = 0, 1, 0, 0
    while node < count:
        if node == next_level:
            levels, next_level = levels + 1, count
        begin, size = nodes[node, 0], -nodes[node, 1]
        end, frame = begin + size, axes[node]
        if oriented and not (size == 1 and _edge_axes(corners[order[begin]], frame)):
            _sum_products(corners, order, begin, end, mean_point, products)
            turn_to_principal_axes(products, frame)
        for i in range(3):
            low[node, i] = least[i] = np.inf
            high[node, i] = most[i] = -np.inf
        for place in range(begin, end):
            for i in range(3):
                center = 0.0
                for c in range(3):
                    x = _coordinate(corners[order[place], c], frame, i)
                    low[node, i], high[node, i] = min(low[node, i], x), max(high[node, i], x)
                    center += x / 3.0
                least[i], most[i] = min(least[i], center), max(most[i], center)
        if size > in_a_leaf:
            longest, mean = ZERO, 0.0
            for i in range(1, 3):
                if most[i] - least[i] > most[longest] - least[longest]:
                    longest = i
            for place in range(begin, end):
                along[place] = 0.0
                for c in range(3):
                    along[place] += _coordinate(corners[order[place], c], frame, longest) / 3.0
                mean += along[place] / size
            below = _partition(along, order, begin, end, mean) - begin
            share = max(1, int(size * _MIN_SHARE))
            middle = begin + min(max(below, share), size - share)
            if middle != begin + below:
                _select(along, order, begin, end, middle)
            nodes[count, 0], nodes[count, 1] = begin, begin - middle
            nodes[count + 1, 0], nodes[count + 1, 1] = middle, middle - end
            nodes[node, 0], nodes[node, 1] = count, 2
            count += 2
        node += 1
    return count, levels


@inlined_kernel
def _coordinate(point, axes, i):
    """Coordinate of a point along column ``i`` of ``axes``."""
    return point[0] * axes[0, i] + point[1] * axes[1, i] + point[2] * axes[2, i]


@offline_kernel
def _partition(along, order, begin, end, border):
    """Move the values below ``border`` to the front of a range; return where they end."""
    first = begin
    for k in range(begin, end):
        if along[k] < border:
            along[k], along[first] = along[first], along[k]
            order[k], order[first] = order[first], order[k]
            first += 1
    return first


@offline_kernel
def _select(along, order, begin, end, middle):
    """Permute a range so that no value before ``middle`` is larger than one from there on."""
    while end - begin > 1:
        border = along[(begin + end) // 2]
        first = _partition(along, order, begin, end, border)
        after = _partition(along, order, first, end, np.nextafter(border, np.inf))  # the equal ones
        if middle < first:
            end = first
        elif middle > after > begin:  # no progress: not numbers
            begin = after
        else:
            return


@offline_kernel
def _edge_axes(corners, axes):
    """Write the axes of a triangle (3, 3): longest edge, across, normal. False if it is a line."""
    longest, square = 0, -1.0
    for c in range(3):
        length = 0.0
        for i in range(3):
            length += (corners[(c + 1) % 3, i] - corners[c, i]) ** 2
        if length > square:
            longest, square = c, length
    ax, bx = corners[1, 0] - corners[0, 0], corners[2, 0] - corners[1, 0]
    ay, by = corners[1, 1] - corners[0, 1], corners[2, 1] - corners[1, 1]
    az, bz = corners[1, 2] - corners[0, 2], corners[2, 2] - corners[1, 2]
    x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    area = math.sqrt(x * x + y * y + z * z)  # twice that of the triangle
    if not area > 1e-9 * square:
        return False
    axes[0, 2], axes[1, 2], axes[2, 2] = x / area, y / area, z / area
    for i in range(3):
        axes[i, 0] = corners[(longest + 1) % 3, i] - corners[longest, i]
    make_orthonormal(axes)
    return True


@offline_kernel
def _sum_products(corners, order, begin, end, mean, products):
    """Write the mean (3,) of the vertices of a range, and the sums (3, 3) of their products."""
    for i in range(3):
        mean[i] = 0.0
        for j in range(3):
            products[i, j] = 0.0
    for place in range(begin, end):
        for c in range(3):
            for i in range(3):
                mean[i] += corners[order[place], c, i] / (3 * (end - begin))
    for place in range(begin, end):
        for c in range(3):
            point = corners[order[place], c]
            for i in range(3):
                for j in range(3):
                    products[i, j] += (point[i] - mean[i]) * (point[j] - mean[j])
