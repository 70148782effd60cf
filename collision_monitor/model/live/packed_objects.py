# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The objects of a live scene in its packed model: leaves, trees, shapes and pairs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.common.compiled import kernel
from collision_monitor.errors import LiveSceneError
from collision_monitor.hierarchy.aabb_tree import STACK, refit
from collision_monitor.hierarchy.link_balls import set_link_ball, set_reaches
from collision_monitor.hierarchy.packed import unpack
from collision_monitor.model.live.live_objects import Bounds, LiveObject, Ranges, Room, rounded
from collision_monitor.model.live.object_distance import ObjectDistance
from collision_monitor.robot.poses import pose_rows

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel


@kernel
def _build_balanced_tree(nodes, node, leaf, count, bit):
    """Build a balanced tree over ``count`` consecutive leaves; its root is ``node``.

    A parent precedes its children, and its left half follows directly: n leaves need 2 n - 1 nodes.
    """
    tops, firsts = np.empty(STACK, np.int64), np.empty(STACK, np.int64)
    counts = np.empty(STACK, np.int64)
    tops[0], firsts[0], counts[0] = node, leaf, count
    waiting = 1
    while waiting > 0:
        waiting -= 1
        top, first, many = tops[waiting], firsts[waiting], counts[waiting]
        nodes[top, 2] = bit
        if many == 1:
            nodes[top, 0], nodes[top, 1] = -1, first
            continue
        half = (many + 1) // 2
        nodes[top, 0], nodes[top, 1] = top + 1, top + 2 * half
        tops[waiting], firsts[waiting], counts[waiting] = top + 1, first, half
        tops[waiting + 1], firsts[waiting + 1] = top + 2 * half, first + half
        counts[waiting + 1] = many - half
        waiting += 2


@kernel
def put(numbers, index, leaf_links, leaves, pose, body, link, first, node, bit):
    """Write the ``leaves`` (k, 7) of an object at ``pose`` (12,) in the frame of its body.

    ``leaves``: end points and radius in the object's frame, metres. ``pose``: rotation row by row,
    then translation. The leaves of ``link`` begin at ``first``, the nodes of their tree at
    ``node``, with one ``bit``. For objects on body 0, which do not move, the boxes are set, too.
    """
    view = unpack(numbers, index)
    count = len(leaves)
    for row in range(count):
        leaf = first + row
        view.leaf_bodies[leaf, 0] = body
        leaf_links[leaf] = link
        view.radii[leaf, 0] = leaves[row, 6]
        for end in range(0, 6, 3):
            x, y, z = leaves[row, end], leaves[row, end + 1], leaves[row, end + 2]
            for axis in range(3):
                r = 3 * axis
                value = pose[r] * x + pose[r + 1] * y + pose[r + 2] * z + pose[9 + axis]
                view.leaf_ends[leaf, end + axis] = value
                view.ends[leaf, end + axis] = value
    view.links[link, 0], view.links[link, 1] = first, first + count
    set_reaches(view, first, first + count)
    set_link_ball(view, link)
    _build_balanced_tree(view.nodes, node, first, count, bit)
    if body == 0:
        refit(view, node, node + 2 * count - 1)


class ObjectPairs:
    """The pairs of a live scene.

    Numbers of pairs: those of the robot come first, then those of each slot and link, then those of
    each carried object and slot. Rows of tables are the links of the model, followed by a slot for
    each object.

    Attributes:
        table: (rows, rows) number of each pair, -1 for pairs that are not checked.
    """

    def __init__(self, room: Room, model: CollisionModel, slots: int) -> None:
        self._room, self._slots = room, slots
        self._links = model.link_rows
        self._first_of_slots = room.own_pairs
        self._first_of_carried = room.own_pairs + slots * len(self._links)
        self.table = np.pad(model.pair_table(), (0, slots), constant_values=-1)

    @property
    def rows(self) -> np.ndarray:
        """(numbers, 2) both rows of each pair: of the model, then of objects, checked or not."""
        return self._room.view.pairs

    def _number(self, one: LiveObject, other: LiveObject) -> int:
        """Number of the pair of two objects, one of them carried."""
        if one.carrier < 0 or 0 <= other.carrier < one.carrier:
            one, other = other, one
        return self._first_of_carried + one.carrier * self._slots + other.slot

    def allow(self, obj: LiveObject, bodies: np.ndarray) -> None:
        """Set with which links an object is checked; ``bodies`` (links,): their bodies."""
        obj.is_allowed = bodies != obj.body
        for name in obj.touch:
            if name in self._links:
                obj.is_allowed[self._links[name]] = False

    @staticmethod
    def is_checked(one: LiveObject, other: LiveObject) -> bool:
        """Whether two objects, one of them carried, are checked against each other."""
        return (
            one is not other
            and one.body != other.body
            and other.name not in one.touch
            and one.name not in other.touch
        )

    def mark(self, obj: LiveObject, carried: Collection[LiveObject]) -> None:
        """Mark the pairs of an object with links and with carried objects, and number them."""
        room, links = self._room, len(self._links)
        row, first = links + obj.slot, self._first_of_slots + obj.slot * links
        numbers = np.where(obj.is_allowed, np.arange(first, first + links), -1)
        self.table[row, :links] = self.table[:links, row] = numbers
        partners = [other for other in carried if self.is_checked(obj, other)]
        for other in partners:
            place = links + other.slot
            self.table[row, place] = self.table[place, row] = self._number(obj, other)
        room.open_object(obj, [other.slot for other in partners])

    def unmark(self, obj: LiveObject) -> None:
        """Number no pairs of an object any more."""
        row = len(self._links) + obj.slot
        self.table[row, :] = self.table[:, row] = -1

    def renumber_carried(self, carried: Collection[LiveObject]) -> slice:
        """Set the slots of the pairs of two objects, and mark none; return their numbers."""
        links, slots = len(self._links), self._slots
        self.table[links:, links:] = -1
        for obj in carried:
            first = self._first_of_carried + obj.carrier * slots
            self.rows[first : first + slots, 0] = links + obj.slot
            self.rows[first : first + slots, 1] = np.arange(links, links + slots)
        return slice(self._first_of_carried, None)


class PackedObjects:
    """Writes objects into the slots of a packed model, and lists the searches of their trees.

    An object on the base has a range of leaves of its own; carried objects are written again, one
    after another, if one of them changes.

    Attributes:
        room: the packed model.
        pairs: which are checked.
        carried: objects on moving links; an object's ``carrier`` is its index here.
        in_slot: by slot, the object there.
        exact: their shapes, or None until `prepare_exact`.
        stamps: (rows,) a number that is new whenever an object was added, moved or changed.
        part_counts: (rows,) of objects, the number of parts that exact distances measure.
    """

    def __init__(self, model: CollisionModel, bounds: Bounds) -> None:
        self._model, self._bounds, self.room = model, bounds, Room(model, bounds)
        slots, self._link_count = bounds.objects + 1, len(model.link_names)
        self.pairs = ObjectPairs(self.room, model, slots)
        self.in_slot: list[LiveObject | None] = [None] * slots
        self._free_slots = list(range(bounds.objects, 0, -1))  # slot 0: the cloud
        self.carried: list[LiveObject] = []
        self.exact: ObjectDistance | None = None
        self._poses = dict(model.bodies.link_poses)
        self._ranges = Ranges(self.room.live_leaves)
        self._leaves_in_use = 0  # leaves allocated, without those of a cloud
        self._searches_are_current = False
        self.stamps, self.part_counts = np.zeros((2, self._link_count + slots), dtype=np.int64)
        self._stamp = 0
        self._rebuild_carried()

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """(numbers, index) of the packed model, after all pending changes."""
        if not self._searches_are_current:
            fixed = [obj for obj in filter(None, self.in_slot) if obj.carrier < 0]
            self.room.set_searches(self.carried, fixed)
            self._searches_are_current = True
        return self.room.numbers, self.room.index

    def prepare_exact(self, names: Callable[[int], tuple[str, str]]) -> ObjectDistance:
        """Allocate the shapes at the first call; ``names`` returns both names of a pair."""
        if self.exact is None:
            self.exact = ObjectDistance(self._model, self._bounds, self.room, names)
            for obj in filter(None, self.in_slot):
                self._write_shapes(obj)
        return self.exact

    # -- changes --

    def require_room(self, obj: LiveObject, known: LiveObject | None) -> None:
        """Raise LiveSceneError if an object would not fit in place of ``known``, even compacted."""
        if obj.body > 0:
            carried = [each for each in self.carried if each is not known]
            if len(carried) == self._bounds.carried:
                raise LiveSceneError(
                    f"{obj.name}: no room: links carry {self._bounds.carried} objects already"
                )
            leaves = len(obj.rows) + sum(len(each.rows) for each in carried)
            if leaves > self._bounds.carried_leaves:
                raise LiveSceneError(
                    f"{obj.name}: no room: attached objects would have {leaves} leaves; "
                    f"the maximum is {self._bounds.carried_leaves}"
                )
            return
        if obj.slot == 0:
            return  # a cloud has its own reserved range
        room = self._ranges.size - rounded(self._bounds.voxels)
        taken = self._leaves_in_use + rounded(len(obj.rows))
        if known is not None and known.carrier < 0:
            taken -= rounded(len(known.rows))
        if taken > room:
            raise LiveSceneError(
                f"{obj.name}: no room for its {len(obj.rows)} leaves: there are {room} in all"
            )

    def insert(self, obj: LiveObject) -> None:
        """Write an object that has room; it gets a free slot unless it has one."""
        if obj.slot != 0:  # of an object that is replaced, it was freed last
            obj.slot = self._free_slots.pop()
        self.in_slot[obj.slot] = obj
        if obj.body > 0:
            self.carried.append(obj)
            self._rebuild_carried()
            return
        obj.leaf = self._allocate(len(obj.rows))
        self._leaves_in_use += rounded(len(obj.rows)) if obj.slot else 0
        self.write(obj)
        self.pairs.mark(obj, self.carried)
        self._searches_are_current = False

    def erase(self, obj: LiveObject) -> None:
        """Remove an object, and free its slot."""
        self.in_slot[obj.slot] = None
        if obj.slot > 0:
            self._free_slots.append(obj.slot)
        self.pairs.unmark(obj)
        if self.exact is not None:
            self.exact.remove(obj)
        if obj.carrier >= 0:
            self.carried.remove(obj)
            self._rebuild_carried()
            return
        self._leaves_in_use -= rounded(len(obj.rows)) if obj.slot else 0
        self._ranges.give_back(obj.leaf - self.room.first_live_leaf, len(obj.rows))
        self._searches_are_current = False

    def write(self, obj: LiveObject) -> None:
        """Write the leaves, tree and boxes of an object at its present place."""
        if obj.carrier < 0:
            obj.node = self.room.first_live_node + 2 * (obj.leaf - self.room.first_live_leaf)
        self._put(obj)

    def _allocate(self, count: int) -> int:
        """Allocate ``count`` leaves and return the first; compacts the objects if necessary."""
        first = self._ranges.take(count)
        if first < 0:
            self._ranges.clear()
            # The new object has no leaves yet.
            fixed = [each for each in filter(None, self.in_slot) if each.carrier < 0 <= each.leaf]
            if self.exact is not None:
                for each in fixed:  # no place may count as that of an object that has left it
                    self.exact.remove(each)
            for each in sorted(fixed, key=lambda each: -len(each.rows)):
                each.leaf = self.room.first_live_leaf + self._ranges.take(len(each.rows))
                self.write(each)
                self.pairs.mark(each, self.carried)
            first = self._ranges.take(count)
        return self.room.first_live_leaf + first

    def _put(self, obj: LiveObject) -> None:
        room, row = self.room, self._link_count + obj.slot
        put(
            room.numbers, room.index, room.leaf_links, obj.rows,
            pose_rows((self._poses[obj.link] @ obj.pose)[None])[0], obj.body, row, obj.leaf,
            obj.node, room.bit_of(obj.slot),
        )  # fmt: skip
        self._stamp += 1
        self.stamps[row], self.part_counts[row] = self._stamp, obj.geometry.part_count
        self._write_shapes(obj)

    def _write_shapes(self, obj: LiveObject) -> None:
        if self.exact is not None:
            self.exact.put(obj, self._poses[obj.link] @ obj.pose)

    def _rebuild_carried(self) -> None:
        """Rebuild leaves and trees of all carried objects, and the pairs of all objects."""
        room = self.room
        leaf, node = room.first_carried_leaf, room.first_carried_node
        for k, obj in enumerate(self.carried):
            obj.carrier, obj.leaf, obj.node = k, leaf, node
            leaf += len(obj.rows)
            node += obj.nodes
        room.close_objects()
        renumbered = self.pairs.renumber_carried(self.carried)
        if self.exact is not None:
            self.exact.forget(renumbered)
        for obj in self.carried:
            self._put(obj)
        for obj in filter(None, self.in_slot):
            self.pairs.mark(obj, self.carried)
        self._searches_are_current = False
