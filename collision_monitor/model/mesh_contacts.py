# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Contacts of the meshes of two links at given configurations.

Exact, on the triangles (by the library coal), so independent of the leaves. Used at load time.
coal is imported where it is used: it takes 27 MB, which a monitor of a loaded model does not need.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from collision_monitor.mesh_distance.parts import merged
from collision_monitor.model.pair_rules import GRAZE
from collision_monitor.robot.bodies import link_poses
from collision_monitor.robot.description import Shape
from collision_monitor.robot.insides import Inside
from collision_monitor.robot.shape_kinds import bounding_ball, unknown_kind


def contacts_at(model: Any, links: tuple[str, str], configurations: np.ndarray) -> LinkContacts:
    """The contacts of two links of a CollisionModel at ``configurations`` (n, nq)."""
    poses = link_poses(model.bodies, links, configurations)
    return LinkContacts(*(Solid(model.robot.links[link].shapes, poses[link]) for link in links))


_MOST_CROSSINGS, _SOME_CROSSINGS = 2000, 50  # of two meshes that are found, and used


class LinkContacts:
    """Contacts of the shapes of two links at given configurations.

    Shapes meet if their surfaces touch or cross, or if one is completely inside the other (for
    meshes, inside a closed one).
    """

    def __init__(self, a: Solid, b: Solid) -> None:
        """``a``, ``b``: both links, at the same configurations."""
        self._a, self._b = a, b
        self._far = np.linalg.norm(a.centers - b.centers, axis=1) > a.radius + b.radius
        self._directions = list(_DIRECTIONS)
        self._meet: dict[int, bool] = {}

    def __len__(self) -> int:
        """Number of configurations."""
        return len(self._far)

    def some(self, which: slice) -> LinkContacts:
        """Return the contacts at some of the configurations."""
        return LinkContacts(*(each.at(each.poses[which]) for each in (self._a, self._b)))

    def meet(self, index: int) -> bool:
        """Whether the shapes meet at configuration ``index``."""
        if index not in self._meet:
            self._meet[index] = self.come_near(index, 0.0)
        return self._meet[index]

    def come_near(self, index: int, margin: float) -> bool:
        """Whether the shapes meet at configuration ``index``, or may if moved ``margin`` metres."""
        return _come_near(self._a, self._b, index, margin)

    def is_shallow(self, index: int, depth: float) -> bool:
        """Whether a motion by ``depth`` metres in one of 26 directions separates the shapes.

        They turn with the first link, so that it does not matter how a robot is mounted.
        """
        a, here = self._a.at(self._a.poses[index : index + 1]), self._b.poses[index : index + 1]
        axes = depth * a.poses[0, :3, :3]
        for n, direction in enumerate(self._directions):
            there = here.copy()
            there[0, :3, 3] += axes @ direction
            if not _come_near(a, self._b.at(there), 0, 0.0):
                self._directions.insert(0, self._directions.pop(n))  # tried first at the next call
                return True
        return False

    def largest_depth(self, most: float = np.inf) -> float:
        """Metres that the shapes overlap at most; 0 without contact, inf beyond ``most``.

        At most `GRAZE` too large, and at least `GRAZE`. Depths are those of `is_shallow`.
        """
        depth = 0.0
        for index in range(len(self)):
            if not self.meet(index):
                continue
            low = high = max(depth, min(GRAZE, most))
            while not self.is_shallow(index, high):
                if high == most:
                    return np.inf
                low, high = high, min(2.0 * high, most)
            while high - low > GRAZE:
                middle = 0.5 * (low + high)
                low, high = (low, middle) if self.is_shallow(index, middle) else (middle, high)
            depth = high
        return depth

    def place_part(self) -> float:
        """How far apart the places of contact are, relative to the size of a link.

        For each link: the largest distance of a place of contact from the median place, divided by
        the radius of a ball around the link. The smaller of both counts; 0 if surfaces never cross.
        If a wheel turns in a frame, contacts are all over the wheel, but at one place of the frame.
        """
        places = [place for index in range(len(self)) if self.meet(index)
                  for place in self._places(index)]  # fmt: skip
        if not places:
            return 0.0
        spread = np.linalg.norm(places - np.median(places, axis=0), axis=2).max(axis=0)
        return float(min(spread[0] / self._a.radius, spread[1] / self._b.radius))

    def _places(self, index: int) -> list[np.ndarray]:
        """Middle of the contacts at configuration ``index`` in the frames of both links (2, 3)."""
        points = _crossings(self._a, self._b, index)
        if not len(points):
            return []
        middle, poses = points.mean(axis=0), (self._a.poses[index], self._b.poses[index])
        return [np.array([(middle - pose[:3, 3]) @ pose[:3, :3] for pose in poses])]

    def share(self, threshold: float) -> float:
        """Share of the configurations in which the shapes meet; 0 without shapes.

        ``threshold``: counting stops once the share must stay below it. The result is then an upper
        bound of the share, below ``threshold``.
        """
        count, misses = len(self._far), int(self._far.sum())
        if count == 0 or not self._a.pieces or not self._b.pieces:
            return 0.0
        for index in np.flatnonzero(~self._far):
            if (count - misses) / count < threshold:
                break
            misses += not self.meet(index)
        return (count - misses) / count


_DIRECTIONS = np.array([d for d in product((-1.0, 0.0, 1.0), repeat=3) if any(d)])
_DIRECTIONS /= np.linalg.norm(_DIRECTIONS, axis=1)[:, None]


class Solid:
    """The shapes of a link for coal, and their poses at every configuration."""

    def __init__(self, shapes: Sequence[Shape], poses: np.ndarray) -> None:
        self.inside = Inside(shapes)
        self.poses = poses
        meshes = [shape for shape in shapes if shape.kind == "mesh"]
        mesh = merged(meshes) if meshes else None
        has_mesh = mesh is not None and len(mesh[1]) > 0
        # Geometries, and their poses in the frame of the link.
        self.pieces = [(self._tree(*mesh), np.eye(4))] if has_mesh else []
        self.pieces += [
            (self._primitive(shape), shape.pose) for shape in shapes if shape.kind != "mesh"
        ]
        self._placed: dict[int, list] = {}
        self._place_ball(shapes)

    def _tree(self, vertices: np.ndarray, triangles: np.ndarray) -> object:
        """All meshes of the link as one bounding volume hierarchy."""
        import coal

        tree = coal.BVHModelOBBRSS()
        tree.beginModel(len(triangles), len(vertices))
        tree.addVertices(vertices)
        tree.addTriangles(triangles.astype(np.int64))
        tree.endModel()
        return tree

    def _primitive(self, shape: Shape) -> object:
        import coal

        kinds = {"box": "Box", "sphere": "Sphere", "cylinder": "Cylinder", "capsule": "Capsule"}
        if shape.kind not in kinds:
            raise unknown_kind(shape, kinds)
        return getattr(coal, kinds[shape.kind])(*map(float, shape.size))

    def _place_ball(self, shapes: Sequence[Shape]) -> None:
        """Compute a bounding ball: its radius, and its centre (n, 3) at every configuration."""
        balls = [bounding_ball(shape) for shape in shapes]
        centers = np.array([center for center, _ in balls]).reshape(-1, 3)
        center = centers.mean(axis=0) if balls else np.zeros(3)
        self.radius = max(
            (np.linalg.norm(c - center) + radius for c, radius in balls), default=-np.inf
        )
        self._center = center
        self.centers = self.poses[:, :3, :3] @ center + self.poses[:, :3, 3]

    def at(self, poses: np.ndarray) -> Solid:
        """Return the same shapes at other poses (n, 4, 4) of the link."""
        other = copy.copy(self)
        other.poses, other._placed = poses, {}
        other.centers = poses[:, :3, :3] @ self._center + poses[:, :3, 3]
        return other

    def placed(self, index: int) -> list:
        """Return geometries with their coal transforms at configuration ``index``."""
        import coal

        if index not in self._placed:
            self._placed[index] = [
                (geometry, coal.Transform3s(pose[:3, :3], pose[:3, 3]))
                for geometry, pose in ((g, self.poses[index] @ local) for g, local in self.pieces)
            ]
        return self._placed[index]


def _collisions(a: Solid, b: Solid, index: int, most: int, margin: float = 0.0) -> Iterator[Any]:
    """Results of coal, with ``most`` contacts, of each piece of one link with each of the other.

    Contacts are those of surfaces, or of a surface in a solid primitive, or within ``margin``
    metres. A result is valid until the next one.
    """
    import coal

    request, result = coal.CollisionRequest(), coal.CollisionResult()
    # Without contacts, coal 3.0 misses crossing cylinders: it stops its search early.
    request.num_max_contacts, request.enable_contact = most, True
    request.security_margin = margin
    for one, pose_one in a.placed(index):
        for other, pose_other in b.placed(index):
            result.clear()
            coal.collide(one, pose_one, other, pose_other, request, result)
            yield result


def _crossings(a: Solid, b: Solid, index: int) -> np.ndarray:
    """Some points (n, 3) in the base frame where surfaces cross."""
    points: list[np.ndarray] = []
    for result in _collisions(a, b, index, _MOST_CROSSINGS):
        contacts = result.getContacts()
        step = max(1, len(contacts) // _SOME_CROSSINGS)
        points += [contacts[k].pos for k in range(0, len(contacts), step)]
    crossings = np.array(points).reshape(-1, 3)
    return crossings[np.isfinite(crossings).all(axis=1)]  # coal has none for some primitives


def _come_near(a: Solid, b: Solid, index: int, margin: float) -> bool:
    """Whether shapes meet, or may if moved ``margin`` metres."""
    apart = a.centers[index] - b.centers[index]
    if math.sqrt(apart @ apart) > a.radius + b.radius + margin:
        return False
    touch = any(result.isCollision() for result in _collisions(a, b, index, 1, margin))
    return touch or _one_holds_the_other(a, b, index)


def _one_holds_the_other(a: Solid, b: Solid, index: int) -> bool:
    """Whether a part of one link lies inside a closed mesh of the other."""
    for outer, inner in ((a, b), (b, a)):
        pose_outer, pose_inner = outer.poses[index], inner.poses[index]
        points = inner.inside.probes @ pose_inner[:3, :3].T + pose_inner[:3, 3]
        if outer.inside.holds_any((points - pose_outer[:3, 3]) @ pose_outer[:3, :3]):
            return True
    return False
