# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A step of the arms towards a target, limited by the clearances of all near pairs.

Weights distribute a change between the arms, and between joints and tips.
"""

from __future__ import annotations

import numpy as np

from collision_monitor.common.limits import SIX_DIGITS
from collision_monitor.model.proximity import Proximity
from collision_monitor.robot.bodies import Jacobians
from collision_monitor.self_collision.margins import Problem
from collision_monitor.self_collision.solvers import dense_solver

SUBSTEP = np.radians(1.0)  # of a joint, rad or m, in one step of a walk
BUFFER = 0.003  # m kept above limits, for dips between poses
_CATCH_UP = 8  # additional steps at a row if a pair is below its limit
SPREAD = 0.04  # m: leaf pairs of two links farther than the nearest by more than this are ignored
_STUCK = 8  # steps without coming nearer to the goal; those that arrived took at most 3
_LEAST = 0.05  # minimum share of an arm, also if it does not approach


def is_at(q: np.ndarray, goal: np.ndarray) -> bool:
    """Whether q (nq,) equals ``goal`` (nq,), except for rounding."""
    return bool(np.abs(q - goal).max() < SIX_DIGITS)


class Stepper:
    """Steps of some joints that keep leaf pairs at their limits.

    The step dx solves the quadratic program ::

        min   1/2 (dx - d)' H (dx - d)            d: from q to the target
        s.t.  g_i . dx >= limit_i + buffer - d_i  for every near leaf pair i: distance d_i,
                                                  gradient g_i
              |dx| <= reach, joint limits

    The linearised clearances are soft: if a pair is too close already, the step leads out as fast
    as ``reach`` allows. With d_saf as the limit, the sum of violations is the index F of the linear
    field, to first order.
    """

    def __init__(
        self,
        proximity: Proximity,
        columns: np.ndarray,
        limits: np.ndarray,
        weights: np.ndarray,
        buffer: float,
    ) -> None:
        """Prepare steps of some joints.

        Args:
            proximity: of the model.
            columns: (m,) columns of q of the joints that may be adjusted; the others follow the
                target.
            limits: (pairs,) metres, -inf for pairs that are not monitored.
            weights: (m, m) H, symmetric and positive definite.
            buffer: metres above the limits that are kept.
        """
        model = proximity.model
        self._solve = dense_solver()
        self._proximity = proximity
        self.columns = columns
        self.limits = limits
        self._buffer = buffer
        self.weights = np.ascontiguousarray(weights, dtype=float)
        self._loss = proximity.loss(columns)
        self.lower, self.upper = (limits[columns] for limits in model.position_limits)

    def step(self, q: np.ndarray, target: np.ndarray, reach: float) -> np.ndarray:
        """Configuration (nq,) nearest to ``target`` (nq,), within ``reach`` (rad or m) of q."""
        at = target.copy()
        at[self.columns] = q[self.columns]
        # Pairs farther apart than this cannot come too close in one step of several joints.
        most = max(reach, 1e-9) * self._loss  # avoids 0 times infinity
        band = self._buffer + np.minimum(min(0.02 + 2.0 * reach, 0.25), most)
        near = self._proximity.near(at, self.limits + band, SPREAD)
        x = at[self.columns]
        want = target[self.columns] - x
        high = np.minimum(self.upper - x, reach)
        low = np.maximum(self.lower - x, -reach)
        low, high = np.minimum(low, np.maximum(high, -reach)), np.maximum(high, low)
        if not len(near.pairs):
            at[self.columns] = x + np.clip(want, low, high)
            return at
        change = self._solve(
            self.weights,
            -self.weights @ want,
            near.gradients[:, self.columns],
            self.limits[near.pairs] + self._buffer - near.distances,
            low,
            high,
        )
        if change is None:
            return at  # no step is better than a wrong one
        at[self.columns] = np.clip(x + change, x + low, x + high)
        return at

    @property
    def measured(self) -> int:
        """Number of distances between meshes that were measured for certificates so far."""
        return self._proximity.measured

    def is_free(self, start: np.ndarray, end: np.ndarray) -> bool:
        """Whether the straight motion to ``end`` (nq,) is certified at the limits."""
        return self._proximity.keeps(start, end, self.limits)

    def keeps_limits(self, q: np.ndarray) -> bool:
        """Whether every pair is at its limit or farther at q (nq,)."""
        return self._proximity.keeps_at(q, self.limits)

    def walk(
        self, desired: np.ndarray, substep: float, reach: float, start: np.ndarray | None = None
    ) -> np.ndarray:
        """Follow ``desired`` (n, nq) from the first one or ``start``, as near as clearances allow.

        Returns (n, nq). Each row is approached in steps of at most ``substep`` of the desired
        motion, starting from the last pose. If it started at the desired poses, neighbouring rows
        could be pushed to different sides of an obstacle. ``reach``: rad or m per row.
        """
        out = np.empty_like(desired)
        q = out[0] = desired[0] if start is None else start
        for row in range(1, len(desired)):
            change = desired[row] - desired[row - 1]
            steps = max(1, int(np.ceil(np.abs(change).max(initial=0.0) / substep)))
            for i in range(1, steps + 1):
                q = self.step(q, desired[row - 1] + change * (i / steps), reach / steps)
            for _ in range(_CATCH_UP):  # clearance has priority over the step length
                if self.keeps_limits(q):
                    break
                q = self.step(q, desired[row], max(reach / steps, substep))
            out[row] = q
        return out

    def push(self, q: np.ndarray, goal: np.ndarray, reach: float, most: int) -> np.ndarray:
        """Poses (k, nq) on the way from q to ``goal``, until it arrives or gets stuck."""
        poses, least, stuck = [q], np.inf, 0
        for _ in range(most):
            poses.append(self.step(poses[-1], goal, reach))
            left = float(np.linalg.norm(poses[-1] - goal))
            nearer = left < least - 0.02 * reach
            least, stuck = (left, 0) if nearer else (least, stuck + 1)
            if stuck > _STUCK or np.abs(poses[-1] - goal).max() < 1e-9:
                break
        return np.array(poses)


# -- weights --


def shares(problem: Problem, proximity: Proximity, desired: np.ndarray) -> np.ndarray:
    """Shares (arms,) of the arms in a change over ``desired`` (n, nq); their sum is 1.

    They are the approach rates n . v at the nearest points (Wu et al., 2018; clamped at zero, equal
    if no arm approaches), weighted by the repulsion of each near pair.
    """
    limits = problem.margins.safe
    count = len(problem.columns)
    rates = np.zeros(count)
    for row in range(len(desired) - 1):
        near = proximity.near(desired[row], limits)
        if len(near.pairs) == 0:
            continue
        force = limits[near.pairs] - near.distances
        step = desired[row + 1] - desired[row]
        for arm, columns in enumerate(problem.columns):
            closing = np.maximum(0.0, -near.gradients[:, columns] @ step[columns])
            rates[arm] += force @ closing
    total = rates.sum()
    share = rates / total if total > 0.0 else np.full(count, 1.0 / count)
    return (share + _LEAST) / (1.0 + count * _LEAST)


def joint_weights(problem: Problem, share: np.ndarray | None = None) -> np.ndarray:
    """Diagonal H (m, m) of the adjusted joints: higher cost for the arm with the lower share.

    Changes that satisfy a constraint are inversely proportional to their weights; H is 1 for equal
    shares.
    """
    if share is None or len(problem.able) < len(problem.arms):
        return np.eye(len(problem.yielding_columns))
    equal = 1.0 / len(share)
    parts = [np.full(len(c), equal / s) for c, s in zip(problem.columns, share, strict=True)]
    return np.diag(np.concatenate(parts))


def tip_weights(problem: Problem, columns: np.ndarray, waypoints: np.ndarray) -> np.ndarray:
    """Cost of tip displacement, tip_weight^2 J'J, at each of ``waypoints`` (n, nq): (n, m, m)."""
    bodies = problem.model.bodies
    out = np.zeros((len(waypoints), len(columns), len(columns)))
    for row, q in enumerate(waypoints):
        jacobians = Jacobians(bodies, q)
        for arm in problem.arms:
            point = jacobians.link_pose(arm.tip_link)[:3, 3]
            linear = jacobians.of_point(bodies.link_bodies[arm.tip_link], point)[:3, columns]
            out[row] += problem.tip_weight**2 * linear.T @ linear
    return out
