# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Contacts of two links over the whole range of the one or two coordinates that move them.

A coordinate is a joint, or all sections of a telescope: their sum alone matters. The range is
divided into cells. Cells in which the shapes may meet are halved until the links move by less than
a few millimetres from one centre to the next; all others are excluded for certain.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy import ndimage

from collision_monitor.model.mesh_contacts import LinkContacts

# Metres that links may move from one centre to the next: for the depth over the whole range, and
# for contacts that are those around zero.
_STEP, _STEP_OF_PLACES = 0.006, 0.01
_MAX_CELLS = 50_000  # limits the time of loading
_HAIR = 0.001  # metres; the tolerance of distances on a braking path
MOST_COORDINATES = 2  # that move a pair
_GRID = {1: 81, 2: 17}  # positions of a coordinate, by the number that a pair depends on
_AROUND_ZERO = {1: 101, 2: 11}  # likewise, of those around zero
_PLACE = 0.03  # metres that contacts may be beyond the box around those around zero
_PARALLEL = 1.0 - 1e-9  # cosine of the angle between sections of a telescope


class Coordinate(NamedTuple):
    """Joints that move a pair of links along the same line of relative poses.

    Attributes:
        columns: (k,) indices into q.
        begin: (k,) positions at one end of the range, radians or metres.
        end: (k,) positions at the other end.
        is_linkage: whether both links follow it, each by a joint of its own.
    """

    columns: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    is_linkage: bool

    def part_of(self, q: np.ndarray, weights: np.ndarray) -> float:
        """Where q (nq,) is, from 0 at the begin to 1 at the end; ``weights`` (k,) of the joints."""
        way, whole = (
            float(weights @ np.abs(here - self.begin)) for here in (q[self.columns], self.end)
        )
        return way / whole if whole > 0.0 else 0.0


def coordinates_between(model: Any, links: tuple[str, str]) -> list[Coordinate]:
    """Return the coordinates of the relative pose of two links of a CollisionModel."""
    bodies = model.bodies
    up, down = bodies.between(*(bodies.link_bodies[link] for link in links))
    columns, counts = np.unique(bodies.columns[up + down], return_counts=True)
    has_one_joint = dict(zip(columns.tolist(), (counts == 1).tolist(), strict=True))
    # Cosines of the angles between the axis of each joint and that of the one before.
    cosines = bodies.placements[:, 2, 2]

    def continues(row: int) -> bool:
        both = [row, int(bodies.parents[row]) - 1]
        return (
            bool(bodies.slides[both].all()) and abs(cosines[row]) > _PARALLEL
            and all(has_one_joint[int(column)] for column in bodies.columns[both])
        )  # fmt: skip

    groups: list[list[int]] = []
    for side in (up[::-1], down):
        for k, row in enumerate(side):
            if k > 0 and continues(row):
                groups[-1].append(row)
            else:
                groups.append([row])
    on_both_sides = set(bodies.columns[up].tolist()) & set(bodies.columns[down].tolist())
    found = {}
    for rows in groups:
        gains = np.where(bodies.gains[rows] < 0.0, -1.0, 1.0)
        signs = gains * np.cumprod([1.0, *np.sign(cosines[rows[1:]])])
        columns = bodies.columns[rows]
        ends, is_same = (model.lower[columns], model.upper[columns]), signs * signs[0] > 0.0
        found[int(columns.min())] = Coordinate(
            columns, np.where(is_same, *ends), np.where(is_same, *ends[::-1]),
            int(columns[0]) in on_both_sides,
        )  # fmt: skip
    return [found[column] for column in sorted(found)]


class RangeContacts:
    """Contacts of two links over the range of the coordinates that move them.

    Values of coordinates are from 0 to 1.

    Attributes:
        is_telescope: whether there is one coordinate, of several sections of a telescope.
        is_linkage: whether there is one coordinate, of a joint that both links follow.
    """

    def __init__(
        self, model: Any, pair: int, coordinates: list[Coordinate],
        contacts: Callable[[np.ndarray], LinkContacts],
    ) -> None:  # fmt: skip
        """Prepare a pair by index, which `MOST_COORDINATES` at most move.

        ``contacts``: returns the contacts of the pair at configurations (n, nq).
        """
        self._contacts, self._coordinates = contacts, coordinates
        is_one = len(coordinates) == 1
        self.is_telescope = (
            is_one and np.count_nonzero(coordinates[0].begin != coordinates[0].end) > 1
        )
        self.is_linkage = is_one and coordinates[0].is_linkage
        self._zero = np.clip(0.0, model.lower, model.upper)
        # Metres that the links move relative to each other at most, per unit of q.
        bodies, reach = model.bodies, np.zeros(len(model.lower))
        np.add.at(
            reach, bodies.columns, model.pair_reach(np.array([pair]))[0] * np.abs(bodies.gains)
        )
        weights = [reach[each.columns] for each in coordinates]
        both = list(zip(coordinates, weights, strict=True))
        self._speeds = np.array([weight @ np.abs(c.end - c.begin) for c, weight in both])
        self._at_zero = np.array([c.part_of(self._zero, weight) for c, weight in both])

    def around_zero(self, part: float) -> LinkContacts:
        """Contacts at an even grid of values near zero, by at most a ``part`` of the ranges.

        Mirrored arms have mirrored grids.
        """
        low, high = np.maximum(self._at_zero - part, 0.0), np.minimum(self._at_zero + part, 1.0)
        grid = _even_grid(_AROUND_ZERO[len(low)], len(low))
        return self._at(low + grid * (high - low))

    def come_near(self) -> bool:
        """Whether the shapes meet at zero, or nearly."""
        return self._contacts(self._zero[None]).come_near(0, _HAIR)

    def meet_at_zero(self) -> bool:
        """Whether the shapes meet at zero."""
        return self._contacts(self._zero[None]).meet(0)

    def everywhere(self) -> LinkContacts:
        """Contacts at the places of a coarse grid."""
        return self._at(self._grid())

    def is_shallow(self, depth: float) -> bool:
        """Whether shapes meet or nearly do at some places of a coarse grid, and nowhere deeper."""
        grid = self._grid()
        # Limits first: overlaps are deepest there.
        grid = grid[np.argsort(-np.abs(grid - 0.5).max(axis=1), kind="stable")]
        contacts, touch = self._at(grid), False
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
        found = self._meeting(depth)
        if found is None:
            return False
        cells, _, others, meet = found
        return _regions(cells) == 1 and _same_place(contacts, others, meet)

    def meet_in_one_region(self, depth: float, at_limit: bool = False) -> bool:
        """Whether shapes meet in one connected part of the range, nowhere deeper than ``depth``.

        ``at_limit``: one coordinate, and the part has to include one of its limits.
        """
        found = self._meeting(depth)
        if found is None or _regions(found[0]) != 1:
            return False
        cells, count = found[:2]
        return not at_limit or int(cells.min()) == 0 or int(cells.max()) == count[0] - 1

    def meet_at_zero_or_limits(self, depth: float) -> bool:
        """Whether each part of the range of one coordinate with contacts has zero or a limit.

        Thin shapes may meet between two centres: cells in which they may meet count as contacts.
        False if shapes overlap by more than ``depth`` metres.
        """
        found = self._cells(depth, _STEP)
        if found is None:
            return False
        centers, (half,) = found
        cells = np.sort(np.rint(centers[:, 0] / (2.0 * half) - 0.5).astype(int))
        parts = np.split(cells, np.flatnonzero(np.diff(cells) > 1) + 1)
        places = (0.0, float(self._at_zero[0]) / (2.0 * half), 0.5 / half)
        # A place between two cells is in both.
        return all(
            any(part[0] - 1e-6 <= place <= part[-1] + 1.0 + 1e-6 for place in places)
            for part in parts if len(part)
        )  # fmt: skip

    def _meeting(
        self, depth: float
    ) -> tuple[np.ndarray, np.ndarray, LinkContacts, list[int]] | None:
        """Small cells (n, c) in which shapes meet, how many there are (c,), contacts, and where.

        None if there are none, or shapes overlap by more than ``depth`` metres.
        """
        found = self._cells(depth, _STEP_OF_PLACES)
        if found is None:
            return None
        centers, half = found
        contacts = self._at(centers)
        meet = [k for k in range(len(centers)) if contacts.meet(k)]
        if not meet:
            return None
        cells = np.rint(centers[meet] / (2.0 * half) - 0.5).astype(int)
        return cells, np.rint(0.5 / half).astype(int), contacts, meet

    def _grid(self) -> np.ndarray:
        return _even_grid(_GRID[len(self._coordinates)], len(self._coordinates))

    def _at(self, values: np.ndarray) -> LinkContacts:
        """Contacts with ``values`` (n, coordinates), all other joints near zero."""
        rows = np.tile(self._zero, (len(values), 1))
        for each, column in zip(self._coordinates, values.T, strict=True):
            rows[:, each.columns] = each.begin + column[:, None] * (each.end - each.begin)
        return self._contacts(rows)

    def _cells(self, depth: float, step: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Small cells in which shapes may meet: centres (n, c) and half sizes (c,).

        None if shapes overlap by more than ``depth`` metres in a centre, or there are too many.
        """
        count = _GRID[len(self._coordinates)] - 1
        half = np.full(len(self._coordinates), 0.5 / count)
        centers = _even_grid(count, len(self._coordinates), endpoint=False) + half
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
    """Number of connected regions of ``cells`` (n, dimensions), given by their places in a grid."""
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
