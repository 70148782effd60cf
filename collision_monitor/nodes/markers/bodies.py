# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Markers of links, obstacles and live objects, with a bounded number per message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from scipy.spatial.transform import Rotation
from visualization_msgs.msg import Marker

from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.model.live.live_objects import LiveObject
from collision_monitor.model.live.live_scene import CLOUD, LiveScene
from collision_monitor.nodes.markers.marker_rows import MarkerRows
from collision_monitor.robot.description import Shape
from collision_monitor.robot.poses import poses_along

LEAVES, LEAF_CYLINDERS = "leaves", "leaves/cylinders"
OBSTACLES, OBSTACLE_CYLINDERS = "obstacles", "obstacles/cylinders"
SCENE, CARRIED, CLOUDS = "scene", "scene/carried", "scene/cloud"
MOST = 200  # markers per update, besides those of bodies that joints move
_POINTS = 8  # number of points in a list that cost as much as a marker
_KINDS = {"box": Marker.CUBE, "sphere": Marker.SPHERE, "cylinder": Marker.CYLINDER}


class MarkerPart(NamedTuple):
    """Markers of one body in one namespace, all with the same number of points.

    ``poses`` (k, 4, 4) and ``points`` (k, p, 3) as of `MarkerBody.pose`; ``scales`` (k, 3), metres.
    """

    namespace: str
    ids: np.ndarray
    kinds: np.ndarray
    poses: np.ndarray
    scales: np.ndarray
    points: np.ndarray


class MarkerBody(NamedTuple):
    """An obstacle or a live object, and its representation.

    Attributes:
        link: the link to which it is attached.
        pose: (4, 4) in the frame of ``link``.
        moves: whether a joint moves it.
        shape: displayed shape; for None, or another kind than `_KINDS`, leaves are displayed.
        rows: (k, 7) leaves: end points and radius, metres.
        namespaces: of its markers, and of cylinders between ends of leaves.
        ids: (2 k,) of the balls of leaves, then of cylinders; the first is that of a shape.
        is_one_list: whether equal balls are one marker.
    """

    link: str
    pose: np.ndarray
    moves: bool
    shape: Shape | None
    rows: np.ndarray
    namespaces: tuple[str, str]
    ids: np.ndarray
    is_one_list: bool = False

    @property
    def is_solid(self) -> bool:
        """Whether its shape is displayed."""
        return self.shape is not None and self.shape.kind in _KINDS

    @property
    def most(self) -> int:
        """Upper bound of the number of its markers."""
        return 1 if self.is_solid or self.namespaces[0] == CLOUDS else 2 * len(self.rows)

    def parts(self) -> list[MarkerPart]:
        """Its markers."""
        if self.is_solid:
            kind, size = self.shape.kind, self.shape.size
            if kind != "box":
                diameter = 2.0 * size[0]
                size = (diameter, diameter, size[1] if kind == "cylinder" else diameter)
            poses = self.shape.pose[None]
            return [_part(self.namespaces[0], self.ids[:1], _KINDS[kind], poses, [size])]
        ends, radii = self.rows[:, :6].reshape(-1, 2, 3), self.rows[:, 6]
        is_round = (ends[:, 0] == ends[:, 1]).all()
        if self.is_one_list and is_round and np.ptp(radii) == 0.0:
            scales = np.full((1, 3), 2.0 * radii[0])
            balls = ends[None, :, 0]
            return [
                _part(self.namespaces[0], self.ids[:1], Marker.SPHERE_LIST, None, scales, balls)
            ]
        return leaf_parts(self.namespaces, self.ids, ends, radii)


def _part(
    namespace: str, ids: np.ndarray, kind: int, poses: np.ndarray | None, scales: Sequence,
    points: np.ndarray | None = None,
) -> MarkerPart:  # fmt: skip
    k = len(ids)
    poses = np.tile(np.eye(4), (k, 1, 1)) if poses is None else poses
    points = np.empty((k, 0, 3)) if points is None else points
    return MarkerPart(namespace, ids, np.full(k, kind), poses, np.asarray(scales), points)


def leaf_parts(
    namespaces: tuple[str, str], ids: np.ndarray, ends: np.ndarray, radii: np.ndarray
) -> list[MarkerPart]:
    """Leaves with ``ends`` (k, 2, 3) and ``radii`` (k,) as balls, and cylinders between them.

    ``namespaces`` of balls and of cylinders, ``ids`` (2 k,) as of `MarkerBody`.
    """
    sizes = np.tile(2.0 * radii[:, None], (1, 3))
    long = (ends[:, 0] != ends[:, 1]).any(axis=1)
    short, stretched = np.flatnonzero(~long), np.flatnonzero(long)
    parts = [
        _part(namespaces[0], ids[rows], Marker.SPHERE_LIST, None, sizes[rows], ends[rows, :count])
        for rows, count in ((short, 1), (stretched, 2))
    ]
    poses, sizes[long, 2] = poses_along(ends[long])
    cylinders = ids[len(radii) + stretched]
    parts.append(_part(namespaces[1], cylinders, Marker.CYLINDER, poses, sizes[long]))
    return [part for part in parts if len(part.ids)]


class LinkMarkers:
    """Leaves of links of the robot: lists of one or two balls, and cylinders between them.

    Ids are the indices of the leaves; all markers are sent in each update.
    """

    def __init__(self, model: CollisionModel, lifetime: float) -> None:
        """``lifetime`` of the markers, seconds."""
        self._lifetime = lifetime
        own = [k for k, leaf in enumerate(model.leaves) if leaf.link in model.robot.links]
        self._rows = np.array(own, dtype=np.int64)
        self._radii = np.array([model.leaves[k].radius for k in own])
        self._links = model.leaf_links
        self._writers = {
            namespace: MarkerRows(model.root, namespace) for namespace in (LEAVES, LEAF_CYLINDERS)
        }

    def build(self, segments: np.ndarray, colours: np.ndarray, stamp: Time) -> Iterator[bytes]:
        """Messages; ``segments`` (leaves, 2, 3) in the root frame, ``colours`` (links, 4)."""
        for part in leaf_parts(
            (LEAVES, LEAF_CYLINDERS), np.tile(self._rows, 2), segments[self._rows], self._radii
        ):
            yield from self._writers[part.namespace].messages(
                stamp, self._lifetime, part.ids, part.kinds, _with_quaternions(part.poses),
                part.scales, colours[self._links[part.ids]], part.points,
            )  # fmt: skip


def _obstacles_of(model: CollisionModel) -> dict[int, MarkerBody]:
    """Obstacles by their index in ``link_names``; ids are the indices of their leaves."""
    bodies = {}
    for each in model.scene.obstacles:
        link = model.link_rows[each.name]
        leaves = np.flatnonzero(model.leaf_links == link)
        # Bodies displayed by their shape need no leaves, which may be many.
        shown = [] if each.shape.kind in _KINDS else [model.leaves[k] for k in leaves]
        rows = np.array([(*leaf.p0, *leaf.p1, leaf.radius) for leaf in shown])
        bodies[link] = MarkerBody(
            each.link, np.eye(4), bool(model.body_numbers[link]), each.shape, rows,
            (OBSTACLES, OBSTACLE_CYLINDERS), np.tile(leaves, 2),
        )  # fmt: skip
    return bodies


def _live_body(thing: LiveObject, slots: int) -> MarkerBody:
    """A live object; its ids are its slot plus multiples of ``slots``."""
    space = CLOUDS if thing.name == CLOUD else CARRIED if thing.body > 0 else SCENE
    ids = thing.slot + slots * np.arange(2 * max(len(thing.rows), 1))
    return MarkerBody(
        thing.link, thing.pose, thing.body > 0, thing.shape, thing.rows, (space, space), ids, True
    )


class BodyMarkers:
    """Markers of obstacles of a model and objects of its live scene.

    Markers of removed objects are deleted immediately. Objects moved by joints are sent in each
    update. Of the others, an update has up to ``most`` markers, of those that were not sent for
    longest.
    """

    def __init__(
        self, model: CollisionModel, live: LiveScene | None, lifetime: float, most: int = MOST
    ) -> None:
        """``lifetime``: lifetime of a marker in seconds if all are sent in each update.

        ``most``: markers per update, besides those of bodies that joints move.
        """
        self._model, self._live, self._lifetime, self._most = model, live, lifetime, most
        self._known = _obstacles_of(model)  # by row
        self._links = len(model.link_names)
        self._slots = 0 if live is None else 1 + live.bounds.objects
        count = self._links + self._slots
        self._seen: dict[int, tuple] = {}  # live objects, by row
        self._parts: dict[int, list[MarkerPart]] = {}  # as last sent, by row
        self._is_new = np.ones(count, dtype=bool)
        self._update = 0  # number of updates
        self._sent = np.zeros(count, dtype=np.int64)  # the last update with this body
        self._costs = np.zeros(count, dtype=np.int64)
        self._is_known, self._moves = np.zeros((2, count), dtype=bool)
        for row, body in self._known.items():
            self._add_body(row, body)
        self._rows: dict[str, MarkerRows] = {}  # by namespace

    def build(self, q: np.ndarray, colours: np.ndarray, stamp: Time) -> Iterator[bytes]:
        """Yield the messages of an update.

        Args:
            q: (nq,) configuration.
            colours: (links and slots, 4) of links and obstacles of the model, then of live slots.
            stamp: of the markers.
        """
        self._update += 1
        gone = self._update_live()
        chosen, turns = self._choose()
        for row in chosen:
            if self._is_new[row]:
                self._update_markers(row, gone)
        for namespace, ids in gone.items():
            yield from self._writer(namespace).deletions(stamp, np.array(ids))
        if not chosen:
            return
        yield from self._messages(chosen, turns, self._model.link_poses(q), colours, stamp)
        self._sent[chosen], self._is_new[chosen] = self._update, False

    def _add_body(self, row: int, body: MarkerBody) -> None:
        self._known[row], self._costs[row] = body, body.most
        self._is_known[row], self._moves[row], self._is_new[row] = True, body.moves, True

    def _update_live(self) -> dict[str, list[int]]:
        """Apply changes of the live scene; returns ids to delete, by namespace."""
        gone: dict[str, list[int]] = {}
        if self._live is None:
            return gone
        things = {self._links + thing.slot: thing for thing in self._live.objects.values()}
        for row in [row for row in self._seen if row not in things]:
            del self._seen[row], self._known[row]
            self._is_known[row] = False
            self._delete(self._parts.pop(row, []), gone)
        for row, thing in things.items():
            now, before = (thing, thing.pose, thing.rows), self._seen.get(row)
            if before is None or any(a is not b for a, b in zip(now, before, strict=True)):
                if before is None:
                    self._sent[row] = self._update  # it is sent after those that already wait
                self._seen[row] = now
                self._add_body(row, _live_body(thing, self._slots))
        return gone

    @staticmethod
    def _delete(
        parts: list[MarkerPart], gone: dict[str, list[int]], kept: Sequence[MarkerPart] = ()
    ) -> None:
        still = {(part.namespace, k) for part in kept for k in part.ids.tolist()}
        for part in parts:
            ids = [k for k in part.ids.tolist() if (part.namespace, k) not in still]
            if ids:
                gone.setdefault(part.namespace, []).extend(ids)

    def _update_markers(self, row: int, gone: dict[str, list[int]]) -> None:
        """Create the markers of a body."""
        before, parts = self._parts.get(row, []), self._known[row].parts()
        self._delete(before, gone, parts)
        self._parts[row] = parts
        listed = sum(p.points.shape[1] // _POINTS for p in parts if p.namespace != CLOUDS)
        self._costs[row] = sum(len(part.ids) for part in parts) + listed

    def _choose(self) -> tuple[list[int], float]:
        """Rows of the bodies to send now, and the number of updates until all were sent."""
        known = np.flatnonzero(self._is_known)
        moves = self._moves[known]
        still = known[~moves]
        waiting = still[np.argsort(self._sent[still], kind="stable")]
        costs = np.cumsum(self._costs[waiting])
        count = int(np.searchsorted(costs, self._most, "right"))
        turns = max(1.0, costs[-1] / self._most) if len(costs) else 1.0
        return known[moves].tolist() + waiting[: max(count, 1)].tolist(), turns

    def _writer(self, namespace: str) -> MarkerRows:
        if namespace not in self._rows:
            self._rows[namespace] = MarkerRows(self._model.root, namespace)
        return self._rows[namespace]

    def _messages(
        self, chosen: list[int], turns: float, links: dict[str, np.ndarray], colours: np.ndarray,
        stamp: Time,
    ) -> Iterator[bytes]:  # fmt: skip
        lifetime = self._lifetime * turns  # they must live until their next turn
        groups: dict[tuple[str, int], list[tuple[int, MarkerPart]]] = {}
        for row in chosen:
            for part in self._parts[row]:
                key = part.namespace, part.points.shape[1]
                groups.setdefault(key, []).append((row, part))
        placed = {row: links[self._known[row].link] @ self._known[row].pose for row in chosen}
        for (namespace, _), members in groups.items():
            counts = [len(part.ids) for _, part in members]
            frames = np.repeat([placed[row] for row, _ in members], counts, axis=0)
            ids, kinds, poses, scales, points = (
                np.concatenate(column)
                for column in zip(*(part[1:] for _, part in members), strict=True)
            )
            columns = (
                ids, kinds, _with_quaternions(frames @ poses), scales,
                colours[np.repeat([row for row, _ in members], counts)], points,
            )  # fmt: skip
            yield from self._writer(namespace).messages(stamp, lifetime, *columns)


def _with_quaternions(poses: np.ndarray) -> np.ndarray:
    """(k, 7) position and quaternion x y z w of poses (k, 4, 4)."""
    rotations = Rotation.from_matrix(poses[:, :3, :3]).as_quat()
    return np.concatenate([poses[:, :3, 3], rotations], axis=1)
