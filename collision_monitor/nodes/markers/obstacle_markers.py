# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Obstacles as markers, a bounded number of them in a message however many there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from builtin_interfaces.msg import Time
from scipy.spatial.transform import Rotation
from visualization_msgs.msg import Marker

from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.nodes.markers.leaf_markers import (
    MakeMarker,
    leaf_ends,
    leaf_middle,
    placed_along,
)
from collision_monitor.nodes.markers.marker_template import MarkerTemplate
from collision_monitor.robot.scene import Obstacle

OBSTACLES, OBSTACLE_CYLINDERS = "obstacles", "obstacles/cylinders"
GROUP = 100  # obstacles in a message
_SOLIDS = {"box": Marker.CUBE, "sphere": Marker.SPHERE, "cylinder": Marker.CYLINDER}


class _Group:
    """Obstacles that are sent together; their message is made when it is first wanted."""

    def __init__(
        self, model: CollisionModel, obstacles: list[Obstacle], rows: Mapping[str, list[int]]
    ) -> None:
        """``rows``: of the leaves of every obstacle."""
        self._model = model
        self._solids = [o for o in obstacles if o.shape.kind in _SOLIDS]
        self._solid_ids = [rows[o.name][0] for o in self._solids]
        others = [o.name for o in obstacles if o.shape.kind not in _SOLIDS]
        self._leaves = [k for name in others for k in rows[name]]
        self._long = [k for k in self._leaves if model.leaves[k].kind == "capsule"]
        names = [o.name for o in self._solids]
        names += [model.leaves[k].link for k in (*self._leaves, *self._long)]
        rank = {name: k for k, name in enumerate(model.link_names)}
        self.links = np.array([rank[name] for name in names], dtype=np.int64)
        self.sent: np.ndarray | None = None  # colours
        self._template: MarkerTemplate | None = None
        moving = set(model.moving_links)
        self._moves = any(o.name in moving for o in obstacles)

    def prepare(self, make: MakeMarker, longer: float) -> None:
        """Make the message, if there is none yet; ``make`` makes one marker."""
        if self._template is not None:
            return
        leaves, markers = self._model.leaves, []
        for obstacle, number in zip(self._solids, self._solid_ids, strict=True):
            kind = obstacle.shape.kind
            markers.append(_sized(obstacle, make(_SOLIDS[kind], OBSTACLES, number, longer)))
        for k in self._leaves:
            markers.append(leaf_ends(leaves[k], make(Marker.SPHERE_LIST, OBSTACLES, k, longer)))
        for k in self._long:
            marker = make(Marker.CYLINDER, OBSTACLE_CYLINDERS, k, longer)
            markers.append(leaf_middle(leaves[k], marker))
        self._template = MarkerTemplate(markers)
        self._are_placed = False

    def message(
        self, q: np.ndarray, segments: np.ndarray, colours: np.ndarray, stamp: Time
    ) -> bytes:
        """Those obstacles as they are now, after `prepare`; ``colours`` (markers, 4)."""
        if self._moves or not self._are_placed:
            self._place(q, segments)
            self._are_placed = True
        self._template.set_colours(colours)
        self._template.set_stamp(stamp)
        self.sent = colours
        return self._template.message()

    def _place(self, q: np.ndarray, segments: np.ndarray) -> None:
        poses = np.zeros((len(self.links), 7))
        poses[:, 6] = 1.0
        if self._solids:
            links = self._model.link_poses(q)
            placed = np.array([links[o.link] @ o.shape.pose for o in self._solids])
            poses[: len(placed), :3] = placed[:, :3, 3]
            poses[: len(placed), 3:] = Rotation.from_matrix(placed[:, :3, :3]).as_quat()
        if self._long:
            poses[-len(self._long) :] = placed_along(segments[self._long])
        self._template.set_poses(poses)
        ends = segments[self._leaves]
        shown = np.ones((len(ends), 2), dtype=bool)
        shown[:, 1] = np.isin(self._leaves, self._long)
        self._template.set_points(ends[shown])


def _sized(obstacle: Obstacle, marker: Marker) -> Marker:
    size = obstacle.shape.size
    if obstacle.shape.kind == "box":
        marker.scale.x, marker.scale.y, marker.scale.z = map(float, size)
    else:
        marker.scale.x = marker.scale.y = marker.scale.z = 2.0 * float(size[0])
    if obstacle.shape.kind == "cylinder":
        marker.scale.z = float(size[1])
    return marker


class ObstacleMarkers:
    """Obstacles of a model: boxes, balls and cylinders as they are, others by their leaves.

    Each time one group is sent, one after the other, and that which has changed colour most
    alarmingly. Lifetimes are those of a whole round.
    """

    def __init__(self, model: CollisionModel, make: MakeMarker) -> None:
        """``make(type, namespace, id, how much longer it lives)`` makes a marker."""
        self._make = make
        rows: dict[str, list[int]] = {}
        for k, leaf in enumerate(model.leaves):
            rows.setdefault(leaf.link, []).append(k)
        self._groups, group, size = [], [], 0
        for obstacle in model.scene.obstacles:
            count = 1 if obstacle.shape.kind in _SOLIDS else 2 * len(rows[obstacle.name])
            if group and size + count > GROUP:
                self._groups.append(_Group(model, group, rows))
                group, size = [], 0
            group.append(obstacle)
            size += count
        if group:
            self._groups.append(_Group(model, group, rows))
        self._next = 0

    def build(
        self, q: np.ndarray, segments: np.ndarray, colours: np.ndarray, stamp: Time
    ) -> Iterator[bytes]:
        """Messages of this time, two at most; ``colours`` (links, 4) of all links."""
        if not self._groups:
            return
        wanted = [self._groups[self._next]]
        self._next = (self._next + 1) % len(self._groups)
        if len(self._groups) > 1:
            changed = [g for g in self._groups if g is not wanted[0] and _has_changed(g, colours)]
            wanted += sorted(changed, key=lambda g: -_alarm(colours[g.links]))[:1]
        for group in wanted:
            group.prepare(self._make, len(self._groups))
            yield group.message(q, segments, colours[group.links], stamp)


def _alarm(colours: np.ndarray) -> float:
    """Of colours (k, 4): from green over yellow to red it rises."""
    return float((colours[:, 0] - colours[:, 1]).max())


def _has_changed(group: _Group, colours: np.ndarray) -> bool:
    """Whether a colour is visibly another than what was sent, or nothing was."""
    return group.sent is None or bool(np.abs(colours[group.links] - group.sent).max() > 0.05)
