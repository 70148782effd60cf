# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How a change is shared: between the arms by approach rate, and between joints and tips."""

from __future__ import annotations

import numpy as np

from collision_monitor.model.proximity import Proximity
from collision_monitor.robot.bodies import Jacobians
from collision_monitor.self_collision.problem import Problem

_LEAST = 0.05  # share of an arm that does not approach: it helps, but costs more


def shares(problem: Problem, proximity: Proximity, rows: np.ndarray) -> tuple[float, float]:
    """Shares of the right and the left arm over desired ``rows`` (n, nq); their sum is 1.

    By the rates at which each approaches the other, n . v of the nearest points (Wu et al.,
    2018; clamped at zero, one half each when nobody approaches), weighted by the
    repulsion of each near pair.
    """
    limits = problem.margins.safe
    right, left = problem.columns
    rates = np.zeros(2)
    for k in range(len(rows) - 1):
        near = proximity.near(rows[k], limits)
        if len(near.pairs) == 0:
            continue
        force = limits[near.pairs] - near.distances
        step = rows[k + 1] - rows[k]
        for side, columns in enumerate((right, left)):
            closing = np.maximum(0.0, -near.gradients[:, columns] @ step[columns])
            rates[side] += force @ closing
    total = rates.sum()
    share = rates / total if total > 0.0 else np.array([0.5, 0.5])
    share = (share + _LEAST) / (1.0 + 2.0 * _LEAST)
    return float(share[0]), float(share[1])


def joint_weights(problem: Problem, share: tuple[float, float]) -> np.ndarray:
    """Diagonal H (m, m) of the joints that may move: dear for the arm with the lesser share.

    Two changes against one constraint are as the inverse weights; with equal shares H is 1.
    """
    if problem.yielding != "both":
        columns = problem.columns[0 if problem.yielding == "right" else 1]
        return np.eye(len(columns))
    parts = [np.full(len(c), 0.5 / s) for c, s in zip(problem.columns, share, strict=True)]
    return np.diag(np.concatenate(parts))


def tip_weights(problem: Problem, columns: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """What a displacement of the tips costs, tip_weight^2 J'J, at each of ``rows``: (n, m, m)."""
    bodies = problem.model.bodies
    out = np.zeros((len(rows), len(columns), len(columns)))
    for k, q in enumerate(rows):
        jacobians = Jacobians(bodies, q)
        for arm in problem.arms:
            point = jacobians.link_pose(arm.tip_link)[:3, 3]
            linear = jacobians.of_point(bodies.link_bodies[arm.tip_link], point)[:3, columns]
            out[k] += problem.tip_weight**2 * linear.T @ linear
    return out
