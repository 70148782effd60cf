# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A way from one pose to another where no direct one keeps the clearances."""

from __future__ import annotations

import numpy as np

from collision_monitor.self_collision.stepper import Stepper

_REACH = 0.06  # rad or m a step
_FAR = 25  # steps towards a sample
_ARRIVED = 1e-6
_MARGIN = 1.5  # rad or m beyond start and goal within which poses are sampled


def explore(
    stepper: Stepper, start: np.ndarray, goal: np.ndarray, samples: int, seed: int = 0
) -> np.ndarray | None:
    """Poses (p, nq) from ``start`` to ``goal`` (nq,), or None if none was found.

    Two trees that grow towards random poses and then towards each other (RRT-Connect: Kuffner
    and LaValle, ICRA 2000); but branches slide along what is near instead of ending there.
    The same way at every run.
    """
    rng = np.random.default_rng(seed)
    lower, upper = _region(stepper, start, goal)
    trees = [_Tree(start), _Tree(goal)]
    for k in range(samples):
        one, other = trees[k % 2], trees[1 - k % 2]
        target = start.copy()
        target[stepper.columns] = rng.uniform(lower, upper)
        reached = one.grow(stepper, target, stepper.columns)
        met = other.grow(stepper, one.poses[reached], stepper.columns)
        if np.abs(other.poses[met] - one.poses[reached]).max() < _ARRIVED:
            path = one.way(reached) + other.way(met)[-2::-1]
            return np.array(path if k % 2 == 0 else path[::-1])
    return None


def shortened(stepper: Stepper, path: np.ndarray, tries: int, seed: int = 0) -> np.ndarray:
    """A path (k, nq) with detours cut off where the straight way is certified."""
    rng = np.random.default_rng(seed)
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


def _region(
    stepper: Stepper, start: np.ndarray, goal: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Bounds (m,) of sampled poses: around start and goal, within the limits of the joints."""
    ends = np.array([start[stepper.columns], goal[stepper.columns]])
    return (
        np.maximum(stepper.lower, ends.min(axis=0) - _MARGIN),
        np.minimum(stepper.upper, ends.max(axis=0) + _MARGIN),
    )


class _Tree:
    """Poses, each with the one from which it was reached."""

    def __init__(self, root: np.ndarray) -> None:
        self.poses = [root]
        self._came_from = [-1]

    def grow(self, stepper: Stepper, target: np.ndarray, columns: np.ndarray) -> int:
        """Grow from the nearest pose towards ``target``; the index of the last pose."""
        poses = np.array(self.poses)
        nearest = int(np.abs(poses - target)[:, columns].sum(axis=1).argmin())
        at = nearest
        for pose in stepper.push(self.poses[nearest], target, _REACH, _FAR)[1:]:
            self.poses.append(pose)
            self._came_from.append(at)
            at = len(self.poses) - 1
        return at

    def way(self, index: int) -> list[np.ndarray]:
        """Poses from the root to ``index``."""
        out = []
        while index >= 0:
            out.append(self.poses[index])
            index = self._came_from[index]
        return out[::-1]
