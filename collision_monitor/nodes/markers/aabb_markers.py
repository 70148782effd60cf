# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Levels of the hierarchy of boxes as lines, for those who ask for them."""

from __future__ import annotations

import colorsys
from collections.abc import Iterator

import numpy as np
from builtin_interfaces.msg import Time
from visualization_msgs.msg import Marker, MarkerArray

from collision_monitor.errors import ConfigurationError
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.model.tree_boxes import TreeBoxes, edges
from collision_monitor.nodes.markers.marker_rows import MarkerRows

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
    """One list of lines for each level, in the namespace ``aabb``; the id is the level."""

    def __init__(
        self, model: CollisionModel, levels: frozenset[int] | range, lifetime: float, width: float
    ) -> None:
        """``lifetime`` of the markers, seconds; ``width`` of a line, metres."""
        self._boxes = TreeBoxes(model)
        self._writer = MarkerRows(model.root, AABB)
        self._lifetime, self._width = lifetime, width
        self._nodes: dict[int, np.ndarray] = {}  # by level
        left_out = []
        for level in range(self._boxes.depth):
            nodes = np.flatnonzero(self._boxes.levels == level)
            if level not in levels:
                continue
            if sum(map(len, self._nodes.values())) + len(nodes) > MOST_BOXES:
                left_out.append(level)
            else:
                self._nodes[level] = nodes
        self.shown = tuple(self._nodes)
        self.remark = _remark(left_out, levels, self._boxes.depth)

    def messages(self, segments: np.ndarray, stamp: Time) -> Iterator[bytes]:
        """The levels at a configuration, one each; ``segments`` as of `TreeBoxes.at`."""
        boxes = self._boxes.at(segments)
        pose = np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]])
        scale = np.full((1, 3), self._width)
        for level, nodes in self._nodes.items():
            rgb = colorsys.hsv_to_rgb(0.5 + 0.4 * level / self._boxes.depth, 0.6, 1.0)
            colour, points = np.array([[*rgb, 0.8]]), edges(boxes[nodes]).reshape(1, -1, 3)
            yield from self._writer.messages(
                stamp, self._lifetime, np.array([level]), np.array([Marker.LINE_LIST]), pose,
                scale, colour, points,
            )  # fmt: skip


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
