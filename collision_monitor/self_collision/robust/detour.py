# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Search for a path around obstacles, also moving ones, if following the motion gets stuck."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from collision_monitor.self_collision.stepper import Stepper, is_at

_REACH = 0.06  # rad or m per step
_MOST = 400  # steps towards a pose
_JOINING_PLACES = 5  # number of places at which joining paths from both ends is tried
_SHORTCUTS = 150  # attempts to shorten a path
_SKIPPED = 1.5  # maximum number of skipped poses per row, relative to the mean
# rad or m: longest edge of a tree, Euclidean. On 12 joints near other links, twelve searches with
# 1.5 made 26,000 attempts in the mean and 72,000 at most, those with 3.0 43,000 and 105,000.
_EDGE = 1.5
_POSE = 0.25  # of the cost of an edge: a pose that is too near takes 35 us, an edge 150 us there
_WALK_SECONDS = 1.5  # seconds of processor time after which unfinished walks end
_MOST_PATHS = 4  # random paths, of which the one nearest to the desired motion is used,
_CHEAP_EDGES = 1000  # unless they need more edges than this in all
_CHEAP_MEASUREMENTS = 1000  # or measurements of meshes
_BEYOND = np.pi  # rad sampled beyond start and goal, for joints without limits

_SPREADS = (0.25, 0.5, 1.0)  # maximum distances of timed samples from the motion, used in turn
_TIMED_EDGE = 1.0  # rad or m: longest edge of a tree among moving obstacles, Euclidean
_FASTEST = 0.95  # of the velocity limits, so that smoothing has room
_BEND = 1e-9  # rad or m: other joints that leave a straight line by less follow it


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

    Tried in turn: continuing from the last pose; the same backwards from the end; joining the two;
    and random sampling. `spread` distributes the poses over the ``desired`` ones.
    """
    effort = effort or Effort()
    goal, start = desired[-1], ahead[0]
    begin = time.thread_time()
    tail = stepper.push(ahead[-1], goal, _REACH, _MOST)
    if is_at(tail[-1], goal):
        return np.vstack([ahead, tail[1:]])
    if time.thread_time() - begin > _WALK_SECONDS:
        return _nearest_of_several(stepper, np.vstack([start, desired[1:]]), effort)
    pace = np.abs(np.diff(desired, axis=0)).max(initial=_REACH)
    back = stepper.walk(desired[::-1], _REACH, pace, start=goal)[::-1]
    head = stepper.push(back[0], start, _REACH, _MOST)
    if is_at(head[-1], start):
        return np.vstack([head[::-1], back[1:]])
    gaps = np.abs(ahead - back).max(axis=1)
    for place in np.argsort(gaps)[:: max(1, len(desired) // _JOINING_PLACES)]:
        if time.thread_time() - begin > _WALK_SECONDS:
            break
        bridge = stepper.push(ahead[place], back[place], _REACH, _MOST)
        if is_at(bridge[-1], back[place]):
            return np.vstack([ahead[: place + 1], bridge[1:-1], back[place:]])
    return _nearest_of_several(stepper, np.vstack([start, desired[1:]]), effort)


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
        part = effort.part(edges if is_first else _CHEAP_EDGES - used)
        is_dear = not is_first and stepper.measured - measured > _CHEAP_MEASUREMENTS
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


def thinned(stepper: Stepper, path: np.ndarray) -> np.ndarray:
    """The path (p, nq) without poses that are not needed.

    Straight motions between the others are certified, and at most one step long.
    """
    kept = [0]
    for k in range(2, len(path)):
        last = path[kept[-1]]
        if np.abs(path[k] - last).max() > _REACH or not stepper.is_free(last, path[k]):
            kept.append(k - 1)
    return path[[*kept, len(path) - 1]]


def continued(stepper: Stepper, start: np.ndarray, path: np.ndarray) -> np.ndarray | None:
    """The path (p, nq), reached from ``start`` (nq,) on a straight motion; None if blocked."""
    if not stepper.is_free(start, path[0]):
        return None
    corners = np.array([start, path[0]])[:, stepper.columns]
    return np.vstack([_interpolated(start, stepper.columns, corners), path[1:]])


# -- random sampling --


def explore(
    stepper: Stepper, desired: np.ndarray, effort: Effort, seed: int = 0
) -> np.ndarray | None:
    """Poses (p, nq) from the first to the last of ``desired`` (n, nq), or None if none was found.

    RRT-Connect (Kuffner and LaValle, ICRA 2000): two trees grow towards random poses and then
    towards each other, by edges that are certified at the limits. The smaller tree is the one that
    grows: an end among other links lets few edges out, and if the trees took turns, the other one
    would have fifty times as many poses, each of them asked for in vain. Poses are sampled anywhere
    within the joint limits: near the ``desired`` ones, which are blocked, samples were lost on 12
    joints. The result is deterministic for a given ``seed``.
    """
    rng = np.random.default_rng(seed)
    columns, start = stepper.columns, desired[0]
    x = desired[:, columns]
    lower, upper = _sampled_range(stepper, x)
    trees = [_Tree(x[0]), _Tree(x[-1])]
    poses = start.copy(), start.copy()

    def is_free(a: np.ndarray, b: np.ndarray) -> bool:
        poses[0][columns], poses[1][columns] = a, b
        if not stepper.keeps_limits(poses[1]):
            effort.edges -= _POSE
            return False
        effort.edges -= 1
        return stepper.is_free(*poses)

    while not effort.is_spent:
        one, other = sorted(trees, key=len)
        target = rng.uniform(lower, upper)
        reached = one.extend(one.nearest(target), target, is_free)
        if reached is None:
            continue
        pose, met = one.poses[reached], other.nearest(one.poses[reached])
        while met is not None and not np.array_equal(other.poses[met], pose):
            met = other.extend(met, pose, is_free)
        if met is not None:
            ways = one.path(reached), other.path(met)
            first, second = ways if one is trees[0] else ways[::-1]
            return _interpolated(start, columns, np.array(first + second[-2::-1]))
    return None


def _sampled_range(stepper: Stepper, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds (m,) of samples: joint limits, or beyond the desired positions ``x`` (n, m)."""
    lower = np.where(np.isfinite(stepper.lower), stepper.lower, x.min(axis=0) - _BEYOND)
    upper = np.where(np.isfinite(stepper.upper), stepper.upper, x.max(axis=0) + _BEYOND)
    return lower, upper


def _interpolated(start: np.ndarray, columns: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Poses (p, nq) at most one step apart on the straight segments between ``corners`` (k, m)."""
    parts = [corners[:1]]
    for a, b in zip(corners[:-1], corners[1:], strict=True):
        count = max(1, int(np.ceil(np.abs(b - a).max() / _REACH)))
        parts.append(a + np.arange(1, count + 1)[:, None] / count * (b - a))
    path = np.vstack(parts)
    out = np.repeat(start[None], len(path), axis=0)
    out[:, columns] = path
    return out


def shortened(stepper: Stepper, path: np.ndarray, tries: int) -> np.ndarray:
    """The path (k, nq), shortened where the straight motion is certified."""
    rng = np.random.default_rng(0)
    for _ in range(tries):
        if len(path) < 4:
            break
        a, b = np.sort(rng.choice(len(path), 2, replace=False))
        if b - a < 2:
            continue
        count = max(1, int(np.ceil(np.abs(path[b] - path[a]).max() / _REACH)))
        if count < b - a and stepper.is_free(path[a], path[b]):
            straight = path[a] + np.linspace(0.0, 1.0, count + 1)[:, None] * (path[b] - path[a])
            path = np.vstack([path[:a], straight, path[b + 1 :]])
    return path


class _Tree:
    """Search tree of poses (m,), each with the index of its parent."""

    def __init__(self, root: np.ndarray) -> None:
        self.poses = np.array([root])
        self._squares = np.array([root @ root])
        self._parents = [-1]

    def __len__(self) -> int:
        return len(self._parents)

    def nearest(self, target: np.ndarray) -> int:
        """The index of the pose that is nearest to ``target``."""
        poses = self.poses[: len(self._parents)]
        return int((self._squares[: len(poses)] - 2.0 * (poses @ target)).argmin())

    def extend(
        self, at: int, target: np.ndarray, is_free: Callable[[np.ndarray, np.ndarray], bool]
    ) -> int | None:
        """Index of a new pose at most `_EDGE` from pose ``at`` to ``target``; None if blocked."""
        way = target - self.poses[at]
        length = float(np.linalg.norm(way))
        pose = target if length <= _EDGE else self.poses[at] + way * (_EDGE / length)
        if not is_free(self.poses[at], pose):
            return None
        count = len(self._parents)
        if count == len(self.poses):
            self.poses = np.vstack([self.poses, np.empty_like(self.poses)])
            self._squares = np.concatenate([self._squares, self._squares])
        self.poses[count], self._squares[count] = pose, pose @ pose
        self._parents.append(at)
        return count

    def path(self, index: int) -> list[np.ndarray]:
        """Poses from the root to ``index``."""
        out = []
        while index >= 0:
            out.append(self.poses[index])
            index = self._parents[index]
        return out[::-1]


# -- among obstacles that move: poses, each at a row of the desired motion --
#
# RRT-Connect over poses and times, as in ST-RRT* (Grothe, Hartmann, Orthey and Toussaint, ICRA
# 2022): a tree from the start grows forwards in time and one from the goal backwards, and no joint
# exceeds its velocity limit. Edges are certified at the limits of pairs.


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


def find_timed_detour(stepper: Stepper, desired: TimedRows, effort: Effort) -> np.ndarray | None:
    """Rows (n, nq) at the times of ``desired``, with the same first and last one, or None.

    Only the joints of the ``stepper`` differ. The cost is subtracted from ``effort``. The result is
    deterministic.
    """
    wanted = desired.rows[:, stepper.columns]

    def search(part: Effort, seed: int) -> np.ndarray | None:
        return _TimedSearch(stepper, desired, part, seed).run()

    if len(wanted) < 3:
        return None  # no row in between
    best = _best_of_several(search, lambda path: ((path - wanted) ** 2).sum(), effort, stepper)
    if best is None:
        return None
    out = desired.rows.copy()
    out[:, stepper.columns] = best
    return out


class _TimedSearch:
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
        lower, upper = _sampled_range(stepper, x)
        trees = _TimedTree(0, x[0]), _TimedTree(last, x[last])
        turn = 0
        while not effort.is_spent:
            one, other = trees[turn % 2], trees[1 - turn % 2]
            row = int(rng.integers(1, last))
            target = x[row] + _SPREADS[turn % len(_SPREADS)] * (rng.uniform(lower, upper) - x[row])
            turn += 1
            reached = self._extend(one, row, target)
            if reached is None:
                continue
            met: int | None = -1
            goal = one.rows[reached], one.poses[reached]
            while met is not None and not other.is_at(met, *goal):
                met = self._extend(other, *goal, met)
            if met is not None:
                ways = one.path(reached), other.path(met)
                corners = dict(ways[0] + ways[1])
                at = sorted(corners)
                poses = np.array([corners[row] for row in at])
                columns = [np.interp(self._times, self._times[at], each) for each in poses.T]
                return self._shortened(np.column_stack(columns))
        return None

    def _shortened(self, path: np.ndarray) -> np.ndarray:
        """The path (n, m) with straight parts where they are certified."""
        rng = np.random.default_rng(0)
        for _ in range(_SHORTCUTS):
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
        self, tree: _TimedTree, row: int, target: np.ndarray, node: int | None = None
    ) -> int | None:
        """Index of a new pose towards ``target`` at ``row``; None if blocked or out of time.

        From the pose ``node``, or from the nearest one if it is None or -1.
        """
        if node is None or node < 0:
            node = tree.nearest(row, target)
        if node is None or tree.rows[node] == row:
            return None
        at, pose = tree.rows[node], tree.poses[node]
        offset, rows = target - pose, row - at
        part = min(1.0, _TIMED_EDGE / max(float(np.linalg.norm(offset)), 1e-12))
        there = at + int(np.sign(rows)) * max(1, round(part * abs(rows)))
        room = self._speeds * abs(self._times[there] - self._times[at])
        part = min(part, float((room / np.maximum(np.abs(offset), 1e-12)).min()))
        end = target if part == 1.0 and there == row else pose + part * offset
        q = self._rows[there].copy()
        q[self._stepper.columns] = end
        if not self._stepper.keeps_limits(q):
            self._effort.edges -= _POSE
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


class _TimedTree:
    """Search tree of poses (m,) at rows, each with the index of its parent."""

    def __init__(self, row: int, root: np.ndarray) -> None:
        self.poses, self.rows = np.array([root]), np.array([row])
        self._squares = np.array([root @ root])
        self._parents, self._is_forward = [-1], row == 0

    def nearest(self, row: int, target: np.ndarray) -> int | None:
        """Index of the pose nearest to ``target`` from which ``row`` can be reached, or None."""
        count = len(self._parents)
        before = self.rows[:count] < row if self._is_forward else self.rows[:count] > row
        if not before.any():
            return None
        apart = self._squares[:count] - 2.0 * (self.poses[:count] @ target)
        return int(np.where(before, apart, np.inf).argmin())

    def add(self, row: int, pose: np.ndarray, parent: int) -> int:
        """Add a pose; return its index."""
        count = len(self._parents)
        if count == len(self.rows):
            self.poses = np.vstack([self.poses, np.empty_like(self.poses)])
            self.rows = np.concatenate([self.rows, self.rows])
            self._squares = np.concatenate([self._squares, self._squares])
        self.poses[count], self.rows[count] = pose, row
        self._squares[count] = pose @ pose
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
