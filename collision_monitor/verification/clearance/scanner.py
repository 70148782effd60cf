# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The compiled scan over a motion (`clearance_scan`), for one model, on several threads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.continuous.clearance_scan import (
    LIMITS,
    Found,
    Wanted,
    first_below,
    look,
    scan,
)
from collision_monitor.continuous.scan_space import Motion, Space
from collision_monitor.hierarchy.packed import windows
from collision_monitor.verification.clearance.schedule import Schedule
from collision_monitor.verification.progress import Told, silent

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

_BINS_A_TASK = 16
_LOOKS = 4  # every so many bins are measured before the scan, to know about how near pairs come


@dataclass(frozen=True, eq=False)
class Scan:
    """Bounds of the clearance over time; metres and seconds.

    Attributes:
        pairs: (k,) indices into ``model.pairs``.
        edges: (bins + 1,) of the bins of time.
        lows: (bins, k) no smaller distance occurs in a bin.
        ups: (bins, k) the smallest that was measured in a bin.
        when: (bins, k) where.
        doubts: (bins, k) about when bounds could not be parted, nan where they could.
        best: (k,) the least of ``ups``.
        leaves: (k, 2) which leaves are so near.
        instants: (k, 1 + parts) when; and when each part of the motion had begun.
        looks: configurations, and pairs at configurations, that were looked at.
    """

    pairs: np.ndarray
    edges: np.ndarray
    lows: np.ndarray
    ups: np.ndarray
    when: np.ndarray
    doubts: np.ndarray
    best: np.ndarray
    leaves: np.ndarray
    instants: np.ndarray
    looks: tuple[int, int]


class Scanner:
    """Tables of a model for scans; made once, for any number of motions.

    ``arrays``: a copy of the packed model. ``firsts`` (pairs, 2): the innermost joint, as the
    kernels number them, that carries one link of a pair and not the other; -1 where there is none.
    ``told`` hears how far a scan is.
    """

    def __init__(self, model: CollisionModel) -> None:
        self.model = model
        self.told: Told = silent
        self.arrays = model.work_space()
        view = windows(*self.arrays)
        leaves, links = len(view.leaf_ends), len(view.links)
        self._centers = np.zeros((leaves + links, 3))
        self._radii = np.empty(leaves + links)
        half = 0.5 * (view.leaf_ends[:, 3:] - view.leaf_ends[:, :3])
        self._radii[:leaves] = np.linalg.norm(half, axis=1) + view.radii[:, 0]
        self._link_centers = np.empty((links, 4))
        for link, (first, stop) in enumerate(view.links.tolist()):
            ends, radii = view.leaf_ends[first:stop].reshape(-1, 2, 3), view.radii[first:stop]
            low = (ends.min(axis=1) - radii).min(axis=0)
            high = (ends.max(axis=1) + radii).max(axis=0)
            center = 0.5 * (low + high)
            self._radii[leaves + link] = (np.linalg.norm(ends - center, axis=2) + radii).max()
            self._link_centers[link] = view.leaf_bodies[first, 0], *center
        chains = [_chain(view.joint_table[:, 0], body) for body in range(len(view.poses))]
        bodies = self._link_centers[:, 0].astype(int)
        self.firsts = np.array(
            [_parting(chains[bodies[a]], chains[bodies[b]]) for a, b in view.pairs.tolist()],
            dtype=np.int64,
        ).reshape(-1, 2)
        self._chains = [(chains[bodies[a]], chains[bodies[b]]) for a, b in view.pairs.tolist()]
        self._hints = view.links[view.pairs, 0]
        self._rows = int(view.moving_leaves) + links
        self._joints = len(view.joint_table)

    def drivers(self, schedule: Schedule) -> list[frozenset[int]]:
        """For every pair of the model, which parts of the schedule move its links apart."""
        part = schedule.path_of[self.model.bodies.columns].tolist()
        return [
            frozenset(part[k] for k in set(a).symmetric_difference(b) if part[k] >= 0)
            for a, b in self._chains
        ]

    def scan(
        self,
        schedule: Schedule,
        edges: np.ndarray,
        limits: np.ndarray,
        wanted: Wanted,
        pairs: Sequence[int] | np.ndarray | None = None,
        threads: int = 0,
    ) -> Scan:
        """Bounds of ``pairs`` (all without it) between ``edges`` (bins + 1,) seconds.

        ``limits`` (pairs of the model, LIMITS): thresholds in metres, inf for none. ``threads``: 0
        takes all processors.
        """
        chosen = np.arange(len(self.model.pairs)) if pairs is None else np.asarray(pairs)
        chosen = chosen.astype(np.int64)
        motion = schedule.packed()
        bins = len(edges) - 1
        out = [np.full((bins, len(chosen)), np.nan) for _ in range(4)]
        known = self._found(len(schedule.parts))
        limits = np.ascontiguousarray(limits, dtype=float).reshape(-1, LIMITS)
        if bins > _LOOKS:
            self._look(schedule, motion, edges, chosen, known)
        tasks = max(1, -(-bins // _BINS_A_TASK))
        bounds = np.linspace(0, bins, tasks + 1).astype(int)

        left = [None] * tasks

        def task(first: int, stop: int) -> tuple[Found, int, int]:
            self.told("distances between leaves", 1.0 - len(left) / tasks)
            found = Found(*(array.copy() for array in known))
            looks = scan(
                *self.model.work_space(), self.space(len(schedule.parts), motion.order), motion,
                schedule.starts, schedule.widths, edges[first : stop + 1], chosen, limits, wanted,
                schedule.rest.copy(), found, *(array[first:stop] for array in out),
            )  # fmt: skip
            left.pop()
            return found, *looks

        with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
            done = list(pool.map(task, bounds[:-1], bounds[1:]))
        for found, _, _ in done:
            closer = found.best < known.best
            for whole, part in zip(known, found, strict=True):
                whole[closer] = part[closer]
        looks = sum(d[1] for d in done), sum(d[2] for d in done)
        return Scan(
            chosen, edges, *out, known.best[chosen], known.leaves[chosen],
            known.instants[chosen], looks,
        )  # fmt: skip

    def bounds(
        self, schedule: Schedule, edges: np.ndarray, limits: np.ndarray, wanted: Wanted
    ) -> np.ndarray:
        """``lows`` (bins, pairs) of `scan` alone, for small questions: one thread, one call."""
        motion = schedule.packed()
        shape = len(edges) - 1, len(self.model.pairs)
        lows = np.empty(shape)
        scan(
            *self.arrays, self.space(len(schedule.parts), motion.order), motion, schedule.starts,
            schedule.widths, edges, np.arange(shape[1]), limits, wanted, schedule.rest.copy(),
            self._found(len(schedule.parts)), lows, *(np.empty(shape) for _ in range(3)),
        )  # fmt: skip
        return lows

    def first_below(
        self, schedule: Schedule, pair: int, limit: float, low: float, high: float, instant: float
    ) -> float:
        """Seconds from ``low`` to ``high`` at which ``pair`` is first below ``limit``; inf: never.

        To ``instant`` s; where parts begin at any instant of a range, the first that can be.
        """
        motion = schedule.packed()
        return first_below(
            *self.arrays, self.space(len(schedule.parts), motion.order), motion, schedule.starts,
            schedule.widths, float(low), float(high), pair, limit, instant, schedule.rest.copy(),
            self._hints.copy(),
        )  # fmt: skip

    def _look(
        self,
        schedule: Schedule,
        motion: Motion,
        edges: np.ndarray,
        chosen: np.ndarray,
        known: Found,
    ) -> None:
        middles = 0.5 * (edges[:-1] + edges[1:])[_LOOKS // 2 :: _LOOKS]
        places = np.linspace(-1.0, 1.0, 5) if schedule.widths.any() else np.zeros(1)
        times = np.repeat(middles, len(places))
        starts = schedule.starts + np.tile(places, len(middles))[:, None] * schedule.widths
        look(
            *self.model.work_space(), self.space(len(schedule.parts), motion.order), motion,
            chosen, times, starts, schedule.rest.copy(), known,
        )  # fmt: skip

    def _found(self, parts: int) -> Found:
        pairs = len(self.model.pairs)
        return Found(
            np.full(pairs, np.inf),
            np.full((pairs, 2), -1),
            np.full((pairs, 1 + parts), np.nan),
            self._hints.astype(np.int64),
        )

    def space(self, parts: int, order: int) -> Space:
        """Tables and work space of one thread."""
        table = self._rows * self._joints
        return Space(
            self._centers.ravel().copy(),
            self._radii,
            self._link_centers.ravel(),
            np.empty(self._rows, dtype=np.int64),
            np.empty(4 * parts),
            self.firsts.ravel(),
            np.zeros(4 * self._joints),
            np.empty(table),
            np.empty(table),
            np.empty(table),
            np.empty(order),
            np.empty(parts),
        )


def _chain(parents: np.ndarray, body: int) -> tuple[int, ...]:
    """Joints from the base to ``body``, as the kernels number them."""
    joints = []
    while body > 0:
        joints.append(body - 1)
        body = int(parents[body - 1])
    return tuple(reversed(joints))


def _parting(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, int]:
    """The first joint of each chain that is not in the other, or -1."""
    common = 0
    while common < min(len(a), len(b)) and a[common] == b[common]:
        common += 1
    return (
        a[common] if common < len(a) else -1,
        b[common] if common < len(b) else -1,
    )
