# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Repulsion field, clearances and certificates along a motion."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.model.proximity import Proximity
from collision_monitor.motion.trajectory import Motion
from collision_monitor.self_collision.margins import Margins

_EASE = 1e-3  # m that links which start closer than d_saf may come closer than there
_WIDER = 0.05  # m above d_saf within which the closest pair is searched for before all are measured


# -- the repulsion field --


def repulsion(
    distance: np.ndarray | float, safe: np.ndarray | float, danger: np.ndarray | float
) -> np.ndarray:
    """The linear repulsion f between two links at a ``distance``, of any shape, metres.

        f(d) = 0          d >  safe
        f(d) = safe - d   danger <= d <= safe
        f(d) = infinite   d <  danger: motion must stop

    The sum F of all f is the index of a configuration: a motion is free of self-collision only if
    F = 0 at every instant. Wu Changzheng et al., J. Shanghai Jiao Tong University 52(1), 2018,
    45-53. An unknown distance (NaN) is not safe: f is infinite.

    Args:
        distance: between leaves or meshes, or between the segments of the paper.
        safe: d_saf, for both arms together.
        danger: d_dan, for both arms together.
    """
    inside = np.where(distance >= danger, safe - distance, np.inf)
    return np.where(distance > safe, 0.0, inside)


# -- index and clearance at the waypoints --


class FieldAlong(NamedTuple):
    """The repulsion field of the monitored pairs at each row of a motion.

    Attributes:
        index: (n,) F, the sum over pairs of d_saf - d, metres; infinite below d_dan.
        clearance: (n,) minimum distance between leaves of the pairs that are kept apart
            (``margins.kept``), metres; inf without such a pair.
        closest: (n,) index into ``model.pairs`` of the pair that it belongs to; 0 without one.
    """

    index: np.ndarray
    clearance: np.ndarray
    closest: np.ndarray


def field_along(proximity: Proximity, margins: Margins, waypoints: np.ndarray) -> FieldAlong:
    """Index, clearance and closest pair at each of ``waypoints`` (n, nq)."""
    index = np.zeros(len(waypoints))
    clearance = np.full(len(waypoints), np.inf)
    closest = np.zeros(len(waypoints), dtype=np.int64)
    for row, q in enumerate(waypoints):
        distances = proximity.distances_below(q, margins.safe)
        index[row] = repulsion(distances, margins.safe, margins.danger).sum()
        closest[row], clearance[row] = closest_pair(proximity, margins.kept, margins.safe, q)
    return FieldAlong(index, clearance, closest)


def closest_pair(
    proximity: Proximity, candidates: np.ndarray, safe: np.ndarray, q: np.ndarray
) -> tuple[int, float]:
    """The closest pair at ``q`` (nq,) and its distance, metres; (0, inf) without candidates.

    ``candidates`` (pairs,) bool; ``safe`` (pairs,), metres, is the initial search distance.
    """
    if not candidates.any():
        return 0, np.inf
    largest = float(safe[candidates].max())
    found = proximity.nearest(q, np.where(candidates, largest + _WIDER, -np.inf))
    if found is not None:
        return found
    distances = np.where(candidates, proximity.model.distances(q), np.inf)
    first = int(distances.argmin())
    return first, float(distances[first])


# -- certificates between the waypoints --


@dataclass(frozen=True)
class Failure:
    """A segment of a motion that is not certified.

    Attributes:
        segment: index of the waypoint at which it begins.
        s: position of the failure, from 0 to 1 along the segment.
        pair: index into ``model.pairs``.
        missing: metres by which the pair is below its limit there; 0 if it is above its limit by
            too little to be proven.
    """

    segment: int
    s: float
    pair: int
    missing: float


def failures(
    proximity: Proximity,
    waypoints: np.ndarray,
    limits: np.ndarray,
    first_only: bool = False,
    begin: int = 0,
) -> list[Failure]:
    """Segments of a motion (n, nq), linear between its rows, that are not certified at ``limits``.

    ``limits`` is (pairs,), or (n - 1, pairs) for limits of each segment, metres. A motion of one
    row is tested at this row. An empty list is a proof (see `continuous.clearance_scan`).
    ``begin``: number of the first row.
    """
    failing = []
    waypoints = waypoints if len(waypoints) > 1 else np.repeat(waypoints, 2, axis=0)
    for segment in range(len(waypoints) - 1):
        limit = limits if limits.ndim == 1 else limits[segment]
        answer = proximity.certify(waypoints[segment], waypoints[segment + 1], limit)
        if not answer.holds:
            missing = max(0.0, float(limit[answer.pair] - answer.distance))
            failing.append(Failure(begin + segment, float(answer.s), int(answer.pair), missing))
            if first_only:
                break
    return failing


def start_limits(proximity: Proximity, q: np.ndarray, safe: np.ndarray) -> np.ndarray:
    """``safe`` (pairs,), metres; for pairs closer than that at the start ``q`` (nq,) as close."""
    return np.minimum(safe, proximity.distances_below(q, safe) - _EASE)


# -- nearest points of the arms, for a display --


@dataclass(frozen=True, eq=False)
class ApproachPoints:
    """The nearest points of two arms at some waypoints, base frame, metres.

    Attributes:
        points: (n, 2, 3) on the leaf of the right and of the left arm.
        directions: (n, 3) unit vectors from right to left.
        distances: (n,) signed.
    """

    points: np.ndarray
    directions: np.ndarray
    distances: np.ndarray


def approach_points(
    model: CollisionModel,
    right: Collection[str],
    motion: Motion,
    held: Mapping[str, float],
    most: int = 200,
) -> ApproachPoints:
    """Nearest points of two arms at no more than ``most`` evenly spaced waypoints, ends included.

    Args:
        model: with the pairs between the arms only.
        right: names of the links of the right arm, and of attached objects.
        motion: of some joints or all.
        held: position of every joint, for those that the motion does not name.
        most: at least 2.
    """
    count = len(motion.times)
    rows = np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))
    rest = np.array([held[name] for name in model.joint_names])
    whole = motion.of_joints(model.joint_names, rest, model.name)
    nearest = [model.distance(row) for row in whole.positions[rows]]
    swap = np.array([found.links[0] not in right for found in nearest])
    points = np.array([found.points for found in nearest])
    directions = np.array([found.normal for found in nearest])
    points[swap] = points[swap][:, ::-1]
    directions[swap] *= -1.0
    return ApproachPoints(points, directions, np.array([found.distance for found in nearest]))
