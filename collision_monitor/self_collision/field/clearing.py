# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""One configuration made free of self-collision by the repulsion, link by link until F = 0."""

from __future__ import annotations

import numpy as np

from collision_monitor.robot.bodies import rigid_bodies
from collision_monitor.self_collision.field.approach import Shares, direction
from collision_monitor.self_collision.field.cross_pairs import CrossPairs
from collision_monitor.self_collision.field.nine_cases import control_points
from collision_monitor.self_collision.field.pushing import PushedArm
from collision_monitor.self_collision.problem import Problem

ROUNDS = 300  # pushes of one configuration; a few are usual
_HOLDING = 40  # after so many the tips are let go
# A linearised push is aimed this much too far, metres, that it be done with. Each turn adds as
# much again, so that pairs that push each other back and forth come to an end.
_OVER = 1e-5


class Clearing:
    """Pushes the two arms of a problem apart.

    Attributes:
        pairs: the right leaves against the left ones.
        arms: right and left.
    """

    def __init__(self, problem: Problem, hold_tips: bool = True) -> None:
        """Prepare what does not change from one configuration to the next.

        ``hold_tips``: whether the push of an inner link leaves the tip where it is, if it can.
        """
        self._holding = _HOLDING if hold_tips else 0
        model = problem.model
        bodies = rigid_bodies(model.robot)
        self.pairs = CrossPairs(problem, bodies)
        self.arms = tuple(
            PushedArm(
                bodies,
                columns,
                arm.tip_link,
                (model.lower, model.upper),
                problem.yielding in ("both", side),
            )
            for arm, columns, side in zip(
                problem.arms, problem.columns, ("right", "left"), strict=True
            )
        )
        movable = (self.arms[0].may_move, self.arms[1].may_move)
        self._shares = Shares(problem.desired, bodies, self.pairs, movable)

    def cleared(self, q: np.ndarray, waypoint: int, target: np.ndarray) -> np.ndarray | None:
        """``q`` (nq,) pushed until all pairs are ``target`` (m,) metres apart; None if stuck.

        The pair whose link is nearest to its arm's base comes first, of those the
        nearest one; repeated until no pair repels, since one push can bring other links together.
        """
        enough = float(target.max())
        for turn in range(ROUNDS):
            short = target - self.pairs.gaps(q, enough)
            near = np.flatnonzero(short > 0.0)
            if not len(near):
                return q
            order = np.lexsort((-short[near], self.pairs.depth[near]))
            q = self._part(q, waypoint, int(near[order[0]]), target, turn)
        return None

    def _part(
        self, q: np.ndarray, waypoint: int, k: int, target: np.ndarray, turn: int
    ) -> np.ndarray:
        """Part pair k: the right arm by its share, left held still, then the left arm.

        The left arm's term is printed with the wrong sign: it would move towards the right one.
        What the left arm cannot give, because of a limit or its reach, the right one takes on.
        """
        share = self._shares.of(waypoint, k)
        over, hold = _OVER * (1 + turn), turn < self._holding
        short = float(target[k] - self.pairs.gap(q, k)) + over
        q = self._pushed(q, 0, k, share * short, hold)
        rest = float(target[k] - self.pairs.gap(q, k)) + over
        q = self._pushed(q, 1, k, rest, hold)
        rest = float(target[k] - self.pairs.gap(q, k)) + over
        if rest > 0.5 * short:
            q = self._pushed(q, 0, k, rest, hold)
        return q

    def _pushed(self, q: np.ndarray, side: int, k: int, amount: float, hold: bool) -> np.ndarray:
        arm = self.arms[side]
        if amount <= 0.0 or not arm.may_move:
            return q
        right, left = self.pairs.segments(q, k)
        n = direction(right, left, np.zeros(3))
        found = control_points(right, left)
        body = self.pairs.bodies_of(k)[side]
        if side == 0:
            return arm.pushed(q, body, found.first, -n, amount, hold)
        return arm.pushed(q, body, found.second, n, amount, hold)
