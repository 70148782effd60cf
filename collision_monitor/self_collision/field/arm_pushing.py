# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""One link of an arm pushed by a distance, by the least joint motion.

An inner link is pushed such that the tip keeps its pose, if the arm can; otherwise freely.
"""

from __future__ import annotations

import math

import numpy as np

from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.robot.bodies import Jacobians

# A link that moves less than this per radian of all its joints (m, squared) is at the end of its
# reach in that direction, and cannot be pushed further.
_IMMOVABLE = 1e-8
# Keeping the tip pose may cost at most this many times the joint motion of a free tip: a
# near-singular inverse gives more, which would be a jump.
_HELD_COST = 10.0
_HELD_ERROR = 0.05  # of the push: maximum error and tip motion of a solution with fixed tip
_TURNING = 0.3  # metres per radian of the tip
_LARGEST = math.radians(2.0)  # largest linearised push, rad; metres for prismatic joints
_SINGULAR = 1e-4  # singular values below this fraction of the largest are ignored


def least_push(
    gradient: np.ndarray, amount: float, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Smallest change (k,) between ``low`` and ``high`` (k,) with gradient . change = amount.

    A joint that would leave its range stays at its end, and the others compensate. The result is
    too short if no joint can.
    """
    change, free = np.zeros(len(gradient)), np.ones(len(gradient), dtype=bool)
    while True:
        missing, slope = amount - gradient @ change, gradient[free] @ gradient[free]
        if missing <= 0.0 or slope <= _IMMOVABLE:
            return change
        wanted = change + np.where(free, gradient * (missing / slope), 0.0)
        change = np.clip(wanted, low, high)
        stopped = change != wanted
        if not stopped.any():
            return change
        free &= ~stopped


def held_push(gradient: np.ndarray, tip: np.ndarray, amount: float) -> np.ndarray | None:
    """Smallest change (k,) with gradient . change = amount and a fixed tip; None if there is none.

    ``tip`` (n, k): Jacobian of the tip pose, with rotational rows scaled to metres.
    """
    slope = gradient @ gradient
    if slope <= _IMMOVABLE:
        return None
    rows, wanted = np.vstack([gradient, tip]), np.r_[amount, np.zeros(len(tip))]
    change = np.linalg.lstsq(rows, wanted, rcond=_SINGULAR)[0]
    alone = np.abs(gradient).max() * amount / slope
    fits = np.abs(rows @ change - wanted).max() <= _HELD_ERROR * amount
    return change if fits and np.abs(change).max() <= _HELD_COST * alone else None


class PushedArm:
    """One arm that is pushed.

    Attributes:
        columns: (k,) columns of q.
        may_move: whether the arm may be moved.
        inner: (bodies,) bool, whether a joint of the arm moves its tip, but not the body.
    """

    def __init__(
        self, model: CollisionModel, columns: np.ndarray, tip_link: str, may_move: bool
    ) -> None:
        """An arm with the joints ``columns`` (k,) of q and the end link ``tip_link``."""
        self.columns, self.may_move = columns, may_move
        self._bodies, self._tip = model.bodies, tip_link
        self._lower, self._upper = (limits[columns] for limits in model.position_limits)
        moved = np.zeros((len(self._bodies.parents) + 1, len(columns)), dtype=bool)
        for body, moves in enumerate(moved):
            moves[:] = np.isin(columns, self._bodies.columns[self._bodies.chain(body)])
        self.inner = (moved[self._bodies.link_bodies[tip_link]] & ~moved).any(axis=1)

    def push(self, q: np.ndarray, gradient: np.ndarray, amount: float, hold: bool) -> float:
        """Change ``q`` (nq,) so that a distance with this ``gradient`` (nq,) grows by ``amount``.

        The joint motion is minimal, with ``hold`` that which keeps the pose of the tip, if inverse
        kinematics and limits allow. The motion is linearised, and no joint moves by more than 2
        degrees: repeat the call. Returns the growth to first order, metres.
        """
        if amount <= 0.0 or not self.may_move:
            return 0.0
        slopes, x = gradient[self.columns], q[self.columns]
        low, high = self._lower - x, self._upper - x
        change = held_push(slopes, self._tip_jacobian(q), amount) if hold else None
        if change is None or (change < low).any() or (change > high).any():
            change = least_push(slopes, amount, low, high)
        change *= min(1.0, _LARGEST / max(np.abs(change).max(initial=0.0), _LARGEST))
        q[self.columns] = np.clip(x + change, self._lower, self._upper)
        return float(slopes @ change)

    def _tip_jacobian(self, q: np.ndarray) -> np.ndarray:
        """(6, k) of the tip pose, its turning in metres."""
        jacobians, body = Jacobians(self._bodies, q), self._bodies.link_bodies[self._tip]
        point = jacobians.link_pose(self._tip)[:3, 3]
        out = jacobians.of_point(body, point)[:, self.columns]
        out[3:] *= _TURNING
        return out
