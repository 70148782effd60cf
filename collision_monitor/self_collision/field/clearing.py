# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Two arms pushed apart in one configuration, link by link until F = 0, compiled.

See `repulsion_field` for the rule and its corrections.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from collision_monitor.common.compiled import offline_kernel
from collision_monitor.hierarchy.kinematics import forward_kinematics, place_leaves
from collision_monitor.hierarchy.packed import unpack
from collision_monitor.hierarchy.query import first_bad
from collision_monitor.robot.bodies import Bodies
from collision_monitor.self_collision.field.arm_pushing import add_jacobian, arm_tables, push_arm
from collision_monitor.self_collision.field.nine_cases import common_normal, leaf_gaps
from collision_monitor.self_collision.margins import Problem, sides, yielding_arms
from collision_monitor.self_collision.mesh_proximity import carriers

ROUNDS = 300  # maximum number of pushes of one configuration; usually a few suffice
_FIXED_TIP_ROUNDS = 40  # number of pushes that keep the tip poses; later ones do not
# A linearised push overshoots by this much, metres, to be sufficient. Each iteration adds the same
# amount, so that pairs that alternate in pushing each other converge.
_OVERSHOOT = 1e-5
_STILL = 1e-9  # m per waypoint; an arm slower than this does not approach


class PairTables(NamedTuple):
    """Pairs of a right and a left leaf for kernels.

    Attributes:
        right, left: (m,) indices into ``model.leaves``.
        depth: (m,) number of joints between the base and the link nearer to the base of its arm.
    """

    right: np.ndarray
    left: np.ndarray
    depth: np.ndarray


# -- shares of the arms --


@offline_kernel
def share(right, left, right_moves, left_moves):
    """Share of the right arm in a push, in [0, 1].

    ``right`` and ``left`` are n . v of the two control points, m/s, with n from right to left: the
    right arm approaches if its rate is positive, the left arm if its rate is negative::

        w_right = max(0, right) / (max(0, right) + max(0, -left))

    The paper prints right / (right - left): 0/0 if the rates are equal, and outside [0, 1] if both
    have the same sign, which caused jumps of over 100 degrees. The share is one half if neither arm
    approaches; if only one arm may move, it takes all.
    """
    if right_moves != left_moves:
        return 1.0 if right_moves else 0.0
    a, b = max(0.0, right), max(0.0, -left)
    return a / (a + b) if a + b > _STILL else 0.5


@offline_kernel
def _place(view, q):
    forward_kinematics(view, q)
    place_leaves(view, view.moving_leaves)


@offline_kernel
def _share_at(view, pairs, arms, pair, before, desired):
    """Share of the right arm in separating ``pair``, of the motion from ``before`` to ``desired``.

    Rates are those of the *desired* motion at its own poses. Rates from the last adjusted pose
    towards the next desired one cause feedback: the arm that has moved most approaches fastest,
    and gets the largest share again. In the symmetric motion of the paper, the arms then moved
    by 14.6 and 5.4 degrees instead of 11.4 each.
    """
    _place(view, desired)
    i, j = pairs.right[pair], pairs.left[pair]
    velocity, approach = np.zeros((2, 3)), np.zeros(3)
    points, normal = np.empty((2, 3)), np.empty(3)
    common_normal(view.ends, i, j, approach, points, normal)
    for side in range(2):
        jacobian = np.zeros((6, len(desired)))
        body = view.leaf_bodies[i if side == 0 else j, 0]
        add_jacobian(view, body, points[side], jacobian)
        for axis in range(3):
            for k in range(len(desired)):
                velocity[side, axis] += jacobian[axis, k] * (desired[k] - before[k])
    for axis in range(3):
        approach[axis] = velocity[0, axis] - velocity[1, axis]
    common_normal(view.ends, i, j, approach, points, normal)
    right, left = 0.0, 0.0
    for axis in range(3):
        right += normal[axis] * velocity[0, axis]
        left += normal[axis] * velocity[1, axis]
    return share(right, left, arms[0].may_move, arms[1].may_move)


# -- pushes of two arms --


@offline_kernel
def _push_side(view, pairs, arms, pair, side, amount, hold, q):
    """Push one arm of ``pair`` by ``amount`` metres, if it may move; return their gap then.

    The paper prints the term of the left arm with the wrong sign: it would move towards the right
    one.
    """
    i, j = pairs.right[pair], pairs.left[pair]
    radii = view.radii[i, 0] + view.radii[j, 0]
    still, points, normal = np.zeros(3), np.empty((2, 3)), np.empty(3)
    gap = common_normal(view.ends, i, j, still, points, normal) - radii
    if amount <= 0.0 or not arms[side].may_move:
        return gap
    if side == 0:
        for axis in range(3):
            normal[axis] = -normal[axis]
    body = view.leaf_bodies[i if side == 0 else j, 0]
    push_arm(view, arms[side], body, points[side], normal, amount, hold, q)
    _place(view, q)
    return common_normal(view.ends, i, j, still, points, normal) - radii


@offline_kernel
def _first_short(pairs, gaps, target):
    """The pair that is pushed first, or -1 if each of ``gaps`` (m,) reaches its ``target``.

    The pair with the link nearest to the base of its arm comes first, and among these the one that
    is short of most.
    """
    first, most = -1, 0.0
    for pair in range(len(gaps)):
        short = target[pair] - gaps[pair]
        if not short > 0.0:
            continue
        if (
            first < 0
            or pairs.depth[pair] < pairs.depth[first]
            or (pairs.depth[pair] == pairs.depth[first] and short > most)
        ):
            first, most = pair, short
    return first


@offline_kernel
def clear_pose(numbers, index, pairs, arms, before, desired, shares, target, held, q):
    """Push ``q`` (nq,) until all pairs are ``target`` (m,) metres apart; return whether they are.

    One pair is separated at a time: first the right arm moves by its share, then the left arm. The
    right arm also takes the part that the left arm cannot, because of a limit or its reach. This
    repeats until no pair repels, since a push can bring other links together.

    ``before``, ``desired`` (nq,): the desired motion comes from there to here. ``shares`` (m,): of
    the right arm, NaN where not known yet (written). ``held``: number of pushes that keep the tips.
    """
    view = unpack(numbers, index)
    gaps, enough = np.empty(len(target)), -np.inf
    for k in range(len(target)):
        enough = max(enough, target[k])
    for turn in range(ROUNDS):
        _place(view, q)
        leaf_gaps(view.ends, view.radii, pairs.right, pairs.left, enough, gaps)
        pair = _first_short(pairs, gaps, target)
        if pair < 0:
            return True
        if math.isnan(shares[pair]):
            shares[pair] = _share_at(view, pairs, arms, pair, before, desired)
            _place(view, q)
        wanted, hold = target[pair] + _OVERSHOOT * (1 + turn), turn < held
        short = wanted - gaps[pair]
        gap = _push_side(view, pairs, arms, pair, 0, shares[pair] * short, hold, q)
        gap = _push_side(view, pairs, arms, pair, 1, wanted - gap, hold, q)
        if wanted - gap > 0.5 * short:
            _push_side(view, pairs, arms, pair, 0, wanted - gap, hold, q)
    return False


@offline_kernel
def pair_gaps(numbers, index, pairs, q, enough, out):
    """Write the signed distances ``out`` (m,) of all pairs at ``q``; return 0, or -2 - k."""
    bad = first_bad(q)
    if bad >= 0:
        return -2 - bad
    view = unpack(numbers, index)
    _place(view, q)
    leaf_gaps(view.ends, view.radii, pairs.right, pairs.left, enough, out)
    return 0


@offline_kernel
def least_spare(numbers, index, pairs, waypoints, safe, enough, sample, out):
    """Write the least distance beyond ``safe`` (m,) in each interval of ``waypoints`` (n, nq).

    ``out`` (n - 1,), metres, at samples of the straight motion at most ``sample`` (rad or m) apart.
    Distances above ``enough`` metres may be underestimated, but not below it.
    """
    view = unpack(numbers, index)
    gaps, q = np.empty(len(safe)), np.empty(waypoints.shape[1])
    for interval in range(len(waypoints) - 1):
        largest = 0.0
        for joint in range(len(q)):
            largest = max(largest, abs(waypoints[interval + 1, joint] - waypoints[interval, joint]))
        count, least = max(2, math.ceil(largest / sample)), np.inf
        for i in range(1, count):
            for joint in range(len(q)):
                start = waypoints[interval, joint]
                q[joint] = start + i / count * (waypoints[interval + 1, joint] - start)
            _place(view, q)
            leaf_gaps(view.ends, view.radii, pairs.right, pairs.left, enough, gaps)
            for pair in range(len(safe)):
                least = min(least, gaps[pair] - safe[pair])
        out[interval] = least


# -- with the model of a problem --


class CrossPairs:
    """Monitored pairs of a right and a left leaf, and their distances.

    Attributes:
        tables: leaves of the pairs.
        pair: (m,) indices into ``model.pairs``.
        arrays: (numbers, index) of the model, with work space of its own.
    """

    def __init__(self, problem: Problem) -> None:
        """Collect the pairs of ``problem.model``; attached objects belong to the arm."""
        model = problem.model
        carrier = carriers(model)
        leaves: dict[str, list[int]] = {}
        for index, leaf in enumerate(model.leaves):
            leaves.setdefault(leaf.link, []).append(index)
        used = sides(model, problem.arms).between & (problem.margins.safe > -np.inf)
        leaf_pairs = []
        for pair in np.flatnonzero(used):
            a, b = model.pairs[pair]
            if carrier[a] not in problem.arms[0].links:
                a, b = b, a
            leaf_pairs += [(i, j, pair) for i in leaves[a] for j in leaves[b]]
        table = np.array(leaf_pairs, dtype=np.int64).reshape(-1, 3)
        right, left, self.pair = (np.ascontiguousarray(c) for c in table.T)
        bodies = np.array([model.bodies.link_bodies[carrier[x.link]] for x in model.leaves])
        depths = _depths(model.bodies)[bodies]
        self.tables = PairTables(right, left, np.minimum(depths[right], depths[left]))
        self.arrays = model.work_space()
        self._model = model

    def gaps(self, q: np.ndarray, enough: float = np.inf) -> np.ndarray:
        """Signed distances (m,) of all pairs at ``q``, metres.

        Distances above ``enough`` metres may be underestimated, but not below it.
        """
        out = np.empty(len(self.pair))
        code = pair_gaps(*self.arrays, self.tables, q, enough, out)
        if code < 0:
            raise self._model.refusal(code, q)
        return out

    def spare(
        self, waypoints: np.ndarray, safe: np.ndarray, enough: float, sample: float
    ) -> np.ndarray:
        """Least distance beyond ``safe`` (m,) in each interval (n - 1,); see `least_spare`."""
        out = np.empty(len(waypoints) - 1)
        least_spare(*self.arrays, self.tables, waypoints, safe, enough, sample, out)
        return out


def _depths(bodies: Bodies) -> np.ndarray:
    """Number of moving joints between the base and each body."""
    depths = np.zeros(len(bodies.parents) + 1, dtype=np.int64)
    for k, parent in enumerate(bodies.parents):
        depths[k + 1] = depths[parent] + 1
    return depths


class Clearing:
    """Pushes the two arms of a problem apart.

    Attributes:
        pairs: the right leaves against the left ones.
        may_move: (nq,) bool: columns of q that pushes may change.
    """

    def __init__(self, problem: Problem, hold_tips: bool = True) -> None:
        """Prepare everything that does not depend on the configuration.

        ``hold_tips``: whether the push of an inner link keeps the tip pose, if possible.
        """
        self._held = _FIXED_TIP_ROUNDS if hold_tips else 0
        self._desired = np.ascontiguousarray(problem.desired, dtype=float)
        self.pairs = CrossPairs(problem)
        able = yielding_arms(problem.arms, problem.yielding)
        right, left = (
            arm_tables(problem.model, columns, arm.tip_link, k in able)
            for k, (arm, columns) in enumerate(zip(problem.arms, problem.columns, strict=True))
        )
        self._arms = right, left
        self.may_move = np.zeros(self._desired.shape[1], dtype=bool)
        for arm in self._arms:
            self.may_move[arm.columns] = arm.may_move
        # Of the right arm, at each waypoint, filled where they are needed.
        self._shares = np.full((len(self._desired), len(self.pairs.pair)), np.nan)

    def cleared(self, q: np.ndarray, waypoint: int, target: np.ndarray) -> np.ndarray | None:
        """``q`` (nq,) pushed until all pairs are ``target`` (m,) metres apart; None if that fails.

        ``waypoint`` > 0: the one whose desired motion gives the shares of the arms.
        """
        q = np.array(q, dtype=float)
        before, desired = self._desired[waypoint - 1 : waypoint + 1]
        done = clear_pose(
            *self.pairs.arrays, self.pairs.tables, self._arms, before, desired,
            self._shares[waypoint], target, self._held, q,
        )  # fmt: skip
        return q if done else None
