# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The published adjustment of a motion of two arms, with its printed errors corrected.

Wu Changzheng et al., J. Shanghai Jiao Tong University 52(1), 2018, 45-53: if the next step would
bring a link of the right arm closer than d_saf to one of the left arm, the right arm moves along
the common normal n by its share of d_saf - d, then the left arm by the rest. The link nearest to
the base comes first, and this repeats until the index F of the repulsion field is zero. Only pairs
of the right and left arm are considered. Corrections:

- if there is no solution with fixed tip poses, everything is repeated with free tips ("else the
  adjustment goes on outwards");
- n is a unit vector, and is also defined if links touch;
- the left arm moves along +n, away from the right one;
- shares are in [0, 1], are one half if neither arm approaches, and are those of the desired motion
  (`share`);
- each waypoint starts from the last adjusted pose and moves towards the desired one in steps of a
  degree, with a push after each. If it started at the desired pose, neighbouring waypoints could be
  pushed to different sides of the other arm, with a collision between them;
- the change is smoothed along the motion and pushed again, alternately: the printed rule considers
  single instants, and causes jumps at the start and end of a change;
- F = 0 at the waypoints does not imply F = 0 between them: waypoints keep 2.5 mm more, and even
  more if the motion between them is not certified at d_saf.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from collision_monitor.common.limits import LARGEST
from collision_monitor.common.text import time_text
from collision_monitor.errors import AdjustmentError
from collision_monitor.geometry.segments import ROUNDING
from collision_monitor.self_collision.field.arm_pushing import PushedArm
from collision_monitor.self_collision.margins import Problem, sides
from collision_monitor.self_collision.motion_clearance import RequiredClearances, failures
from collision_monitor.self_collision.stepper import SUBSTEP

_BUFFER = 0.0025  # m beyond d_saf at a waypoint, for dips between waypoints
_DEEPER = 0.0003  # m by which a dip may be deeper than where its certificate failed
_TURNS = 20  # alternations of smoothing and pushing
_SWEEPS = 8  # smoothing passes in each
_REPAIRS = 12  # number of times that buffers grow at dips
_PUSHES = 300  # maximum number of pushes of one configuration; usually a few suffice
_FIXED_TIP_PUSHES = 40  # number of pushes that keep the tip poses; later ones do not
# A linearised push overshoots by this much, metres, to be sufficient. Each iteration adds the same
# amount, so that pairs that alternate in pushing each other converge.
_OVERSHOOT = 1e-5


def adjust_published(problem: Problem) -> np.ndarray:
    """The desired motion with F = 0 throughout, certified: (n, nq) radians and metres.

    Waypoints without near pairs are not changed, nor are the first and the last. Between waypoints
    the motion is linear in the joints. Arms are moved away from each other only, but all pairs that
    the margins of ``problem`` limit are certified.

    Raises:
        AdjustmentError: with waypoint, time, pair and distance: the first or the last waypoint is
            too close already, the arms cannot be separated, or the result is not certified.
    """
    adjustment = _Adjustment(problem)
    adjustment.refuse_bad_ends()
    try:
        return adjustment.run(_FIXED_TIP_PUSHES)
    except AdjustmentError:
        return adjustment.run(0)


def share(right: float, left: float) -> float:
    """Share of the right arm in a push, in [0, 1].

    ``right`` and ``left`` are n . v of the two control points, m/s, with n from right to left: the
    right arm approaches if its rate is positive, the left arm if its rate is negative::

        w_right = max(0, right) / (max(0, right) + max(0, -left))

    The paper prints right / (right - left): 0/0 if the rates are equal, and outside [0, 1] if both
    have the same sign, which caused jumps of over 100 degrees. The share is one half if neither arm
    approaches.
    """
    a, b = max(0.0, right), max(0.0, -left)
    return a / (a + b) if a + b > ROUNDING else 0.5


class _Adjustment:
    def __init__(self, problem: Problem) -> None:
        model = problem.model
        self._problem, self._proximity = problem, problem.proximity
        self._desired = np.ascontiguousarray(problem.desired, dtype=float)
        # Smoothing exceeds joint limits if the desired motion is uneven.
        lower, upper = model.position_limits
        self._least = np.minimum(lower, self._desired)
        self._largest = np.maximum(upper, self._desired)
        self._arms = [
            PushedArm(model, columns, arm.tip_link, k in problem.able)
            for k, (arm, columns) in enumerate(zip(problem.arms, problem.columns, strict=True))
        ]
        self._may_move = np.zeros(len(model.joint_names), dtype=bool)
        self._may_move[problem.yielding_columns] = True
        between = sides(model, problem.arms).between
        self._safe = np.where(between, problem.margins.safe, -np.inf)
        self._bodies = _bodies_of_pairs(problem)
        self._depths = np.array(
            [min(len(model.bodies.chain(body)) for body in two) for two in self._bodies.tolist()]
        )
        self._shares: dict[tuple[int, int], float] = {}  # by waypoint and pair
        within = self._safe + _BUFFER
        self._gaps = np.array([self._proximity.distances_below(q, within) for q in self._desired])

    def refuse_bad_ends(self) -> None:
        """Raise AdjustmentError if the arms are too close at the first or the last waypoint."""
        for waypoint, which in ((0, "first"), (len(self._desired) - 1, "last")):
            if (self._gaps[waypoint] < self._safe).any():
                reason = f"the {which} waypoint may not be changed"
                raise self._error(waypoint, self._desired[waypoint], reason)

    def run(self, held: int) -> np.ndarray:
        """The adjusted motion; ``held``: number of pushes of inner links that keep the tip pose."""
        self._held, self._buffers = held, np.full(len(self._desired), _BUFFER)
        adjusted = self._smoothed(self._walk())
        for _ in range(_REPAIRS):
            dips = failures(self._proximity, adjusted, self._safe)
            if not dips:
                break
            # Both ends of an interval with a dip get a larger buffer, and may need an adjustment
            # now.
            deeper = np.zeros(len(adjusted))
            for dip in dips:
                ends = slice(dip.segment, dip.segment + 2)
                deeper[ends] = np.maximum(deeper[ends], dip.missing + _DEEPER)
            self._buffers += deeper
            adjusted = self._smoothed(adjusted)
        return self._certified(adjusted)

    def _certified(self, adjusted: np.ndarray) -> np.ndarray:
        problem, safe = self._problem, self._problem.margins.safe
        bad = failures(self._proximity, adjusted, safe, first_only=True)
        if not bad:
            return adjusted
        waypoint, pair = bad[0].segment, bad[0].pair
        (a, b), distance = problem.model.pairs[pair], float(safe[pair] - bad[0].missing)
        time = float(problem.times[waypoint])
        raise AdjustmentError(
            f"after waypoint {waypoint} at {time_text(time)}: '{a}' and '{b}' are {distance:.4f} m "
            "apart, so it is not certified",
            waypoint, time, (a, b), distance, adjusted[: waypoint + 1],
        )  # fmt: skip

    def _targets(self) -> np.ndarray:
        """Required distances (n, pairs) at each waypoint, metres: d_saf and a buffer.

        Any part of the buffer that the desired motion has suffices: a waypoint without pairs that
        are too close is not changed.
        """
        gaps, safe, buffers = self._gaps, self._safe, self._buffers[:, None]
        within = (gaps >= safe) & (gaps < safe + _BUFFER) & (buffers <= _BUFFER)
        return np.where(within, gaps, safe + buffers)

    def _walk(self) -> np.ndarray:
        """Adjust each waypoint, starting at the previous adjusted one, towards the desired one."""
        desired, free, targets = self._desired, self._may_move, self._targets()
        q = desired[0].copy()
        adjusted = [q]
        for waypoint in range(1, len(desired)):
            steps = math.ceil(np.abs(desired[waypoint] - q).max() / SUBSTEP - 1e-9)
            start = desired[waypoint - 1]
            for i in range(steps):
                ahead = desired[waypoint] - q
                ahead *= min(1.0, SUBSTEP / max(np.abs(ahead[free]).max(initial=0.0), 1e-300))
                onwards = start + (i + 1) / steps * (desired[waypoint] - start)
                q = self._cleared(
                    np.where(free, q + ahead, onwards), waypoint, targets[waypoint], adjusted
                )
            if np.abs(desired[waypoint] - q).max() < 1e-12:
                q = desired[waypoint].copy()
            adjusted.append(q)
        if not np.array_equal(q, desired[-1]):
            reason = "the last waypoint cannot be reached: the arms block each other"
            raise self._error(len(desired) - 1, q, reason, np.array(adjusted[:-1]))
        return np.array(adjusted)

    def _smoothed(self, adjusted: np.ndarray) -> np.ndarray:
        """Alternately smooth the change, where there is one, and push again."""
        desired, targets = self._desired, self._targets()
        short = (self._gaps < targets).any(axis=1) | (self._buffers > _BUFFER)
        for _ in range(_TURNS):
            changed = (adjusted != desired).any(axis=1) | short
            changed[[0, -1]] = False
            change = adjusted - desired
            for _ in range(_SWEEPS):
                mean = 0.25 * change[:-2] + 0.5 * change[1:-1] + 0.25 * change[2:]
                change[1:-1] = np.where(changed[1:-1, None], mean, 0.0)
            adjusted = desired.copy()
            smooth = np.clip(desired + change, self._least, self._largest)
            for waypoint in np.flatnonzero(changed):
                adjusted[waypoint] = self._cleared(
                    smooth[waypoint], waypoint, targets[waypoint], adjusted[:waypoint]
                )
        return adjusted

    # -- pushes of one configuration --

    def _cleared(
        self, q: np.ndarray, waypoint: int, target: np.ndarray, before: Sequence[np.ndarray]
    ) -> np.ndarray:
        """``q`` (nq,) pushed until all pairs are ``target`` (pairs,) metres apart.

        ``before`` (waypoint, nq): the adjusted waypoints before it.

        One pair is separated at a time, the one with the link nearest to the base of its arm first,
        and among these the one that is short of most. A push can bring other links together.
        """
        q = q.copy()
        for turn in range(_PUSHES):
            near = self._proximity.near(q, target, 0.0)
            if not len(near.pairs):
                return q
            short = target[near.pairs] - near.distances
            first = np.lexsort((-short, self._depths[near.pairs]))[0]
            amount, pair = short[first] + _OVERSHOOT * (1 + turn), int(near.pairs[first])
            self._push(q, near.gradients[first].copy(), amount, pair, waypoint, turn < self._held)
        required = RequiredClearances(self._problem)
        if (worst := required.worst(q, target)) is None:
            return q
        reason = f"the arms are still too close after {_PUSHES} iterations"
        needed = float(target[worst[0]])  # with the buffer of a waypoint
        raise required.error(waypoint, *worst, reason, np.array(before), needed=needed)

    def _push(
        self, q: np.ndarray, gradient: np.ndarray, amount: float, pair: int, waypoint: int,
        hold: bool,
    ) -> None:  # fmt: skip
        """Separate a ``pair``: first the right arm moves by its share, then the left arm.

        The paper prints the term of the left arm with the wrong sign: it would move towards the
        right one. The right arm also takes the part that the left arm cannot, because of a limit or
        its reach.
        """
        right, left = self._arms
        hold_right, hold_left = (
            hold and arm.inner[body]
            for arm, body in zip(self._arms, self._bodies[pair], strict=True)
        )
        part = self._share(pair, waypoint) * amount
        rest = amount - right.push(q, gradient, part, hold_right)
        rest -= left.push(q, gradient, rest, hold_left)
        if rest > 0.5 * amount:
            right.push(q, gradient, rest, hold_right)

    def _share(self, pair: int, waypoint: int) -> float:
        """Share of the right arm in separating ``pair``, of the desired motion to ``waypoint``.

        Rates are those of the *desired* motion at its own poses. Rates from the last adjusted pose
        towards the next desired one cause feedback: the arm that has moved most approaches fastest,
        and gets the largest share again. In the symmetric motion of the paper, the arms then moved
        by 14.6 and 5.4 degrees instead of 11.3 each.
        """
        right, left = self._arms
        if right.may_move != left.may_move:
            return float(right.may_move)
        if (waypoint, pair) not in self._shares:
            before, desired = self._desired[waypoint - 1 : waypoint + 1]
            only = np.full(len(self._safe), -np.inf)
            only[pair] = LARGEST
            growing = self._proximity.near(desired, only, 0.0).gradients[0] * (desired - before)
            self._shares[waypoint, pair] = share(
                -growing[right.columns].sum(), growing[left.columns].sum()
            )
        return self._shares[waypoint, pair]

    def _error(
        self, waypoint: int, q: np.ndarray, reason: str, prefix: np.ndarray | None = None
    ) -> AdjustmentError:
        required = RequiredClearances(self._problem)
        return required.error(waypoint, *required.worst(q, self._safe + LARGEST), reason, prefix)


def _bodies_of_pairs(problem: Problem) -> np.ndarray:
    """(pairs, 2) bodies of both links of each pair, of the right arm first if one is of it."""
    model, right = problem.model, problem.arms[0].links
    is_right = np.array([model.carriers[name] in right for name in model.link_names])
    pairs = model.pair_links
    return model.body_numbers[np.where(is_right[pairs[:, 1:]], pairs[:, ::-1], pairs)]
