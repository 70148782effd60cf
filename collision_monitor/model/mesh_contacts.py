# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Contacts of the meshes of two links at given configurations.

Exact, on the triangles (by the library coal), so independent of the leaves. Used at load time.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from itertools import product
from types import ModuleType

import numpy as np

from collision_monitor.errors import MissingDependencyError
from collision_monitor.mesh_distance.parts import merged
from collision_monitor.robot.description import Robot, Shape
from collision_monitor.robot.insides import Inside
from collision_monitor.robot.shape_kinds import bounding_ball, unknown_kind


def where_they_meet(
    robot: Robot, link_poses: Mapping[str, np.ndarray], pair: tuple[str, str]
) -> np.ndarray:
    """Return whether (n,) the shapes of two links of ``robot`` meet at each configuration.

    ``link_poses``: by link, (n, 4, 4) in the base frame. Shapes meet if their surfaces touch or
    cross, or if one is completely inside the other (for meshes, inside a closed one).

    Raises:
        MissingDependencyError: the library coal is not installed.
    """
    solids = [Solid(robot.links[name].shapes, link_poses[name]) for name in pair]
    contacts = LinkContacts(*solids)
    return np.array([contacts.meet(k) for k in range(len(link_poses[pair[0]]))], dtype=bool)


_DEPTHS = (0.002, 0.005, 0.01, 0.02, 0.04, 0.08)  # metres, tried one after the other
_DEPTH_ERROR = 0.002  # metres


def _coal() -> ModuleType:
    try:
        import coal
    except ImportError as problem:
        raise MissingDependencyError(
            "the library coal, which finds meshes in contact, cannot be imported "
            f"({problem}): pip install coal"
        ) from None
    return coal


class LinkContacts:
    """Contacts of the shapes of two links at given configurations.

    Raises:
        MissingDependencyError: the library coal is not installed.
    """

    def __init__(self, a: Solid, b: Solid) -> None:
        """``a``, ``b``: both links, at the same configurations."""
        self._a, self._b = a, b
        self._far = np.linalg.norm(a.centers - b.centers, axis=1) > a.radius + b.radius
        self._directions = list(_DIRECTIONS)

    def __len__(self) -> int:
        """Number of configurations."""
        return len(self._far)

    def meet(self, index: int) -> bool:
        """Whether the shapes meet at configuration ``index``."""
        return self.come_near(index, 0.0)

    def come_near(self, index: int, margin: float) -> bool:
        """Whether the shapes meet at configuration ``index``, or may if moved ``margin`` metres."""
        a, b = self._a, self._b
        if np.linalg.norm(a.centers[index] - b.centers[index]) > a.radius + b.radius + margin:
            return False
        return _surfaces_meet(a, b, index, margin) or _one_holds_the_other(a, b, index)

    def is_shallow(self, index: int, depth: float) -> bool:
        """Whether a motion by ``depth`` metres in one of 26 directions separates the shapes.

        They turn with the first link, so that it does not matter how a robot is mounted.
        """
        a, here = self._a.at(self._a.poses[index : index + 1]), self._b.poses[index : index + 1]
        axes = a.poses[0, :3, :3]
        for n, direction in enumerate(self._directions):
            there = here.copy()
            there[0, :3, 3] += depth * axes @ direction
            if not LinkContacts(a, self._b.at(there)).meet(0):
                self._directions.insert(0, self._directions.pop(n))  # tried first at the next call
                return True
        return False

    def largest_depth(self, error: float = _DEPTH_ERROR, most: float = np.inf) -> float:
        """Metres that the shapes overlap at most; 0 without contact, inf beyond ``most`` or 80 mm.

        At most ``error`` metres too large, but at least 2, 5, 10, 20, 40 or 80 mm are tried. Depths
        are those of `is_shallow`.
        """
        meet = [index for index in range(len(self)) if self.meet(index)]

        def is_enough(depth: float) -> bool:
            return all(self.is_shallow(index, depth) for index in meet)

        if not meet:
            return 0.0
        depths = [depth for depth in _DEPTHS if depth < most] + [most] * (most < np.inf)
        if not is_enough(depths[-1]):
            return np.inf
        high = next(depth for depth in depths if is_enough(depth))
        low = max((depth for depth in depths if depth < high), default=0.0)
        while high - low > error:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if is_enough(middle) else (middle, high)
        return high

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
        self._coal = _coal()
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
        tree = self._coal.BVHModelOBBRSS()
        tree.beginModel(len(triangles), len(vertices))
        tree.addVertices(vertices)
        tree.addTriangles(triangles.astype(np.int64))
        tree.endModel()
        return tree

    def _primitive(self, shape: Shape) -> object:
        kinds = {"box": "Box", "sphere": "Sphere", "cylinder": "Cylinder", "capsule": "Capsule"}
        if shape.kind not in kinds:
            raise unknown_kind(shape, kinds)
        return getattr(self._coal, kinds[shape.kind])(*map(float, shape.size))

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
        if index not in self._placed:
            self._placed[index] = [
                (geometry, self._coal.Transform3s(pose[:3, :3], pose[:3, 3]))
                for geometry, pose in ((g, self.poses[index] @ local) for g, local in self.pieces)
            ]
        return self._placed[index]


def _surfaces_meet(a: Solid, b: Solid, index: int, margin: float = 0.0) -> bool:
    """Whether coal finds a contact, or shapes within ``margin`` metres.

    Contacts are those of surfaces, or of a surface in a solid primitive.
    """
    coal = _coal()
    request, result = coal.CollisionRequest(), coal.CollisionResult()
    # Without contacts, coal 3.0 misses crossing cylinders: it stops its search early.
    request.num_max_contacts, request.enable_contact = 1, True
    request.security_margin = margin
    for one, pose_one in a.placed(index):
        for other, pose_other in b.placed(index):
            result.clear()
            if coal.collide(one, pose_one, other, pose_other, request, result):
                return True
    return False


def _one_holds_the_other(a: Solid, b: Solid, index: int) -> bool:
    """Whether a part of one link lies inside a closed mesh of the other."""
    for outer, inner in ((a, b), (b, a)):
        pose_outer, pose_inner = outer.poses[index], inner.poses[index]
        points = inner.inside.probes @ pose_inner[:3, :3].T + pose_inner[:3, 3]
        if outer.inside.holds_any((points - pose_outer[:3, 3]) @ pose_outer[:3, :3]):
            return True
    return False
