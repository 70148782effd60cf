# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Balls around leaves and links, and the joints between two links: what is tested before leaves."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from collision_monitor.common.compiled import offline_kernel


class Balls(NamedTuple):
    """Windows: balls around leaves, followed by balls around links, base frame.

    Attributes:
        centers: (leaves + links, 3), metres; written for moving ones.
        radii: (leaves + links, 1).
        link_centers: (links, 4): body, and centre in its frame.
        filled: (rows, 1): number of the query that last filled the row of `Sweep`. Rows are those
            of moving leaves, then of links; there may be more.
        firsts: (pairs, 2): the innermost joint that carries one link and not the other, or -1.
    """

    centers: np.ndarray
    radii: np.ndarray
    link_centers: np.ndarray
    filled: np.ndarray
    firsts: np.ndarray


@offline_kernel
def fill_link(view, balls, link):
    """Set the balls around the leaves of a link and around it.

    Their centres are in the frame of its body: where they stay, if the link does not move.
    """
    first, last = view.links[link, 0], view.links[link, 1]
    local, row = view.leaf_ends, len(view.leaf_bodies) + link
    centers, radii = balls.centers, balls.radii
    balls.link_centers[link, 0] = view.leaf_bodies[first, 0]
    for axis in range(3):
        low, high = np.inf, -np.inf
        for i in range(first, last):
            low = min(low, min(local[i, axis], local[i, axis + 3]) - view.radii[i, 0])
            high = max(high, max(local[i, axis], local[i, axis + 3]) + view.radii[i, 0])
        centers[row, axis] = balls.link_centers[link, 1 + axis] = 0.5 * (low + high)
    radii[row, 0] = 0.0
    for i in range(first, last):
        length, near, far = 0.0, 0.0, 0.0
        for axis in range(3):
            p, q = local[i, axis], local[i, axis + 3]
            length += (q - p) * (q - p)
            near += (p - centers[row, axis]) ** 2
            far += (q - centers[row, axis]) ** 2
            centers[i, axis] = 0.5 * (p + q)
        radii[i, 0] = 0.5 * math.sqrt(length) + view.radii[i, 0]
        radii[row, 0] = max(radii[row, 0], math.sqrt(max(near, far)) + view.radii[i, 0])


@offline_kernel
def fill_pair(view, balls, p):
    """Set the innermost joints that move one link of pair ``p`` and not the other."""
    a = view.leaf_bodies[view.links[view.pairs[p, 0], 0], 0]
    b = view.leaf_bodies[view.links[view.pairs[p, 1], 0], 0]
    balls.firsts[p, 0] = balls.firsts[p, 1] = -1
    while a != b:  # a body has a larger number than the one that carries it
        if a > b:
            balls.firsts[p, 0] = a - 1
            a = view.joint_table[a - 1, 0]
        else:
            balls.firsts[p, 1] = b - 1
            b = view.joint_table[b - 1, 0]


@offline_kernel
def place_balls(view, balls):
    """Place the balls around moving leaves and links."""
    ends, centers = view.ends, balls.centers
    for i in range(view.moving_leaves):
        for m in range(3):
            centers[i, m] = 0.5 * (ends[i, m] + ends[i, m + 3])
    leaves = len(view.leaf_bodies)
    for link in range(len(view.links)):
        body = int(balls.link_centers[link, 0])
        if body == 0:
            continue
        for m in range(3):
            centers[leaves + link, m] = view.poses[body, 9 + m]
            for n in range(3):
                centers[leaves + link, m] += (
                    view.poses[body, 3 * m + n] * balls.link_centers[link, 1 + n]
                )


@offline_kernel
def squared_distance(balls, i, j):
    """Squared distance of the centres of two balls."""
    x = balls.centers[i, 0] - balls.centers[j, 0]
    y = balls.centers[i, 1] - balls.centers[j, 1]
    z = balls.centers[i, 2] - balls.centers[j, 2]
    return x * x + y * y + z * z


@offline_kernel
def beyond(balls, i, j, distance):
    """Whether two balls are at least ``distance`` apart."""
    reach = balls.radii[i, 0] + balls.radii[j, 0] + distance
    return reach <= 0.0 or squared_distance(balls, i, j) >= reach * reach
