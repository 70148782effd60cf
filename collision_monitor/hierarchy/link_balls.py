# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Balls around leaves and links: what is tested before the distance of two leaves.

The ball of a leaf is about the middle of its axis, that of a link about the middle of the box that
encloses its leaves in the frame of its body.
"""

from __future__ import annotations

import math

import numpy as np

from collision_monitor.common.compiled import kernel


@kernel
def set_reaches(view, first, last):
    """Set the radii of the balls around some leaves, from ``first`` to one past the last."""
    for i in range(first, last):
        square = 0.0
        for axis in range(3):
            square += (view.leaf_ends[i, axis + 3] - view.leaf_ends[i, axis]) ** 2
        view.reaches[i, 0] = 0.5 * math.sqrt(square) + view.radii[i, 0]


@kernel
def set_link_ball(view, link):
    """Set the ball around the leaves of a link; it is in place if the link does not move."""
    first, last = view.links[link, 0], view.links[link, 1]
    local, balls, far = view.leaf_ends, view.link_balls, 0.0
    for axis in range(3):
        low, high = np.inf, -np.inf
        for i in range(first, last):
            low = min(low, min(local[i, axis], local[i, axis + 3]) - view.radii[i, 0])
            high = max(high, max(local[i, axis], local[i, axis + 3]) + view.radii[i, 0])
        balls[link, axis] = view.link_centers[link, axis] = 0.5 * (low + high)
    for i in range(first, last):
        for end in range(0, 6, 3):
            square = 0.0
            for axis in range(3):
                square += (local[i, end + axis] - balls[link, axis]) ** 2
            far = max(far, math.sqrt(square) + view.radii[i, 0])
    balls[link, 3] = far


@kernel
def place_link_balls(view):
    """Place the balls around links that move."""
    poses, balls = view.poses, view.link_balls
    for link in range(len(view.links)):
        first = view.links[link, 0]
        if first == view.links[link, 1] or view.leaf_bodies[first, 0] == 0:
            continue
        body = view.leaf_bodies[first, 0]
        for row in range(3):
            view.link_centers[link, row] = (
                poses[body, 3 * row] * balls[link, 0]
                + poses[body, 3 * row + 1] * balls[link, 1]
                + poses[body, 3 * row + 2] * balls[link, 2]
                + poses[body, 9 + row]
            )


@kernel
def surely_farther(ends, reaches, i, j, distance):
    """Whether the balls around two leaves are at least ``distance`` apart.

    A quarter of the cost of `capsule_distance`, and true for most pairs.
    """
    x = ends[j, 0] + ends[j, 3] - ends[i, 0] - ends[i, 3]  # twice the way of the centres
    y = ends[j, 1] + ends[j, 4] - ends[i, 1] - ends[i, 4]
    z = ends[j, 2] + ends[j, 5] - ends[i, 2] - ends[i, 5]
    reach = reaches[i, 0] + reaches[j, 0] + distance
    return reach <= 0.0 or x * x + y * y + z * z >= 4.0 * reach * reach


@kernel
def surely_farther_from_link(ends, reaches, centers, balls, i, link, distance):
    """Whether the balls around a leaf and a link are at least ``distance`` apart."""
    x = 0.5 * (ends[i, 0] + ends[i, 3]) - centers[link, 0]
    y = 0.5 * (ends[i, 1] + ends[i, 4]) - centers[link, 1]
    z = 0.5 * (ends[i, 2] + ends[i, 5]) - centers[link, 2]
    reach = reaches[i, 0] + balls[link, 3] + distance
    return reach <= 0.0 or x * x + y * y + z * z >= reach * reach


@kernel
def link_gap(centers, balls, a, b):
    """Gap between the balls around two links, metres; negative if they overlap."""
    x, y = centers[a, 0] - centers[b, 0], centers[a, 1] - centers[b, 1]
    z = centers[a, 2] - centers[b, 2]
    return math.sqrt(x * x + y * y + z * z) - balls[a, 3] - balls[b, 3]
