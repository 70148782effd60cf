# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Distances of two arms' meshes along a motion, by pinocchio and coal alone."""

import coal
import numpy as np
import pinocchio as pin

from collision_monitor import CollisionModel
from support.geometry.reference import Reference


class MeshClearance:
    """Mesh distances of some pairs of links: only where balls and convex hulls leave it open."""

    def __init__(self, model: CollisionModel, reference: Reference, kept: np.ndarray) -> None:
        """``kept`` (pairs,) bool: the pairs of the model that are measured."""
        self._reference = reference
        self._geometry, owners = reference.mesh_geometry()
        self._data = pin.GeometryData(self._geometry)
        wanted = {pair for pair, k in zip(model.pairs, kept, strict=True) if k}
        pairs = list(zip(self._geometry.collisionPairs, owners, strict=True))
        self._pairs = [(p.first, p.second) for p, owner in pairs if owner in wanted]
        self._owners = [owner for _, owner in pairs if owner in wanted]
        self._used = sorted({k for pair in self._pairs for k in pair})
        self._rank = {k: i for i, k in enumerate(self._used)}
        self._shapes = [self._geometry.geometryObjects[k].geometry for k in self._used]
        self._hulls = []
        for shape in self._shapes:
            shape.computeLocalAABB()
            if isinstance(shape, coal.BVHModelBase):
                shape.buildConvexHull(True, "Qt")
                self._hulls.append(shape.convex)
            else:
                self._hulls.append(shape)
        self._centres = np.array([s.aabb_center for s in self._shapes])
        self._radii = np.array([s.aabb_radius for s in self._shapes])
        self._first = np.array([self._rank[a] for a, _ in self._pairs])
        self._second = np.array([self._rank[b] for _, b in self._pairs])

    def _places(self, q: np.ndarray) -> list[pin.SE3]:
        reference = self._reference
        pin.forwardKinematics(reference.pin_model, reference.pin_data, reference.configuration(q))
        pin.updateGeometryPlacements(
            reference.pin_model, reference.pin_data, self._geometry, self._data
        )
        return [self._data.oMg[k].copy() for k in self._used]

    def least(self, rows: np.ndarray) -> tuple[float, int, tuple[str, str]]:
        """(metres, row, links): the smallest mesh distance over configurations (n, nq).

        Exact: a ball or a hull around a mesh is nowhere farther than the mesh, so candidates
        are looked at from the nearest, until the next one's bound is above what was found.
        """
        places = [self._places(q) for q in rows]
        rotation = np.array([[p.rotation for p in row] for row in places])
        origin = np.array([[p.translation for p in row] for row in places])
        centres = np.einsum("nkij,kj->nki", rotation, self._centres) + origin
        bounds = np.linalg.norm(centres[:, self._first] - centres[:, self._second], axis=2)
        bounds -= self._radii[self._first] + self._radii[self._second]
        best, where = np.inf, (0, 0)
        order = np.argsort(bounds, axis=None)
        request, result = coal.DistanceRequest(), coal.DistanceResult()

        def measured(bodies: list, row: int, pair: int) -> float:
            i, j = self._first[pair], self._second[pair]
            poses = [
                coal.Transform3s(places[row][k].rotation, places[row][k].translation)
                for k in (i, j)
            ]
            result.clear()
            return coal.distance(bodies[i], poses[0], bodies[j], poses[1], request, result)

        for at in order:
            row, pair = divmod(int(at), len(self._pairs))
            if bounds[row, pair] >= best:
                break
            if measured(self._hulls, row, pair) >= best:
                continue
            distance = measured(self._shapes, row, pair)
            if distance < best:
                best, where = distance, (row, pair)
        return best, where[0], self._owners[where[1]]


def between(rows: np.ndarray, samples: int = 20) -> np.ndarray:
    """Rows (n, nq) with ``samples`` to each step, the first end included; and the last row."""
    parts = np.arange(samples)[None, :, None] / samples
    steps = rows[:-1, None] + parts * np.diff(rows, axis=0)[:, None]
    return np.vstack([steps.reshape(-1, rows.shape[1]), rows[-1:]])
