# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A leaf as markers: RViz has no capsules, so they are two spheres and a cylinder."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import Point
from visualization_msgs.msg import Marker

from collision_monitor.bounding.leaf import Leaf


def leaf_ends(leaf: Leaf, marker: Marker) -> Marker:
    """A list of spheres, with the size and the number of spheres that a leaf takes."""
    marker.scale.x = marker.scale.y = marker.scale.z = 2.0 * leaf.radius
    marker.points = [Point()] * (2 if leaf.kind == "capsule" else 1)
    return marker


def leaf_middle(leaf: Leaf, marker: Marker) -> Marker:
    """A cylinder, with the size of what is between the ends of a capsule."""
    marker.scale.x = marker.scale.y = 2.0 * leaf.radius
    marker.scale.z = leaf.length
    return marker


def placed_along(segments: np.ndarray) -> np.ndarray:
    """(k, 7) position and quaternion x y z w of cylinders along segments (k, 2, 3).

    The shortest turn from the z axis.
    """
    out = np.empty((len(segments), 7))
    axes = segments[:, 1] - segments[:, 0]
    x, y, z = (axes / np.linalg.norm(axes, axis=1, keepdims=True)).T
    turned = z < -1.0 + 1e-12  # straight down: half a turn about x
    norm = np.sqrt(2.0 * (1.0 + np.where(turned, 1.0, z)))
    out[:, :3] = segments.mean(axis=1)
    out[:, 3] = np.where(turned, 1.0, -y / norm)
    out[:, 4] = np.where(turned, 0.0, x / norm)
    out[:, 5] = 0.0
    out[:, 6] = np.where(turned, 0.0, norm / 2.0)
    return out
