# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The peer of `adjustment`: differential inverse kinematics with barriers (pin-pink), unmodified.

A posture task (cost 1, gain 1) follows the desired motion; a `SelfCollisionBarrier` over the pairs
that `adjust` keeps apart (arm and arm, arm and the rest) holds them at d_saf. The model has the
joints of the arms, and the others are locked. Limits of pink are used for positions, and for
velocities at `_REACH` times the fastest of the motion so that it can catch up.

Its settings were chosen with 5 to 12 other motions of Baxter:

- Geometry: convex hulls of the meshes, since barriers are for smooth convex bodies. Our leaves as
  coal capsules (5933 pairs instead of 393) took 56 ms a waypoint instead of 10 and came less
  below d_saf, at a gain that is too high for both; they were not tried at the one chosen.
- Gain of the barrier times dt: with 0.5 at most 4 of 8 motions were solved, the others came nearer
  than d_saf; with 0.1 at least 6 of 8.
- Programs a waypoint and room above d_saf: 2 and 5 mm solved 12 of 12 in 3.7 ms, 3 and 5 mm 11
  in 6.0 ms, 1 and 10 mm 10 in 1.9 ms, its two misses within the 10 mm of a goal; 1 and 5 mm
  were not tried.
- Pairs whose hulls are nearer than that at an end of the motion are left out for that motion.
- The nearest 20 pairs become constraints, as the barrier offers; 60 only took longer.
- After the last waypoint it has as many waypoints again to arrive.

Solvers by qpsolvers: daqp. One barrier has one distance, so pairs inside an arm are left to it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import coal
import numpy as np
import pink
import pinocchio as pin
from pink.barriers import SelfCollisionBarrier
from pink.exceptions import PinkError
from pink.limits import ConfigurationLimit, VelocityLimit
from pink.tasks import PostureTask
from support.geometry.reference import Reference

from collision_monitor import CollisionModel

GEOMETRIES = ("hulls", "capsules", "meshes")
_SUBSTEPS = 2
_GAIN = 0.1
_NEAREST = 20
_BUFFER = 0.005  # m
_REACH = 2.0
_DT = 0.01  # s a substep; only its product with the gains matters
_ARRIVED = 1e-4  # rad or m


@dataclass(frozen=True, eq=False)
class Followed:
    """Result of the peer for a motion.

    Attributes:
        positions: (k, joints) at the waypoints, followed by the additional ones needed to arrive.
        seconds: CPU time.
        reason: why it stopped early, or "".
    """

    positions: np.ndarray
    seconds: float
    reason: str


class Peer:
    """pink on a robot of which only two arms move."""

    def __init__(
        self,
        model: CollisionModel,
        reference: Reference,
        kept: np.ndarray,
        joint_names: tuple[str, ...],
        held: np.ndarray,
        safe: float,
        geometry: str = "hulls",
    ) -> None:
        """Build model and bodies.

        Args:
            model: the robot.
            reference: of the same robot.
            kept: (pairs,) bool: pairs that take part.
            joint_names: of the motions.
            held: (nq,) the other joints' positions.
            safe: m.
            geometry: one of `GEOMETRIES`.
        """
        whole = reference.pin_model
        if geometry == "capsules":
            bodies, owners = reference.leaf_geometry()
        else:
            bodies, owners = reference.mesh_geometry()
        taking_part = {pair for pair, k in zip(model.pairs, kept, strict=True) if k}
        pairs = [
            (p.first, p.second)
            for p, owner in zip(bodies.collisionPairs, owners, strict=True)
            if owner in taking_part
        ]
        bodies.removeAllCollisionPairs()
        for first, second in pairs:
            bodies.addCollisionPair(pin.CollisionPair(first, second))
        if geometry == "hulls":
            for item in bodies.geometryObjects:
                if isinstance(item.geometry, coal.BVHModelBase):
                    item.geometry.buildConvexHull(True, "Qt")
                    item.geometry = item.geometry.convex
        locked = [k for k, name in enumerate(whole.names) if k > 0 and name not in set(joint_names)]
        self._model, self._bodies = pin.buildReducedModel(
            whole, bodies, locked, reference.configuration(held)
        )
        self._joints = [self._model.joints[self._model.getJointId(name)] for name in joint_names]
        self._data = self._model.createData()
        self._safe = safe
        self.pairs = len(self._bodies.collisionPairs)

    def _to_pin(self, x: np.ndarray) -> np.ndarray:
        q = pin.neutral(self._model)
        for joint, value in zip(self._joints, x, strict=True):
            if joint.nq == 2:  # continuous: cosine and sine
                q[joint.idx_q : joint.idx_q + 2] = np.cos(value), np.sin(value)
            else:
                q[joint.idx_q] = value
        return q

    def _apart_at_ends(self, positions: np.ndarray) -> pin.GeometryModel:
        """The bodies, with the pairs that are far enough apart at both ends.

        A hull may be closer than the leaves; such a pair would have no solution.
        """
        data = pin.GeometryData(self._bodies)
        least = np.full(self.pairs, np.inf)
        for x in positions[[0, -1]]:
            pin.computeDistances(self._model, self._data, self._bodies, data, self._to_pin(x))
            distances = [result.min_distance for result in data.distanceResults]
            least = np.minimum(least, distances)
        bodies = self._bodies.copy()
        bodies.removeAllCollisionPairs()
        for pair, distance in zip(self._bodies.collisionPairs, least, strict=True):
            if distance >= self._safe + _BUFFER:
                bodies.addCollisionPair(pin.CollisionPair(pair.first, pair.second))
        return bodies

    def follow(self, positions: np.ndarray) -> Followed:
        """Follow ``positions`` (n, joints) with all pairs at ``safe`` or farther."""
        bodies = self._apart_at_ends(positions)
        start = time.process_time()
        steps = np.abs(np.diff(positions, axis=0)).max()
        most = _REACH * steps / (_SUBSTEPS * _DT)
        configuration = pink.Configuration(
            self._model, self._data, self._to_pin(positions[0]), collision_model=bodies
        )
        task = PostureTask(cost=1.0, gain=1.0)
        barrier = SelfCollisionBarrier(
            min(_NEAREST, len(bodies.collisionPairs)),
            gain=_GAIN / _DT,
            safe_displacement_gain=0.0,
            d_min=self._safe + _BUFFER,
        )
        limits = [
            ConfigurationLimit(self._model),
            VelocityLimit(self._model, np.full(self._model.nv, most)),
        ]
        tangent = [joint.idx_v for joint in self._joints]
        x = positions[0].copy()
        reached, reason = [x.copy()], ""
        arriving = np.repeat(positions[-1:], len(positions), axis=0)
        before = positions[0]
        for waypoint, target in enumerate(np.vstack([positions[1:], arriving])):
            if waypoint >= len(positions) - 1 and np.abs(x - positions[-1]).max() < _ARRIVED:
                break
            for part in np.arange(1, _SUBSTEPS + 1) / _SUBSTEPS:
                task.set_target(self._to_pin(before + part * (target - before)))
                try:
                    velocity = pink.solve_ik(
                        configuration,
                        [task],
                        _DT,
                        "daqp",
                        damping=1e-9,
                        limits=limits,
                        barriers=[barrier],
                        safety_break=False,
                    )
                except PinkError as error:
                    reason = f"{type(error).__name__} at waypoint {waypoint + 1}"
                    break
                # Angles are counted here: pinocchio keeps those of continuous joints modulo 2 pi.
                x = x + velocity[tangent] * _DT
                configuration.update(self._to_pin(x))
            reached.append(x.copy())
            before = target
            if reason:
                break
        return Followed(np.array(reached), time.process_time() - start, reason)
