# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Leaves and the nearest pair as markers for RViz."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from collision_monitor.bounding.leaf import Leaf
from collision_monitor.clearance_colour import Rgb, clearance_colour
from collision_monitor.collision_model import CollisionModel
from collision_monitor.monitor import MonitorState

LEAVES, OBSTACLES, NEAREST, CONTACT = "leaves", "obstacles", "nearest", "contact"

# Triangles of a contact that are shown: more would be dear to send, and say no more.
_SHOWN = 200

_ALPHA = 0.35
_UNKNOWN = (0.55, 0.55, 0.6)


def marker_colour(rgb: Rgb, alpha: float = _ALPHA) -> ColorRGBA:
    """A colour as RViz wants it; ``alpha`` 1 hides what is behind."""
    r, g, b = rgb
    return ColorRGBA(r=float(r), g=float(g), b=float(b), a=alpha)


def marker_point(vector: np.ndarray) -> Point:
    """A point (3,), metres, as a message."""
    x, y, z = map(float, vector)
    return Point(x=x, y=y, z=z)


def _turn_z_to(direction: np.ndarray) -> tuple[float, float, float, float]:
    """Quaternion (x, y, z, w) of the shortest turn from the z axis to a unit vector."""
    x, y, z = map(float, direction)
    if z < -1.0 + 1e-12:
        return 1.0, 0.0, 0.0, 0.0
    norm = np.sqrt(2.0 * (1.0 + z))
    return -y / norm, x / norm, 0.0, norm / 2.0


class MarkerBuilder:
    """Markers of one model: made once, moved and coloured anew each time.

    A leaf is a list of one or two spheres, and a cylinder between two; both have the
    leaf's index as id, in the namespaces ``leaves`` or ``obstacles`` and the same
    with ``/cylinders``. Triangles of an exact contact are in ``contact``. All are in the frame
    of the robot's root.
    """

    def __init__(self, model: CollisionModel, lifetime: float) -> None:
        """``lifetime``: seconds after which markers vanish if the node has died."""
        self._model = model
        self._lifetime = Duration(
            sec=int(lifetime), nanosec=int((lifetime - int(lifetime)) * 1e9)
        )
        obstacles = {obstacle.name for obstacle in model.scene.obstacles}
        self._spheres, self._cylinders = [], []
        for k, leaf in enumerate(model.leaves):
            namespace = OBSTACLES if leaf.link in obstacles else LEAVES
            self._spheres.append(self._sphere(leaf, namespace, k))
            if leaf.kind == "capsule":
                self._cylinders.append((k, self._cylinder(leaf, namespace, k)))
        self._line = self._marker(Marker.LINE_LIST, NEAREST, 0)
        self._line.scale.x = 0.006
        self._line.color = marker_colour((0.05, 0.05, 0.05), 1.0)
        self._contact = self._marker(Marker.TRIANGLE_LIST, CONTACT, 0)
        self._contact.scale.x = self._contact.scale.y = self._contact.scale.z = 1.0
        self._contact.color = marker_colour((0.85, 0.0, 0.55), 1.0)
        self._text = self._marker(Marker.TEXT_VIEW_FACING, NEAREST, 1)
        self._text.scale.z = 0.06
        self._text.color = marker_colour((0.05, 0.05, 0.05), 1.0)

    def _marker(self, kind: int, namespace: str, number: int) -> Marker:
        marker = Marker(ns=namespace, id=number, type=kind, action=Marker.ADD)
        marker.header.frame_id = self._model.root
        marker.lifetime = self._lifetime
        marker.pose.orientation.w = 1.0
        return marker

    def _sphere(self, leaf: Leaf, namespace: str, number: int) -> Marker:
        marker = self._marker(Marker.SPHERE_LIST, namespace, number)
        marker.scale.x = marker.scale.y = marker.scale.z = 2.0 * leaf.radius
        return marker

    def _cylinder(self, leaf: Leaf, namespace: str, number: int) -> Marker:
        marker = self._marker(Marker.CYLINDER, f"{namespace}/cylinders", number)
        marker.scale.x = marker.scale.y = 2.0 * leaf.radius
        marker.scale.z = leaf.length
        return marker

    @staticmethod
    def clear() -> MarkerArray:
        """A message that removes whatever was shown before."""
        return MarkerArray(markers=[Marker(action=Marker.DELETEALL)])

    def _colours(
        self,
        distances: np.ndarray,
        state: MonitorState,
        warn: float,
        stop: float,
        of_objects: Mapping[str, float],
    ) -> list:
        if state.clearance is None:
            return [marker_colour(_UNKNOWN)] * len(self._model.leaves)
        colours = {
            link: marker_colour(
                clearance_colour(min(distance, of_objects.get(link, np.inf)), warn, stop)
            )
            for link, distance in self._model.nearest_of_links(distances).items()
        }
        return [colours[leaf.link] for leaf in self._model.leaves]

    def build(
        self,
        q: np.ndarray,
        state: MonitorState,
        stamp: Time,
        warn: float,
        stop: float,
        distances: np.ndarray,
        of_objects: Mapping[str, float] | None = None,
    ) -> MarkerArray:
        """All markers at ``q``: by clearance of their link, or grey while it is not known.

        ``distances``: of all pairs, (len(model.pairs),) metres, as the state was measured.
        ``of_objects``: by link its distance to the nearest object of a live scene, metres.
        """
        segments = self._model.leaf_segments(q)
        colours = self._colours(distances, state, warn, stop, of_objects or {})
        for marker, leaf, ends, colour in zip(
            self._spheres, self._model.leaves, segments, colours, strict=True
        ):
            shown = ends if leaf.kind == "capsule" else ends[:1]
            marker.points = [marker_point(p) for p in shown]
            marker.color = colour
        for k, marker in self._cylinders:
            p0, p1 = segments[k]
            middle, direction = 0.5 * (p0 + p1), (p1 - p0) / self._model.leaves[k].length
            marker.pose.position = marker_point(middle)
            turn = marker.pose.orientation
            turn.x, turn.y, turn.z, turn.w = _turn_z_to(direction)
            marker.color = colours[k]
        markers = [*self._spheres, *(marker for _, marker in self._cylinders)]
        markers += self._nearest(state)
        markers.append(self._crossing(q, state))
        for marker in markers:
            marker.header.stamp = stamp
        return MarkerArray(markers=markers)

    def _crossing(self, q: np.ndarray, state: MonitorState) -> Marker:
        """The triangles of the nearest pair that cross, where it was measured on triangles."""
        found, marker = state.clearance, self._contact
        corners = np.empty((0, 3))
        if found is not None and found.exact and found.distance <= 0.0:
            corners = self._model.crossing_triangles(q, found.links, _SHOWN).corners
            corners = corners.reshape(-1, 3, 3)
            corners = corners[np.isfinite(corners).all(axis=(1, 2))]  # a box has no triangles
            corners = np.unique(corners.round(7), axis=0).reshape(-1, 3)
        marker.action = Marker.ADD if len(corners) else Marker.DELETE
        marker.points = [marker_point(p) for p in corners]
        return marker

    def _nearest(self, state: MonitorState) -> list[Marker]:
        known = state.clearance is not None
        for marker in (self._line, self._text):
            marker.action = Marker.ADD if known else Marker.DELETE
        if known:
            a, b = state.clearance.points
            self._line.points = [marker_point(a), marker_point(b)]
            self._text.pose.position = marker_point(0.5 * (a + b) + [0.0, 0.0, 0.06])
            self._text.text = f"{state.clearance.distance:.3f} m"
        return [self._line, self._text]
