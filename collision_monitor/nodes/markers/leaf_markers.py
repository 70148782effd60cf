# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Leaves as markers: RViz has no capsules, so they are two spheres and a cylinder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from visualization_msgs.msg import Marker

from collision_monitor.geometry.leaf import Leaf
from collision_monitor.nodes.markers.marker_template import MarkerTemplate

LEAVES, LEAF_CYLINDERS = "leaves", "leaves/cylinders"
GROUP = 50  # leaves in a message
MakeMarker = Callable[..., Marker]


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


class _Group:
    """Some leaves that are sent together."""

    def __init__(self, leaves: Sequence[Leaf], rows: np.ndarray, make: MakeMarker) -> None:
        """``rows`` of them in ``leaves`` are shown."""
        self.rows = rows
        shown = [(k, leaves[k]) for k in rows.tolist()]
        self._long = np.array([leaf.kind == "capsule" for _, leaf in shown], dtype=bool)
        markers = [leaf_ends(leaf, make(Marker.SPHERE_LIST, LEAVES, k)) for k, leaf in shown]
        markers += [
            leaf_middle(leaf, make(Marker.CYLINDER, LEAF_CYLINDERS, k))
            for k, leaf in shown
            if leaf.kind == "capsule"
        ]
        self._template = MarkerTemplate(markers)
        self._poses = np.zeros((len(markers), 7))
        self._poses[:, 6] = 1.0
        self._ends = np.ones((len(rows), 2), dtype=bool)
        self._ends[:, 1] = self._long

    def message(self, segments: np.ndarray, colours: np.ndarray, stamp: Time) -> bytes:
        """Those leaves (k, 2, 3) as they are now, in their colours (k, 4)."""
        self._poses[len(segments) :] = placed_along(segments[self._long])
        self._template.set_poses(self._poses)
        self._template.set_points(segments[self._ends])
        self._template.set_colours(np.vstack([colours, colours[self._long]]))
        self._template.set_stamp(stamp)
        return self._template.message()


class LeafMarkers:
    """Lists of spheres in ``leaves``, cylinders in ``leaves/cylinders``; ids are rows.

    Messages are made one at a time, so that a robot of many leaves holds nobody up when RViz comes.
    """

    def __init__(self, leaves: Sequence[Leaf], rows: np.ndarray, make: MakeMarker) -> None:
        """``rows`` of ``leaves`` are shown; ``make(type, namespace, id)`` makes a marker."""
        self._leaves, self._make = leaves, make
        self._waiting = [rows[k : k + GROUP] for k in range(0, len(rows), GROUP)]
        self._groups: list[_Group] = []

    def build(
        self, segments: np.ndarray, colours: np.ndarray, stamp: Time
    ) -> Iterator[bytes]:
        """Messages of all groups that are made; ``segments`` and ``colours`` of all leaves."""
        if self._waiting:
            self._groups.append(_Group(self._leaves, self._waiting.pop(0), self._make))
        for group in self._groups:
            yield group.message(segments[group.rows], colours[group.rows], stamp)
