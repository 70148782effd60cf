# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""One push of one arm: a point of a link is moved by so much, by little joint motion."""

from __future__ import annotations

import numpy as np

from collision_monitor.robot.bodies import Bodies, Jacobians

# A link that gains less than this per radian of all its joints together (m, squared) is at
# the end of its reach along that direction: it cannot be pushed there.
_IMMOVABLE = 1e-8
# Keeping the tip's pose may cost this many times the joint motion of letting it go; more is
# what a near-singular inverse gives, and would be a jump.
_HELD_COST = 10.0
_HELD_ERROR = 0.05  # of the push, which the held solution may miss it and move the tip by
_TIP_SCALE = np.array([[1.0], [1.0], [1.0], [0.3], [0.3], [0.3]])  # metres a radian counts as
_LARGEST = np.radians(2.0)  # of one push, for it is linearised; likewise metres of a slide
_TEMPERED = 1e-4  # singular values below this part of the largest are left alone


def least_push(
    gradient: np.ndarray, amount: float, q: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> np.ndarray:
    """The smallest change (k,) of joints ``q`` within limits that makes gradient . dq = amount.

    A joint that would leave its limits stays at one, and the others take over. What no
    joint can give is missing from the result.
    """
    change = np.zeros_like(q)
    free = np.ones(len(q), dtype=bool)
    missing = amount
    while free.any() and missing > 0.0:
        slope = np.where(free, gradient, 0.0)
        if slope @ slope <= _IMMOVABLE:
            break
        wanted = change + slope * missing / (slope @ slope)
        limited = np.clip(wanted, lower - q, upper - q)
        change = np.where(free, limited, change)
        stopped = free & (wanted != limited)
        if not stopped.any():
            break
        free &= ~stopped
        missing = amount - float(gradient @ change)
    return change


def held_push(gradient: np.ndarray, tip: np.ndarray, amount: float) -> np.ndarray | None:
    """The same while the tip keeps its pose, or None where the arm cannot do both.

    The tip's pose is the second task, in the null space of the first (Siciliano, Slotine,
    ICAR 1991)::

        dq = g+ amount - N (J N)+ J g+ amount,    N = 1 - g+ g

    ``gradient`` (k,) is g, ``tip`` (6, k) is J, its turning rows scaled to metres.
    """
    gg = float(gradient @ gradient)
    if gg <= _IMMOVABLE:
        return None
    alone = gradient * (amount / gg)
    null = np.eye(len(gradient)) - np.outer(gradient, gradient) / gg
    change = alone - null @ (np.linalg.pinv(tip @ null, rcond=_TEMPERED) @ (tip @ alone))
    if np.abs(change).max() > _HELD_COST * np.abs(alone).max():
        return None
    if np.abs(tip @ change).max() > _HELD_ERROR * amount:
        return None
    return change


class PushedArm:
    """An arm of a robot, whose links can be pushed.

    Attributes:
        columns: (k,) columns of q.
        may_move: whether it gives way at all.
    """

    def __init__(
        self,
        bodies: Bodies,
        columns: np.ndarray,
        tip_link: str,
        limits: tuple[np.ndarray, np.ndarray],
        may_move: bool,
    ) -> None:
        """``limits`` (nq,) lower and upper, of all joints of the robot."""
        self._bodies = bodies
        self.columns = columns
        self._tip_link = tip_link
        self._lower, self._upper = (limit[columns] for limit in limits)
        self.may_move = may_move

    def pushed(
        self,
        q: np.ndarray,
        body: int,
        point: np.ndarray,
        direction: np.ndarray,
        amount: float,
        hold_tip: bool = True,
    ) -> np.ndarray:
        """Configuration (nq,) in which a point of ``body`` is ``amount`` metres further on.

        An inner link is moved so that the tip keeps its pose, where the inverse kinematics
        and the limits allow; else, and for an end link, by the least joint motion, and the links
        beyond go along. Linearised, and no joint moves by more than 2 degrees: to be repeated.

        Args:
            q: (nq,) configuration.
            body: a body of the arm.
            point: (3,) where the point is, base frame.
            direction: (3,) unit vector along which to move it.
            amount: metres, not negative.
            hold_tip: False lets the tip go along from the start.
        """
        jacobians = Jacobians(self._bodies, q)
        of_point = jacobians.of_point(body, point)[:, self.columns]
        gradient = direction @ of_point[:3]
        position = q[self.columns]
        change = None
        if hold_tip:
            change = self._holding_the_tip(jacobians, of_point, gradient, amount)
        if change is not None:
            reached = position + change
            if np.any(reached < self._lower) or np.any(reached > self._upper):
                change = None
        if change is None:
            change = least_push(gradient, amount, position, self._lower, self._upper)
        change = change * min(1.0, _LARGEST / max(np.abs(change).max(), 1e-300))
        result = q.copy()
        result[self.columns] = np.clip(position + change, self._lower, self._upper)
        return result

    def _holding_the_tip(
        self, jacobians: Jacobians, of_point: np.ndarray, gradient: np.ndarray, amount: float
    ) -> np.ndarray | None:
        body = self._bodies.link_bodies[self._tip_link]
        tip = jacobians.of_point(body, jacobians.link_pose(self._tip_link)[:3, 3])
        tip = tip[:, self.columns] * _TIP_SCALE
        beyond = ~of_point.any(axis=0) & tip.any(axis=0)
        return held_push(gradient, tip, amount) if beyond.any() else None
