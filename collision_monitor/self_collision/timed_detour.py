# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Search for a path among obstacles that move: poses, each at a row of the desired motion.

RRT-Connect (Kuffner and LaValle, ICRA 2000) over poses and times, as in ST-RRT* (Grothe, Hartmann,
Orthey and Toussaint, ICRA 2022): a tree from the start grows forwards in time and one from the goal
backwards, and no joint exceeds its velocity limit. Edges are certified at the limits of pairs.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from collision_monitor.self_collision.detour import (
    SHORTCUTS,
    SPREADS,
    Effort,
    best_of_several,
    sampled_range,
)
from collision_monitor.self_collision.stepper import Stepper

_EDGE = 1.0  # rad or m: longest edge of a tree, Euclidean
_FASTEST = 0.95  # of the velocity limits, so that smoothing has room
_BEND = 1e-9  # rad or m: other joints that leave a straight line by less follow it


@dataclass(frozen=True, eq=False)
class TimedRows:
    """The desired motion, in which obstacles move.

    Attributes:
        rows: (n, nq) configurations.
        times: (n,) seconds, increasing.
        speeds: (nq,) velocity limits, rad/s or m/s; inf without one.
    """

    rows: np.ndarray
    times: np.ndarray
    speeds: np.ndarray


def find_timed_detour(
    stepper: Stepper, desired: TimedRows, effort: Effort
) -> np.ndarray | None:
    """Rows (n, nq) at the times of ``desired``, with the same first and last one, or None.

    Only the joints of the ``stepper`` differ. The cost is subtracted from ``effort``. The result is
    deterministic.
    """
    wanted = desired.rows[:, stepper.columns]

    def search(seed: int) -> np.ndarray | None:
        return _Search(stepper, desired, effort, seed).run()

    best = best_of_several(search, lambda path: ((path - wanted) ** 2).sum(), effort, stepper)
    if best is None:
        return None
    out = desired.rows.copy()
    out[:, stepper.columns] = best
    return out


class _Search:
    """One search."""

    def __init__(self, stepper: Stepper, desired: TimedRows, effort: Effort, seed: int) -> None:
        self._stepper, self._effort = stepper, effort
        self._rows, self._times = desired.rows, desired.times
        self._speeds = _FASTEST * desired.speeds[stepper.columns]
        self._rng = np.random.default_rng(seed)
        self._wanted = desired.rows[:, stepper.columns]
        others = np.delete(desired.rows, stepper.columns, axis=1)
        self._bends = _bends(desired.times, others)

    def run(self) -> np.ndarray | None:
        """Positions (n, m) of the joints, or None if none were found."""
        x, last = self._wanted, len(self._wanted) - 1
        stepper, rng, effort = self._stepper, self._rng, self._effort
        lower, upper = sampled_range(stepper, x)
        trees = _Tree(0, x[0]), _Tree(last, x[last])
        begin, spent, k = time.thread_time(), 0.0, 0
        while last > 1 and effort.edges > 0 and spent < effort.seconds:
            one, other = trees[k % 2], trees[1 - k % 2]
            row = int(rng.integers(1, last))
            target = x[row] + SPREADS[k % len(SPREADS)] * (rng.uniform(lower, upper) - x[row])
            k += 1
            spent = time.thread_time() - begin
            reached = self._extend(one, row, target)
            if reached is None:
                continue
            met: int | None = -1
            goal = one.rows[reached], one.poses[reached]
            while met is not None and not other.is_at(met, *goal):
                met = self._extend(other, *goal, met)
            if met is not None:
                effort.seconds -= spent
                ways = one.path(reached), other.path(met)
                corners = dict(ways[0] + ways[1])
                at = sorted(corners)
                poses = np.array([corners[row] for row in at])
                columns = [np.interp(self._times, self._times[at], each) for each in poses.T]
                return self._shortened(np.column_stack(columns))
        effort.seconds -= spent
        return None

    def _shortened(self, path: np.ndarray) -> np.ndarray:
        """The path (n, m) with straight parts where they are certified."""
        rng = np.random.default_rng(0)
        for _ in range(SHORTCUTS):
            a, b = np.sort(rng.choice(len(path), 2, replace=False))
            if b - a < 2:
                continue
            way, duration = path[b] - path[a], self._times[b] - self._times[a]
            part = (self._times[a : b + 1] - self._times[a]) / duration
            straight = path[a] + part[:, None] * way
            is_straight = np.abs(straight - path[a : b + 1]).max() < _BEND
            if is_straight or (np.abs(way) > self._speeds * duration).any():
                continue
            if self._is_free(a, path[a], b, path[b]):
                path = np.vstack([path[:a], straight, path[b + 1 :]])
        return path

    def _extend(
        self, tree: _Tree, row: int, target: np.ndarray, node: int | None = None
    ) -> int | None:
        """Index of a new pose towards ``target`` at ``row``; None if blocked or out of time.

        From the pose ``node``, or from the nearest one if it is None or -1.
        """
        if node is None or node < 0:
            node = tree.nearest(row, target)
        if node is None or tree.rows[node] == row:
            return None
        at, pose = tree.rows[node], tree.poses[node]
        way, rows = target - pose, row - at
        part = min(1.0, _EDGE / max(float(np.linalg.norm(way)), 1e-12))
        there = at + int(np.sign(rows)) * max(1, round(part * abs(rows)))
        room = self._speeds * abs(self._times[there] - self._times[at])
        part = min(part, float((room / np.maximum(np.abs(way), 1e-12)).min()))
        end = target if part == 1.0 and there == row else pose + part * way
        q = self._rows[there].copy()
        q[self._stepper.columns] = end
        if not self._stepper.keeps_limits(q):
            self._effort.edges -= 1
            return None
        first, last = ((at, pose), (there, end)) if at < there else ((there, end), (at, pose))
        if not self._is_free(*first, *last):
            return None
        return tree.add(there, end, node)

    def _is_free(self, a: int, start: np.ndarray, b: int, end: np.ndarray) -> bool:
        """Whether the motion from ``start`` at row a to ``end`` at row b is certified."""
        inside = self._bends[(self._bends > a) & (self._bends < b)]
        places = np.concatenate([[a], inside, [b]])
        part = (self._times[places] - self._times[a]) / (self._times[b] - self._times[a])
        poses = self._rows[places]
        poses[:, self._stepper.columns] = start + part[:, None] * (end - start)
        self._effort.edges -= len(places) - 1
        return all(map(self._stepper.is_free, poses[:-1], poses[1:]))


def _bends(times: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Rows at which ``others`` (n, k) change their velocity."""
    spans = np.diff(times)
    changes = np.diff(np.diff(others, axis=0) / spans[:, None], axis=0)
    off = np.abs(changes) * np.minimum(spans[1:], spans[:-1])[:, None]
    return 1 + np.flatnonzero((off > _BEND).any(axis=1))


class _Tree:
    """Search tree of poses (m,) at rows, each with the index of its parent."""

    def __init__(self, row: int, root: np.ndarray) -> None:
        self.poses, self.rows = np.array([root]), np.array([row])
        self._parents, self._is_forward = [-1], row == 0

    def nearest(self, row: int, target: np.ndarray) -> int | None:
        """The index of the pose nearest to ``target`` from which ``row`` can be reached."""
        count = len(self._parents)
        before = self.rows[:count] < row if self._is_forward else self.rows[:count] > row
        which = np.flatnonzero(before)
        if not len(which):
            return None
        return int(which[((self.poses[which] - target) ** 2).sum(axis=1).argmin()])

    def add(self, row: int, pose: np.ndarray, parent: int) -> int:
        """Add a pose; return its index."""
        count = len(self._parents)
        if count == len(self.rows):
            self.poses = np.vstack([self.poses, np.empty_like(self.poses)])
            self.rows = np.concatenate([self.rows, self.rows])
        self.poses[count], self.rows[count] = pose, row
        self._parents.append(parent)
        return count

    def is_at(self, index: int, row: int, pose: np.ndarray) -> bool:
        """Whether a node, or -1 for none, is at this row and pose."""
        return index >= 0 and self.rows[index] == row and np.array_equal(self.poses[index], pose)

    def path(self, index: int) -> list[tuple[int, np.ndarray]]:
        """Rows and poses from the root to ``index``."""
        out = []
        while index >= 0:
            out.append((int(self.rows[index]), self.poses[index]))
            index = self._parents[index]
        return out[::-1]
