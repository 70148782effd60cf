# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""LiveScene: objects around a robot that are added, moved and removed while it is monitored."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakMethod

import numpy as np

from collision_monitor.common.limits import array_range_problem, range_problem
from collision_monitor.errors import FitError, LiveSceneError
from collision_monitor.hierarchy import object_slots, query
from collision_monitor.hierarchy.clearance import Clearance
from collision_monitor.model.live_objects import (
    Bounds,
    LiveObject,
    Ranges,
    Room,
    rounded,
)
from collision_monitor.model.object_distance import ObjectDistance
from collision_monitor.model.object_geometry import ObjectGeometry
from collision_monitor.robot.description import Shape

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

CLOUD = "cloud"  # name of the point cloud among the objects

_IDENTITY = np.eye(4)
_TOLERANCE = 1e-6  # metres; tolerated error of a bound for an exact distance
_RIGID = 1e-6  # tolerated deviation of a pose from a rigid transform


class LiveScene:
    """Objects on the links of one robot: added, moved and removed in microseconds.

    Objects are checked against the links of the robot and the obstacles of its scene file that can
    move relative to them. Two objects are checked against each other if one of them is carried.
    Objects on the same rigid body, and pairs that may touch, are not checked. Leaves enclose the
    objects, so that their distances are never too large. Where they are near, exact distances are
    those of the shapes and triangles. Objects given by leaves, such as clouds, and those whose
    meshes have no room (``measured_by_leaves``) are measured by their leaves.

    The packed model also has the pairs of the robot itself, which come first: `minimum_distance`,
    `exact_bounds` and the tables of pairs are about all of them, ``pairs``, `distance` and
    `distances` about those with objects. A scene contains the work space of its queries: it is for
    one thread.

    Rows of tables are the links of the model, followed by a slot for each object.

    Attributes:
        model: the robot.
        bounds: capacity.
        objects: by name.
        pair_table: (rows, rows) number of each pair, -1 for pairs that are not checked.
        carried: objects on moving links; an object's ``carrier`` is its index here.
        stamps: (rows,) a number that is new whenever an object was added, moved or changed.
        part_counts: (rows,) of objects, the number of parts that exact distances measure.
    """

    def __init__(self, model: CollisionModel, bounds: Bounds | None = None) -> None:
        """Allocate the arrays and compile the kernels.

        Raises:
            LiveSceneError: no link of the robot moves, or a bound is not above zero.
        """
        self.model = model
        self.bounds = Bounds() if bounds is None else bounds
        if min(vars(self.bounds).values()) < 1:
            raise LiveSceneError(f"{self.bounds}: every bound is at least 1")
        if not model.moving_links:
            raise LiveSceneError(f"'{model.name}' has no link with a shape that moves")
        self.objects: dict[str, LiveObject] = {}
        self._room = Room(model, self.bounds)
        self._links = {name: k for k, name in enumerate(model.link_names)}
        self._bodies, self._poses = dict(model.bodies.link_bodies), dict(model.bodies.link_poses)
        obstacles = {each.name: each.link for each in model.scene.obstacles}
        self._body_of_link = np.array(
            [self._bodies[obstacles.get(name, name)] for name in model.link_names]
        )
        self._free_slots = list(range(self.bounds.objects, 0, -1))  # slot 0: the cloud
        self._in_slot: list[LiveObject | None] = [None] * (self.bounds.objects + 1)
        self._ranges = Ranges(self._room.live_leaves)
        self._leaves_in_use = 0  # leaves allocated, without those of a cloud
        self.carried: list[LiveObject] = []
        slots = len(self._in_slot)
        # By slot: the tree of a fixed object, its root and number of nodes; 0, 0 without one.
        self._roots = np.zeros((slots, 2), dtype=np.int64)
        self._keys, self._order = np.zeros(slots, np.int64), np.zeros(slots, np.int64)
        self._next_expiry = math.inf
        self._moved = math.inf  # objects moved since the top tree was built, inf: build it
        self._is_current = False
        self._listeners: list[WeakMethod] = []
        self.changes = 0  # number of changes of the set of pairs
        self._cached_pairs: tuple[int, list] = (-1, [])
        self._exact: ObjectDistance | None = None  # until `prepare_exact`
        self._exact_changes = -1
        count = len(model.link_names) + slots
        self.stamps = np.zeros(count, dtype=np.int64)
        self._stamp = 0
        self.part_counts = np.zeros(count, dtype=np.int64)
        self.pair_table = np.full((count, count), -1, dtype=np.int64)
        # Numbers of pairs: of the robot, of slots and links, of carried objects and slots.
        self._first_of_slots = self._room.own_pairs
        self._first_of_carried = self._first_of_slots + slots * len(self._links)
        own = self.pair_rows[: self._first_of_slots]
        self.pair_table[own, own[:, ::-1]] = np.arange(len(own))[:, None]
        self._rebuild_carried()
        self._compile()

    # -- content -----------------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        """Whether there are no objects, so that no query is needed."""
        return not self.objects

    @property
    def has_free_slot(self) -> bool:
        """Whether there may be one more object."""
        return bool(self._free_slots)

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """(numbers, index) of the packed model, after all pending changes."""
        self._update_tree()
        return self._room.numbers, self._room.index

    @property
    def leaf_links(self) -> np.ndarray:
        """(leaves,) row of each leaf."""
        return self._room.leaf_links

    @property
    def pair_rows(self) -> np.ndarray:
        """(numbers, 2) both rows of each pair: of the model, then of objects, checked or not."""
        return self._room.view.pairs

    def row_of(self, name: str) -> int:
        """Row of a link or object."""
        obj = self.objects.get(name)
        return self._links[name] if obj is None else len(self._links) + obj.slot

    def name_of(self, row: int) -> str:
        """Name of a link, or of the object in a slot."""
        names = self.model.link_names
        return names[row] if row < len(names) else self._in_slot[row - len(names)].name

    def pair_number(self, one: LiveObject, other: int | LiveObject) -> int:
        """Number of the pair of an object and a link, or of two objects, one of them carried."""
        if not isinstance(other, LiveObject):
            return self._first_of_slots + one.slot * len(self._links) + other
        if one.carrier < 0 or 0 <= other.carrier < one.carrier:
            one, other = other, one
        return self._first_of_carried + one.carrier * len(self._in_slot) + other.slot

    def watch(self, listener: Callable[[LiveObject | None], None]) -> None:
        """Call ``listener`` with each object whose pairs are new; None: all pairs may have changed.

        ``listener`` must be a method; its object is referenced weakly, to avoid reference cycles.
        """
        self._listeners.append(WeakMethod(listener))

    def _notify(self, obj: LiveObject | None) -> None:
        self.changes += 1
        for weak in self._listeners:
            if (listener := weak()) is not None:
                listener(obj)

    def is_moving(self, link: str) -> bool:
        """Whether a link of the robot is on a moving body."""
        return self._bodies.get(link, 0) > 0

    def partners(self, obj: LiveObject) -> list[int | LiveObject]:
        """Links (indices into ``model.link_names``) and objects checked against ``obj``."""
        return np.flatnonzero(obj.is_allowed).tolist() + self.partner_objects(obj)

    def partner_objects(self, obj: LiveObject) -> list[LiveObject]:
        """Objects that ``obj`` is checked against."""
        others = self.objects.values() if obj.carrier >= 0 else self.carried
        return [other for other in others if self._is_checked(obj, other)]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """All checked pairs, each once: link and object, or object and object."""
        return [(self._name(other), obj.name) for obj, other in self._each_pair()]

    def _name(self, other: int | LiveObject) -> str:
        return other.name if isinstance(other, LiveObject) else self.model.link_names[other]

    def _each_pair(self) -> list[tuple[LiveObject, int | LiveObject]]:
        if self._cached_pairs[0] != self.changes:
            self._cached_pairs = self.changes, self._list_pairs()
        return self._cached_pairs[1]

    def _list_pairs(self) -> list[tuple[LiveObject, int | LiveObject]]:
        return [
            (obj, other)
            for obj in self.objects.values()
            for other in self.partners(obj)
            if not isinstance(other, LiveObject) or obj.carrier < 0
            or 0 <= other.carrier < obj.carrier
        ]  # fmt: skip

    def _is_checked(self, one: LiveObject, other: LiveObject) -> bool:
        return (
            one is not other
            and one.body != other.body
            and other.name not in one.touch
            and one.name not in other.touch
        )

    # -- changes -----------------------------------------------------------------------

    def add(
        self,
        name: str,
        shape: Shape | ObjectGeometry | np.ndarray,
        link: str | None = None,
        pose: np.ndarray = _IDENTITY,
        touch: Collection[str] = (),
        expires: float = math.inf,
    ) -> None:
        """Add an object to a link, or replace the one of that name.

        Args:
            name: must not be a link or an obstacle of the scene file.
            shape: its own pose is applied after ``pose``; or leaves, rows (k, 7) of two end points
                and a radius, metres.
            link: any link of the robot; by default its root.
            pose: (4, 4) in the frame of the link.
            touch: links and objects that it may touch.
            expires: seconds of the clock of `expire`.

        Raises:
            LiveSceneError: an invalid name, link or number, or not enough room. The previous object
                of that name stays.
        """
        if isinstance(shape, Shape):
            if problem := array_range_problem(np.array(shape.size)):
                raise LiveSceneError(f"{name}: its size: {problem}")
            pose = np.asarray(pose, dtype=float) @ shape.pose
            try:
                geometry = ObjectGeometry.of_shape(
                    replace(shape, pose=_IDENTITY), self.bounds.leaves_per_object
                )
            except FitError as error:
                raise LiveSceneError(f"{name}: {error}") from None
        elif isinstance(shape, ObjectGeometry):
            geometry = shape
        else:
            geometry = ObjectGeometry.of_leaves(
                _leaf_rows(name, np.ascontiguousarray(shape, dtype=float))
            )
        self._add(name, geometry, link, pose, touch, expires)

    def _add(
        self, name: str, geometry: ObjectGeometry, link: str | None, pose: np.ndarray,
        touch: Collection[str], expires: float,
    ) -> None:  # fmt: skip
        link = self.model.root if link is None else link
        self._require(name, link, pose, touch)
        _leaf_rows(name, geometry.rows)
        if geometry.part_count > len(geometry.rows):
            raise LiveSceneError(
                f"{name}: {len(geometry.rows)} leaves cannot enclose {geometry.part_count} parts; "
                "each part needs one"
            )
        known = self.objects.get(name)
        obj = LiveObject(
            name, link, np.array(pose, dtype=float), geometry, frozenset(touch), expires,
            self._bodies[link],
        )  # fmt: skip
        if known is not None and _is_replaceable(known, obj):
            known.geometry, known.pose, known.expires = geometry, obj.pose, expires
            self._write(known)
            self._update_next_expiry(known)
            return
        if name == CLOUD:
            obj.slot = 0
        elif known is not None:
            obj.slot = known.slot
        elif not self._free_slots:
            raise LiveSceneError(
                f"{name}: no room: there are {self.bounds.objects} objects already"
            )
        self._require_room(obj, known)
        if known is not None:
            self._erase(known)
        if obj.slot < 0:
            obj.slot = self._free_slots[-1]
        self._insert(obj)
        self._update_next_expiry(obj)

    def move(self, name: str, pose: np.ndarray) -> None:
        """Set the ``pose`` (4, 4) of an object in the frame of its link.

        Raises:
            LiveSceneError: there is no such object, or the pose is invalid.
        """
        obj = self._find(name)
        self._require(name, obj.link, pose, ())
        obj.pose = np.array(pose, dtype=float)
        self._write(obj)

    def remove(self, name: str) -> bool:
        """Remove an object; return whether it existed."""
        obj = self.objects.get(name)
        if obj is None:
            return False
        self._erase(obj)
        return True

    def clear(self, names: Collection[str] | None = None) -> None:
        """Remove all objects, or those of these names."""
        for name in list(self.objects) if names is None else names:
            self.remove(name)

    def attach(
        self, name: str, link: str, q: np.ndarray, touch: Collection[str] = ()
    ) -> None:
        """Attach an object to ``link`` at its pose at configuration ``q`` (nq,).

        Raises:
            LiveSceneError: there is no such object or link, or too much is carried.
            ConfigurationError: q is invalid.
        """
        obj = self._find(name)
        self._require(name, link, obj.pose, touch)
        poses = self.model.link_poses(q)
        pose = np.linalg.inv(poses[link]) @ poses[obj.link] @ obj.pose
        self._add(name, obj.geometry, link, pose, touch, obj.expires)

    def detach(self, name: str, q: np.ndarray) -> None:
        """Detach an object at its pose at configuration ``q``; it is then fixed to the root."""
        self.attach(name, self.model.root, q)

    def expire(self, now: float) -> list[str]:
        """Remove objects that have expired at ``now`` (seconds); return their names."""
        if now < self._next_expiry:
            return []
        gone = [obj.name for obj in self.objects.values() if obj.expires <= now]
        self.clear(gone)
        self._next_expiry = min((t.expires for t in self.objects.values()), default=math.inf)
        return gone

    def set_cloud(self, balls: np.ndarray) -> None:
        """Set the cloud of balls (n, 4), centre and radius in the base frame; it replaces the last.

        Raises:
            LiveSceneError: more than ``bounds.voxels`` balls, or a value that is not finite.
        """
        if not len(balls):
            self.remove(CLOUD)
            return
        if len(balls) > self.bounds.voxels:
            raise LiveSceneError(
                f"{CLOUD}: {len(balls)} voxels, but there is room for {self.bounds.voxels}"
            )
        rows = np.column_stack([balls[:, :3], balls])
        root = self.model.root
        pose = np.linalg.inv(self._poses[root]) if root in self._poses else _IDENTITY
        self.add(CLOUD, rows, root, pose)

    # -- queries -------------------------------------------------------------------------

    def prepare_exact(self) -> None:
        """Allocate and compile distances of shapes instead of leaves; this needs memory."""
        if self._exact is not None:
            return
        self._exact = ObjectDistance(self.model, self.bounds, self._room, self._pair_names)
        for obj in self.objects.values():
            self._write_shapes(obj)

    def _exact_distance(self) -> ObjectDistance:
        self.prepare_exact()
        self._update_tree()
        if self._exact_changes != self.changes:
            self._exact.use_pairs(self.pair_table)
            self._exact_changes = self.changes
        return self._exact

    @property
    def measured_by_leaves(self) -> list[str]:
        """Names of objects whose meshes do not fit into ``bounds.triangles``."""
        if self._exact is None:
            return []
        return [self._in_slot[slot].name for slot in self._exact.slots_by_leaves]

    def _pair_names(self, number: int) -> tuple[str, str]:
        one, other = self.pair_rows[number].tolist()
        return self.name_of(one), self.name_of(other)

    def minimum_distance(self, q: np.ndarray, exact: bool = False) -> Clearance:
        """Return the nearest of all pairs at ``q`` (nq,), those of the robot itself included.

        ``exact``: of shapes instead of leaves; see `LiveScene`. In contact, the deepest pair by
        leaves.

        Raises:
            ConfigurationError: q has a value that is not finite.
            NothingToCheckError: no pair is checked.
        """
        leaves = self._room.model_leaves
        if exact:
            found = self._exact_distance().queries.nearest(q, any_contact=True)
            if found.leaves[0] >= 0:
                found.leaves = leaves[found.leaves[0]], leaves[found.leaves[1]]
            return found
        result = query.distance(*self.arrays(), q)
        i, j = result[0], result[1]
        if i < 0:
            raise self.model.refusal(i, q)
        links = self._room.leaf_links
        names = self.name_of(links[i]), self.name_of(links[j])
        return Clearance(result[2], names, result[3:9], result[9:], (leaves[i], leaves[j]))

    def distance(self, q: np.ndarray, exact: bool = False) -> Clearance | None:
        """Like `minimum_distance`, of the pairs with objects only; None if there is none."""
        objects = self.objects.values()
        if not any(each.is_allowed.any() or self.partner_objects(each) for each in objects):
            return None
        with self._only_objects():
            return self.minimum_distance(q, exact)

    @contextmanager
    def _only_objects(self) -> Iterator[None]:
        """Leave out the robot's own pairs."""
        self._toggle_own_pairs()
        try:
            yield
        finally:
            self._toggle_own_pairs()

    def _toggle_own_pairs(self) -> None:
        self._room.toggle_own_pairs()
        if self._exact is not None:
            self._exact.forget_nearest()

    def exact_bounds(
        self,
        q: np.ndarray,
        pairs: np.ndarray,
        leaves: np.ndarray,
        within: float | np.ndarray,
        loose: float | np.ndarray = 1e-3,
        seconds: float = 0.0,
    ) -> np.ndarray:
        """Like `CollisionModel.exact_bounds`, for pairs of ``pair_table``."""
        return self._exact_distance().queries.bound(q, pairs, leaves, within, loose, seconds)

    def path_arrays(self) -> tuple[np.ndarray, ...]:
        """First arguments of kernels of `mesh_distance.nearest_query`, for distances on a path."""
        return self._exact_distance().path_arrays

    def distances(self, q: np.ndarray, within: float = -math.inf) -> np.ndarray:
        """Signed distances (len(pairs),) at ``q`` (nq,), metres, in the order of ``pairs``.

        Distances up to ``within`` metres are exact, unless shapes touch; see `LiveScene`.
        """
        pairs = [
            (len(self._links) + other.slot if isinstance(other, LiveObject) else other, obj.node)
            for obj, other in self._each_pair()
        ]
        out = np.empty(len(pairs))
        if pairs:
            self._update_tree()
            bad = object_slots.link_distances(
                self._room.numbers, self._room.index, q, np.array(pairs, dtype=np.int64),
                len(pairs), out,
            )  # fmt: skip
            if bad >= 0:
                raise self.model.refusal(-2 - bad, q)
        near = np.flatnonzero(out <= within)
        if len(near):
            numbers = [self.pair_number(*self._each_pair()[k]) for k in near.tolist()]
            out[near] = self.exact_bounds(q, numbers, out[near], math.inf, _TOLERANCE, math.inf)
        return out

    def segments(self, q: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """By name, end points (k, 2, 3) in the base frame and radii (k,) of all objects at q."""
        poses = self.model.link_poses(q)
        segments = {}
        for obj in self.objects.values():
            pose = poses[obj.link] @ obj.pose
            ends = obj.rows[:, :6].reshape(-1, 2, 3) @ pose[:3, :3].T + pose[:3, 3]
            segments[obj.name] = ends, obj.rows[:, 6]
        return segments

    # -- checks ----------------------------------------------------------------------------

    def _find(self, name: str) -> LiveObject:
        if name not in self.objects:
            raise LiveSceneError(f"{name}: no such object; there are {len(self.objects)}")
        return self.objects[name]

    def _require(
        self, name: str, link: str, pose: np.ndarray, touch: Collection[str]
    ) -> None:
        if not name or name != "".join(name.split()):
            raise LiveSceneError(f"{name!r}: name must be non-empty and contain no spaces")
        if name in self._links or name in self._bodies:
            raise LiveSceneError(f"{name}: a link or an obstacle of the scene file has this name")
        if link not in self._bodies:
            raise LiveSceneError(f"{name}: {link!r} is not a link of '{self.model.name}'")
        if isinstance(touch, str):
            raise LiveSceneError(f"{name}: touch: {touch!r} is not a list of names")
        _require_pose(name, pose)

    def _require_room(self, obj: LiveObject, known: LiveObject | None) -> None:
        """Raise an error if the object would not fit even after compaction."""
        if obj.body > 0:
            carried = [each for each in self.carried if each is not known]
            if len(carried) == self.bounds.carried:
                raise LiveSceneError(
                    f"{obj.name}: no room: links carry {self.bounds.carried} objects already"
                )
            leaves = len(obj.rows) + sum(len(each.rows) for each in carried)
            if leaves > self.bounds.carried_leaves:
                raise LiveSceneError(
                    f"{obj.name}: no room: attached objects would have {leaves} leaves; "
                    f"the maximum is {self.bounds.carried_leaves}"
                )
            return
        if obj.slot == 0:
            return  # a cloud has its own reserved range
        room = self._ranges.size - rounded(self.bounds.voxels)
        taken = self._leaves_in_use + rounded(len(obj.rows))
        if known is not None and known.carrier < 0:
            taken -= rounded(len(known.rows))
        if taken > room:
            raise LiveSceneError(
                f"{obj.name}: no room for its {len(obj.rows)} leaves: there are {room} in all"
            )

    # -- the packed model --------------------------------------------------------------------

    def _update_next_expiry(self, obj: LiveObject) -> None:
        self._next_expiry = min(self._next_expiry, obj.expires)

    def _insert(self, obj: LiveObject) -> None:
        if obj.slot > 0:
            self._free_slots.pop()
        self.objects[obj.name] = self._in_slot[obj.slot] = obj
        bodies = self._body_of_link
        obj.is_allowed = (bodies != obj.body) & self._links_not_exempt(obj)
        if obj.body > 0:
            self.carried.append(obj)
            self._rebuild_carried()
            return
        obj.leaf = self._allocate(len(obj.rows))
        self._leaves_in_use += rounded(len(obj.rows)) if obj.slot else 0
        self._write(obj)
        self._mark_pairs(obj)
        self._moved = math.inf
        self._notify(obj)

    def _links_not_exempt(self, obj: LiveObject) -> np.ndarray:
        allowed = np.ones(len(self._links), dtype=bool)
        for name in obj.touch:
            if name in self._links:
                allowed[self._links[name]] = False
        return allowed

    def _erase(self, obj: LiveObject) -> None:
        del self.objects[obj.name]
        self._in_slot[obj.slot] = None
        if obj.slot > 0:
            self._free_slots.append(obj.slot)
        row = len(self._links) + obj.slot
        self.pair_table[row, :] = self.pair_table[:, row] = -1
        if self._exact is not None:
            self._exact.remove(obj)
        if obj.carrier >= 0:
            self.carried.remove(obj)
            self._rebuild_carried()
            return
        self._roots[obj.slot] = 0
        self._leaves_in_use -= rounded(len(obj.rows)) if obj.slot else 0
        self._ranges.give_back(obj.leaf - self._room.first_live_leaf, len(obj.rows))
        self._moved, self._is_current = math.inf, False
        self._notify(obj)

    def _allocate(self, count: int) -> int:
        """Allocate ``count`` leaves and return the first; compacts the objects if necessary."""
        first = self._ranges.take(count)
        if first < 0:
            self._ranges.clear()
            # The new object has no leaves yet.
            fixed = [each for each in self.objects.values() if each.carrier < 0 <= each.leaf]
            if self._exact is not None:
                for each in fixed:  # no place may count as that of an object that has left it
                    self._exact.remove(each)
            for each in sorted(fixed, key=lambda each: -len(each.rows)):
                each.leaf = self._room.first_live_leaf + self._ranges.take(len(each.rows))
                self._write(each)
                self._mark_pairs(each)
            first = self._ranges.take(count)
        return self._room.first_live_leaf + first

    def _write(self, obj: LiveObject) -> None:
        """Write the leaves, tree and boxes of an object at its present place."""
        if obj.carrier >= 0:
            self._put(obj)
            self._notify(None)  # the extent of the object changed
            return
        obj.node = self._room.first_live_node + 2 * (obj.leaf - self._room.first_live_leaf)
        self._roots[obj.slot] = obj.node, obj.nodes
        self._put(obj)
        self._moved, self._is_current = self._moved + 1, False

    def _put(self, obj: LiveObject) -> None:
        room, row = self._room, len(self._links) + obj.slot
        object_slots.put(
            room.numbers, room.index, room.leaf_links, obj.rows,
            _row_of(self._poses[obj.link] @ obj.pose), obj.body, row, obj.leaf, obj.node,
        )  # fmt: skip
        self._stamp += 1
        self.stamps[row], self.part_counts[row] = self._stamp, obj.geometry.part_count
        self._write_shapes(obj)

    def _write_shapes(self, obj: LiveObject) -> None:
        if self._exact is not None:
            self._exact.put(obj, self._poses[obj.link] @ obj.pose)

    def _mark_pairs(self, obj: LiveObject) -> None:
        """Mark the pairs of an object with links and with carried objects, and number them."""
        room, links = self._room, len(self._links)
        row, first = links + obj.slot, self.pair_number(obj, 0)
        numbers = np.where(obj.is_allowed, np.arange(first, first + links), -1)
        self.pair_table[row, :links] = self.pair_table[:links, row] = numbers
        first_carried = room.first_carried_node
        partners = np.zeros(room.nothing, dtype=np.uint8)
        partners[:first_carried] = room.nodes_above(obj.is_allowed, 0, first_carried)
        # Nodes above several carried objects are checked against everything.
        partners[0] = partners[first_carried : first_carried + len(self.carried) - 1] = 1
        for other in self.carried:
            if self._is_checked(obj, other):
                partners[other.node : other.node + other.nodes] = 1
                place = links + other.slot
                number = self.pair_number(obj, other)
                self.pair_table[row, place] = self.pair_table[place, row] = number
        object_slots.open_range(
            room.index, partners, 0, room.view.moving_nodes, obj.node, obj.nodes
        )
        if obj.carrier >= 0:
            room.open_fixed(obj.node, obj.nodes, obj.is_allowed)

    def _rebuild_carried(self) -> None:
        """Rebuild leaves and trees of all carried objects, and the pairs of all objects."""
        room, count = self._room, len(self.carried)
        leaf, first = room.first_carried_leaf, room.first_carried_node
        above = max(count - 1, 0)  # nodes above their trees
        node = first + above
        for k, obj in enumerate(self.carried):
            obj.carrier, obj.leaf, obj.node = k, leaf, node
            leaf += len(obj.rows)
            node += obj.nodes
        room.view.nodes[first] = -1, 0
        if count:
            self._build_tree_above(first, [obj.node for obj in self.carried])
        room.set_moving(leaf - room.first_carried_leaf, node - first)
        room.close_carried(above)
        links = len(self._links)
        self.pair_table[links:, links:] = -1
        self._number_carried_pairs()
        for obj in self.carried:
            self._put(obj)
        for obj in self.objects.values():
            self._mark_pairs(obj)
        self._moved, self._is_current = math.inf, False
        self._notify(None)

    def _number_carried_pairs(self) -> None:
        """Update the slots of the pairs of two objects."""
        links, slots = len(self._links), len(self._in_slot)
        pairs = self.pair_rows
        for obj in self.carried:
            first = self._first_of_carried + obj.carrier * slots
            pairs[first : first + slots, 0] = links + obj.slot
            pairs[first : first + slots, 1] = np.arange(links, links + slots)
        if self._exact is not None:
            self._exact.forget(np.s_[self._first_of_carried :])

    def _build_tree_above(self, node: int, roots: Sequence[int]) -> None:
        if len(roots) == 1:
            return
        half = (len(roots) + 1) // 2
        parts = []
        for first, part in ((node + 1, roots[:half]), (node + half, roots[half:])):
            parts.append(part[0] if len(part) == 1 else first)
            self._build_tree_above(first, part)
        self._room.view.nodes[node] = parts

    def _update_tree(self) -> None:
        """Rebuild or refit the tree over all objects on the base, if needed."""
        if self._is_current:
            return
        room = self._room
        count = len(self.objects) - len(self.carried)
        if self._moved > 4 + count // 8:
            root = -1
            if count:
                root = object_slots.lay_top(
                    room.numbers, room.index, self._roots[self._roots[:, 1] > 0], count,
                    room.top_node, self._keys, self._order,
                )  # fmt: skip
            room.set_roots(root)
            self._moved = 0
        object_slots.refit_top(room.numbers, room.index, room.top_node, count)
        self._is_current = True

    def _compile(self) -> None:
        """Run everything once, so that no joint state waits for the compiler."""
        q = np.clip(np.zeros(len(self.model.joint_names)), self.model.lower, self.model.upper)
        ball = np.array([[0.0] * 6 + [0.001]])
        moving = next(n for n in self._bodies if self._bodies[n] > 0)
        name = "/".join(self._links) + "/"  # an unused name
        self.add(name, ball)
        self.distances(q)
        self.move(name, np.eye(4))
        self.distance(q)
        self.remove(name)
        self.add(name, ball, moving)
        self.distance(q)
        self.clear()


def _leaf_rows(name: str, leaves: np.ndarray) -> np.ndarray:
    """Return ``leaves``; raise an error unless their shape is (k, 7)."""
    if leaves.ndim != 2 or leaves.shape[1] != 7 or not len(leaves):
        raise LiveSceneError(f"{name}: leaves have shape {leaves.shape}, not (k, 7)")
    if not (np.isfinite(leaves).all() and (leaves[:, 6] >= 0.0).all()):
        raise LiveSceneError(f"{name}: its leaves are not finite, or a radius is below 0 m")
    if problem := array_range_problem(leaves):
        raise LiveSceneError(f"{name}: its leaves: {problem}")
    return leaves


def _row_of(pose: np.ndarray) -> np.ndarray:
    """Convert a pose (4, 4) to (12,): rotation row by row, then translation."""
    row = np.empty(12)
    row[:9], row[9:] = pose[:3, :3].ravel(), pose[:3, 3]
    return row


def _require_pose(name: str, pose: np.ndarray) -> None:
    """Raise an error unless ``pose`` (4, 4) is a rigid transform."""
    if np.shape(pose) != (4, 4):
        raise LiveSceneError(f"{name}: its pose has shape {np.shape(pose)}, not (4, 4)")
    (a, b, c, x), (d, e, f, y), (g, h, i, z), _ = pose.tolist()
    if not math.isfinite(a + b + c + d + e + f + g + h + i + x + y + z):
        raise LiveSceneError(f"{name}: its pose is not finite")
    if problem := range_problem(max(abs(x), abs(y), abs(z))):
        raise LiveSceneError(f"{name}: its position: {problem}")
    off = max(
        abs(a * a + b * b + c * c - 1.0), abs(d * d + e * e + f * f - 1.0),
        abs(g * g + h * h + i * i - 1.0), abs(a * d + b * e + c * f), abs(a * g + b * h + c * i),
        abs(d * g + e * h + f * i),
    )  # fmt: skip
    volume = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    if off > _RIGID or volume < 0.0:
        raise LiveSceneError(f"{name}: its pose is not a rigid transform")


def _is_replaceable(known: LiveObject, obj: LiveObject) -> bool:
    """Whether an object can replace another in place: only shape and pose differ."""
    return (
        known.link == obj.link
        and known.touch == obj.touch
        and len(known.rows) == len(obj.rows)
    )
