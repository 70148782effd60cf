# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""An adjustment as markers: paths of the control points before and after, and the field."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from builtin_interfaces.msg import Time
from visualization_msgs.msg import Marker, MarkerArray

from collision_monitor.nodes.markers.markers import duration, marker_colour, marker_point
from collision_monitor.self_collision.motion_clearance import ApproachPoints

BEFORE, AFTER, FIELD = "before", "after", "field"
_BEFORE_COLOUR, _AFTER_COLOUR = (0.85, 0.3, 0.1), (0.1, 0.6, 0.25)
_FIELD_COLOUR, _DANGER_COLOUR = (0.95, 0.7, 0.1), (0.8, 0.0, 0.0)


def _marker(kind: int, namespace: str, number: int, frame: str, stamp: Time) -> Marker:
    marker = Marker(ns=namespace, id=number, type=kind, action=Marker.ADD)
    marker.header.frame_id, marker.header.stamp = frame, stamp
    marker.pose.orientation.w = 1.0
    return marker


def _path(
    points: np.ndarray, namespace: str, number: int, colour: tuple, frame: str, stamp: Time
) -> Marker:
    marker = _marker(Marker.LINE_STRIP, namespace, number, frame, stamp)
    marker.scale.x = 0.008
    marker.color = marker_colour(colour, 0.9)
    # RViz refuses a line of one point
    rows = points if len(points) > 1 else np.repeat(points, 2, axis=0)
    marker.points = [marker_point(p) for p in rows]
    return marker


class PathMarkers:
    """Markers of one adjustment after the other.

    Paths have the ids 0 (right arm) and 1 (left arm) in the namespaces ``before`` and
    ``after``; arrows have ids from 0 on in ``field``, and those no longer needed are deleted. The
    first message takes away whatever was shown before, by this node or one that has died.
    """

    def __init__(self, frame: str) -> None:
        """``frame``: the robot's root link."""
        self._frame = frame
        self._arrows = 0
        self._is_first = True

    def build(
        self,
        before: ApproachPoints,
        after: ApproachPoints,
        safe_distance: float,
        danger_distance: float,
        stamp: Time,
        lifetime: float = 0.0,
    ) -> MarkerArray:
        """Markers of one adjustment; they vanish after ``lifetime`` seconds, 0: never.

        An arrow shows where the desired motion came nearer than d_saf and which way the field
        pushes the arm there. It is as long as what is missing to d_saf, and red below d_dan.
        """
        frame, markers = self._frame, []
        for side in (0, 1):
            for points, namespace, colour in (
                (before.points, BEFORE, _BEFORE_COLOUR),
                (after.points, AFTER, _AFTER_COLOUR),
            ):
                path = points[:, side]
                markers.append(_path(path, namespace, side, colour, frame, stamp))
        arrows = list(self._field(before, safe_distance, danger_distance, stamp))
        gone = [
            Marker(ns=FIELD, id=number, action=Marker.DELETE)
            for number in range(len(arrows), self._arrows)
        ]
        for marker in gone:
            marker.header.frame_id, marker.header.stamp = frame, stamp
        self._arrows = len(arrows)
        for marker in (*markers, *arrows):
            marker.lifetime = duration(lifetime)
        first = [Marker(action=Marker.DELETEALL)] if self._is_first else []
        self._is_first = False
        return MarkerArray(markers=[*first, *markers, *arrows, *gone])

    def _field(
        self, before: ApproachPoints, safe: float, danger: float, stamp: Time
    ) -> Iterator[Marker]:
        rows = np.flatnonzero(before.distances < safe)
        sides = ((0, -1.0), (1, 1.0))
        for number, (row, (side, sign)) in enumerate(itertools.product(rows, sides)):
            distance = before.distances[row]
            colour = _DANGER_COLOUR if distance < danger else _FIELD_COLOUR
            marker = _marker(Marker.ARROW, FIELD, number, self._frame, stamp)
            start = before.points[row, side]
            tip = start + sign * (safe - distance) * before.directions[row]
            marker.points = [marker_point(start), marker_point(tip)]
            marker.scale.x, marker.scale.y, marker.scale.z = 0.008, 0.018, 0.02
            marker.color = marker_colour(colour, 0.9)
            yield marker
