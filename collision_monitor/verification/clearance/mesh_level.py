# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Mesh level of a check: decides pairs that leaves cannot certify, also between samples.

A distance between meshes at one time bounds it for a while: no point leaves its leaf, so the
distance decreases at most by the displacement of those leaves that could meet (conservative
advancement). The remaining interval is halved.
"""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from collision_monitor.continuous.clearance_scan import interval_leaf_bound, target_of
from collision_monitor.continuous.hull_sweep import Hulls, hull_bound
from collision_monitor.continuous.scan_space import Space
from collision_monitor.geometry.segments import ROUNDING
from collision_monitor.robot.shape_kinds import hull_points
from collision_monitor.verification.clearance.scanner import Scan, Scanner, ScanRequest
from collision_monitor.verification.clearance.schedule import Schedule

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

# (q (nq,), index of a pair, limit, enough) -> (signed distance in metres, 0 or less in contact;
# points). At the limit (m) or above, the distance is any number from the limit on, and points are
# not valid; for ``enough`` (m) see `CollisionModel.surface_points`.
Decider = Callable[[np.ndarray, int, float, float], tuple[float, np.ndarray]]

Piece = tuple[float, float]  # an interval of a motion: its middle and half length, seconds

_DEPTH_SHARE, _DEPTH_BIN_SHARE = 0.1, 0.3  # tolerances of penetration depths


class ExactLevel:
    """Scans like `Scanner`, with distances between meshes.

    ``decider`` measures them. ``most``: maximum number of measurements of one pair in one scan; the
    remainder stays undecided.
    """

    def __init__(self, scanner: Scanner, decider: Decider, most: int = 20_000) -> None:
        self.scanner = scanner
        self.decider = decider
        self.hulls = link_hulls(scanner.model)
        self.most = most
        self._spaces: dict[int, Space] = {}

    def space(self, order: int) -> Space:
        """As `ScanTables.space`, one for all pairs: they are processed one after another."""
        if order not in self._spaces:
            self._spaces[order] = self.scanner.tables.space(order)
        return self._spaces[order]

    def scan(self, request: ScanRequest) -> Scan:
        """Bounds between shapes, or those between leaves where they are better."""
        by_leaves = self.scanner.scan(request)
        scan = _ExactScan(self, request, by_leaves)
        for column, pair in enumerate(by_leaves.pairs.tolist()):
            links = " and ".join(self.scanner.model.pairs[pair])
            scan.scan_pair(
                column, partial(self.scanner.progress, f"distances between the shapes of {links}")
            )
        return scan.result

    def keeps(
        self, schedule: Schedule, pair: int, limit: float, low: float, high: float, instant: float
    ) -> bool:
        """Whether ``pair`` is certified to keep ``limit`` (m) from ``low`` to ``high`` (s).

        Intervals are halved down to ``instant`` s. A limit of 0 means no contact.
        """
        return next(self._not_kept(schedule, pair, limit, low, high, instant), None) is None

    def first_below(
        self, schedule: Schedule, pair: int, limit: float, low: float, high: float, instant: float
    ) -> float:
        """As `Scanner.first_below`."""
        found = self._not_kept(schedule, pair, limit, low, high, instant)
        return min((time for time, is_below in found if is_below), default=np.inf)

    def _not_kept(
        self, schedule: Schedule, pair: int, limit: float, low: float, high: float, instant: float
    ) -> Iterator[tuple[float, bool]]:
        """Times at which ``limit`` is not certified to be kept, and whether it is violated there.

        Only times before those of known violations are looked at.
        """
        bounds = PairBounds(self, schedule, pair)
        waiting, first = [_whole(low, high)], np.inf
        for _ in range(self.most):
            if not waiting:
                return
            time, half = waiting.pop()
            if time - half >= first:
                continue
            bounds.place((time, half), limit)
            if bounds.by_leaves >= limit:
                continue
            if bounds.measure(limit) < limit:
                first = min(first, time)
                yield time, True
            if bounds.bound(limit) < limit:
                if 2.0 * half <= instant:
                    yield time, False
                else:
                    waiting += _halves(time, half)
        yield low, False


class PairBounds:
    """Bounds of one pair around successive times: by its leaves, its shapes, and its hulls.

    Attributes:
        pair: index into ``model.pairs``.
        by_leaves: lower bound of the distance of leaves in the interval of `place`, metres.
        travel: maximum approach, metres, of the leaves that may violate the target; -1 for none.
        distance: result of `measure`.
    """

    def __init__(self, level: ExactLevel, schedule: Schedule, pair: int) -> None:
        self._level, self.pair = level, pair
        self._motion = schedule.packed()
        self._space = level.space(self._motion.order)
        self._q = schedule.rest.copy()
        self.by_leaves = self.distance = self.travel = np.inf

    def place(self, piece: Piece, target: float) -> None:
        """Move to the middle of an interval; find the leaves that may violate ``target`` (m)."""
        self.by_leaves, self.travel = interval_leaf_bound(
            *self._level.scanner.arrays, self._space, self._motion, *piece, self.pair, target,
            self._q,
        )  # fmt: skip

    def measure(self, target: float = np.inf) -> float:
        """Signed distance of the shapes there, metres.

        Above ``target`` it may be less than the true one, but not below ``target``; if it proves
        that `bound` reaches ``target``, it is any distance that does.
        """
        limit = target + max(self.travel, 0.0) + 2.0 * ROUNDING
        distance, self._points = self._level.decider(self._q, self.pair, limit, max(target, 0.0))
        # A distance of 0 is a collision.
        self.distance = float(distance) if distance > 0.0 else min(float(distance), -ROUNDING)
        return self.distance

    def bound(self, target: float) -> float:
        """Lower bound of the distance of the shapes in the interval, metres.

        It is at most ``target`` if only that is known. ``target`` must not exceed that of `place`.
        """
        bound = self.by_leaves
        if self.travel >= 0.0:
            bound = max(bound, min(target, self.distance - self.travel - ROUNDING))
        if bound < target and self.distance > ROUNDING:
            normal = self._points[1] - self._points[0]
            normal /= math.sqrt(normal @ normal)
            bound = max(
                bound,
                hull_bound(
                    *self._level.scanner.arrays, self._space, self._level.hulls, self.pair, normal
                ),
            )  # fmt: skip
        return bound


class _ExactScan:
    """One scan, which fills ``result`` pair by pair."""

    def __init__(self, level: ExactLevel, request: ScanRequest, by_leaves: Scan) -> None:
        self._level, self._request, self._leaf_lows = level, request, by_leaves.lows
        self._depth_accuracy = request.precision._replace(
            share=max(request.precision.share, _DEPTH_SHARE),
            bin_share=max(request.precision.bin_share, _DEPTH_BIN_SHARE),
        )
        self.result = Scan.empty(by_leaves.pairs, by_leaves.edges)
        self.result.lows, self.result.looks = by_leaves.lows.copy(), by_leaves.looks.copy()

    def scan_pair(self, column: int, progress: Callable[[float], None]) -> None:
        """Bins of one pair, those with the minimum leaf distances first."""
        pair = int(self.result.pairs[column])
        self._measurements_left = self._level.most
        self._bounds = PairBounds(self._level, self._request.schedule, pair)
        order = np.argsort(self._leaf_lows[:, column], kind="stable").tolist()
        for done, b in enumerate(order):
            progress(done / len(order))
            self._bin(b, column)

    def _target(self, upper: float, column: int) -> float:
        best = self.result.best[column]
        precision = self._depth_accuracy if best < 0.0 else self._request.precision
        return target_of(precision, self._request.limits, self._bounds.pair, upper, best)

    def _bin(self, b: int, column: int) -> None:
        result, bounds = self.result, self._bounds
        by_leaves, least = self._leaf_lows[b, column], np.inf
        waiting = [_whole(result.edges[b], result.edges[b + 1])]
        while waiting:
            piece = waiting.pop()
            time = piece[0]
            known = result.ups[b, column]
            guess = by_leaves if np.isnan(known) else self._target(known, column)
            bounds.place(piece, guess)
            distance = bounds.measure()
            result.looks[1] += 1
            self._measurements_left -= 1
            if not distance >= result.ups[b, column]:
                result.ups[b, column], result.when[b, column] = distance, time
            if distance < result.best[column]:
                result.best[column] = distance
                result.times[column] = time
            target = self._target(result.ups[b, column], column)
            if by_leaves >= target:  # for the whole bin
                least = min(least, by_leaves)
                break
            if target != guess:
                bounds.place(piece, target)
            bound = bounds.bound(target)
            if bound < target:
                resolution = self._request.precision.resolution
                if bounds.travel > resolution and self._measurements_left > 0:
                    waiting += _halves(*piece)
                    continue
                result.doubts[b, column] = time
            least = min(least, bound)
        result.lows[b, column] = max(by_leaves, least)


def _whole(low: float, high: float) -> Piece:
    """The interval from ``low`` to ``high`` s."""
    return 0.5 * (low + high), 0.5 * (high - low)


def _halves(time: float, half: float) -> list[Piece]:
    """Halves of an interval; the earlier half is last."""
    return [(time + sign * 0.5 * half, 0.5 * half) for sign in (1, -1)]


_HULLS: WeakKeyDictionary[CollisionModel, Hulls] = WeakKeyDictionary()


def link_hulls(model: CollisionModel) -> Hulls:
    """Points whose hulls enclose the links of ``model``, in the order of ``model.link_names``."""
    if model not in _HULLS:
        _HULLS[model] = _link_hulls(model)
    return _HULLS[model]


def _link_hulls(model: CollisionModel) -> Hulls:
    points, stops = [], [0]
    for link in model.exact_shapes.given.values():
        rows, pose = hull_points(link.shapes), link.pose
        rows[:, :3] = rows[:, :3] @ pose[:3, :3].T + pose[:3, 3]
        points.append(rows)
        stops.append(stops[-1] + len(rows))
    links = np.column_stack([stops[:-1], stops[1:]]).astype(np.int64)
    return Hulls(np.concatenate(points).ravel(), links.ravel())


# A twin takes as long as many distances: a thread keeps one as long as its model exists.
_THREAD = threading.local()


class ShapeDecider:
    """Measures pairs of a model between meshes and other shapes; for use in one thread.

    ``measured``: number of distances so far.
    """

    def __init__(self, model: CollisionModel) -> None:
        """Prepare without measuring anything."""
        self._given, self.measured = model, 0
        self._alone: dict[int, CollisionModel] = {}  # for depths of pairs that touch

    @cached_property
    def model(self) -> CollisionModel:
        """A model of its own, so that no result depends on earlier motions."""
        if not hasattr(_THREAD, "twins"):
            _THREAD.twins = WeakKeyDictionary()
        if self._given not in _THREAD.twins:
            _THREAD.twins[self._given] = self._given.twin()
        return copy.copy(_THREAD.twins[self._given])  # which has measured nothing

    def __call__(
        self, q: np.ndarray, pair: int, limit: float = np.inf, enough: float = np.inf
    ) -> tuple[float, np.ndarray]:
        """Signed distance (metres, 0 or less in contact) and nearest points (2, 3); see Decider."""
        self.measured += 1
        (distance,), (points,) = self.model.surface_points(
            q, np.array([pair]), np.array([limit]), np.array([enough])
        )
        if distance > 0.0 or limit < np.inf:
            return float(distance), points
        if pair not in self._alone:
            self._alone[pair] = self.model.twin([self.model.pairs[pair]])
        found = self._alone[pair].distance(q, exact=True)
        return found.distance, found.points


def exact_level(scanner: Scanner, exact: bool) -> ExactLevel | None:
    """The level of shapes, if it is wanted."""
    return ExactLevel(scanner, ShapeDecider(scanner.model)) if exact else None
