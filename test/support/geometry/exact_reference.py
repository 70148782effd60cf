# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Distances of a model's shapes by pinocchio's kinematics and coal's shapes and hierarchies.

The triangles are those that the model has loaded, so that what is compared are distances, not
readers of mesh files.
"""

import coal
import numpy as np

from collision_monitor.mesh_distance.parts import merged
from collision_monitor.robot.insides import Inside
from support.geometry.coal_shapes import coal_mesh, coal_shape


class ExactReference:
    """What coal says about the checked pairs of a model."""

    def __init__(self, model, reference):
        """``reference``: `reference.Reference` of the model, for its kinematics."""
        self.model, self._reference = model, reference
        self._shapes = {name: link.shapes for name, link in model.robot.links.items()}
        self._owner = {name: name for name in self._shapes}
        for obstacle in model.scene.obstacles:
            self._shapes[obstacle.name] = (obstacle.shape,)
            self._owner[obstacle.name] = obstacle.link
        self._parts = {name: self._parts_of(self._shapes[name]) for name in model.link_names}
        self._inside = {name: Inside(self._shapes[name]) for name in model.link_names}
        self._pairs = [
            (a, i, b, j)
            for a, b in model.pairs
            for i in range(len(self._parts[a]))
            for j in range(len(self._parts[b]))
        ]
        self._of_links: dict = {}
        for pair in self._pairs:
            self._of_links.setdefault((pair[0], pair[2]), []).append(pair)
        self._last = b"", {}  # the last configuration, and the poses there
        self._centres = {
            name: np.array([g.aabb_center @ p[:3, :3].T + p[:3, 3] for g, p in parts])
            for name, parts in self._parts.items()
        }
        self._radii = {
            name: np.array([g.aabb_radius for g, _ in parts]) for name, parts in self._parts.items()
        }

    @staticmethod
    def _parts_of(shapes):
        meshes = [shape for shape in shapes if shape.kind == "mesh"]
        parts = [(coal_mesh(*merged(meshes)), np.eye(4))] if meshes else []
        parts += [(coal_shape(s), s.pose) for s in shapes if s.kind != "mesh"]
        for geometry, _ in parts:
            geometry.computeLocalAABB()
        return parts

    def poses(self, q):
        """Poses (4, 4) of all links and obstacles in the base frame."""
        key = np.asarray(q, dtype=float).tobytes()
        if self._last[0] != key:
            owners = {self._owner[name] for name in self.model.link_names}
            of = {name: self._reference.link_pose(q, name) for name in owners}
            self._last = key, {name: of[self._owner[name]] for name in self.model.link_names}
        return self._last[1]

    def _measure(self, pair, poses):
        a, i, b, j = pair
        geometries, places = [], []
        for name, k in ((a, i), (b, j)):
            geometry, local = self._parts[name][k]
            pose = poses[name] @ local
            geometries.append(geometry)
            places.append(coal.Transform3s(pose[:3, :3], pose[:3, 3]))
        request, result = coal.DistanceRequest(), coal.DistanceResult()
        request.gjk_tolerance = 1e-9  # more than its default asks for
        return coal.distance(geometries[0], places[0], geometries[1], places[1], request, result)

    def least(self, q, at_least=np.inf):
        """(metres, (link, link)): the smallest distance of all pairs, 0 or less if any touch.

        Of the surfaces of meshes: one in another's inside is apart from it. Pairs that balls show
        to be farther apart than what was found, or ``at_least``, are not measured.
        """
        poses = self.poses(q)
        centres = {n: self._centres[n] @ poses[n][:3, :3].T + poses[n][:3, 3] for n in poses}
        bounds = np.array(
            [
                np.linalg.norm(centres[a][i] - centres[b][j])
                - self._radii[a][i] - self._radii[b][j]
                for a, i, b, j in self._pairs
            ]
        )  # fmt: skip
        best, where = np.inf, None
        for k in np.argsort(bounds):
            if bounds[k] >= min(best, at_least):
                break
            pair = self._pairs[k]
            distance = self._measure(pair, poses)
            if distance < best:
                best, where = distance, (pair[0], pair[2])
            if best <= 0.0:
                break
        return best, where

    def distance(self, q, links):
        """Smallest distance of one pair of links, as of `least`."""
        poses = self.poses(q)
        return min(self._measure(pair, poses) for pair in self._of_links[links])

    def distance_between(self, links, poses):
        """Smallest distance of any two links, at poses (4, 4) as of `poses`."""
        (a, b), parts = links, self._parts
        return min(
            self._measure((a, i, b, j), poses)
            for i in range(len(parts[a]))
            for j in range(len(parts[b]))
        )

    def holds(self, q, links):
        """Whether a closed mesh of one of two links holds a piece of the other."""
        poses = self.poses(q)
        for outer, inner in (links, links[::-1]):
            to_outer = np.linalg.inv(poses[outer]) @ poses[inner]
            probes = self._inside[inner].probes @ to_outer[:3, :3].T + to_outer[:3, 3]
            if self._inside[outer].holds_any(probes):
                return True
        return False
