# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Search for a path around obstacles, also moving ones, if following the motion gets stuck."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from collision_monitor.geometry.segments import ROUNDING
from collision_monitor.self_collision.stepper import Stepper, is_at

_REACH = 0.06  # rad or m per step
_MOST = 400  # steps towards a pose
_SHORTCUTS = 150  # attempts to shorten a path
_SKIPPED = 1.5  # maximum number of skipped poses per row, relative to the mean
# rad or m: longest edge of a tree, Euclidean. On 12 joints near other links, twelve searches with
# 1.5 made 26,000 attempts in the mean and 72,000 at most, those with 3.0 43,000 and 105,000.
_EDGE = 1.5
_POSE = 0.25  # of the cost of an edge: a pose that is too near takes 35 us, an edge 150 us there
_MOST_PATHS = 4  # random paths, of which the one nearest to the desired motion is used,
_CHEAP = 1000  # unless they need more edges than this in all, or measurements of meshes
_BEYOND = np.pi  # rad sampled beyond start and goal, for joints without limits

_FASTEST = 0.95  # of the velocity limits, so that smoothing has room


@dataclass
class Effort:
    """Budget of one adjustment, shared by its attempts.

    The number of edges is deterministic: a search ends at the same place in every run. The
    processor time bounds it on slow machines and for large robots.

    Attributes:
        edges: that random sampling may still test; four poses that are too near count as one.
        seconds: of processor time, from now on, after which random sampling ends.
        smoothing: seconds of processor time after which smoothing is not tried again.
    """

    edges: float = 40_000
    seconds: float = 20.0
    smoothing: float = 3.0
    _end: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Start the clock."""
        self._end = time.thread_time() + self.seconds

    @property
    def is_spent(self) -> bool:
        """Whether no search may go on."""
        return self.edges <= 0 or time.thread_time() >= self._end

    def part(self, edges: float) -> Effort:
        """At most so many edges of this budget, in the same time."""
        return Effort(min(edges, self.edges), self._end - time.thread_time())


def find_detour(
    stepper: Stepper, desired: np.ndarray, ahead: np.ndarray, effort: Effort | None = None
) -> np.ndarray | None:
    """Poses (p, nq) from the first of ``ahead`` to the last of ``desired``, or None.

    Args:
        stepper: keeps the clearances.
        desired: (n, nq) the desired motion.
        ahead: (n, nq) result of following the desired motion from its start.
        effort: budget of sampling; the cost is subtracted.

    Tried in turn: continuing from the last pose; the same backwards from the end; and random
    sampling. `spread` distributes the poses over the ``desired`` ones.
    """
    goal, start = desired[-1], ahead[0]
    tail = stepper.push(ahead[-1], goal, _REACH, _MOST)
    if is_at(tail[-1], goal):
        return np.vstack([ahead, tail[1:]])
    pace = np.abs(np.diff(desired, axis=0)).max(initial=_REACH)
    back = stepper.walk(desired[::-1], _REACH, pace, start=goal)[::-1]
    head = stepper.push(back[0], start, _REACH, _MOST)
    if is_at(head[-1], start):
        return np.vstack([head[::-1], back[1:]])
    return _nearest_of_several(stepper, np.vstack([start, desired[1:]]), effort or Effort())


def _nearest_of_several(stepper: Stepper, desired: np.ndarray, effort: Effort) -> np.ndarray | None:
    """Of a few random paths, the one nearest to ``desired`` after it is distributed over them."""

    def search(part: Effort, seed: int) -> np.ndarray | None:
        path = explore(stepper, desired, part, seed)
        return None if path is None else shortened(stepper, path, _SHORTCUTS)

    def cost(path: np.ndarray) -> float:
        return ((spread(path, desired) - desired) ** 2).sum()

    return _best_of_several(search, cost, effort, stepper)


def _best_of_several(
    search: Callable[[Effort, int], np.ndarray | None],
    cost: Callable[[np.ndarray], float],
    effort: Effort,
    stepper: Stepper,
) -> np.ndarray | None:
    """Of a few paths that ``search`` finds with seeds 0, 1, ..., the one of least ``cost``."""
    best, least, edges, measured = None, np.inf, effort.edges, stepper.measured
    for seed in range(_MOST_PATHS):
        is_first, used = seed == 0, edges - effort.edges
        part = effort.part(edges if is_first else _CHEAP - used)
        is_dear = not is_first and stepper.measured - measured > _CHEAP
        if part.is_spent or is_dear:
            break
        given = part.edges
        path = search(part, seed)
        effort.edges -= given - part.edges
        if path is None:
            break
        away = float(cost(path))
        if away < least:
            best, least = path, away
    return best


def spread(path: np.ndarray, desired: np.ndarray) -> np.ndarray:
    """Assign poses of ``path`` (p, nq) to ``desired`` (n, nq), in order and near them: (n, nq).

    The first row gets the first pose and the last row the last one; in between, dynamic programming
    minimises the sum of squared distances, as in dynamic time warping. At most 1.5 times the mean
    number of poses is skipped at a time.
    """
    n, p = len(desired), len(path)
    jump = max(1, int(np.ceil(_SKIPPED * (p - 1) / max(1, n - 1))))
    apart = ((path[None, :, :] - desired[:, None, :]) ** 2).sum(axis=2)
    cost = np.full((n, p), np.inf)
    came = np.zeros((n, p), dtype=np.int64)
    cost[0, 0] = apart[0, 0]
    for row in range(1, n):
        best = cost[row - 1].copy()
        whence = np.arange(p)
        for back in range(1, min(jump, p - 1) + 1):
            better = cost[row - 1, :-back] < best[back:]
            best[back:][better] = cost[row - 1, :-back][better]
            whence[back:][better] = np.arange(p - back)[better]
        cost[row], came[row] = best + apart[row], whence
    places = [p - 1]
    for row in range(n - 1, 0, -1):
        places.append(int(came[row, places[-1]]))
    return path[places[::-1]]


# -- random sampling --
#
# RRT-Connect (Kuffner and LaValle, ICRA 2000): two trees grow towards random poses and then towards
# each other, by edges that are certified at the limits. The smaller tree is the one that grows: an
# end among other links lets few edges out, and if the trees took turns, the other one would have
# fifty times as many poses, each of them asked for in vain.


def explore(
    stepper: Stepper, desired: np.ndarray, effort: Effort, seed: int = 0
) -> np.ndarray | None:
    """Poses (p, nq) from the first to the last of ``desired`` (n, nq), or None if none was found.

    Poses are sampled anywhere within the joint limits: near the ``desired`` ones, which are
    blocked, samples were lost on 12 joints. The result is deterministic for a given ``seed``.
    """
    corners = _Search(stepper, desired, effort, seed).run()
    if corners is None:
        return None
    poses = [pose for _, pose in corners]
    path = np.vstack([poses[0], *map(_straight, poses[:-1], poses[1:])])
    out = np.repeat(desired[:1], len(path), axis=0)
    out[:, stepper.columns] = path
    return out


def _straight(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Poses (p, m) from ``a`` (m,), which is not among them, to ``b``, at most one step apart."""
    count = max(1, int(np.ceil(np.abs(b - a).max() / _REACH)))
    return a + np.arange(1, count + 1)[:, None] / count * (b - a)


def shortened(stepper: Stepper, path: np.ndarray, tries: int) -> np.ndarray:
    """The path (k, nq), shortened where the straight motion is certified."""
    rng = np.random.default_rng(0)
    for _ in range(tries):
        if len(path) < 4:
            break
        a, b = np.sort(rng.choice(len(path), 2, replace=False))
        if b - a < 2:
            continue
        straight = _straight(path[a], path[b])
        if len(straight) < b - a and stepper.is_free(path[a], path[b]):
            path = np.vstack([path[: a + 1], straight, path[b + 1 :]])
    return path


class _Tree:
    """Search tree of poses (m,), each with its row of the desired motion, and its parent."""

    def __init__(self, row: int, root: np.ndarray) -> None:
        self.poses, self.rows = np.array([root]), np.array([row])
        self._squares = np.array([root @ root])
        self._parents = [-1]

    def __len__(self) -> int:
        return len(self._parents)

    def nearest(self, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Squared distance of each pose from ``target`` less a constant (n,), and the rows (n,)."""
        count = len(self)
        apart = self._squares[:count] - 2.0 * (self.poses[:count] @ target)
        return apart, self.rows[:count]

    def add(self, row: int, pose: np.ndarray, parent: int) -> int:
        """Add a pose; return its index."""
        count = len(self)
        if count == len(self.poses):
            self.poses, self.rows, self._squares = (
                np.concatenate([each, np.empty_like(each)])
                for each in (self.poses, self.rows, self._squares)
            )
        self.poses[count], self.rows[count], self._squares[count] = pose, row, pose @ pose
        self._parents.append(parent)
        return count

    def is_at(self, index: int, row: int, pose: np.ndarray) -> bool:
        """Whether the node ``index`` is at this row and pose."""
        return self.rows[index] == row and np.array_equal(self.poses[index], pose)

    def path(self, index: int) -> list[tuple[int, np.ndarray]]:
        """Rows and poses from the root to ``index``."""
        out = []
        while index >= 0:
            out.append((int(self.rows[index]), self.poses[index]))
            index = self._parents[index]
        return out[::-1]


class _Search:
    """One search for a path on which nothing but the joints of the stepper moves."""

    def __init__(
        self, stepper: Stepper, desired: np.ndarray, effort: Effort, seed: int, last: int = 0
    ) -> None:
        """``last``: the row of the goal; 0 if all other joints stay where they are at the start."""
        self._stepper, self._effort, self._rows = stepper, effort, desired
        self._rng = np.random.default_rng(seed)
        self._wanted = x = desired[:, stepper.columns]
        self._lower = np.where(np.isfinite(stepper.lower), stepper.lower, x.min(axis=0) - _BEYOND)
        self._upper = np.where(np.isfinite(stepper.upper), stepper.upper, x.max(axis=0) + _BEYOND)
        self._trees = _Tree(0, x[0]), _Tree(last, x[-1])

    def run(self) -> list[tuple[int, np.ndarray]] | None:
        """Rows, and positions (m,) there, from the first to the last; None if none were found."""
        while not self._effort.is_spent:
            one, other = sorted(self._trees, key=len)
            reached = self._extend(one, *self._sample())
            if reached is None:
                continue
            goal = int(one.rows[reached]), one.poses[reached]
            met = self._extend(other, *goal)
            while met is not None and not other.is_at(met, *goal):
                met = self._extend(other, *goal, met)
            if met is not None:
                ways = one.path(reached), other.path(met)
                first, second = ways if one is self._trees[0] else ways[::-1]
                return first + second[-2::-1]
        return None

    def _sample(self) -> tuple[int, np.ndarray]:
        """A row, and a pose there."""
        return 0, self._rng.uniform(self._lower, self._upper)

    def _extend(
        self, tree: _Tree, row: int, target: np.ndarray, node: int | None = None
    ) -> int | None:
        """Index of a new pose at most `_EDGE` nearer to ``target`` at ``row``; None if blocked.

        From the pose ``node``, or from the nearest one.
        """
        if node is None:
            node = int(tree.nearest(target)[0].argmin())
        way = target - tree.poses[node]
        length = float(np.linalg.norm(way))
        pose = target if length <= _EDGE else tree.poses[node] + way * (_EDGE / length)
        return self._added(tree, node, row, pose)

    def _added(self, tree: _Tree, node: int, row: int, pose: np.ndarray) -> int | None:
        """Index of ``pose`` at ``row`` behind ``node``; None if the edge to it is not certified."""
        q = self._rows[row].copy()
        q[self._stepper.columns] = pose
        if not self._stepper.keeps_limits(q):
            self._effort.edges -= _POSE
            return None
        start, end = (int(tree.rows[node]), tree.poses[node]), (row, pose)
        ordered = (*start, *end) if start[0] <= row else (*end, *start)
        return tree.add(row, pose, node) if self._is_free(*ordered) else None

    def _is_free(self, a: int, start: np.ndarray, b: int, end: np.ndarray) -> bool:
        """Whether the motion from ``start`` at row a to ``end`` at row b is certified."""
        self._effort.edges -= 1
        poses = self._rows[[a, b]]
        poses[:, self._stepper.columns] = start, end
        return self._stepper.is_free(*poses)


# -- among obstacles that move: poses, each at a row of the desired motion --


def find_timed_detour(
    stepper: Stepper, desired: np.ndarray, times: np.ndarray, speeds: np.ndarray, effort: Effort
) -> np.ndarray | None:
    """Rows (n, nq) with the same first and last one as ``desired``, or None.

    Only the joints of the ``stepper`` differ. The result is deterministic.

    Args:
        stepper: keeps the clearances.
        desired: (n, nq) the desired motion, in which obstacles move.
        times: (n,) of the rows, seconds, increasing.
        speeds: (nq,) velocity limits, rad/s or m/s; inf without one.
        effort: budget of sampling; the cost is subtracted.
    """
    wanted = desired[:, stepper.columns]

    def search(part: Effort, seed: int) -> np.ndarray | None:
        return _TimedSearch(stepper, desired, times, speeds, part, seed).path()

    if len(wanted) < 3:
        return None  # no row in between
    best = _best_of_several(search, lambda path: ((path - wanted) ** 2).sum(), effort, stepper)
    if best is None:
        return None
    out = desired.copy()
    out[:, stepper.columns] = best
    return out


class _TimedSearch(_Search):
    """One search over poses and times, as in ST-RRT*.

    (Grothe, Hartmann, Orthey and Toussaint, ICRA 2022.) The tree from the start grows forwards in
    time and that from the goal backwards, and no joint exceeds its velocity limit.
    """

    def __init__(
        self, stepper: Stepper, desired: np.ndarray, times: np.ndarray, speeds: np.ndarray,
        effort: Effort, seed: int,
    ) -> None:  # fmt: skip
        super().__init__(stepper, desired, effort, seed, len(desired) - 1)
        self._times, self._speeds = times, _FASTEST * speeds[stepper.columns]
        self._bends = _bends(times, np.delete(desired, stepper.columns, axis=1))

    def path(self) -> np.ndarray | None:
        """Positions (n, m) of the joints, or None if none were found."""
        corners = self.run()
        if corners is None:
            return None
        at = [row for row, _ in corners]
        poses = np.array([pose for _, pose in corners])
        columns = [np.interp(self._times, self._times[at], each) for each in poses.T]
        return np.column_stack(columns)

    def _sample(self) -> tuple[int, np.ndarray]:
        row = int(self._rng.integers(1, len(self._wanted) - 1))
        wanted, anywhere = self._wanted[row], self._rng.uniform(self._lower, self._upper)
        return row, wanted + self._rng.uniform() * (anywhere - wanted)

    def _extend(
        self, tree: _Tree, row: int, target: np.ndarray, node: int | None = None
    ) -> int | None:
        """As `_Search._extend`; None also if the pose is out of time."""
        if node is None:
            apart, known = tree.nearest(target)
            before = known < row if tree is self._trees[0] else known > row
            if not before.any():
                return None
            node = int(np.where(before, apart, np.inf).argmin())
        at, pose = int(tree.rows[node]), tree.poses[node]
        offset, ahead = target - pose, row - at
        if ahead == 0:
            return None
        part = min(1.0, _EDGE / max(float(np.linalg.norm(offset)), 1e-12))
        there = at + int(np.sign(ahead)) * max(1, round(part * abs(ahead)))
        room = self._speeds * abs(self._times[there] - self._times[at])
        part = min(part, float((room / np.maximum(np.abs(offset), 1e-12)).min()))
        end = target if part == 1.0 and there == row else pose + part * offset
        return self._added(tree, node, there, end)

    def _is_free(self, a: int, start: np.ndarray, b: int, end: np.ndarray) -> bool:
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
    return 1 + np.flatnonzero((off > ROUNDING).any(axis=1))
