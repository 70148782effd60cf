# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Looks along the braking path of a robot, and decides how fast it may go."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.behaviour.decision import CALM, Decision
from collision_monitor.behaviour.settings import Settings
from collision_monitor.clearance import Clearance
from collision_monitor.kernels import braking, braking_path, collision_time, deciding
from collision_monitor.kernels.braking_path import (
    COLUMNS,
    DISTANCE,
    LEAF_A,
    LEAF_B,
    LEAST,
    PAIR,
    RATE,
    TRAVEL,
)
from collision_monitor.proximity import link_tables

if TYPE_CHECKING:
    from collision_monitor.collision_model import CollisionModel

Bounds = Callable[[np.ndarray, np.ndarray, float, float], np.ndarray]

# Configurations that one search may look at; there are up to three searches.
_MOST = 24
_TOUCHING = 0.001  # metres at which two leaves meet, for the time to it
_TESTS = 300


class Outlook:
    """The braking path of one robot; has a work space of its own, for one thread."""

    def __init__(
        self, model: CollisionModel, decelerations: np.ndarray, settings: Settings | None = None
    ) -> None:
        """Compiles what it runs.

        Args:
            model: the robot.
            decelerations: (nq,) of each joint, rad/s^2 or m/s^2.
            settings: how cautious.
        """
        self.model = model
        self.decelerations = np.ascontiguousarray(decelerations, dtype=float)
        self._numbers, self._index = model.work_space()
        self._leaf_links, self._pair_table = link_tables(model)
        bodies = model.bodies
        self._columns = np.ascontiguousarray(bodies.columns, dtype=np.int64)
        self._gains = np.ascontiguousarray(bodies.gains, dtype=float)
        self._weights_of_pairs = _weights(model)
        count = len(model.joint_names)
        self._there, self._steps = np.empty(count), np.empty(len(self._columns))
        self._size = np.zeros(1, dtype=np.int64)
        self._slots = np.full(len(model.pairs), -1, dtype=np.int64)
        self._still = np.zeros(count)
        self._room(256, 64)
        self._memory = np.zeros(deciding.MEMORY)
        self._forget()
        self.tests = 0  # configurations that the last look took
        self._settings = Settings() if settings is None else settings
        self.set_thresholds(np.zeros((len(model.pairs), 2)))
        self._compile()

    @property
    def settings(self) -> Settings:
        """How cautious; may be set at any time."""
        return self._settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        # A longer ring begins with the least that is in it: nothing is released by a change.
        ring = self._memory[deciding.RING :]
        ring[:] = ring[: self._settings.release_cycles].min()
        self._settings = settings

    def set_thresholds(self, thresholds: np.ndarray) -> None:
        """``thresholds`` (pairs, 2): stop and warning distance of each pair, metres."""
        self.thresholds = np.ascontiguousarray(thresholds, dtype=float)
        keys = np.column_stack([self._weights_of_pairs, self.thresholds])
        groups, group_of = np.unique(keys, axis=0, return_inverse=True)
        self._weights = np.ascontiguousarray(groups[:, :-2].T)
        self._class_stop = np.ascontiguousarray(groups[:, -2])
        self._class_warn = np.ascontiguousarray(groups[:, -1])
        # One more than there are pairs, so that -1 stays -1.
        table = np.append(group_of.ravel(), -1).astype(np.int64)
        self._class_table = table[self._pair_table]
        self._totals, self._limits = np.empty(len(groups)), np.empty(len(groups))
        self._never = np.full(len(groups), -np.inf)

    def _room(self, leaf_pairs: int, pairs: int) -> None:
        self._found = np.empty((leaf_pairs, 3), dtype=np.int64)
        self._values = np.empty((leaf_pairs, 2))
        self._rows, self._least = np.empty((pairs, COLUMNS)), np.empty(pairs)

    def look(
        self,
        q: np.ndarray,
        velocities: np.ndarray | None,
        clearance: Clearance,
        passed: float = math.inf,
        late: float = 0.0,
        exact: Bounds | None = None,
        intended: np.ndarray | None = None,
    ) -> Decision:
        """What to do at q (nq,); call it once for each joint state.

        Args:
            q: finite.
            velocities: (nq,) rad/s or m/s; None where they are not known: then no pair is taken
                to move away, and nothing is predicted.
            clearance: of the nearest pair at q, as the monitor measures.
            passed: seconds since the last look.
            late: seconds since q was measured.
            exact: gives bounds from below of the distances of the shapes of some pairs (k,), of
                which it is given the distances of the leaves (k,), up to what distance they matter
                and how far below the truth they may be, metres; without it those of leaves count.
            intended: velocities (nq,) that a robot that stands has been told: they say whether
                pairs move away. What is predicted is of ``velocities`` alone.
        """
        s = self._settings
        v = self._still if velocities is None else velocities
        path = v if s.prediction else self._still
        reserve = s.release_distance
        reaction = s.reaction_time + max(late, 0.0)
        widest = braking.braking_limits(
            self._weights, self._columns, self._gains, path, self.decelerations, reaction,
            self._class_warn, reserve, self._totals,
        )  # fmt: skip
        if intended is not None:
            v = intended
        count = 0
        # Written so that a distance that is not a number is not taken for a far one.
        if not clearance.distance > widest:
            count = self._rows_at(q, v, path, reaction, reserve, widest, exact is None)
            if exact is not None and count:
                self._take_exact(q, v, clearance, exact, widest, count)
        elif self._calm:
            return CALM
        if velocities is None:
            self._rows[:count, RATE] = 0.0
        rise = passed / s.rise_time if s.rise_time > 0.0 else math.inf
        scale, inside, near, stop, slow, approach, row, least, self._calm = deciding.decide(
            self._rows, count, self.thresholds, s.release_distance, s.release_cycles, rise,
            s.escape_scale, s.parting_speed, 2.0 * s.resolution, self._memory,
        )  # fmt: skip
        if row < 0:
            return Decision(scale, inside, near, stop, slow, approach)
        found = self._rows[row]
        pair = int(found[PAIR])
        low, high = self.thresholds[pair].tolist()
        rate = math.nan if velocities is None else float(found[RATE])
        return Decision(
            scale, inside, near, stop, slow, approach, pair, float(found[DISTANCE]), low, high,
            rate, least,
        )  # fmt: skip

    def _rows_at(
        self,
        q: np.ndarray,
        velocities: np.ndarray,
        path: np.ndarray,
        reaction: float,
        reserve: float,
        widest: float,
        may_settle: bool = True,
    ) -> int:
        """Fill ``self._rows``, with ``self._totals`` as they are for this path; how many."""
        class_stop = self._class_stop if may_settle else self._never
        while True:
            self.tests = braking_path.outlook(
                self._numbers, self._index, self._leaf_links, self._pair_table, self._class_table,
                self._weights, class_stop, self._class_warn, reserve, self._totals, widest, q,
                velocities, path, self.decelerations, reaction, self._settings.resolution, _MOST,
                self._size, self._slots, self._found, self._values, self._rows, self._limits,
                self._least, self._there, self._steps,
            )  # fmt: skip
            if self.tests >= 0:
                return int(self._size[0])
            if self.tests == -1:
                self._room(len(self._found), 2 * len(self._rows))
            else:
                self._room(-2 * self.tests, len(self._rows))

    def _take_exact(
        self,
        q: np.ndarray,
        velocities: np.ndarray,
        nearest: Clearance,
        exact: Bounds,
        widest: float,
        count: int,
    ) -> None:
        """Put the distances of the shapes themselves into the rows.

        On the path they are no less than those of leaves, nor than what is left of the distance now
        after all that both links travel. Which way a pair goes its leaves say, but for the nearest.
        """
        rows = self._rows[:count]
        pairs = rows[:, PAIR].astype(int)
        names = [self.model.pairs[k] for k in pairs]
        is_nearest = np.array([set(name) == set(nearest.links) for name in names])
        distances = np.full(count, nearest.distance)  # no pair is nearer than that
        if not is_nearest.all():
            # In contact it is enough to know which others touch.
            loose = widest if nearest.distance <= 0.0 else 0.25 * nearest.distance + 1e-3
            bounds = exact(pairs, rows[:, DISTANCE], widest, loose)
            distances = np.maximum(bounds, nearest.distance)
            distances[is_nearest] = nearest.distance
        turns_back = rows[:, LEAST] < rows[:, DISTANCE] - 2.0 * self._settings.resolution
        for row in np.flatnonzero(is_nearest):
            rows[row, RATE] = self._rate_of(q, velocities, nearest, rows[row], names[row])
        least = np.maximum(rows[:, LEAST], distances - rows[:, TRAVEL])
        parting = ~turns_back & (rows[:, RATE] > self._settings.parting_speed)
        rows[:, LEAST] = np.where(parting, distances, np.minimum(least, distances))
        rows[:, DISTANCE] = distances

    def _rate_of(
        self,
        q: np.ndarray,
        velocities: np.ndarray,
        nearest: Clearance,
        row: np.ndarray,
        links: tuple[str, str],
    ) -> float:
        """Rate at which the nearest points of the shapes part; any leaf of a link stands for it."""
        i, j = int(row[LEAF_A]), int(row[LEAF_B])
        points, normal = nearest.points, nearest.normal
        if self.model.leaves[i].link != nearest.links[0]:
            points, normal = points[::-1], -normal
        return braking.parting_rate(
            self._numbers, self._index, q, velocities, i, j, *points[0], *points[1], *normal
        )

    def collision_time(
        self, q: np.ndarray, velocities: np.ndarray, horizon: float = 10.0
    ) -> float:
        """Seconds until leaves touch if the joints go on as they do; inf beyond ``horizon``.

        A bound from below; 0 where they touch already, inf where nothing moves.
        """
        speed = braking.fastest_approach(self._weights, self._columns, self._gains, velocities)
        if speed <= 0.0:
            return math.inf
        return collision_time.collision_time(
            self._numbers, self._index, q, velocities, speed, horizon, _TOUCHING, _TESTS,
            self._there,
        )  # fmt: skip

    def _forget(self) -> None:
        """Nothing is held, and nothing has been near."""
        self._memory.fill(0.0)
        self._memory[deciding.GIVEN :] = 1.0
        self._calm = True

    def _compile(self) -> None:
        """Run everything once, so that no joint state waits for it."""
        q, moving = self._still, np.ones_like(self._still)
        braking.braking_limits(
            self._weights, self._columns, self._gains, moving, self.decelerations, 0.0,
            self._class_warn, 0.0, self._totals,
        )  # fmt: skip
        self._rows_at(q, moving, moving, 0.0, 0.0, -np.inf)
        deciding.decide(self._rows, 0, self.thresholds, 0.0, 1, 1.0, 1.0, 0.0, 0.0, self._memory)
        self._forget()
        self.collision_time(q, moving, 0.0)
        if len(self.model.leaves):
            braking.parting_rate(
                self._numbers, self._index, q, moving, 0, 0, *np.zeros(9)
            )


def _weights(model: CollisionModel) -> np.ndarray:
    """(pairs, joints) metres that two links come nearer at most for a unit of a joint."""
    reach = model.link_reach()
    rank = {name: k for k, name in enumerate(model.link_names)}
    ends = np.array([[rank[a], rank[b]] for a, b in model.pairs], dtype=int).reshape(-1, 2)
    first, second = reach[ends[:, 0]], reach[ends[:, 1]]
    return np.where((first > 0.0) != (second > 0.0), first + second, 0.0)
