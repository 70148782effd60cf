# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Exact distances of a robot and the objects of its live scene.

Each slot for an object is a link of the exact shapes (`mesh_distance.parts`). There is a part for
each leaf of an object; an object uses one for each of its solids, and one for all of its meshes.
The trees of meshes share memory that is reserved at the start, in units of one triangle.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.mesh_distance import parts
from collision_monitor.mesh_distance.mesh_distance import ExactDistance, ExactShapes, LinkShapes
from collision_monitor.mesh_distance.mesh_tree import KINDS, Hierarchy, columns_of
from collision_monitor.mesh_distance.parts import (
    MESH,
    SOLID,
    Part,
    balls_of_solids,
    box_around,
    extents_of_solids,
    parts_of,
    volumes_of_solids,
)
from collision_monitor.model.live.live_objects import Bounds, LiveObject, Room, rounded
from collision_monitor.model.live.object_geometry import ObjectGeometry, Solids, solids_of_leaves
from collision_monitor.robot.description import Shape
from collision_monitor.robot.poses import pose_rows

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

# Integers of a unit: two nodes, a slot and a name, as in `mesh_tree`. A tree has one unit more than
# that, for its header.
_INTEGERS = 2 * 2 + 1 + 1
# A triangle is in several leaves of an octree: units of a triangle.
_OCTREE = 6


@dataclass
class _PlacedMesh:
    """A mesh, the part that it is, and its range of units."""

    mesh: Part
    part: int
    first: int
    count: int


def _units_of(mesh: Part) -> int:
    """Number of units that a mesh takes."""
    _, nodes, slots, triangles = mesh.tree[1][:4].tolist()
    return 1 + max(-(-nodes // 2), slots, triangles, len(mesh.probes))


class ObjectDistance:
    """The exact distances of a robot and its objects.

    Attributes:
        queries: the queries.
        path_arrays: first arguments of the kernels of `nearest_query`, for queries elsewhere than
            those of ``queries``: successive queries should be near each other.
    """

    def __init__(
        self,
        model: CollisionModel,
        bounds: Bounds,
        room: Room,
        names: Callable[[int], tuple[str, str]],
    ) -> None:
        """Build everything, and compile the queries.

        Args:
            model: the robot.
            bounds: capacity of the scene.
            room: its packed model; the scene changes pairs of two objects.
            names: returns both names of a pair.
        """
        self._hierarchy = model.exact_shapes.hierarchy
        self._kind = Hierarchy.parse(self._hierarchy).kind
        self._room = room
        self._units = bounds.triangles * (_OCTREE if self._kind == "octree" else 1)
        self._units += bounds.objects + 1  # for the headers
        free = parts_of([Shape("sphere", np.eye(4), (1.0,))], self._hierarchy)
        counts = [rounded(bounds.voxels) + bounds.carried_leaves]
        counts += [rounded(bounds.leaves_per_object)] * bounds.objects
        free_of_slots = [free * count for count in counts]
        free_of_slots[-1].append(self._reserved(free[0]))
        slots = {
            f"slot {k}": LinkShapes((), 0, np.eye(4), some) for k, some in enumerate(free_of_slots)
        }
        links = model.exact_shapes.links()
        shapes = ExactShapes({**links, **slots}, room.leaf_links, self._hierarchy)
        # Weak: a reference cycle would be freed only by garbage collection.
        names = weakref.WeakMethod(names)
        self.queries = ExactDistance(
            shapes, (room.numbers, room.index), room.view.pairs, lambda k: names()(k),
            model.refusal,
        )  # fmt: skip
        self._pairs, self._first_slot = room.view.pairs, len(links)
        self._path_state = parts.new_state(len(shapes.names), room.view.pairs, shapes.nodes)
        arrays = self.queries.arrays
        self.path_arrays = (*arrays[:4], *self._path_state, arrays[-1])
        self._numbers, self._index = shapes.arrays()
        self._shapes = parts.windows(self._numbers, self._index)
        self._shapes.links[self._first_slot :, 2] = 0  # no object yet
        self._first_part = int(self._shapes.links[self._first_slot, 1])
        self._free_parts = self._shapes.parts.copy()
        # The trees of free parts are equal and consecutive; each begins with its volume.
        first, size = self._shapes.parts[self._first_part, 1], len(free[0].tree[0])
        columns = volumes_of_solids(self._kind, free[0].solid[None]).shape[1]
        count = sum(counts)
        self._volumes = self._numbers[first : first + size * count].reshape(count, size)[
            :, :columns
        ]
        self._written: dict[int, tuple[ObjectGeometry, int]] = {}  # and first part, by slot
        self._meshes: dict[int, _PlacedMesh] = {}  # by slot
        # Libraries that trees need are imported now, not when a mesh arrives.
        triangle = Shape("mesh", np.eye(4), (), np.eye(3), np.arange(3)[None])
        ObjectGeometry.of_shape(triangle, 1).mesh_part(self._hierarchy)

    def _reserved(self, free: Part) -> Part:
        """A part with room for the trees of all meshes; ``free`` is any solid."""
        columns, units = columns_of(KINDS[self._kind]), self._units
        # Numbers of a unit: two nodes, each with a volume and two reaches, and three corners.
        self._floats = 2 * (columns + 2) + 9
        index = np.zeros(_INTEGERS * units, dtype=np.int64)
        index[1] = 2 * units  # nodes
        return Part(
            SOLID, (np.zeros(self._floats * units), index), free.ball, free.place, free.solid,
            np.zeros(units, dtype=np.int64), free.box, np.zeros((units, 3)),
        )  # fmt: skip

    # -- objects --

    def put(self, obj: LiveObject, pose: np.ndarray) -> None:
        """Write an object at ``pose`` (4, 4) in the frame of its body."""
        shapes, row = self._shapes, self._first_slot + obj.slot
        first = self._first_part + self._place_of(obj)
        shapes.frames[row] = pose_rows(pose[None])
        geometry, at = self._written.get(obj.slot, (None, -1))
        has_room_now = geometry is not None and self._has_room_now(obj.slot, geometry)
        if first != at or not obj.geometry.is_same(geometry) or has_room_now:
            shapes.links[row, 1:] = first, self._write(obj.slot, obj.geometry, first)
            self._written[obj.slot] = obj.geometry, first
            self.forget((self._pairs[:, 0] == row) | (self._pairs[:, 1] == row))
        shapes.links[row, 0] = obj.body
        self._forget_nearest()

    def remove(self, obj: LiveObject) -> None:
        """Free the parts of an object."""
        self._written.pop(obj.slot, None)
        self._meshes.pop(obj.slot, None)
        self._shapes.links[self._first_slot + obj.slot, 2] = 0
        self._forget_nearest()

    @property
    def slots_by_leaves(self) -> list[int]:
        """Slots of objects whose meshes do not fit, so that they are measured by their leaves."""
        return [
            slot
            for slot, (geometry, _) in self._written.items()
            if geometry.meshes and slot not in self._meshes
        ]

    def _place_of(self, obj: LiveObject) -> int:
        """Position of an object's first leaf among those of all objects, fixed ones first."""
        if obj.carrier < 0:
            return obj.leaf - self._room.first_live_leaf
        return self._room.live_leaves + obj.leaf - self._room.first_carried_leaf

    def _write(self, slot: int, geometry: ObjectGeometry, first: int) -> int:
        """Write the parts of an object from ``first`` on; return their number."""
        self._meshes.pop(slot, None)
        mesh, solids = geometry.mesh_part(self._hierarchy), geometry.solids
        count = len(solids.rows)
        if mesh is not None and not self._put_mesh(slot, mesh, first + count):
            mesh, solids = None, solids_of_leaves(geometry.rows)
            count = len(solids.rows)
        extents = self._write_solids(solids, first)
        if mesh is not None:
            extents = np.vstack([extents, mesh.extent])
        self._shapes.extents[self._first_slot + slot] = box_around(extents)
        return count + (mesh is not None)

    def _write_solids(self, solids: Solids, first: int) -> np.ndarray:
        """Write solids from part ``first`` on; return their extents (k, 6)."""
        shapes, (solid_rows, places) = self._shapes, solids
        if not len(solid_rows):
            return np.empty((0, 6))
        here = slice(first, first + len(solid_rows))
        shapes.parts[here] = self._free_parts[here]
        shapes.solids[here], shapes.places[here] = solid_rows, pose_rows(places)
        shapes.balls[here] = balls_of_solids(solid_rows, places[:, :3, 3])
        shapes.probes[shapes.parts[here, 6]] = places[:, :3, 3]
        volumes = volumes_of_solids(self._kind, solid_rows)
        self._volumes[first - self._first_part :][: len(solid_rows)] = volumes
        return extents_of_solids(solid_rows, places)

    # -- meshes --

    def _has_room_now(self, slot: int, geometry: ObjectGeometry) -> bool:
        """Whether a mesh that is measured by its leaves would fit."""
        if slot in self._meshes or (mesh := geometry.mesh_part(self._hierarchy)) is None:
            return False
        return _units_of(mesh) <= self._free_units

    @property
    def _free_units(self) -> int:
        return self._units - sum(each.count for each in self._meshes.values())

    def _put_mesh(self, slot: int, mesh: Part, part: int) -> bool:
        """Copy a mesh to free units, as part ``part``; return False if they are too few."""
        count = _units_of(mesh)
        if count > self._free_units:
            return False
        others = sorted(self._meshes.values(), key=lambda each: each.first)
        first = 0
        for each in others:
            if each.first - first >= count:
                break
            first = each.first + each.count
        if first + count > self._units:  # the free units are apart
            first = 0
            for each in others:
                each.first = first
                self._copy(each)
                first += each.count
        self._meshes[slot] = _PlacedMesh(mesh, part, first, count)
        self._copy(self._meshes[slot])
        return True

    def _copy(self, placed: _PlacedMesh) -> None:
        """Copy a mesh to its units."""
        shapes, mesh = self._shapes, placed.mesh
        numbers, index = mesh.tree
        # The first number, integer, node, row and probe of the reserved part, and of the mesh.
        reserved = self._free_parts[-1, [1, 2, 3, 4, 6]]
        begin = reserved + placed.first * np.array([self._floats, _INTEGERS, 2, 1, 1])
        first_number, first_index, _, row, probe = begin.tolist()
        self._numbers[first_number : first_number + len(numbers)] = numbers
        self._index[first_index : first_index + len(index)] = index
        shapes.closed[row : row + len(mesh.closed), 0] = mesh.closed
        shapes.probes[probe : probe + len(mesh.probes)] = mesh.probes
        k = placed.part
        shapes.parts[k] = MESH, *begin[:4], mesh.closed.any(), probe, len(mesh.probes)
        shapes.balls[k], shapes.boxes[k], shapes.solids[k] = mesh.ball, mesh.box, mesh.solid
        shapes.places[k] = pose_rows(mesh.place[None])

    # -- pairs --

    def use_pairs(self, table: np.ndarray) -> None:
        """Update the numbers of pairs, and the link of each leaf."""
        parts.pair_table(self.queries.state[1])[:] = table
        self._shapes.leaf_links[:, 0] = self._room.leaf_links

    def forget(self, which: np.ndarray | slice) -> None:
        """Forget the results of some pairs, because their numbers now refer to other pairs."""
        parts.forget_pairs(*self.queries.state, which)
        parts.forget_pairs(*self._path_state, which)

    def _forget_nearest(self) -> None:
        """Forget which pair was nearest, because other pairs are checked now."""
        self.queries.state[1][-2] = -1  # ``last`` of `parts.State`
