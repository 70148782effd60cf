# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Which pairs with objects of a live scene are checked, and their numbers."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.model.live.live_objects import LiveObject, Room

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel


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
