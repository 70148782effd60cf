# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Contacts of two links over the whole range of the one or two joints that move them.

The range is divided into cells. Cells in which the shapes may meet are halved until the links move
by less than a few millimetres from one centre to the next; all others are excluded for certain.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy import ndimage

from collision_monitor.model.mesh_contacts import LinkContacts, Solid
from collision_monitor.robot.bodies import link_poses

# Metres that links may move from one centre to the next: for the depth over the whole range, and
# for contacts that are those around zero.
_STEP, _STEP_OF_PLACES = 0.006, 0.01
_MAX_CELLS = 50_000  # limits the time of loading
_HAIR = 0.001  # metres; the tolerance of distances on a braking path
MOST_JOINTS = 2  # that move a pair
_GRID = {1: 81, 2: 17}  # positions of a joint, by the number of joints that a pair depends on
_AROUND_ZERO = {1: 101, 2: 11}  # likewise, of those around zero
_PLACE = 0.03  # metres that contacts may be beyond the box around those around zero


class RangeContacts:
    """Contacts of two links over the range of the joints that move them.

    Attributes:
        columns: these joints, as indices into q.
    """

    def __init__(
        self, model: Any, pair: int, columns: list[int],
        contacts: Callable[[np.ndarray], LinkContacts],
    ) -> None:  # fmt: skip
        """Prepare a pair by index, which `MOST_JOINTS` at most move: ``columns``.

        ``contacts``: returns the contacts of the pair at configurations (n, nq).
        """
        self._contacts, self.columns = contacts, columns
        self._low, self._high = model.lower[self.columns], model.upper[self.columns]
        self._zero = np.clip(0.0, model.lower, model.upper)
        # Metres that the links move relative to each other at most, per unit of each joint.
        bodies = model.bodies
        reach = model.pair_reach(np.array([pair]))[0] * np.abs(bodies.gains)
        self._speeds = np.array([reach[bodies.columns == c].sum() for c in self.columns])

    def around_zero(self, part: float) -> LinkContacts:
        """Contacts at an even grid of values near zero, by at most a ``part`` of the ranges.

        Mirrored arms have mirrored grids.
        """
        zero, half = self._zero[self.columns], part * (self._high - self._low)
        low, high = np.maximum(zero - half, self._low), np.minimum(zero + half, self._high)
        grid = _even_grid(_AROUND_ZERO[len(self.columns)], len(self.columns))
        return self._at(low + grid * (high - low))

    def come_near(self) -> bool:
        """Whether the shapes meet at zero, or nearly."""
        return self._contacts(self._zero[None]).come_near(0, _HAIR)

    def is_shallow(self, depth: float) -> bool:
        """Whether shapes meet or nearly do at some places of a coarse grid, and nowhere deeper."""
        grid = _even_grid(_GRID[len(self.columns)], len(self.columns))
        # Limits first: overlaps are deepest there.
        grid = grid[np.argsort(-np.abs(grid - 0.5).max(axis=1), kind="stable")]
        contacts, touch = self._at(self._low + grid * (self._high - self._low)), False
        for k in range(len(grid)):
            meet = contacts.meet(k)
            if meet and not contacts.is_shallow(k, depth):
                return False
            touch = touch or meet or contacts.come_near(k, _HAIR)
        return touch

    def is_shallow_between(self, depth: float) -> bool:
        """Whether shapes nowhere overlap by more than ``depth`` metres."""
        return self._cells(depth, _STEP) is not None

    def only_there(self, contacts: LinkContacts, depth: float) -> bool:
        """Whether shapes meet only as they do in ``contacts``, and nowhere deeper than ``depth``.

        Configurations in which they meet have to be connected, and the places at which they meet to
        be those of ``contacts``, as seen from one of the links.
        """
        found = self._cells(depth, _STEP_OF_PLACES)
        if found is None:
            return False
        centers, half = found
        others = self._at(centers)
        meet = [k for k in range(len(centers)) if others.meet(k)]
        cells = np.rint((centers[meet] - self._low) / (2.0 * half) - 0.5).astype(int)
        return bool(meet) and _regions(cells) == 1 and _same_place(contacts, others, meet)

    def _at(self, values: np.ndarray) -> LinkContacts:
        """Contacts with ``values`` (n, joints) of the joints, all others near zero."""
        rows = np.tile(self._zero, (len(values), 1))
        rows[:, self.columns] = values
        return self._contacts(rows)

    def _cells(self, depth: float, step: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Small cells in which shapes may meet: centres (n, joints) and half sizes (joints,).

        None if shapes overlap by more than ``depth`` metres in a centre, or there are too many.
        """
        count = _GRID[len(self.columns)] - 1
        half = 0.5 * (self._high - self._low) / count
        grid = _even_grid(count, len(self.columns), endpoint=False)
        centers = self._low + grid * (self._high - self._low) + half
        travel, checked, meet = float(self._speeds @ half), 0, [False] * len(centers)
        contacts = self._at(centers)
        while True:
            near = [meet[k] or contacts.come_near(k, travel) for k in range(len(centers))]
            centers = centers[near]
            if 2.0 * travel <= step:
                return centers, half
            widest = int(np.argmax(self._speeds * half))
            half = half.copy()
            half[widest] *= 0.5
            offset = np.where(np.arange(len(half)) == widest, half, 0.0)
            centers = np.concatenate((centers - offset, centers + offset))
            travel, checked = float(self._speeds @ half), checked + len(centers)
            if checked > _MAX_CELLS:
                return None
            contacts, meet = self._at(centers), []
            for k in range(len(centers)):
                meet.append(contacts.meet(k))
                if meet[k] and not contacts.is_shallow(k, depth):
                    return None


def _even_grid(count: int, dimensions: int, endpoint: bool = True) -> np.ndarray:
    """Points (count ** dimensions, dimensions) from 0 to 1."""
    return np.array(list(product(np.linspace(0.0, 1.0, count, endpoint), repeat=dimensions)))


def _regions(cells: np.ndarray) -> int:
    """Number of connected regions of ``cells`` (n, joints), given by their places in a grid."""
    first = cells.min(axis=0)
    grid = np.zeros(cells.max(axis=0) - first + 1, dtype=bool)
    grid[tuple((cells - first).T)] = True
    return int(ndimage.label(grid, np.ones((3,) * cells.shape[1]))[1])


def _same_place(known: LinkContacts, others: LinkContacts, which: list[int]) -> bool:
    """Whether all contacts in ``others`` (at ``which``) are where they are in ``known``.

    From the view of one link: in the box around the known contacts in its frame, or near it.
    """
    points = [known.points(k) for k in range(len(known)) if known.surfaces_meet(k)]
    if not points or not all(others.surfaces_meet(k) for k in which):
        return False
    for link, of_link in enumerate(zip(*points, strict=True)):
        joined = np.concatenate(of_link)
        box = joined.min(axis=0) - _PLACE, joined.max(axis=0) + _PLACE
        rest = others.outside(link, *box)  # primitives remain: their points decide
        if all(not rest.surfaces_meet(k) or _are_in(others.points(k)[link], *box) for k in which):
            return True
    return False


def _are_in(points: np.ndarray, low: np.ndarray, high: np.ndarray) -> bool:
    return bool(((points >= low) & (points <= high)).all())


# -- neighbours over one joint --


class ContactsOfJoint(NamedTuple):
    """Contacts of two neighbours over the range of the joint between them.

    Attributes:
        joint: name.
        share: share of the positions in which the shapes meet; exactly 0 or 1 if they meet nowhere
            or everywhere.
        depth: metres that they overlap at most (`LinkContacts.largest_depth`); 0 if they cannot be
            apart, or do not meet.
    """

    joint: str
    share: float
    depth: float


def contacts_of_joint(model: Any, pair: tuple[str, str]) -> ContactsOfJoint:
    """Contacts of two links of a CollisionModel that one joint connects, at 81 even positions.

    The other joints do not move these links relative to each other. The joint of a mimic joint is
    moved over its range; a continuous joint turns once. The depth is only measured if the shapes
    can be apart.

    Raises:
        MissingDependencyError: the library coal is not installed.
    """
    bodies = model.bodies
    ends = [bodies.link_bodies[link] for link in pair]
    up, down = bodies.between(*ends)
    (row,) = up + down
    name = next(
        joint.name for joint in model.robot.joints
        if bodies.link_bodies[joint.child] == row + 1 != bodies.link_bodies[joint.parent]
    )  # fmt: skip
    column = int(bodies.columns[row])
    rows = np.tile(np.clip(0.0, model.lower, model.upper), (_GRID[1], 1))
    rows[:, column] = np.linspace(
        model.lower[column], model.upper[column], _GRID[1],
        endpoint=bodies.joints[column].kind != "continuous",
    )  # fmt: skip
    poses = link_poses(bodies, pair, rows)
    contacts = LinkContacts(*(Solid(model.robot.links[link].shapes, poses[link]) for link in pair))
    share = contacts.share(0.0)
    return ContactsOfJoint(name, share, contacts.largest_depth() if 0.0 < share < 1.0 else 0.0)
