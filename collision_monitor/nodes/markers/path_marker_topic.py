# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The topic ``~/markers`` of adjustments: paths of control points, and the repulsion field."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.node import Node
from visualization_msgs.msg import Marker, MarkerArray

from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.motion.trajectory import Motion
from collision_monitor.nodes.common.messages import VALUES, duration_message
from collision_monitor.nodes.markers.markers import (
    MarkerBuilder,
    marker_colour,
    marker_point,
    new_marker,
)
from collision_monitor.self_collision.adjustment import Adjustment
from collision_monitor.self_collision.arms import Arm
from collision_monitor.self_collision.hold_supervisor import names_of
from collision_monitor.self_collision.trajectory_filter import Job
from collision_monitor.viewer.clearance_display import CLEAR, CONTACT, NEAR, Rgb

BEFORE, AFTER, FIELD, ZONE, INDEX = "before", "after", "field", "zone", "index"
_DANGER_COLOUR = (0.8, 0.0, 0.0)
_WAYPOINTS = 100  # maximum number that is drawn


@dataclass(frozen=True, eq=False)
class ApproachPoints:
    """The nearest points of two arms at some waypoints, base frame, metres.

    Attributes:
        points: (n, 2, 3) on the leaf of the right and of the left arm.
        directions: (n, 3) unit vectors from right to left.
        distances: (n,) signed.
    """

    points: np.ndarray
    directions: np.ndarray
    distances: np.ndarray


def approach_points(
    model: CollisionModel,
    right: Collection[str],
    motion: Motion,
    held: Mapping[str, float],
    most: int = 200,
) -> ApproachPoints:
    """Nearest points of two arms at no more than ``most`` evenly spaced waypoints, ends included.

    Args:
        model: with the pairs between the arms only.
        right: names of the links of the right arm, and of attached objects.
        motion: of some joints or all.
        held: position of every joint, for those that the motion does not name.
        most: at least 2.
    """
    count = len(motion.times)
    rows = np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))
    rest = np.array([held[name] for name in model.joint_names])
    whole = motion.of_joints(model.joint_names, rest, model.name)
    nearest = [model.distance(row) for row in whole.positions[rows]]
    swap = np.array([found.links[0] not in right for found in nearest])
    points = np.array([found.points for found in nearest])
    directions = np.array([found.normal for found in nearest])
    points[swap] = points[swap][:, ::-1]
    directions[swap] *= -1.0
    return ApproachPoints(points, directions, np.array([found.distance for found in nearest]))


def path_markers(
    frame: str,
    before: ApproachPoints,
    after: ApproachPoints,
    safe_distance: float,
    danger_distance: float,
    index: tuple[float, float],
    stamp: Time,
    lifetime: float = 0.0,
) -> MarkerArray:
    """Markers of one adjustment in ``frame``, instead of all earlier ones.

    Paths have the ids 0 (right arm) and 1 (left arm) in the namespaces ``before`` and ``after``.
    Arrows are in ``field``, with ids from 0 on: they show where the desired motion is closer than
    safe_distance, and the direction in which the field pushes the arm. Their length is the missing
    distance; they are red below danger_distance. The zones of the field are balls in ``zone``, and
    the index F, metres, the largest before and after, is a text in ``index``. Markers disappear
    after ``lifetime`` seconds, or never for 0.
    """
    markers = [
        _path(frame, points[:, side], namespace, side, colour)
        for side in (0, 1)
        for points, namespace, colour in (
            (before.points, BEFORE, CONTACT),
            (after.points, AFTER, CLEAR),
        )
    ]
    markers += _field(frame, before, safe_distance, danger_distance)
    markers += _zones(frame, before, safe_distance, danger_distance, index)
    for marker in markers:
        marker.header.stamp, marker.lifetime = stamp, duration_message(lifetime)
    return MarkerArray(markers=[Marker(action=Marker.DELETEALL), *markers])


def _path(frame: str, points: np.ndarray, namespace: str, number: int, colour: Rgb) -> Marker:
    marker = new_marker(frame, namespace, number, Marker.LINE_STRIP)
    marker.scale.x = 0.008
    marker.color = marker_colour(colour, 0.9)
    # RViz rejects a line of one point
    rows = points if len(points) > 1 else np.repeat(points, 2, axis=0)
    marker.points = [marker_point(p) for p in rows]
    return marker


def _zones(
    frame: str, before: ApproachPoints, safe: float, danger: float, index: tuple[float, float]
) -> Iterator[Marker]:
    """Danger zone, safe zone and F at the minimum distance of the desired motion."""
    worst = int(before.distances.argmin())
    at, is_near = before.points[worst, 0], bool(before.distances[worst] < safe)
    zones = ((danger, _DANGER_COLOUR, 0.45), (safe, NEAR, 0.2))
    for number, (radius, colour, alpha) in enumerate(zones):
        if is_near and radius > 0.0:
            marker = new_marker(frame, ZONE, number, Marker.SPHERE)
            marker.pose.position, marker.color = marker_point(at), marker_colour(colour, alpha)
            marker.scale.x = marker.scale.y = marker.scale.z = 2.0 * radius
            yield marker
    text = new_marker(frame, INDEX, 0, Marker.TEXT_VIEW_FACING)
    text.pose.position = marker_point(at + [0.0, 0.0, safe + 0.05])
    text.scale.z, text.color = 0.04, marker_colour(NEAR, 1.0)
    text.text = "F = {:.3g} m before, {:.3g} m after".format(*index)
    yield text


def _field(frame: str, before: ApproachPoints, safe: float, danger: float) -> Iterator[Marker]:
    rows = np.flatnonzero(before.distances < safe)
    sides = ((0, -1.0), (1, 1.0))
    for number, (row, (side, sign)) in enumerate(itertools.product(rows, sides)):
        distance = before.distances[row]
        colour = _DANGER_COLOUR if distance < danger else NEAR
        marker = new_marker(frame, FIELD, number, Marker.ARROW)
        start = before.points[row, side]
        tip = start + sign * (safe - distance) * before.directions[row]
        marker.points = [marker_point(start), marker_point(tip)]
        marker.scale.x, marker.scale.y, marker.scale.z = 0.008, 0.018, 0.02
        marker.color = marker_colour(colour, 0.9)
        yield marker


class PathMarkerTopic:
    """Shows the last adjustment, at a rate, while there are subscribers."""

    def __init__(self, node: Node, values: Mapping[str, Any]) -> None:
        """``values``: parameters of the node."""
        self._node, self._values = node, values
        self._publisher = node.create_publisher(MarkerArray, "~/markers", VALUES)
        self._last: tuple[Job, Adjustment] | None = None
        self._next = -math.inf

    def use_robot(self) -> None:
        """Begin again with another robot."""
        self._last = None
        self._publisher.publish(MarkerBuilder.clear())

    def show(self, job: Job, adjustment: Adjustment) -> None:
        """Show this adjustment from now on."""
        self._last = job, adjustment
        self.send_at_once()

    def send_at_once(self) -> None:
        """Publish in the next `watch`."""
        self._next = -math.inf

    def watch(self, now: float, model: CollisionModel, right: Arm) -> None:
        """Publish if it is due at ``now``; ``model`` has the monitored pairs, ``right`` an arm."""
        rate = self._values["marker_rate"]
        if rate == 0.0 or now < self._next or not self._publisher.get_subscription_count():
            return
        self._next = now + 1.0 / rate
        if self._last is None:
            return
        job, adjustment = self._last
        names = names_of(model, right)
        before, after = (
            approach_points(model, names, motion, job.held, _WAYPOINTS)
            for motion in (adjustment.desired, adjustment.motion)
        )
        index = adjustment.index_before, adjustment.index_after
        self._publisher.publish(
            path_markers(
                model.root,
                before,
                after,
                job.settings.safe_distance,
                job.settings.danger_distance,
                tuple(float(each.max()) for each in index),
                self._node.get_clock().now().to_msg(),
                max(2.0, 3.0 / rate),
            )
        )
