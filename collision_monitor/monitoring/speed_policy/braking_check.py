# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Braking check: the clearance along the braking path, and the allowed speed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.continuous.braking_path import (
    DISTANCE,
    LEAF_A,
    LEAF_B,
    LEAST,
    PAIR,
    RATE,
    TRAVEL,
)
from collision_monitor.hierarchy.clearance import Clearance
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.model.thresholds import Thresholds
from collision_monitor.monitoring.speed_policy import decision_kernels
from collision_monitor.monitoring.speed_policy.decision import CALM, Decision
from collision_monitor.monitoring.speed_policy.live_paths import LivePaths
from collision_monitor.monitoring.speed_policy.paths import ModelPaths, Way
from collision_monitor.monitoring.speed_policy.settings import Settings

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

Bounds = Callable[[np.ndarray, np.ndarray, float, float], np.ndarray]


class Outlook:
    """The braking path of one robot; has a work space of its own, for one thread."""

    def __init__(
        self,
        model: CollisionModel,
        decelerations: np.ndarray,
        settings: Settings | None = None,
        live: LiveScene | None = None,
    ) -> None:
        """Compiles what it runs.

        Args:
            model: the robot.
            decelerations: (nq,) of each joint, rad/s^2 or m/s^2.
            settings: how cautious.
            live: objects around it.
        """
        self.model, self.live = model, live
        self.decelerations = np.ascontiguousarray(decelerations, dtype=float)
        self._still = np.zeros(len(model.joint_names))
        self._memory = np.zeros(decision_kernels.MEMORY)
        self._forget()
        self._settings = Settings() if settings is None else settings
        count = len(model.pairs)
        # Of the model's pairs, and behind them of those with objects.
        self._thresholds = np.zeros((count + (0 if live is None else live.pair_count), 2))
        self.thresholds = self._thresholds[:count]
        self._paths = ModelPaths(model)
        self._live_paths = None if live is None else LivePaths(live, self._thresholds[count:])
        self.set_thresholds(np.zeros((count, 2)))
        self._compile()

    @property
    def tests(self) -> int:
        """Configurations that the last look took."""
        return self._paths.tests + (0 if self._live_paths is None else self._live_paths.tests)

    @property
    def settings(self) -> Settings:
        """How cautious; may be set at any time."""
        return self._settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        # A longer ring begins with the least that is in it: nothing is released by a change.
        ring = self._memory[decision_kernels.RING :]
        ring[:] = ring[: self._settings.release_cycles].min()
        self._settings = settings

    def set_thresholds(
        self, thresholds: np.ndarray, of_objects: Thresholds | None = None
    ) -> None:
        """``thresholds`` (pairs, 2): stop and warning distance of each pair of the model, metres.

        ``of_objects``: of pairs with objects of a live scene.
        """
        self.thresholds[:] = thresholds
        self._paths.set_thresholds(self.thresholds)
        if self._live_paths is not None and of_objects is not None:
            self._live_paths.set_thresholds(of_objects)

    @property
    def all_thresholds(self) -> list[np.ndarray]:
        """Stop and warning distances of the model's pairs, and of those with objects if any."""
        count = len(self.thresholds)
        return [self.thresholds, *([] if self.live is None else [self._thresholds[count:]])]

    def pair(self, number: int) -> tuple[str, str]:
        """The two of a decision's pair."""
        count = len(self.model.pairs)
        return self.model.pairs[number] if number < count else self.live.pair_names(number - count)

    def look(
        self,
        q: np.ndarray,
        velocities: np.ndarray | None,
        clearance: Clearance,
        passed: float = math.inf,
        late: float = 0.0,
        exact: Bounds | None = None,
        intended: np.ndarray | None = None,
        live: Clearance | None = None,
    ) -> Decision:
        """What to do at q (nq,); call it once for each joint state.

        Args:
            q: finite.
            velocities: (nq,) rad/s or m/s; None where they are not known: then no pair is taken
                to move away, and nothing is predicted.
            clearance: of the nearest pair of the model at q, as the monitor measures.
            passed: seconds since the last look.
            late: seconds since q was measured.
            exact: gives bounds from below of the distances of the shapes of some pairs (k,), of
                which it is given the distances of the leaves (k,), up to what distance they matter
                and how far below the truth they may be, metres; without it those of leaves count.
            intended: velocities (nq,) that a robot that stands has been told: they say whether
                pairs move away. What is predicted is of ``velocities`` alone.
            live: of the nearest pair with an object of the live scene; None without one.
        """
        s = self._settings
        v = self._still if velocities is None else velocities
        path = v if s.prediction else self._still
        way = Way(q, v if intended is None else intended, path, self.decelerations,
                  s.reaction_time + max(late, 0.0), s)  # fmt: skip
        widest = self._paths.limits(way)
        count, is_calm = 0, True
        # Written so that a distance that is not a number is not taken for a far one.
        if not clearance.distance > widest:
            is_calm = False
            count = self._paths.search(way, exact is None)
            if exact is not None and count:
                self._take_exact(q, way.velocities, clearance, exact, widest, count)
        rows = self._paths.rows
        if live is not None and not live.distance > self._live_paths.limits(way):
            is_calm = False
            more = self._live_paths.search(way)
            behind = self._live_paths.rows[:more].copy()
            behind[:, PAIR] += len(self.model.pairs)
            rows = np.vstack([rows[:count], behind])
            count += more
        if is_calm and self._calm:
            return CALM
        if velocities is None:
            rows[:count, RATE] = 0.0
        rise = passed / s.rise_time if s.rise_time > 0.0 else math.inf
        scale, inside, near, stop, slow, approach, row, least, self._calm = decision_kernels.decide(
            rows, count, self._thresholds, s.release_distance, s.release_cycles, rise,
            s.escape_scale, s.parting_speed, 2.0 * s.resolution, self._memory,
        )  # fmt: skip
        if row < 0:
            return Decision(scale, inside, near, stop, slow, approach)
        found = rows[row]
        pair = int(found[PAIR])
        low, high = self._thresholds[pair].tolist()
        rate = math.nan if velocities is None else float(found[RATE])
        return Decision(
            scale, inside, near, stop, slow, approach, pair, float(found[DISTANCE]), low, high,
            rate, least,
        )  # fmt: skip

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
        rows = self._paths.rows[:count]
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
        return self._paths.parting_rate(q, velocities, i, j, *points[0], *points[1], *normal)

    def collision_time(
        self, q: np.ndarray, velocities: np.ndarray, horizon: float = 10.0
    ) -> float:
        """Seconds until leaves touch if the joints go on as they do; inf beyond ``horizon``.

        A bound from below; 0 where they touch already, inf where nothing moves.
        """
        time = self._paths.collision_time(q, velocities, horizon)
        if self._live_paths is not None and not self.live.is_empty:
            time = min(time, self._live_paths.collision_time(q, velocities, horizon))
        return time

    def take_over(self, old: Outlook) -> None:
        """Hold what ``old`` holds: flags and the scale, whatever model they came from."""
        self._memory[:], self._calm = old._memory, old._calm

    def _forget(self) -> None:
        """Nothing is held, and nothing has been near."""
        self._memory.fill(0.0)
        self._memory[decision_kernels.GIVEN :] = 1.0
        self._calm = True

    def _compile(self) -> None:
        """Run everything once, so that no joint state waits for it."""
        q, moving = self._still, np.ones_like(self._still)
        way = Way(q, moving, moving, self.decelerations, 0.0, self._settings)
        self._paths.limits(way)
        self._paths.widest = -np.inf
        self._paths.search(way)
        decision_kernels.decide(
            self._paths.rows, 0, self._thresholds, 0.0, 1, 1.0, 1.0, 0.0, 0.0, self._memory
        )
        self._forget()
        self.collision_time(q, moving, 0.0)
        if len(self.model.leaves):
            self._paths.parting_rate(q, moving, 0, 0, *np.zeros(9))
