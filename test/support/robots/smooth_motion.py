# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Smooth motions of a model, a millisecond a row, and models that are not always in contact."""

import numpy as np
from scipy.interpolate import CubicSpline

RATE = 1000.0


def smooth_motion(model, count: int, speed: float = 1.0, seed: int = 2) -> np.ndarray:
    """(count, nq) milliseconds of a spline through configurations without contact.

    The joint that moves most moves at ``speed`` rad/s in the mean; joints stay within limits.
    """
    needed = 2 + int(count / RATE)
    free = []
    for q in model.random_configurations(200 * needed, seed=seed):
        if model.distance(q, exact=True).distance > 0.0:
            free.append(q)
        if len(free) == needed:
            break
    lengths = np.abs(np.diff(free, axis=0)).max(axis=1) / speed
    times = np.concatenate([[0.0], np.cumsum(lengths)])
    rows = CubicSpline(times, free)(np.arange(count) / RATE % times[-1])
    return np.ascontiguousarray(np.clip(rows, model.lower, model.upper))


def without_usual_contacts(model, share: float = 0.05, samples: int = 100):
    """The model without pairs of links that touch in more than ``share`` of random samples.

    A robot without an SRDF may have neighbours that always touch: they would hide all others.
    """
    touches = np.zeros(len(model.pairs))
    for q in model.random_configurations(samples, seed=7):
        touches += model.distances(q, exact=True) <= 0.0
    usual = touches > share * samples
    if not usual.any():
        return model
    return model.twin([pair for pair, k in zip(model.pairs, usual, strict=True) if not k])
