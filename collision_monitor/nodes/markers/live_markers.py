# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Objects of a live scene as markers, a bounded number of them each time however many there are."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from scipy.spatial.transform import Rotation
from visualization_msgs.msg import Marker

from collision_monitor.model.live.live_object import LiveObject
from collision_monitor.model.live.live_scene import CLOUD, LiveScene
from collision_monitor.nodes.markers.leaf_markers import MakeMarker, placed_along
from collision_monitor.nodes.markers.marker_template import PointsTemplate, SolidTemplate

SCENE, CARRIED, CLOUDS = "scene", "scene/carried", "scene/cloud"
SHARE = 100  # markers each time of what has changed, and as many of what was not sent for longest
_POINTS = 8  # points of a list that cost as much as a marker
_KINDS = {"box": Marker.CUBE, "sphere": Marker.SPHERE, "cylinder": Marker.CYLINDER}
_VISIBLE = 0.05  # a change of a colour


class _Shown:
    """How an object is shown, in the frame of what it is on."""

    def __init__(self, thing: LiveObject) -> None:
        self.thing, self.pose, self.rows = thing, thing.pose, thing.rows
        self.namespace = CLOUDS if thing.name == CLOUD else CARRIED if thing.body > 0 else SCENE
        self.balls: np.ndarray | None = None  # (n, 3) centres, where it is one list
        shape, rows = thing.shape, thing.rows
        if shape is not None and shape.kind in _KINDS:
            self.kinds = np.array([_KINDS[shape.kind]])
            size = (2.0 * shape.size[0],) * 3 if shape.kind != "box" else shape.size
            if shape.kind == "cylinder":
                size = (*size[:2], shape.size[1])
            self.scales, self._local = np.array([size]), np.eye(4)[None]
        else:
            self._by_leaves(rows[:, :3], rows[:, 3:6], rows[:, 6])
        self.cost = len(self.kinds)
        if self.balls is not None and self.namespace != CLOUDS:
            self.cost += len(self.balls) // _POINTS

    def _by_leaves(self, first: np.ndarray, last: np.ndarray, radii: np.ndarray) -> None:
        long = (first != last).any(axis=1)
        is_alike = not long.any() and np.ptp(radii) == 0.0
        if is_alike and (len(radii) > 1 or self.namespace == CLOUDS):
            self.balls = first
            self.kinds = np.array([Marker.SPHERE_LIST])
            self.scales, self._local = np.full((1, 3), 2.0 * radii[0]), np.eye(4)[None]
            return
        ends = np.vstack([first, last[long]])
        places = np.zeros((len(ends) + long.sum(), 7))
        places[: len(ends), :3], places[: len(ends), 6] = ends, 1.0
        places[len(ends) :] = placed_along(np.stack([first[long], last[long]], axis=1))
        self._local = np.tile(np.eye(4), (len(places), 1, 1))
        self._local[:, :3, :3] = Rotation.from_quat(places[:, 3:]).as_matrix()
        self._local[:, :3, 3] = places[:, :3]
        around = np.r_[radii, radii[long], radii[long]]
        self.scales = np.tile(2.0 * around[:, None], (1, 3))
        self.scales[len(ends) :, 2] = np.linalg.norm(last - first, axis=1)[long]
        self.kinds = np.full(len(places), Marker.SPHERE)
        self.kinds[len(ends) :] = Marker.CYLINDER

    def is_still(self, thing: LiveObject) -> bool:
        """Whether the object is as it was, and where it was."""
        return self.thing is thing and self.pose is thing.pose and self.rows is thing.rows

    def place(self, link: np.ndarray) -> None:
        """Say where it is: ``link`` (4, 4) is the pose of what it is on."""
        self.placed = link @ self.pose @ self._local


class LiveMarkers:
    """Objects as they are, or by their leaves; each slot of the scene has ids of its own.

    What goes is deleted at once. Of what stands there `SHARE` markers with the most alarming
    changes are sent each time, and as many of those that were not for longest; what links carry is
    sent each time. Nothing is sent again before a third of its lifetime is over.
    """

    def __init__(self, live: LiveScene, make: MakeMarker, lifetime: float) -> None:
        """``make(type, namespace, id)`` makes a marker, which lives ``lifetime`` seconds."""
        self._live, self._make, self._lifetime = live, make, lifetime
        self._slots = 1 + live.bounds.objects
        self._shown: dict[int, _Shown] = {}  # by slot, as last sent
        self._known: dict[int, LiveObject] = {}
        self._is_new = np.zeros(self._slots, dtype=bool)
        self._sent = np.zeros(self._slots)  # when
        self._colours = np.zeros((self._slots, 4))  # as sent
        self._costs = np.ones(self._slots, dtype=np.int64)
        self._solids: dict[str, SolidTemplate] = {}
        self._lists: dict[str, PointsTemplate] = {}
        self._time, self._last = 0.0, (0.0, 0.0)

    def build(
        self, q: np.ndarray, colours: np.ndarray, stamp: Time, now: float | None = None
    ) -> Iterator[bytes]:
        """Messages of this time; ``colours`` (slots, 4) of all slots; ``now`` of a steady clock."""
        if not self._live.objects and not self._shown:
            return
        self._advance(time.monotonic() if now is None else now, stamp)
        gone = self._look()
        chosen = self._choose(colours)
        if chosen:
            poses = self._live.model.link_poses(q)
            for slot in chosen:
                self._prepare(slot, poses, gone)
        for namespace, keys in gone.items():
            yield from self._deleted(namespace, keys, stamp)
        lifetime = self._lifetime * self._rounds()
        for namespace in (SCENE, CARRIED, CLOUDS):
            slots = [k for k in chosen if self._shown[k].namespace == namespace]
            yield from self._added(namespace, slots, colours, stamp, lifetime)
        for slot in chosen:
            if self._shown[slot].balls is not None:
                yield self._list(slot, colours[slot], stamp, lifetime)
        self._sent[chosen], self._colours[chosen] = self._time, colours[chosen]
        self._is_new[chosen] = False

    def _advance(self, now: float, stamp: Time) -> None:
        """Lifetimes are of the time of the stamps, which may stand still or be fast."""
        last, self._last = self._last, (now, stamp.sec + 1e-9 * stamp.nanosec)
        self._time += max(abs(a - b) for a, b in zip(self._last, last, strict=True))

    def _look(self) -> dict[str, list[int]]:
        """Take note of what is new; ids to delete, by namespace."""
        gone: dict[str, list[int]] = {}
        things = {thing.slot: thing for thing in self._live.objects.values()}
        for slot in [slot for slot in self._known if slot not in things]:
            del self._known[slot]
            self._forget(slot, gone)
        for slot, thing in things.items():
            shown = self._shown.get(slot)
            if shown is None or not shown.is_still(thing):
                self._is_new[slot] = True
                if slot not in self._known:
                    self._sent[slot] = self._time  # its turn is after those that wait already
                is_one = thing.shape is not None or thing.name == CLOUD
                self._costs[slot] = 1 if is_one else 3 * len(thing.rows)  # at most
            self._known[slot] = thing
        return gone

    def _forget(self, slot: int, gone: dict[str, list[int]], kept: int = 0) -> None:
        """Delete what is shown, but for the first markers."""
        if (shown := self._shown.pop(slot, None)) is not None:
            keys = self._keys(slot, len(shown.kinds))[kept:]
            gone.setdefault(shown.namespace, []).extend(keys.tolist())

    def _keys(self, slot: int, count: int) -> np.ndarray:
        return np.arange(slot, slot + self._slots * count, self._slots)

    def _choose(self, colours: np.ndarray) -> list[int]:
        """Slots whose objects are sent now."""
        slots = np.array(list(self._known), dtype=np.int64)
        if not len(slots):
            return []
        change = np.abs(colours[slots] - self._colours[slots]).max(axis=1)
        has_changed = self._is_new[slots] | (change > _VISIBLE)
        is_due = self._time - self._sent[slots] >= self._lifetime / 3.0
        always = np.array([self._known[slot].body > 0 for slot in slots.tolist()], dtype=bool)
        alarm = colours[slots, 0] - colours[slots, 1]  # from green over yellow to red it rises
        changed = slots[has_changed & ~always]
        order = np.argsort(-alarm[has_changed & ~always], kind="stable")
        chosen = self._first(changed[order])
        rest = np.setdiff1d(slots[(is_due | has_changed) & ~always], chosen)
        chosen += self._first(rest[np.argsort(self._sent[rest], kind="stable")])
        return chosen + slots[always].tolist()

    def _first(self, slots: np.ndarray) -> list[int]:
        """So many of them as there is room for, one at least."""
        count = int(np.searchsorted(np.cumsum(self._costs[slots]), SHARE, "right"))
        return slots[: max(count, 1)].tolist()

    def _rounds(self) -> float:
        """How much longer a marker has to live than one that is sent each time."""
        rounds = -(-int(self._costs[list(self._known)].sum()) // SHARE)
        return max(1.0, 0.5 * (1 + rounds))

    def _prepare(self, slot: int, poses: dict[str, np.ndarray], gone: dict[str, list[int]]) -> None:
        """Make what shows an object, where it is."""
        thing, before = self._known[slot], self._shown.get(slot)
        if before is None or not before.is_still(thing):
            shown = _Shown(thing)
            is_there = before is not None and before.namespace == shown.namespace
            self._forget(slot, gone, len(shown.kinds) if is_there else 0)
            self._shown[slot], self._costs[slot] = shown, shown.cost
            shown.place(poses[thing.link])
        elif thing.body > 0:
            before.place(poses[thing.link])

    def _template(self, namespace: str) -> SolidTemplate:
        if namespace not in self._solids:
            markers = [self._make(Marker.CUBE, namespace, k) for k in range(SHARE)]
            self._solids[namespace] = SolidTemplate(markers)
        return self._solids[namespace]

    def _deleted(self, namespace: str, keys: Sequence[int], stamp: Time) -> Iterator[bytes]:
        template = self._template(namespace)
        template.set_stamp(stamp)
        for part in _parts(np.array(keys, dtype=np.int64)):
            template.remove(part)
            yield template.first(len(part))

    def _added(
        self, namespace: str, slots: Sequence[int], colours: np.ndarray, stamp: Time,
        lifetime: float,
    ) -> Iterator[bytes]:  # fmt: skip
        """All solids of these slots."""
        rows = [(k, self._shown[k]) for k in slots if self._shown[k].balls is None]
        if not rows:
            return
        counts = [len(shown.kinds) for _, shown in rows]
        columns = [
            np.concatenate([self._keys(k, len(shown.kinds)) for k, shown in rows]),
            np.concatenate([shown.kinds for _, shown in rows]),
            _poses(np.concatenate([shown.placed for _, shown in rows])),
            np.concatenate([shown.scales for _, shown in rows]),
            np.repeat(colours[[k for k, _ in rows]], counts, axis=0),
        ]
        template = self._template(namespace)
        template.set_stamp(stamp)
        template.set_lifetime(lifetime)
        for parts in zip(*map(_parts, columns), strict=True):
            template.fill(*parts)
            yield template.first(len(parts[0]))

    def _list(self, slot: int, colour: np.ndarray, stamp: Time, lifetime: float) -> bytes:
        shown = self._shown[slot]
        if shown.namespace not in self._lists:
            marker = self._make(Marker.SPHERE_LIST, shown.namespace, 0)
            marker.points = [Point()]
            self._lists[shown.namespace] = PointsTemplate(marker)
        template = self._lists[shown.namespace]
        template.set_stamp(stamp)
        template.set_lifetime(lifetime)
        poses = _poses(shown.placed)
        template.fill(self._keys(slot, 1), shown.kinds, poses, shown.scales, colour[None])
        return template.with_points(shown.balls)


def _poses(placed: np.ndarray) -> np.ndarray:
    """(k, 7) position and quaternion x y z w of poses (k, 4, 4)."""
    rotations = Rotation.from_matrix(placed[:, :3, :3]).as_quat()
    return np.concatenate([placed[:, :3, 3], rotations], axis=1)


def _parts(rows: np.ndarray) -> list[np.ndarray]:
    return [rows[k : k + SHARE] for k in range(0, len(rows), SHARE)]
