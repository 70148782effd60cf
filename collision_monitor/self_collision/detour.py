# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A path that keeps clearances where following the desired motion does not arrive."""

from __future__ import annotations

import numpy as np

from collision_monitor.self_collision.stepper import Stepper, is_at

_REACH = 0.06  # rad or m a step
_MOST = 400  # steps towards a pose
_PLACES = 5  # where paths from both ends are tried to be joined
_SAMPLES = 250  # random poses, at last
_CUTS = 150  # tries to shorten a path
_SKIPPED = 1.5  # times the mean of poses that are skipped from row to row, at most
_FAR = 25  # steps towards a random pose
_MARGIN = 1.5  # rad or m beyond start and goal within which poses are sampled


def find_detour(stepper: Stepper, rows: np.ndarray, ahead: np.ndarray) -> np.ndarray | None:
    """Rows (n, nq) from the first of ``ahead`` to the last of ``rows``, or None.

    Args:
        stepper: keeps the clearances.
        rows: (n, nq) the desired motion.
        ahead: (n, nq) how far following it from its start came.

    Tried in turn: walking on from where it ended; the same backwards from the end; joining
    the two; and random sampling. Poses are spread over the n rows so that they stay near the
    desired ones.
    """
    path = _find_path(stepper, rows, ahead)
    return None if path is None else spread(path, rows)


def _find_path(stepper: Stepper, rows: np.ndarray, ahead: np.ndarray) -> np.ndarray | None:
    """Poses (p, nq) from the first of ``ahead`` to the last of ``rows``, or None."""
    goal, start = rows[-1], ahead[0]
    tail = stepper.push(ahead[-1], goal, _REACH, _MOST)
    if is_at(tail[-1], goal):
        return np.vstack([ahead, tail[1:]])
    pace = np.abs(np.diff(rows, axis=0)).max(initial=_REACH)
    back = stepper.walk(rows[::-1], _REACH, pace, start=goal)[::-1]
    head = stepper.push(back[0], start, _REACH, _MOST)
    if is_at(head[-1], start):
        return np.vstack([head[::-1], back[1:]])
    gaps = np.abs(ahead - back).max(axis=1)
    for k in np.argsort(gaps)[:: max(1, len(rows) // _PLACES)]:
        bridge = stepper.push(ahead[k], back[k], _REACH, _MOST)
        if is_at(bridge[-1], back[k]):
            return np.vstack([ahead[: k + 1], bridge[1:-1], back[k:]])
    path = explore(stepper, start, goal, _SAMPLES)
    return None if path is None else shortened(stepper, path, _CUTS)


def spread(path: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Poses of ``path`` (p, nq) for each of ``rows`` (n, nq), in order, near them: (n, nq).

    The first row gets the first pose and the last row the last one; in between the sum of
    squared distances is least, with at most half more than the mean of poses skipped at a time
    (dynamic programming, as in dynamic time warping).
    """
    n, p = len(rows), len(path)
    jump = max(1, int(np.ceil(_SKIPPED * (p - 1) / max(1, n - 1))))
    apart = ((path[None, :, :] - rows[:, None, :]) ** 2).sum(axis=2)
    cost = np.full((n, p), np.inf)
    came = np.zeros((n, p), dtype=np.int64)
    cost[0, 0] = apart[0, 0]
    for k in range(1, n):
        best = cost[k - 1].copy()
        whence = np.arange(p)
        for back in range(1, min(jump, p - 1) + 1):
            better = cost[k - 1, :-back] < best[back:]
            best[back:][better] = cost[k - 1, :-back][better]
            whence[back:][better] = np.arange(p - back)[better]
        cost[k], came[k] = best + apart[k], whence
    places = [p - 1]
    for k in range(n - 1, 0, -1):
        places.append(int(came[k, places[-1]]))
    return path[places[::-1]]


# -- random sampling --------------------------------------------------------------------


def explore(
    stepper: Stepper, start: np.ndarray, goal: np.ndarray, samples: int
) -> np.ndarray | None:
    """Poses (p, nq) from ``start`` to ``goal`` (nq,), or None if none was found.

    Two trees that grow towards random poses and then towards each other (RRT-Connect: Kuffner
    and LaValle, ICRA 2000); but branches slide along obstacles instead of ending there.
    The same path at every run.
    """
    rng = np.random.default_rng(0)
    ends = np.array([start, goal])[:, stepper.columns]
    lower = np.maximum(stepper.lower, ends.min(axis=0) - _MARGIN)
    upper = np.minimum(stepper.upper, ends.max(axis=0) + _MARGIN)
    trees = [_Tree(start), _Tree(goal)]
    for k in range(samples):
        one, other = trees[k % 2], trees[1 - k % 2]
        target = start.copy()
        target[stepper.columns] = rng.uniform(lower, upper)
        reached = one.grow(stepper, target)
        met = other.grow(stepper, one.poses[reached])
        if is_at(other.poses[met], one.poses[reached]):
            path = one.path(reached) + other.path(met)[-2::-1]
            return np.array(path if k % 2 == 0 else path[::-1])
    return None


def shortened(stepper: Stepper, path: np.ndarray, tries: int) -> np.ndarray:
    """A path (k, nq) with detours cut off where the straight motion is certified."""
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
    """Poses, each with the one from which it was reached."""

    def __init__(self, root: np.ndarray) -> None:
        self.poses = [root]
        self._parents = [-1]

    def grow(self, stepper: Stepper, target: np.ndarray) -> int:
        """Grow from the nearest pose towards ``target``; the index of the last pose."""
        away = np.abs(np.array(self.poses) - target)[:, stepper.columns].sum(axis=1)
        at = int(away.argmin())
        for pose in stepper.push(self.poses[at], target, _REACH, _FAR)[1:]:
            self.poses.append(pose)
            self._parents.append(at)
            at = len(self.poses) - 1
        return at

    def path(self, index: int) -> list[np.ndarray]:
        """Poses from the root to ``index``."""
        out = []
        while index >= 0:
            out.append(self.poses[index])
            index = self._parents[index]
        return out[::-1]
