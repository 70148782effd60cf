# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Markers for RViz: links, obstacles, nearest points, contacts, bounding boxes."""

from __future__ import annotations

import colorsys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from rclpy.node import Node
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from collision_monitor.common.text import metres
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.model.hierarchy_boxes import MOST_BOXES, MeshBoxes, TreeBoxes, edges
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.model.proximity import Nearness
from collision_monitor.monitoring.monitor import Level, Monitor, MonitorState
from collision_monitor.nodes.common.messages import duration_message
from collision_monitor.nodes.markers.bodies import BodyMarkers, LinkMarkers
from collision_monitor.nodes.markers.marker_rows import MarkerRows
from collision_monitor.nodes.parameters.parameter import ALL, levels_of
from collision_monitor.viewer.clearance_display import (
    CLEAR,
    COLOURS,
    CONTACT,
    NEAR,
    OPACITY,
    UNKNOWN,
    Rgb,
    clearance_colour,
    rgb,
)

AABB, NEAREST, TOUCHING = "aabb", "nearest", "contact"
MESH_BOXES, COLLIDING_BOXES = "mesh_boxes", "colliding_boxes"

# Maximum number of triangles shown of a contact.
_SHOWN = 200

# Greens of clear links, from yellowish to bluish, so that neighbours can be told apart.
_HUES = (0.28, 0.46)
_LEVELS = {Level.OK: CLEAR, Level.WARN: NEAR}


# Lines of one marker: its colour (3,) and end points (k, 3), two for each segment.
Lines = tuple[Rgb, np.ndarray]


class LineMarkers:
    """Lists of lines in one namespace; those that are no longer shown are deleted."""

    def __init__(self, frame: str, namespace: str, lifetime: float, width: float) -> None:
        """``lifetime`` of the markers, seconds; ``width`` of a line, metres."""
        self._writer = MarkerRows(frame, namespace)
        self._lifetime, self._scale = lifetime, np.full((1, 3), width)
        self._shown: set[int] = set()

    def messages(self, stamp: Time, lines: Mapping[int, Lines]) -> Iterator[bytes]:
        """Show only ``lines``, by the id of their marker."""
        if gone := self._shown - lines.keys():
            yield from self._writer.deletions(stamp, np.array(sorted(gone)))
        self._shown = set(lines)
        pose = np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]])
        for number, (colour, points) in lines.items():
            yield from self._writer.messages(
                stamp, self._lifetime, np.array([number]), np.array([Marker.LINE_LIST]), pose,
                self._scale, np.array([[*colour, 0.8]]), points.reshape(1, -1, 3),
            )  # fmt: skip


class AabbLevels:
    """Levels of the tree over the leaves; the id of a marker is its level."""

    def __init__(
        self, model: CollisionModel, levels: frozenset[int] | range, most: int = MOST_BOXES
    ) -> None:
        """``most``: maximum number of boxes; levels beyond it are left out."""
        self._boxes = TreeBoxes(model)
        self._nodes: dict[int, np.ndarray] = {}  # by level
        left_out = []
        for level in range(self._boxes.depth):
            nodes = np.flatnonzero(self._boxes.levels == level)
            if level not in levels:
                continue
            if sum(map(len, self._nodes.values())) + len(nodes) > most:
                left_out.append(level)
            else:
                self._nodes[level] = nodes
        self.remark = _remark(left_out, levels, self._boxes.depth, most)

    def lines(self, q: np.ndarray) -> dict[int, Lines]:
        """Messages of the levels at ``q`` (nq,)."""
        boxes, depth = self._boxes.at(q), self._boxes.depth
        return {
            level: (colorsys.hsv_to_rgb(0.5 + 0.4 * level / depth, 0.6, 1.0), edges(boxes[nodes]))
            for level, nodes in self._nodes.items()
        }


class MeshBoxLevel:
    """One level of the boxes over triangles, and overlapping boxes.

    A level includes undivided boxes of the levels above.
    """

    def __init__(self, model: CollisionModel, level: int) -> None:
        """``level``: 0 for the boxes of links."""
        self._model, self._boxes = model, MeshBoxes(model)
        shown = min(level, self._boxes.deepest_level(MOST_BOXES))
        self._edges = {
            name: self._boxes.at_level(name, shown).edges() for name in self._boxes.of_links
        }
        self.remark = ""
        if shown < level:
            self.remark = (
                f"show_mesh_level: level {shown} is shown: deeper ones have more than "
                f"{MOST_BOXES} boxes, or do not exist"
            )

    def lines(
        self, q: np.ndarray, pair: tuple[str, str] | None
    ) -> tuple[dict[int, Lines], dict[int, Lines]]:
        """Messages of the level, and of overlapping boxes of ``pair``."""
        poses = self._model.link_poses(q)
        points = []
        for name, corners in self._edges.items():
            pose = self._boxes.pose(poses, name)
            points.append(corners.reshape(-1, 3) @ pose[:3, :3].T + pose[:3, 3])
        colliding = np.empty((0, 3))
        if pair is not None and set(pair) <= self._edges.keys():
            colliding = self._boxes.colliding(poses, pair)[:MOST_BOXES]
        overlaps = {0: (rgb(COLOURS["meeting"]), colliding)} if len(colliding) else {}
        return {0: (rgb(COLOURS["box"]), np.concatenate(points))}, overlaps


def _remark(left_out: list[int], levels: frozenset[int] | range, depth: int, most: int) -> str:
    """A message about levels that are not shown; empty if all are."""
    if left_out:
        return (
            f"show_aabb_levels: levels {', '.join(map(str, left_out))} have too many boxes to "
            f"show: the limit is {most} in total"
        )
    if levels and levels is not ALL and max(levels) >= depth:
        return f"show_aabb_levels: the deepest level is {depth - 1}"
    return ""


def new_marker(frame: str, namespace: str, number: int, kind: int) -> Marker:
    """A marker at the origin of ``frame``, to be filled."""
    marker = Marker(ns=namespace, id=number, type=kind, action=Marker.ADD)
    marker.header.frame_id = frame
    marker.pose.orientation.w = 1.0
    return marker


def marker_colour(colour: Rgb, alpha: float = OPACITY) -> ColorRGBA:
    """A colour as a message; ``alpha`` 1 is opaque."""
    r, g, b = colour
    return ColorRGBA(r=float(r), g=float(g), b=float(b), a=alpha)


def clear_colours(count: int) -> np.ndarray:
    """(count, 3) greens of clear links; successive ones differ most (golden ratio)."""
    part = (0.618034 * np.arange(count)) % 1.0
    hues = _HUES[0] + part * (_HUES[1] - _HUES[0])
    return np.array([colorsys.hsv_to_rgb(hue, 0.72, 0.68) for hue in hues]).reshape(-1, 3)


def marker_point(vector: np.ndarray) -> Point:
    """A point (3,), metres, as a message."""
    x, y, z = map(float, vector)
    return Point(x=x, y=y, z=z)


class MarkerBuilder:
    """Markers of a model and its live scene, with poses and colours of each state.

    Links are shown by `LinkMarkers`, obstacles and live objects by `BodyMarkers`. The nearest pair
    is a line with label and ends in ``nearest``; triangles of an exact contact are in ``contact``,
    boxes of the hierarchy in ``aabb``. All are in the root frame.

    Attributes:
        remarks: on levels of boxes that cannot be shown.
    """

    def __init__(
        self,
        model: CollisionModel,
        lifetime: float,
        live: LiveScene | None = None,
        levels: frozenset[int] | range = frozenset(),
        mesh_level: int = -1,
    ) -> None:
        """Prepare the markers.

        Args:
            model: of the robot.
            lifetime: seconds after which markers disappear if they are not published again.
            live: the live scene, if any.
            levels: shown levels of boxes over the leaves.
            mesh_level: shown level of boxes over triangles; -1 for none.
        """
        self._model, self._lifetime = model, lifetime
        self._links = LinkMarkers(model, lifetime)
        self._bodies = BodyMarkers(model, live, lifetime)
        self._boxes = AabbLevels(model, levels) if levels else None
        self._mesh_boxes = MeshBoxLevel(model, mesh_level) if mesh_level >= 0 else None
        shown = (self._boxes, self._mesh_boxes)
        self.remarks = [each.remark for each in shown if each is not None and each.remark]
        self._height = self._text_height()
        self._aabb, self._mesh, self._colliding = (
            LineMarkers(model.root, namespace, lifetime, width * self._height)
            for namespace, width in ((AABB, 0.04), (MESH_BOXES, 0.03), (COLLIDING_BOXES, 0.03))
        )
        self._line = self._marker(Marker.LINE_LIST, NEAREST, 0, 0.1 * self._height)
        self._text = self._marker(Marker.TEXT_VIEW_FACING, NEAREST, 1, 0.6 * self._height)
        self._ends = self._marker(Marker.SPHERE_LIST, NEAREST, 2, 0.25 * self._height)
        self._clear = clear_colours(len(model.link_names))
        self._contact = self._marker(Marker.TRIANGLE_LIST, TOUCHING, 0, 1.0)
        self._contact.color = marker_colour(rgb(COLOURS["crossing"]), 1.0)

    def _marker(self, kind: int, namespace: str, number: int, size: float) -> Marker:
        marker = new_marker(self._model.root, namespace, number, kind)
        marker.lifetime = duration_message(self._lifetime)
        marker.scale.x = marker.scale.y = marker.scale.z = size
        return marker

    def _text_height(self) -> float:
        """Height of the label in metres, by the size of the robot."""
        q = np.clip(np.zeros(len(self._model.joint_names)), self._model.lower, self._model.upper)
        links = self._model.robot.links
        own = [k for k, leaf in enumerate(self._model.leaves) if leaf.link in links]
        ends = self._model.leaf_segments(q)[own].reshape(-1, 3)
        extent = float(np.ptp(ends, axis=0).max()) if len(ends) else 1.0
        return float(np.clip(0.04 * extent, 0.01, 0.5))

    @staticmethod
    def clear() -> MarkerArray:
        """A message that deletes all markers shown before."""
        return MarkerArray(markers=[Marker(action=Marker.DELETEALL)])

    def build(
        self, q: np.ndarray, state: MonitorState, stamp: Time, nearness: np.ndarray
    ) -> Iterator[MarkerArray | bytes]:
        """Yield messages of the state at ``q`` (nq,): coloured by clearance, grey if unknown.

        ``nearness`` (links and slots,) as of `proximity.Nearness`. Serialized messages are bytes.
        """
        colours = self._colours(nearness, state.clearance is not None)
        segments = self._model.leaf_segments(q)
        yield from self._links.build(segments, colours, stamp)
        yield from self._bodies.build(q, colours, stamp)
        yield from self._aabb.messages(stamp, self._boxes.lines(q) if self._boxes else {})
        boxes: tuple[dict[int, Lines], dict[int, Lines]] = {}, {}
        if self._mesh_boxes is not None:
            pair = None if state.clearance is None else state.clearance.links
            boxes = self._mesh_boxes.lines(q, pair)
        yield from self._mesh.messages(stamp, boxes[0])
        yield from self._colliding.messages(stamp, boxes[1])
        markers = [*self._nearest(state), self._crossing(q, state)]
        for marker in markers:
            marker.header.stamp = stamp
        yield MarkerArray(markers=markers)

    def _colours(self, nearness: np.ndarray, is_known: bool) -> np.ndarray:
        """(k, 4) red, green, blue, alpha, of nearness (k,)."""
        out = np.empty((len(nearness), 4))
        out[:, :3] = CLEAR if is_known else rgb(UNKNOWN)
        if is_known:
            out[: len(self._clear), :3] = self._clear
        out[:, 3] = OPACITY
        if is_known:
            for k in np.flatnonzero(~(nearness > 1.0)).tolist():
                out[k, :3] = clearance_colour(float(nearness[k]), 1.0, 0.0)
        return out

    def _crossing(self, q: np.ndarray, state: MonitorState) -> Marker:
        """The crossing triangles of the nearest two links, if triangles were measured."""
        clearance, marker = state.clearance, self._contact
        corners = np.empty((0, 3))
        if (
            clearance is not None and clearance.exact and clearance.distance <= 0.0
            and set(clearance.links) <= set(self._model.link_names)
        ):  # fmt: skip
            corners = self._model.crossing_triangles(q, clearance.links, _SHOWN).corners
            corners = corners.reshape(-1, 3, 3)
            corners = corners[np.isfinite(corners).all(axis=(1, 2))]  # boxes have no triangles
            corners = np.unique(corners.round(7), axis=0).reshape(-1, 3)
        marker.action = Marker.ADD if len(corners) else Marker.DELETE
        marker.points = [marker_point(p) for p in corners]
        return marker

    def _nearest(self, state: MonitorState) -> list[Marker]:
        markers, known = [self._line, self._text, self._ends], state.clearance is not None
        for marker in markers:
            marker.action = Marker.ADD if known else Marker.DELETE
        if known:
            a, b = state.clearance.points
            self._line.points = self._ends.points = [marker_point(a), marker_point(b)]
            colour = _LEVELS.get(state.level, CONTACT)
            self._line.color = self._ends.color = marker_colour(colour, 1.0)
            # Lighter, to be read on RViz's dark background.
            self._text.color = marker_colour(tuple(0.4 + 0.6 * part for part in colour), 1.0)
            self._text.pose.position = marker_point(0.5 * (a + b) + [0.0, 0.0, self._height])
            first, second = state.clearance.links
            self._text.text = f"{metres(state.clearance.distance)}\n{first} - {second}"
        return markers


class MarkerTopic:
    """Builds and publishes markers; a new robot or new parameters begin with a DELETEALL."""

    def __init__(
        self, node: Node, values: Mapping[str, Any], publisher: Any,
        monitor: Callable[[], Monitor | None], state: Callable[[], MonitorState],
    ) -> None:  # fmt: skip
        """``values``: parameters of the node; ``publisher``: of ``~/markers``."""
        self._node, self._values, self._publisher = node, values, publisher
        self._monitor, self._state = monitor, state
        self._builder: MarkerBuilder | None = None

    def forget(self) -> None:
        """Begin again with the next markers: the robot or a parameter is another one."""
        self._builder = None

    def send(self) -> None:
        """Publish the markers of the state, if ``~/markers`` has subscribers."""
        monitor = self._monitor()
        # A stopped timer may have been due when its rate was set to 0.
        is_wanted = self._values["marker_rate"] and self._publisher.get_subscription_count()
        if monitor is None or not is_wanted:
            return
        if self._builder is None:
            self._start(monitor)
        thresholds, q = monitor.behaviour.all_thresholds, monitor.buffer.q
        if monitor.narrow_phase == "leaf":
            nearness = self._nearness.of_leaves(q, thresholds)
        else:
            nearness = self._nearness.of_distances(monitor.model_distances(), thresholds)
            if not monitor.live.is_empty:
                first = len(monitor.model.pairs)
                of_objects = self._nearness.of_leaves(q, thresholds, first)
                nearness = np.minimum(nearness, of_objects)
        stamp = self._node.get_clock().now().to_msg()
        for message in self._builder.build(q, self._state(), stamp, nearness):
            self._publisher.publish(message)

    def _start(self, monitor: Monitor) -> None:
        v = self._values
        lifetime = max(1.0, 3.0 / v["marker_rate"])
        levels = levels_of(v["show_aabb_levels"])
        mesh_level = max(levels_of(v["show_mesh_level"], "show_mesh_level"), default=-1)
        builder = MarkerBuilder(monitor.model, lifetime, monitor.live, levels, mesh_level)
        for remark in builder.remarks:
            self._node.get_logger().warning(remark)
        self._builder, self._nearness = builder, Nearness(monitor.model, monitor.live)
        self._publisher.publish(MarkerBuilder.clear())
