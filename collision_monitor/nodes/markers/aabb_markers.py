# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Levels of the hierarchy of boxes as lines, for those who ask for them."""

from __future__ import annotations

import colorsys
from collections.abc import Callable

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from visualization_msgs.msg import Marker, MarkerArray

from collision_monitor.errors import ConfigurationError
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.model.tree_boxes import TreeBoxes, edges
from collision_monitor.nodes.markers.marker_template import MarkerTemplate

AABB = "aabb"
ALL = range(10**6)

# Boxes that are shown at most: each takes 576 bytes of a message.
MOST_BOXES = 1000


def levels_of(text: str) -> frozenset[int] | range:
    """Levels as a parameter has them: ``0-2,5``, or ``all``; none where it is empty.

    Raises:
        ConfigurationError: it is of another form.
    """
    text = text.strip()
    if text == "all":
        return ALL
    found: set[int] = set()
    for part in filter(None, (part.strip() for part in text.split(","))):
        first, dash, last = (word.strip() for word in part.partition("-"))
        last = last if dash else first
        if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last) < len(ALL)):
            raise ConfigurationError(
                f"show_aabb_levels: {part!r} is not a level or a range; use for example '0-2,5' "
                "or 'all'"
            )
        if int(last) - int(first) > 100:
            raise ConfigurationError(
                f"show_aabb_levels: no hierarchy has the levels {part!r}; use 'all'"
            )
        found.update(range(int(first), int(last) + 1))
    return frozenset(found)


class AabbMarkers:
    """One list of lines for each level wanted, in the namespace ``aabb``; the id is the level."""

    def __init__(
        self,
        model: CollisionModel,
        levels: frozenset[int] | range,
        marker: Callable[[int, str, int], Marker],
        width: float,
    ) -> None:
        """``marker(type, namespace, id)`` makes one; ``width`` of a line, metres."""
        self._boxes = TreeBoxes(model)
        depth = self._boxes.depth
        rows, lists, colours, left_out = [], [], [], []
        for level in range(depth):
            nodes = np.flatnonzero(self._boxes.levels == level)
            if level not in levels:
                continue
            if sum(map(len, rows)) + len(nodes) > MOST_BOXES:
                left_out.append(level)
                continue
            lines = marker(Marker.LINE_LIST, AABB, level)
            lines.scale.x = width
            lines.points = [Point()] * (24 * len(nodes))
            rows.append(nodes)
            lists.append(lines)
            colours.append((*colorsys.hsv_to_rgb(0.5 + 0.4 * level / depth, 0.6, 1.0), 0.8))
        self._rows = np.concatenate(rows) if rows else np.empty(0, dtype=np.int64)
        self.shown = tuple(lines.id for lines in lists)
        self.remark = _remark(left_out, levels, depth)
        self._template = MarkerTemplate(lists)
        pose = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
        self._template.set_poses(np.tile(pose, (len(lists), 1)))
        self._template.set_colours(np.array(colours).reshape(-1, 4))

    def message(self, segments: np.ndarray, stamp: Time) -> bytes:
        """The levels at a configuration; ``segments`` as of `TreeBoxes.at`."""
        self._template.set_points(edges(self._boxes.at(segments)[self._rows]).reshape(-1, 3))
        self._template.set_stamp(stamp)
        return self._template.message()


def _remark(left_out: list[int], levels: frozenset[int] | range, depth: int) -> str:
    """What is not shown though it was asked for; empty where all is."""
    if left_out:
        return (
            f"levels {', '.join(map(str, left_out))} have too many boxes to show: the limit is "
            f"{MOST_BOXES} in total"
        )
    if levels and levels is not ALL and max(levels) >= depth:
        return f"the deepest level is {depth - 1}"
    return ""


def gone(levels: tuple[int, ...], frame: str, stamp: Time) -> MarkerArray:
    """Takes away levels that are not wanted any more."""
    markers = [Marker(ns=AABB, id=level, action=Marker.DELETE) for level in levels]
    for marker in markers:
        marker.header.frame_id, marker.header.stamp = frame, stamp
    return MarkerArray(markers=markers)
