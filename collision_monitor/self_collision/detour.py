# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A way that keeps clearances where following the desired motion does not arrive."""

from __future__ import annotations

import numpy as np

from collision_monitor.self_collision.local_planner import explore, shortened
from collision_monitor.self_collision.stepper import Stepper

_REACH = 0.06  # rad or m a step, when only the goal counts
_MOST = 400  # steps
_ARRIVED = 1e-6
_PLACES = 5  # where the ways from both ends are tried to be joined
_SAMPLES = 250  # random poses, at last
_CUTS = 150  # tries to shorten a way
_SKIPPED = 1.5  # times the mean of poses that are skipped from row to row, at most


def find_detour(stepper: Stepper, rows: np.ndarray, ahead: np.ndarray) -> np.ndarray | None:
    """Rows (n, nq) from the first of ``ahead`` to the last of ``rows``, or None.

    Args:
        stepper: keeps the clearances.
        rows: (n, nq) the desired motion.
        ahead: (n, nq) how far following it from its start came.

    Tried in turn: walking on from where it ended; the same backwards from the end; joining
    the two; and exploring. Poses are spread over the n rows so that they stay near the desired
    ones.
    """
    path = _find_path(stepper, rows, ahead)
    return None if path is None else spread(path, rows)


def _find_path(stepper: Stepper, rows: np.ndarray, ahead: np.ndarray) -> np.ndarray | None:
    """Poses (p, nq) from the first of ``ahead`` to the last of ``rows``, or None."""
    goal, start = rows[-1], ahead[0]
    tail = stepper.push(ahead[-1], goal, _REACH, _MOST)
    if _is_at(tail[-1], goal):
        return np.vstack([ahead, tail[1:]])
    paces = np.full(len(rows) - 1, np.abs(np.diff(rows, axis=0)).max(initial=_REACH))
    back = stepper.walk(rows[::-1], _REACH, paces, start=goal)[::-1]
    head = stepper.push(back[0], start, _REACH, _MOST)
    if _is_at(head[-1], start):
        return np.vstack([head[::-1], back[1:]])
    gaps = np.abs(ahead - back).max(axis=1)
    for k in np.argsort(gaps)[:: max(1, len(rows) // _PLACES)]:
        bridge = stepper.push(ahead[k], back[k], _REACH, _MOST)
        if _is_at(bridge[-1], back[k]):
            return np.vstack([ahead[: k + 1], bridge[1:-1], back[k:]])
    path = explore(stepper, start, goal, _SAMPLES)
    return None if path is None else shortened(stepper, path, _CUTS)


def _is_at(q: np.ndarray, goal: np.ndarray) -> bool:
    return bool(np.abs(q - goal).max() < _ARRIVED)


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
