# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""LiveScene: objects around a robot that are added, moved and removed while it is monitored."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any
from weakref import WeakMethod

import numpy as np

from collision_monitor.common.limits import array_range_problem
from collision_monitor.errors import FitError, LiveSceneError, NothingToCheckError
from collision_monitor.hierarchy import query
from collision_monitor.hierarchy.query import Clearance
from collision_monitor.model.leaf_queries import existing_pairs
from collision_monitor.model.live.live_objects import Bounds, LiveObject
from collision_monitor.model.live.object_distance import ObjectDistance
from collision_monitor.model.live.object_geometry import ObjectGeometry
from collision_monitor.model.live.packed_objects import PackedObjects
from collision_monitor.robot.description import Shape
from collision_monitor.robot.poses import pose_problem
from collision_monitor.robot.shape_kinds import size_problem

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

CLOUD = "cloud"  # name of the point cloud among the objects

_IDENTITY = np.eye(4)
_TOLERANCE = 1e-6  # metres; tolerated error of a bound for an exact distance


class LiveScene:
    """Objects on the links of one robot: added, moved and removed in microseconds.

    Objects are checked against the links of the robot and the obstacles of its scene file that can
    move relative to them. Two objects are checked against each other if one of them is carried.
    Objects on the same rigid body, and pairs that may touch, are not checked. Leaves enclose the
    objects, so that their distances are never too large. Where they are near, exact distances are
    those of the shapes and triangles. Objects given by leaves, such as clouds, and those whose
    meshes have no room (``measured_by_leaves``) are measured by their leaves.

    The packed model also has the pairs of the robot itself, which come first:
    `exact_bounds` and the tables of pairs are about all of them, ``pairs``, `distance` and
    `distances` about those with objects. A scene contains the work space of its queries: it is for
    one thread.

    Rows of tables are the links of the model, followed by a slot for each object. An object that is
    added, moved or removed costs microseconds, however many others there are (`PackedObjects`).

    Attributes:
        model: the robot.
        bounds: capacity.
        objects: by name.
        changes: number of changes of the set of pairs.
        leaf_links: (leaves,) row of each leaf.
        pair_rows: (numbers, 2) both rows of each pair: of the model, then of objects, checked or
            not.
        pair_table: (rows, rows) number of each pair, -1 for pairs that are not checked.
        carried: objects on moving links; an object's ``carrier`` is its index here.
        stamps: (rows,) a number that is new whenever an object was added, moved or changed.
        part_counts: (rows,) of objects, the number of parts that exact distances measure.
        most_moving_leaves: how many leaves may ever move, those of carried objects among them.
    """

    def __init__(self, model: CollisionModel, bounds: Bounds | None = None) -> None:
        """Allocate the arrays and compile the kernels.

        Raises:
            LiveSceneError: no link of the robot moves.
        """
        self.model = model
        self.bounds = Bounds() if bounds is None else bounds
        if not model.moving_links:
            raise LiveSceneError(f"'{model.name}' has no link with a shape that moves")
        self.objects: dict[str, LiveObject] = {}
        self._links = model.link_rows
        self._bodies, self._poses = model.bodies.link_bodies, model.bodies.link_poses
        self._packed = packed = PackedObjects(model, self.bounds)
        self.carried, self.stamps, self.part_counts = (
            packed.carried, packed.stamps, packed.part_counts
        )  # fmt: skip
        self.pair_table, self.pair_rows = packed.pairs.table, packed.pairs.rows
        self.leaf_links = packed.room.leaf_links
        self.most_moving_leaves = packed.room.first_fixed_leaf
        self._next_expiry = math.inf
        self._listeners: list[WeakMethod] = []
        self.changes = 0
        self._cached_pairs = -1, np.empty(0, dtype=np.int64)
        self._exact_changes = -1
        _compile(self)

    # -- content -----------------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        """Whether there are no objects, so that no query is needed."""
        return not self.objects

    @property
    def has_free_slot(self) -> bool:
        """Whether there may be one more object."""
        return len(self.objects) - (CLOUD in self.objects) < self.bounds.objects

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """(numbers, index) of the packed model, after all pending changes."""
        return self._packed.arrays()

    def row_of(self, name: str) -> int:
        """Row of a link or object."""
        obj = self.objects.get(name)
        return self._links[name] if obj is None else len(self._links) + obj.slot

    def name_of(self, row: int) -> str:
        """Name of a link, or of the object in a slot."""
        names = self.model.link_names
        return names[row] if row < len(names) else self._packed.in_slot[row - len(names)].name

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

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """All checked pairs, each once: link and object, or object and object."""
        return list(map(self._pair_names, self._pair_numbers().tolist()))

    def _pair_numbers(self) -> np.ndarray:
        """Numbers of all checked pairs, each once."""
        if self._cached_pairs[0] != self.changes:
            of_objects = self.pair_table[len(self._links) :]
            self._cached_pairs = self.changes, np.unique(of_objects[of_objects >= 0])
        return self._cached_pairs[1]

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
        geometry = _geometry_of(name, shape, self.bounds.leaves_per_object)
        link = self.model.root if link is None else link
        pose = _numbers(name, "pose", pose)
        _require_placed(name, link, pose, touch, self.model)
        if math.isnan(expires):
            raise LiveSceneError(f"{name}: expires: {expires!r} is not a time in seconds")
        _require_leaves(name, geometry.rows)
        if geometry.part_count > len(geometry.rows):
            raise LiveSceneError(
                f"{name}: {len(geometry.rows)} leaves cannot enclose {geometry.part_count} parts; "
                "each part needs one"
            )
        known = self.objects.get(name)
        obj = LiveObject(name, link, pose, geometry, frozenset(touch), expires, self._bodies[link])
        if known is not None and _is_replaceable(known, obj):
            known.geometry, known.pose, known.expires = geometry, obj.pose, expires
            self._write(known)
            self._next_expiry = min(self._next_expiry, expires)
            return
        if name == CLOUD:
            obj.slot = 0
        elif known is not None:
            obj.slot = known.slot
        elif not self.has_free_slot:
            raise LiveSceneError(
                f"{name}: no room: there are {self.bounds.objects} objects already"
            )
        self._packed.require_room(obj, known)
        if known is not None:
            self._erase(known)
        self._packed.pairs.allow(obj, self.model.body_numbers)
        self.objects[name] = obj
        self._packed.insert(obj)
        self._notify(None if obj.carrier >= 0 else obj)
        self._next_expiry = min(self._next_expiry, expires)

    def _write(self, obj: LiveObject) -> None:
        self._packed.write(obj)
        if obj.carrier >= 0:
            self._notify(None)  # the extent of the object changed

    def _erase(self, obj: LiveObject) -> None:
        del self.objects[obj.name]
        self._packed.erase(obj)
        self._notify(None if obj.carrier >= 0 else obj)

    def move(self, name: str, pose: np.ndarray) -> None:
        """Set the ``pose`` (4, 4) of an object in the frame of its link.

        Raises:
            LiveSceneError: there is no such object, or the pose is invalid.
        """
        obj, pose = self._find(name), _numbers(name, "pose", pose)
        _require_placed(name, obj.link, pose, (), self.model)
        obj.pose = pose
        self._write(obj)

    def remove(self, name: str) -> bool:
        """Remove an object; return whether it existed."""
        obj = self.objects.get(name)
        if obj is None:
            return False
        self._erase(obj)
        return True

    def clear(self, names: Collection[str] | None = None) -> None:
        """Remove all objects, or those of these names.

        Raises:
            LiveSceneError: ``names`` is a text instead of several.
        """
        if isinstance(names, str):
            raise LiveSceneError(f"clear: {names!r} is not a list of names")
        for name in list(self.objects) if names is None else names:
            self.remove(name)

    def attach(self, name: str, link: str, q: np.ndarray, touch: Collection[str] = ()) -> None:
        """Attach an object to ``link`` at its pose at configuration ``q`` (nq,).

        Raises:
            LiveSceneError: there is no such object or link, or too much is carried.
            ConfigurationError: q is invalid.
        """
        obj = self._find(name)
        pose = self.pose_on(name, link, obj.link, obj.pose, q)
        self.add(name, obj.geometry, link, pose, touch, obj.expires)

    def pose_on(
        self, name: str, link: str, frame: str, pose: np.ndarray, q: np.ndarray
    ) -> np.ndarray:
        """Return the pose (4, 4) on ``link`` of an object with ``pose`` on the link ``frame``.

        Raises:
            LiveSceneError: there is no such link, or the name or pose is invalid.
            ConfigurationError: q (nq,) is invalid.
        """
        for each in (frame, link):
            _require_placed(name, each, pose, (), self.model)
        poses = self.model.link_poses(q)
        return np.linalg.inv(poses[link]) @ poses[frame] @ pose

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
        balls = _numbers(CLOUD, "balls", balls)
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
        self._packed.prepare_exact(self._pair_names)

    def _exact_distance(self) -> ObjectDistance:
        exact = self._packed.prepare_exact(self._pair_names)
        self.arrays()
        if self._exact_changes != self.changes:
            exact.use_pairs(self.pair_table)
            self._exact_changes = self.changes
        return exact

    @property
    def measured_by_leaves(self) -> list[str]:
        """Names of objects whose meshes do not fit into ``bounds.triangles``."""
        exact = self._packed.exact
        slots = [] if exact is None else exact.slots_by_leaves
        return [self._packed.in_slot[slot].name for slot in slots]

    def _pair_names(self, number: int) -> tuple[str, str]:
        one, other = self.pair_rows[number].tolist()
        return self.name_of(one), self.name_of(other)

    def distance(self, q: np.ndarray, exact: bool = False) -> Clearance | None:
        """Return the nearest of the pairs with objects at ``q`` (nq,); None if there is none.

        ``exact``: of shapes instead of leaves; see `LiveScene`. In contact, the deepest pair by
        leaves.

        Raises:
            ConfigurationError: q has the wrong shape or a value that is not finite.
        """
        leaves, q = self._packed.room.model_leaves, self.model.configuration(q)
        if exact:
            try:
                nearest = self._exact_distance().queries.nearest(q, any_contact=True)
            except NothingToCheckError:
                return None
            if nearest.leaves[0] >= 0:
                nearest.leaves = leaves[nearest.leaves[0]], leaves[nearest.leaves[1]]
            return nearest
        result = query.distance(*self.arrays(), q)
        i, j = result[0], result[1]
        if i == -1:
            return None
        if i < 0:
            raise self.model.refusal(i, q)
        links = self.leaf_links
        names = self.name_of(links[i]), self.name_of(links[j])
        return Clearance(result[2], names, result[3:9], result[9:], (leaves[i], leaves[j]))

    def exact_bounds(
        self,
        q: np.ndarray,
        pairs: np.ndarray,
        leaves: np.ndarray,
        within: float | np.ndarray,
        loose: float | np.ndarray = 1e-3,
        near: float | np.ndarray = np.inf,
        seconds: float = 0.0,
    ) -> np.ndarray:
        """Like `CollisionModel.exact_bounds`, for pairs of ``pair_table``."""
        q, pairs = self.model.configuration(q), existing_pairs(pairs, len(self.pair_rows))
        queries = self._exact_distance().queries
        return queries.bound(q, pairs, leaves, within, loose, near, seconds)

    def surface_points(
        self, q: np.ndarray, pairs: np.ndarray, limits: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Like `CollisionModel.surface_points`, for pairs of ``pair_table``."""
        q, pairs = self.model.configuration(q), existing_pairs(pairs, len(self.pair_rows))
        return self._exact_distance().queries.points(q, pairs, limits)

    def path_arrays(self) -> tuple[np.ndarray, ...]:
        """First arguments of kernels of `mesh_distance.nearest_query`, for distances on a path."""
        return self._exact_distance().path_arrays

    def distances(self, q: np.ndarray, within: float = -math.inf) -> np.ndarray:
        """Signed distances (len(pairs),) at ``q`` (nq,), metres, in the order of ``pairs``.

        Distances up to ``within`` metres are exact, unless shapes touch; see `LiveScene`.

        Raises:
            ConfigurationError: q has the wrong shape or a value that is not finite.
        """
        q, numbers = self.model.configuration(q), self._pair_numbers()
        out = np.empty((1, len(numbers)))
        if not len(numbers):
            return out[0]
        bad = query.pair_distances(*self.arrays(), q[None], self.pair_rows[numbers], out)
        if bad >= 0:
            raise self.model.refusal(-2 - query.first_bad(q), q)
        out = out[0]
        near = np.flatnonzero(out <= within)
        if len(near):
            out[near] = self.exact_bounds(
                q, numbers[near], out[near], math.inf, _TOLERANCE, seconds=math.inf
            )
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


def _geometry_of(
    name: str, shape: Shape | ObjectGeometry | np.ndarray, most: int
) -> ObjectGeometry:
    """The geometry of an object of at most ``most`` leaves."""
    if isinstance(shape, ObjectGeometry):
        return shape
    if not isinstance(shape, Shape):
        return ObjectGeometry.of_leaves(_numbers(name, "leaves", shape))
    if problem := size_problem(shape) or pose_problem(shape.pose):
        raise LiveSceneError(f"{name}: its {problem}")
    try:
        return ObjectGeometry.of_shape(shape, most)
    except FitError as error:
        raise LiveSceneError(f"{name}: {error}") from None


def _numbers(name: str, what: str, values: Any) -> np.ndarray:
    """A copy of ``values`` as an array of numbers."""
    try:
        return np.array(values, dtype=float, order="C")
    except (TypeError, ValueError) as error:
        raise LiveSceneError(f"{name}: its {what}: {error}") from None


def _require_leaves(name: str, leaves: np.ndarray) -> None:
    """Raise an error unless ``leaves`` are (k, 7) valid numbers."""
    if leaves.ndim != 2 or leaves.shape[1] != 7 or not len(leaves):
        raise LiveSceneError(f"{name}: leaves have shape {leaves.shape}, not (k, 7)")
    if not (np.isfinite(leaves).all() and (leaves[:, 6] >= 0.0).all()):
        raise LiveSceneError(f"{name}: its leaves are not finite, or a radius is below 0 m")
    if problem := array_range_problem(leaves):
        raise LiveSceneError(f"{name}: its leaves: {problem}")


def _require_placed(
    name: str, link: str, pose: np.ndarray, touch: Collection[str], model: CollisionModel
) -> None:
    """Raise an error unless an object may have these properties."""
    links = model.bodies.link_bodies
    if not name or name != "".join(name.split()):
        raise LiveSceneError(f"{name!r}: name must be non-empty and contain no spaces")
    if name in links or name in model.link_names:
        raise LiveSceneError(f"{name}: a link or an obstacle of the scene file has this name")
    if link not in links:
        raise LiveSceneError(f"{name}: {link!r} is not a link of '{model.name}'")
    if isinstance(touch, str):
        raise LiveSceneError(f"{name}: touch: {touch!r} is not a list of names")
    if problem := pose_problem(pose):
        raise LiveSceneError(f"{name}: its {problem}")


def _is_replaceable(known: LiveObject, obj: LiveObject) -> bool:
    """Whether an object can replace another in place: only shape and pose differ."""
    return known.link == obj.link and known.touch == obj.touch and len(known.rows) == len(obj.rows)


def _compile(scene: LiveScene) -> None:
    """Run everything once, so that no joint state waits for the compiler."""
    model = scene.model
    q = np.clip(np.zeros(len(model.joint_names)), model.lower, model.upper)
    ball = np.array([[0.0] * 6 + [0.001]])
    name = "/".join(model.link_names) + "/"  # an unused name
    scene.add(name, ball)
    scene.distances(q)
    scene.move(name, np.eye(4))
    scene.distance(q)
    scene.remove(name)
    moving = next(n for n, body in model.bodies.link_bodies.items() if body > 0)
    scene.add(name, ball, moving)
    scene.distance(q)
    scene.clear()
