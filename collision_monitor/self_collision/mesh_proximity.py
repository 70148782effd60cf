# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Near pairs and certificates, with some pairs of links measured between their meshes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.continuous.scan_space import ScanMotion, straight_motion
from collision_monitor.geometry.segments import ROUNDING
from collision_monitor.hierarchy.kinematics import add_gradients
from collision_monitor.model.proximity import Certificate, Near, Proximity
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.robot.bodies import by_position
from collision_monitor.verification.clearance.clearance_check import Certifier
from collision_monitor.verification.clearance.schedule import Schedule
from collision_monitor.verification.clearance.shape_scanner import ShapeScanner

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

_INSTANT = 1e-3  # of a segment: shorter pieces are not divided


def prepare_meshes(model: CollisionModel) -> None:
    """Compile kernels and measure distances that the first adjustment needs."""
    model.prepare_exact()
    model.sampled_distances()
    model.sampled_distances(exact=False)
    if model.pairs:
        one = np.arange(len(model.pairs)) == 0
        q = np.clip(0.0, model.lower, model.upper)
        proximity = MeshProximity(model, one)
        proximity.certify(q, q, np.where(one, np.inf, -np.inf))
        proximity.near(q, np.where(one, 0.0, -np.inf))
        still = Trajectory.through(model.joint_names, np.array([0.0, 1.0]), np.array([q, q]))
        Certifier(model).certify(Schedule(model, still))


class MeshProximity(Proximity):
    """As `Proximity`, with some pairs measured between their meshes and other shapes.

    Leaves of two links of one arm overlap in many collision-free poses, so they cannot prove that
    the links are apart.
    """

    def __init__(
        self, model: CollisionModel, on_meshes: np.ndarray, kept: np.ndarray | None = None
    ) -> None:
        """``on_meshes``: (pairs,) bool, the pairs that are measured between meshes."""
        super().__init__(model, kept=kept)
        self._on_meshes = on_meshes
        self._mesh_pairs = np.flatnonzero(on_meshes)
        self._order = self._mesh_pairs.tolist()  # of certificates
        self._scanner = ShapeScanner(model)
        self._travel_rates = by_position(model.bodies, model.pair_reach(self._mesh_pairs))
        self._pair_bodies = model.body_numbers[model.pair_links]

    @property
    def measured(self) -> int:
        """Number of distances between meshes that were measured for certificates."""
        return self._scanner.measured

    def near(self, q: np.ndarray, limits: np.ndarray, spread: float = np.inf) -> Near:
        """As `Proximity.near`; one row for each pair on meshes.

        A pair whose meshes touch keeps the rows of its leaves, whose gradients separate it.
        """
        near = super().near(q, limits, spread)
        pairs = np.unique(near.pairs[self._on_meshes[near.pairs]])
        if not len(pairs):
            return near
        distances, points = self._measure(q, pairs, limits[pairs])
        parted = distances > ROUNDING
        by_leaves = np.ones(len(limits), dtype=bool)
        by_leaves[pairs[parted]] = False
        kept = by_leaves[near.pairs]
        rows = parted & (distances < limits[pairs])
        pairs, distances, points = pairs[rows], distances[rows], points[rows]
        normals = points[:, 1] - points[:, 0]
        normals /= np.linalg.norm(normals, axis=1)[:, None]
        gradients = np.zeros((len(pairs), len(q)))
        two = self._pair_bodies[pairs]
        add_gradients(*self.tables.arrays(), two, points, normals, gradients)
        between_meshes = pairs, distances, gradients
        return Near(
            *(
                np.concatenate([of_leaves[kept], values])
                for of_leaves, values in zip(near, between_meshes, strict=True)
            )
        )

    def _measure(
        self, q: np.ndarray, pairs: np.ndarray, limits: np.ndarray, is_exact: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """Distances of the meshes of ``pairs`` (k,) and nearest points; see `surface_points`.

        ``limits`` (k,), metres; those near 0 are raised, so that a pair above its limit does not
        look like one in contact. Unless ``is_exact``, distances above them may be too small.
        """
        limits = np.maximum(limits, 2.0 * ROUNDING)
        return self._scanner.twin.surface_points(q, pairs, limits, None if is_exact else limits)

    def loss(self, columns: np.ndarray) -> np.ndarray:
        """As `Proximity.loss`; finite for pairs on meshes."""
        out = super().loss(columns)
        out[self._mesh_pairs] = self._travel_rates[:, columns].sum(axis=1)
        return out

    def nearest(self, q: np.ndarray, limits: np.ndarray) -> tuple[int, float] | None:
        """As `Proximity.nearest`; a pair on meshes counts with the distance of its meshes."""
        near = super().near(q, limits, 0.0)
        best, first = np.inf, -1
        for k in np.argsort(near.distances, kind="stable").tolist():
            distance = float(near.distances[k])
            if distance >= best:  # shapes are within their leaves
                break
            pair = int(near.pairs[k])
            if self._on_meshes[pair]:
                limit = min(best, float(limits[pair]))
                (between_meshes,), _ = self._measure(q, np.array([pair]), np.array([limit]))
                if between_meshes > 0.0:
                    distance = float(between_meshes)
            if distance < min(best, limits[pair]):
                best, first = distance, pair
        return (first, best) if first >= 0 else None

    def certify(self, start: np.ndarray, end: np.ndarray, limits: np.ndarray) -> Certificate:
        """As `Proximity.certify`; ``distance`` is between meshes for a pair on meshes."""
        answer = super().certify(start, end, self._by_leaves(limits))
        if not answer.holds:
            return answer
        motion = _Straight(start, end)
        pair = self._first_failing(motion, limits)
        if pair is None:
            return answer
        asked = motion, pair, float(limits[pair]), 0.0, 1.0, _INSTANT
        first = self._scanner.first_below(*asked)
        if not first < np.inf:
            return Certificate(False, 0.5, pair, float(limits[pair]))
        distance, _ = self._scanner.measure(start + first * (end - start), pair)
        return Certificate(False, first, pair, max(distance, 0.0))

    def keeps_at(self, q: np.ndarray, limits: np.ndarray) -> bool:
        """As `Proximity.keeps_at`; no mesh is measured where leaves decide."""
        pairs = super().near(q, limits, 0.0).pairs
        if not self._on_meshes[pairs].all() or not len(pairs):
            return not len(pairs)
        distances, _ = self._measure(q, pairs, limits[pairs], False)
        return bool(((distances > ROUNDING) & (distances >= limits[pairs])).all())

    def keeps(self, start: np.ndarray, end: np.ndarray, limits: np.ndarray) -> bool:
        """As `Proximity.keeps`."""
        if not super().certify(start, end, self._by_leaves(limits)).holds:
            return False
        motion = _Straight(start, end)
        return self._first_failing(motion, limits) is None

    def _by_leaves(self, limits: np.ndarray) -> np.ndarray:
        return np.where(self._on_meshes, -np.inf, limits)

    def _first_failing(self, motion: _Straight, limits: np.ndarray) -> int | None:
        """A pair on meshes that is not certified along a motion, or None."""
        for place, pair in enumerate(self._order):
            if limits[pair] == -np.inf:
                continue
            if not self._scanner.keeps(motion, pair, float(limits[pair]), 0.0, 1.0, _INSTANT):
                # It is likely to fail for similar motions, too.
                self._order.insert(0, self._order.pop(place))
                return pair
        return None


class _Straight:
    """Schedule for `ShapeScanner`: all joints move at constant velocity for one second."""

    def __init__(self, start: np.ndarray, end: np.ndarray) -> None:
        self.rest = start
        self._motion = straight_motion(start, end)

    def packed(self) -> ScanMotion:
        """The path as an argument of kernels."""
        return self._motion
