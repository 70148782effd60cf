# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The published adjustment of a motion of two arms, with its printed errors corrected.

`Clearing` pushes two arms apart in one configuration, link by link until F = 0; `adjust_published`
does so along a motion.

Wu Changzheng et al., J. Shanghai Jiao Tong University 52(1), 2018, 45-53: if the next step would
bring a link of the right arm closer than d_saf to one of the left arm, the right arm moves along
the common normal n by its share of d_saf - d, then the left arm by the rest. The link nearest to
the base comes first, and this repeats until the index F of the repulsion field is zero. Only pairs
of the right and left arm are considered. Corrections:

- if there is no solution with fixed tip poses, everything is repeated with free tips ("else the
  adjustment goes on outwards");
- n is a unit vector, and is also defined if links touch (`direction`);
- the left arm moves along +n, away from the right one (`Clearing`);
- shares are in [0, 1], are one half if neither arm approaches, and are those of the desired motion
  (`share`, `Clearing.share`);
- each waypoint starts from the last adjusted pose and moves towards the desired one in steps of a
  degree, with a push after each. If it started at the desired pose, neighbouring waypoints could be
  pushed to different sides of the other arm, with a collision between them;
- the change is smoothed along the motion and pushed again, alternately: the printed rule considers
  single instants, and causes jumps at the start and end of a change;
- F = 0 at the waypoints does not imply F = 0 between them: waypoints keep 2.5 mm more, and even
  more if a dip below d_saf is found between them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from collision_monitor.common.text import told_apart
from collision_monitor.errors import AdjustmentError
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.robot.bodies import Bodies, Jacobians
from collision_monitor.self_collision.margins import Problem, sides, yielding_arms
from collision_monitor.self_collision.mesh_proximity import carriers
from collision_monitor.self_collision.nine_cases import ControlPoints, control_points, leaf_gaps

# -- two arms pushed apart in one configuration --

ROUNDS = 300  # maximum number of pushes of one configuration; usually a few suffice
_FIXED_TIP_ROUNDS = 40  # number of pushes that keep the tip poses; later ones do not
# A linearised push overshoots by this much, metres, to be sufficient. Each iteration adds the same
# amount, so that pairs that alternate in pushing each other converge.
_OVERSHOOT = 1e-5
_TOUCHING = 1e-12  # m; control points closer than this coincide
_STILL = 1e-9  # m per waypoint; an arm slower than this does not approach
# A link that moves less than this per radian of all its joints (m, squared) is at the end of its
# reach in that direction, and cannot be pushed further.
_IMMOVABLE = 1e-8
# Keeping the tip pose may cost at most this many times the joint motion of a free tip: a
# near-singular inverse gives more, which would be a jump.
_HELD_COST = 10.0
_HELD_ERROR = 0.05  # of the push: maximum error and tip motion of a solution with fixed tip
_TIP_SCALE = np.array([[1.0], [1.0], [1.0], [0.3], [0.3], [0.3]])  # metres per radian
_LARGEST = np.radians(2.0)  # largest linearised push, rad; metres for prismatic joints
_SINGULAR = 1e-4  # singular values below this fraction of the largest are ignored


class Clearing:
    """Pushes the two arms of a problem apart.

    Attributes:
        pairs: the right leaves against the left ones.
        arms: right and left.
    """

    def __init__(self, problem: Problem, hold_tips: bool = True) -> None:
        """Prepare everything that does not depend on the configuration.

        ``hold_tips``: whether the push of an inner link keeps the tip pose, if possible.
        """
        self._holds_tips = _FIXED_TIP_ROUNDS if hold_tips else 0
        self._desired, self._bodies = problem.desired, problem.model.bodies
        self.pairs = CrossPairs(problem)
        able = yielding_arms(problem.arms, problem.yielding)
        self.arms = tuple(
            PushedArm(problem.model, columns, arm.tip_link, k in able)
            for k, (arm, columns) in enumerate(zip(problem.arms, problem.columns, strict=True))
        )
        self._shares: dict[tuple[int, int], float] = {}

    def cleared(self, q: np.ndarray, waypoint: int, target: np.ndarray) -> np.ndarray | None:
        """Push ``q`` (nq,) until all pairs are ``target`` (m,) metres apart; None if that fails.

        The pair with the link nearest to the base of its arm comes first, and among these the one
        with the minimum distance. This repeats until no pair repels, since a push can bring other
        links together.
        """
        enough = float(target.max())
        for turn in range(ROUNDS):
            short = target - self.pairs.gaps(q, enough)
            near = np.flatnonzero(short > 0.0)
            if not len(near):
                return q
            order = np.lexsort((-short[near], self.pairs.depth[near]))
            q = self._separate(q, waypoint, int(near[order[0]]), target, turn)
        return None

    def _separate(
        self, q: np.ndarray, waypoint: int, pair: int, target: np.ndarray, turn: int
    ) -> np.ndarray:
        """Separate one pair: first the right arm by its share, then the left arm.

        The paper prints the term of the left arm with the wrong sign: it would move towards the
        right one. The right arm also takes the part that the left arm cannot, because of a limit or
        its reach.
        """
        wanted, hold = float(target[pair]) + _OVERSHOOT * (1 + turn), turn < self._holds_tips
        meeting = self.pairs.meeting(q, pair)
        short = wanted - meeting.gap
        right = self.share(waypoint, pair) * short
        q, meeting = self._pushed(q, 0, pair, meeting, right, hold)
        q, meeting = self._pushed(q, 1, pair, meeting, wanted - meeting.gap, hold)
        if (rest := wanted - meeting.gap) > 0.5 * short:
            q, _ = self._pushed(q, 0, pair, meeting, rest, hold)
        return q

    def _pushed(
        self, q: np.ndarray, side: int, pair: int, meeting: Meeting, amount: float, hold: bool
    ) -> tuple[np.ndarray, Meeting]:
        """Push one arm of ``pair`` by ``amount`` metres, if it may move; and how they meet then."""
        if amount <= 0.0 or not self.arms[side].may_move:
            return q, meeting
        n, point = meeting.direction(np.zeros(3)), meeting.points[1 + side]
        away = n if side else -n
        q = self.arms[side].pushed(q, meeting.bodies[side], point, away, amount, hold)
        return q, self.pairs.meeting(q, pair)

    def share(self, waypoint: int, pair: int) -> float:
        """Share of the right arm in separating ``pair`` at ``waypoint`` > 0.

        Rates are those of the *desired* motion at its own poses. Rates from the last adjusted pose
        towards the next desired one cause feedback: the arm that has moved most approaches fastest,
        and gets the largest share again. In the symmetric motion of the paper, the arms then moved
        by 14.6 and 5.4 degrees instead of 11.4 each.
        """
        key = (waypoint, pair)
        if key not in self._shares:
            q = self._desired[waypoint]
            step = q - self._desired[waypoint - 1]
            meeting = self.pairs.meeting(q, pair)
            jacobians = Jacobians(self._bodies, q)
            velocities = [
                jacobians.of_point(body, point)[:3] @ step
                for body, point in zip(meeting.bodies, meeting.points[1:3], strict=True)
            ]
            n = meeting.direction(velocities[0] - velocities[1])
            movable = (self.arms[0].may_move, self.arms[1].may_move)
            self._shares[key] = share(n @ velocities[0], n @ velocities[1], movable)
        return self._shares[key]


class Meeting(NamedTuple):
    """A pair of leaves at one configuration.

    Attributes:
        segments: (2, 2, 3) of the right and the left leaf.
        points: their control points.
        gap: between the leaves, metres, negative if they overlap.
        bodies: of the two leaves.
    """

    segments: np.ndarray
    points: ControlPoints
    gap: float
    bodies: tuple[int, int]

    def direction(self, approach: np.ndarray) -> np.ndarray:
        """Unit vector (3,) from the right to the left leaf; see `direction`."""
        return direction(*self.segments, approach, self.points)


class CrossPairs:
    """Monitored pairs of a right and a left leaf, and their distances.

    Attributes:
        right, left: (m,) indices into ``model.leaves``.
        pair: (m,) indices into ``model.pairs``.
        depth: (m,) number of joints between the base and the link nearer to the base of its arm.
    """

    def __init__(self, problem: Problem) -> None:
        """Collect the pairs of ``problem.model``; attached objects belong to the arm."""
        model = problem.model
        carrier = carriers(model)
        self._bodies = np.array([model.bodies.link_bodies[carrier[x.link]] for x in model.leaves])
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
        self.right, self.left, self.pair = (np.ascontiguousarray(c) for c in table.T)
        depths = _depths(model.bodies)[self._bodies]
        self.depth = np.minimum(depths[self.right], depths[self.left])
        self._radii = np.array([leaf.radius for leaf in model.leaves])
        self._model = model
        self._gaps = np.empty(len(table))

    def gaps(self, q: np.ndarray, enough: float = np.inf) -> np.ndarray:
        """Signed distances (m,) of all pairs at ``q``, metres; overwritten by the next call.

        Distances above ``enough`` metres may be underestimated, but not below it.
        """
        ends = self._model.leaf_segments(q)
        leaf_gaps(ends, self._radii, self.right, self.left, enough, self._gaps)
        return self._gaps

    def meeting(self, q: np.ndarray, pair: int) -> Meeting:
        """One ``pair`` alone, at ``q``."""
        right, left = self.right[pair], self.left[pair]
        segments = self._model.leaf_segments(q)[[right, left]]
        points = control_points(*segments)
        gap = points.distance - float(self._radii[right] + self._radii[left])
        return Meeting(segments, points, gap, (int(self._bodies[right]), int(self._bodies[left])))


def _depths(bodies: Bodies) -> np.ndarray:
    """Number of moving joints between the base and each body."""
    depths = np.zeros(len(bodies.parents) + 1, dtype=np.int64)
    for k, parent in enumerate(bodies.parents):
        depths[k + 1] = depths[parent] + 1
    return depths


# -- direction of a push, and shares of the arms --


def direction(
    first: np.ndarray,
    second: np.ndarray,
    approach: np.ndarray,
    points: ControlPoints | None = None,
) -> np.ndarray:
    """Unit vector n (3,) from the first to the second of two segments (2, 3).

    In the paper n is C_left - C_right, which is not of unit length and undefined at d = 0. If the
    segments touch, n is perpendicular to both, or to the longer of parallel ones, with the sense of
    ``approach`` (3,), the velocity of the first relative to the second. ``points``: their control
    points, if known.
    """
    points = control_points(first, second) if points is None else points
    if points.distance > _TOUCHING:
        return (points.second - points.first) / points.distance
    u, v = first[1] - first[0], second[1] - second[0]
    normal = np.cross(u, v)
    scale = np.linalg.norm(u) * np.linalg.norm(v)
    if np.linalg.norm(normal) <= 1e-9 * scale or scale == 0.0:
        along = u if u @ u >= v @ v else v
        # The component of the approach perpendicular to the segment, or any perpendicular.
        for side in (approach, *np.eye(3)):
            normal = side - along * (along @ side) / max(along @ along, 1e-300)
            if np.linalg.norm(normal) > 1e-9 * max(np.linalg.norm(side), 1e-300):
                break
    normal = normal / np.linalg.norm(normal)
    return -normal if approach @ normal < 0.0 else normal


def share(right: float, left: float, movable: tuple[bool, bool]) -> float:
    """Share of the right arm in a push, in [0, 1].

    ``right`` and ``left`` are n . v of the two control points, m/s, with n from right to left: the
    right arm approaches if its rate is positive, the left arm if its rate is negative::

        w_right = max(0, right) / (max(0, right) + max(0, -left))

    The paper prints right / (right - left): 0/0 if the rates are equal, and outside [0, 1] if both
    have the same sign, which caused jumps of over 100 degrees. The share is one half if neither arm
    approaches; if only one arm may move, it takes all.
    """
    if movable[0] != movable[1]:
        return float(movable[0])
    a, b = max(0.0, right), max(0.0, -left)
    return a / (a + b) if a + b > _STILL else 0.5


# -- one push of one arm --


class PushedArm:
    """An arm with links that can be pushed.

    Attributes:
        columns: (k,) columns of q.
        may_move: whether the arm may be moved.
    """

    def __init__(
        self, model: CollisionModel, columns: np.ndarray, tip_link: str, may_move: bool
    ) -> None:
        """An arm with the joints ``columns`` (k,) of q and the end link ``tip_link``."""
        self._bodies = model.bodies
        self.columns = columns
        self._tip_link = tip_link
        self._lower, self._upper = (limits[columns] for limits in model.position_limits)
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
        """Configuration (nq,) in which a point of ``body`` has moved by ``amount`` metres.

        An inner link is moved such that the tip keeps its pose, if inverse kinematics and limits
        allow. Otherwise, and for an end link, the joint motion is minimal. The motion is
        linearised, and no joint moves by more than 2 degrees: repeat the call.

        Args:
            q: (nq,) configuration.
            body: a body of the arm.
            point: (3,) position of the point, base frame, metres.
            direction: (3,) unit vector of the motion, base frame.
            amount: metres, not negative.
            hold_tip: False: do not keep the tip pose.
        """
        jacobians = Jacobians(self._bodies, q)
        of_point = jacobians.of_point(body, point)[:, self.columns]
        gradient = direction @ of_point[:3]
        position = q[self.columns]
        change = None
        if hold_tip:
            change = self._with_fixed_tip(jacobians, of_point, gradient, amount)
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

    def _with_fixed_tip(
        self, jacobians: Jacobians, of_point: np.ndarray, gradient: np.ndarray, amount: float
    ) -> np.ndarray | None:
        body = self._bodies.link_bodies[self._tip_link]
        tip = jacobians.of_point(body, jacobians.link_pose(self._tip_link)[:3, 3])
        tip = tip[:, self.columns] * _TIP_SCALE
        beyond = ~of_point.any(axis=0) & tip.any(axis=0)
        return held_push(gradient, tip, amount) if beyond.any() else None


def least_push(
    gradient: np.ndarray, amount: float, q: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> np.ndarray:
    """The smallest change (k,) of joints ``q`` within limits that makes gradient . dq = amount.

    A joint that would leave its limits stays at its limit, and the others compensate. The result is
    too short if no joint can.
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
    """The same with a fixed tip pose; None if the arm cannot do both.

    The tip's pose is the second task, in the null space of the first (Siciliano, Slotine,
    ICAR 1991)::

        dq = g+ amount - N (J N)+ J g+ amount,    N = 1 - g+ g

    ``gradient`` (k,) is g, ``tip`` (6, k) is J with rotational rows scaled to metres.
    """
    gg = float(gradient @ gradient)
    if gg <= _IMMOVABLE:
        return None
    alone = gradient * (amount / gg)
    null = np.eye(len(gradient)) - np.outer(gradient, gradient) / gg
    change = alone - null @ (np.linalg.pinv(tip @ null, rcond=_SINGULAR) @ (tip @ alone))
    if np.abs(change).max() > _HELD_COST * np.abs(alone).max():
        return None
    if np.abs(tip @ change).max() > _HELD_ERROR * amount:
        return None
    return change


# -- along a motion --

_STEP = np.radians(1.0)  # step towards a waypoint, rad (metres for prismatic joints)
_BUFFER = 0.0025  # m beyond d_saf at a waypoint, for dips between waypoints
_DIP_TOLERANCE = 0.0003  # m by which a dip may be deeper than at the samples
_SAMPLE = np.radians(0.5)  # distance of samples, rad (metres for prismatic joints)
_TURNS = 20  # alternations of smoothing and pushing
_SWEEPS = 8  # smoothing passes in each
_REPAIRS = 12  # number of times that buffers grow at dips


def adjust_published(problem: Problem) -> np.ndarray:
    """The desired motion with F = 0 at every waypoint, (n, nq) radians and metres.

    Waypoints without near pairs are not changed, nor are the first and the last. Between waypoints
    the motion is linear in the joints, and no pair is below d_saf at samples half a degree apart.
    This is not a proof: the caller has to certify the result.

    Raises:
        AdjustmentError: with waypoint, time, pair and distance: the first or the last waypoint is
            too close already, the arms cannot be separated, or come too close between waypoints.
    """
    try:
        return _Adjustment(problem, hold_tips=True).run()
    except _NotSeparated:
        pass
    return _Adjustment(problem, hold_tips=False).run()


class _NotSeparated(AdjustmentError):
    """A failure that pushing with free tips may solve."""


class _Adjustment:
    def __init__(self, problem: Problem, hold_tips: bool) -> None:
        self._problem = problem
        self._desired = np.asarray(problem.desired, dtype=float)
        # Smoothing exceeds joint limits if the desired motion is uneven.
        lower, upper = problem.model.position_limits
        self._least = np.minimum(lower, self._desired)
        self._largest = np.maximum(upper, self._desired)
        self._clearing = Clearing(problem, hold_tips)
        self._pairs = self._clearing.pairs
        self._safe = problem.margins.safe[self._pairs.pair]
        self._gaps = np.array([self._pairs.gaps(q).copy() for q in self._desired])
        self._buffers = np.full(len(self._desired), _BUFFER)
        arms = zip(self._clearing.arms, problem.columns, strict=True)
        self._free = np.zeros(self._desired.shape[1], dtype=bool)
        for arm, columns in arms:
            self._free[columns] = arm.may_move

    def run(self) -> np.ndarray:
        for waypoint, which in ((0, "first"), (len(self._desired) - 1, "last")):
            if np.any(self._gaps[waypoint] < self._safe):
                reason = f"the {which} waypoint may not be changed"
                raise self._error(AdjustmentError, waypoint, self._desired[waypoint], reason)
        if not len(self._safe):
            return self._desired.copy()
        adjusted = self._smoothed(self._walk())
        for _ in range(_REPAIRS):
            dips = self._dips(adjusted)
            if not np.any(dips > 0.0):
                return adjusted
            # Both ends of an interval with a dip get a larger buffer, and may need an adjustment
            # now.
            deeper = np.maximum(np.r_[dips, 0.0], np.r_[0.0, dips])
            self._buffers += np.where(deeper > 0.0, deeper + _DIP_TOLERANCE, 0.0)
            adjusted = self._smoothed(adjusted)
        dips = self._dips(adjusted) - _DIP_TOLERANCE
        if np.any(dips > 0.0):
            raise self._error_between(adjusted, int(np.argmax(dips > 0.0)))
        return adjusted

    def _target(self, waypoint: int) -> np.ndarray:
        """Required distances (m,) at a waypoint, metres: d_saf and a buffer.

        Any part of the buffer that the desired motion has suffices: a waypoint without pairs that
        are too close is not changed.
        """
        gaps, safe = self._gaps[waypoint], self._safe
        wanted = safe + self._buffers[waypoint]
        grown = self._buffers[waypoint] > _BUFFER
        return np.where((gaps >= safe) & (gaps < wanted) & (not grown), gaps, wanted)

    def _walk(self) -> np.ndarray:
        """Adjust each waypoint, starting at the previous adjusted one, towards the desired one."""
        desired, free = self._desired, self._free
        q = desired[0].copy()
        adjusted = [q]
        for waypoint in range(1, len(desired)):
            target = self._target(waypoint)
            steps = math.ceil(np.abs(desired[waypoint] - q).max() / _STEP - 1e-9)
            start = desired[waypoint - 1]
            for i in range(steps):
                ahead = desired[waypoint] - q
                ahead *= min(1.0, _STEP / max(np.abs(ahead[free]).max(initial=0.0), 1e-300))
                onwards = start + (i + 1) / steps * (desired[waypoint] - start)
                q = self._cleared(np.where(free, q + ahead, onwards), waypoint, target)
            if np.abs(desired[waypoint] - q).max() < 1e-12:
                q = desired[waypoint].copy()
            adjusted.append(q)
        if not np.array_equal(q, desired[-1]):
            reason = "the last waypoint cannot be reached: the arms block each other"
            raise self._error(_NotSeparated, len(desired) - 1, q, reason)
        return np.array(adjusted)

    def _smoothed(self, adjusted: np.ndarray) -> np.ndarray:
        """Alternately smooth the change, where there is one, and push again."""
        desired = self._desired
        for _ in range(_TURNS):
            short = [
                np.any(self._pairs.gaps(q) < self._target(waypoint))
                for waypoint, q in enumerate(adjusted)
            ]
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
                    smooth[waypoint], waypoint, self._target(waypoint)
                )
        return adjusted

    def _cleared(self, q: np.ndarray, waypoint: int, target: np.ndarray) -> np.ndarray:
        cleared = self._clearing.cleared(q, waypoint, target)
        if cleared is None:
            reason = f"the arms are still too close after {ROUNDS} iterations"
            raise self._error(_NotSeparated, waypoint, q, reason)
        return cleared

    def _dips(self, adjusted: np.ndarray) -> np.ndarray:
        """Metres (n - 1,) by which each interval is below its required distances, at samples."""
        dips, enough = np.zeros(len(adjusted) - 1), float(self._safe.max()) + _DIP_TOLERANCE
        for interval, (a, b) in enumerate(zip(adjusted[:-1], adjusted[1:], strict=True)):
            count = max(2, math.ceil(np.abs(b - a).max() / _SAMPLE))
            least = min(
                float((self._pairs.gaps(a + i / count * (b - a), enough) - self._safe).min())
                for i in range(1, count)
            )
            dips[interval] = _DIP_TOLERANCE - least
        return dips

    # -- errors --

    def _error(
        self, kind: type[AdjustmentError], waypoint: int, q: np.ndarray, reason: str
    ) -> AdjustmentError:
        return self._named(kind, waypoint, float(self._problem.times[waypoint]), q, reason)

    def _error_between(self, adjusted: np.ndarray, interval: int) -> AdjustmentError:
        times = self._problem.times
        parts = np.linspace(0.0, 1.0, 41)
        samples = adjusted[interval] + parts[:, None] * (
            adjusted[interval + 1] - adjusted[interval]
        )
        worst = int(np.argmin([(self._pairs.gaps(q) - self._safe).min() for q in samples]))
        time = float(times[interval] + parts[worst] * (times[interval + 1] - times[interval]))
        return self._named(
            _NotSeparated, interval, time, samples[worst], "too close between waypoints"
        )

    def _named(
        self, kind: type[AdjustmentError], waypoint: int, time: float, q: np.ndarray, reason: str
    ) -> AdjustmentError:
        gaps = self._pairs.gaps(q)
        nearest = int(np.argmin(gaps - self._safe))
        distance, pair = float(gaps[nearest]), self._problem.model.pairs[self._pairs.pair[nearest]]
        danger = float(self._problem.margins.danger[self._pairs.pair[nearest]])
        below = f", below d_dan {danger:.4f} m" if distance < danger else ""
        apart = told_apart(
            distance, self._safe[nearest], f"{{}} m apart{below}; {{}} m is required"
        )
        return kind(
            f"waypoint {waypoint} at {time:g} s: {pair[0]} and {pair[1]} are {apart}: {reason}",
            waypoint,
            time,
            pair,
            distance,
        )
