# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Contacts of two links over the whole range of the one or two coordinates that move them.

A coordinate is a joint, or all sections of a telescope: their sum alone matters. Cells of the range
in which the shapes may meet are halved until the links move by less than a few millimetres from one
centre to the next; all others are excluded for certain.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy import ndimage

from collision_monitor.geometry.segments import ROUNDING
from collision_monitor.model.mesh_contacts import LinkContacts
from collision_monitor.model.pair_rules import RANGE_CELLS, RANGE_STEP
from collision_monitor.robot.bodies import by_position

_MAX_CELLS = 50_000  # limits the time of loading
_PARALLEL = 1.0 - ROUNDING  # cosine of the angle between sections of a telescope


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
    up, down = bodies.between(*links)
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
    coordinates = {}
    for rows in groups:
        gains = np.where(bodies.gains[rows] < 0.0, -1.0, 1.0)
        signs = gains * np.cumprod([1.0, *np.sign(cosines[rows[1:]])])
        columns = bodies.columns[rows]
        ends, is_same = (model.lower[columns], model.upper[columns]), signs * signs[0] > 0.0
        coordinates[int(columns.min())] = Coordinate(
            columns, np.where(is_same, *ends), np.where(is_same, *ends[::-1]),
            int(columns[0]) in on_both_sides,
        )  # fmt: skip
    return [coordinates[column] for column in sorted(coordinates)]


class RangeContacts:
    """Contacts of two links over the range of the coordinates that move them.

    Values of coordinates are from 0 to 1.

    Attributes:
        is_one_joint: whether there is one coordinate, which is no telescope.
        is_linkage: whether there is one coordinate, of a joint that both links follow.
    """

    def __init__(
        self, model: Any, pair: int, coordinates: list[Coordinate],
        contacts: Callable[[np.ndarray], LinkContacts], touch: float,
    ) -> None:  # fmt: skip
        """Prepare a pair by index, which one or two ``coordinates`` move.

        ``contacts``: returns the contacts of the pair at configurations (n, nq). ``touch``: metres
        within which shapes nearly meet.
        """
        self._contacts, self._coordinates, self._touch = contacts, coordinates, touch
        is_one = len(coordinates) == 1
        self.is_one_joint = (
            is_one and np.count_nonzero(coordinates[0].begin != coordinates[0].end) == 1
        )
        self.is_linkage = is_one and coordinates[0].is_linkage
        homes = model.home_configurations()
        self._zero = homes[0]
        # Metres that the links move relative to each other at most, per unit of q.
        (reach,) = by_position(model.bodies, model.pair_reach([pair]))
        weights = [reach[each.columns] for each in coordinates]
        both = list(zip(coordinates, weights, strict=True))
        self._speeds = np.array([weight @ np.abs(c.end - c.begin) for c, weight in both])
        self._at_home = [np.array([c.part_of(q, weight) for c, weight in both]) for q in homes]

    def rests(self) -> list[np.ndarray]:
        """Values (coordinates,) at which the robot may rest, and the shapes meet or nearly do.

        That is home; and for a linkage the limits, where a gripper is open or closed.
        """
        values = [*self._at_home]
        if self.is_linkage:
            values += [np.zeros(1), np.ones(1)]
        contacts = self._at(np.array(values))
        return [value for k, value in enumerate(values) if contacts.come_near(k, self._touch)]

    def parts(self, depth: float, rests: list[np.ndarray]) -> tuple[int, int]:
        """Numbers of connected parts of the range in which shapes nearly meet: all, and with rests.

        0 and 0 if they overlap by more than ``depth`` metres somewhere, or it would take too long.
        """
        found = self._cells(depth)
        if found is None:
            return 0, 0
        centers, half = found
        cells = np.rint(centers / (2.0 * half) - 0.5).astype(int)
        first = cells.min(axis=0)
        grid = np.zeros(cells.max(axis=0) - first + 1, dtype=bool)
        grid[tuple((cells - first).T)] = True
        labels, count = ndimage.label(grid, np.ones((3,) * cells.shape[1]))
        reached = set()
        for rest in rests:
            # A place between two cells is in both.
            near = (np.abs(centers - rest) <= half * (1.0 + 1e-6)).all(axis=1)
            reached |= set(labels[tuple((cells[near] - first).T)].tolist())
        return count, len(reached)

    def _at(self, values: np.ndarray) -> LinkContacts:
        """Contacts with ``values`` (n, coordinates), all other joints near zero."""
        rows = np.tile(self._zero, (len(values), 1))
        for each, column in zip(self._coordinates, values.T, strict=True):
            rows[:, each.columns] = each.begin + column[:, None] * (each.end - each.begin)
        return self._contacts(rows)

    def _cells(self, depth: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Small cells in which shapes may meet: centres (n, c) and half sizes (c,).

        None if shapes overlap by more than ``depth`` metres in a centre, or there are too many.
        """
        # Not one cell: finding that shapes come within a large margin takes long.
        dimensions, checked = len(self._coordinates), 0
        count = RANGE_CELLS[dimensions - 1]
        half = np.full(dimensions, 0.5 / count)
        centers = (np.array(list(product(range(count), repeat=dimensions))) + 0.5) / count
        while True:
            contacts, travel = self._at(centers), float(self._speeds @ half)
            margin = travel + self._touch
            # Most of the first cells are far apart.
            meet = [checked > 0 and contacts.meet(index) for index in range(len(centers))]
            if not all(
                contacts.is_shallow(index, depth) for index in np.flatnonzero(meet).tolist()
            ):
                return None
            centers = centers[
                [meet[k] or contacts.come_near(k, margin) for k in range(len(centers))]
            ]
            if 2.0 * travel <= RANGE_STEP:
                return centers, half
            widest = int(np.argmax(self._speeds * half))
            half = half.copy()
            half[widest] *= 0.5
            offset = np.where(np.arange(len(half)) == widest, half, 0.0)
            centers = np.concatenate((centers - offset, centers + offset))
            checked += len(centers)
            if checked > _MAX_CELLS:
                return None
