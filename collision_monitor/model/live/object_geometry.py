# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The geometry of an object of a live scene: leaves, and the solids and meshes inside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np

from collision_monitor.fitting.fast_fit import cover, cover_triangles
from collision_monitor.geometry.convex import RADIUS, SOLID_COLUMNS
from collision_monitor.mesh_distance.mesh_tree import corners_of
from collision_monitor.mesh_distance.parts import Part, parts_of
from collision_monitor.robot.description import Shape
from collision_monitor.robot.poses import poses_along
from collision_monitor.robot.shape_kinds import solid_row


class Solids(NamedTuple):
    """Convex solids.

    Attributes:
        rows: (k, 5) as in `geometry.convex`.
        places: (k, 4, 4) their poses.
    """

    rows: np.ndarray
    places: np.ndarray


@dataclass(frozen=True, eq=False)
class ObjectGeometry:
    """The geometry of an object, in its own frame.

    Distances of leaves are those of ``rows``, exact distances those of ``solids`` and ``meshes``.

    Attributes:
        rows: (k, 7) leaves that enclose everything: end points and radius, metres. There are at
            least as many as solids and meshes.
        given_solids: convex parts; None if the leaves are the object.
        meshes: the other parts. Equal corners are one vertex.
        shape: the object, if it is a single shape; to display it.
    """

    rows: np.ndarray
    given_solids: Solids | None
    meshes: tuple[Shape, ...] = ()
    shape: Shape | None = None
    _parts: dict[str, Part] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def solids(self) -> Solids:
        """All convex parts."""
        if self.given_solids is None:
            return solids_of_leaves(self.rows)
        return self.given_solids

    @property
    def part_count(self) -> int:
        """Number of parts that exact distances measure: the solids, and all meshes as one."""
        solids = self.rows if self.given_solids is None else self.given_solids.rows
        return len(solids) + bool(self.meshes)

    @classmethod
    def of_shape(cls, shape: Shape, most: int) -> ObjectGeometry:
        """Return the geometry of a shape at its pose, with at most ``most`` leaves.

        Raises:
            FitError: a mesh has no triangles, or their corners do not exist or are not finite.
        """
        if shape.kind == "mesh":
            corners = corners_of(shape.vertices, shape.triangles)
            leaves = moved_rows(cover_triangles(corners, most), shape.pose)
            vertices, index = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
            # With equal corners as one vertex, closed surfaces are known to be closed.
            mesh = replace(shape, vertices=vertices, triangles=index.reshape(-1, 3))
            return cls(leaves, solids_of_leaves(leaves[:0]), (mesh,), mesh)
        leaves = moved_rows(cover(shape, most), shape.pose)
        return cls(leaves, Solids(solid_row(shape)[None], shape.pose[None]), (), shape)

    @classmethod
    def of_leaves(cls, rows: np.ndarray) -> ObjectGeometry:
        """Return the geometry of capsules and spheres, rows (k, 7)."""
        return cls(rows, None)

    @classmethod
    def of_boxes(cls, centers: np.ndarray, size: Sequence[float]) -> ObjectGeometry:
        """Return the geometry of equal boxes at ``centers`` (k, 3), with a ball around each."""
        half = 0.5 * np.asarray(size, dtype=float)
        radii = np.full(len(centers), np.linalg.norm(half))
        solids = np.zeros((len(centers), SOLID_COLUMNS))
        solids[:, :3] = half
        places = np.tile(np.eye(4), (len(centers), 1, 1))
        places[:, :3, 3] = centers
        return cls(np.column_stack([centers, centers, radii]), Solids(solids, places))

    @classmethod
    def joined(cls, parts: Sequence[ObjectGeometry]) -> ObjectGeometry:
        """Return the geometry of all ``parts``, which have the same frame."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            np.vstack([each.rows for each in parts]),
            Solids(
                np.vstack([each.solids.rows for each in parts]),
                np.vstack([each.solids.places for each in parts]),
            ),
            tuple(mesh for each in parts for mesh in each.meshes),
        )

    def mesh_part(self, hierarchy: str) -> Part | None:
        """All meshes as one part of exact distances, or None without a mesh; kept once built.

        ``hierarchy``: as in `mesh_tree.build_triangle_tree`.
        """
        if not self.meshes:
            return None
        if hierarchy not in self._parts:
            (self._parts[hierarchy],) = parts_of(self.meshes, hierarchy)
        return self._parts[hierarchy]

    @property
    def content(self) -> tuple:
        """Everything that affects distances, for the keys of caches."""
        meshes = chain.from_iterable(mesh.content for mesh in self.meshes)
        return self.rows, self.solids.rows, self.solids.places, *meshes

    def is_same(self, other: ObjectGeometry) -> bool:
        """Whether all numbers of two geometries are equal."""
        return self is other or (
            len(self.meshes) == len(other.meshes)
            and all(map(np.array_equal, self.content, other.content))
        )


def moved_rows(leaves: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """Return leaves (k, 7) at ``pose`` (4, 4)."""
    ends = leaves[:, :6].reshape(-1, 3) @ pose[:3, :3].T + pose[:3, 3]
    return np.column_stack([ends.reshape(-1, 6), leaves[:, 6]])


def solids_of_leaves(leaves: np.ndarray) -> Solids:
    """Return leaves (k, 7), end points and radius, as solids."""
    places, lengths = poses_along(leaves[:, :6].reshape(-1, 2, 3))
    solids = np.zeros((len(leaves), SOLID_COLUMNS))
    solids[:, 2], solids[:, RADIUS] = 0.5 * lengths, leaves[:, 6]
    return Solids(solids, places)
