# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Surfaces of shapes and leaves as triangles for drawing."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import trimesh

from collision_monitor.geometry.leaf import Leaf
from collision_monitor.robot.description import Shape
from collision_monitor.robot.shape_kinds import SIDES, surface_mesh

Surface = tuple[np.ndarray, np.ndarray]  # vertices (n, 3) in metres, triangles (m, 3)

_SIDES = SIDES // 2  # of leaves in the page, where they are many
_SMOOTH_ANGLE = 0.6  # maximum angle in radians between triangles of a smooth surface
_SMOOTHED = 60_000  # maximum number of triangles; more take seconds, and look smooth anyway


def shape_surface(shape: Shape) -> Surface:
    """A shape in the frame of its link, with corners duplicated at edges."""
    mesh = surface_mesh(shape)
    vertices, triangles = np.array(mesh.vertices), np.array(mesh.faces)
    if len(triangles) <= _SMOOTHED:
        mesh.merge_vertices()
        vertices, triangles = _with_edges(mesh)
    return vertices @ shape.pose[:3, :3].T + shape.pose[:3, 3], triangles


def leaf_surface(leaves: Iterable[Leaf]) -> Surface:
    """All leaves of a link as one surface, in the frame of the link."""
    return joined(capsule_surface(leaf.p0, leaf.p1, leaf.radius) for leaf in leaves)


def joined(surfaces: Iterable[Surface]) -> Surface:
    """Several surfaces, at least one, as one."""
    return trimesh.util.append_faces(*zip(*surfaces, strict=True))


def capsule_surface(
    p0: np.ndarray, p1: np.ndarray, radius: float, sides: int = _SIDES
) -> Surface:
    """Surface of the capsule around the segment p0 p1: a sphere with one half displaced.

    The triangles enclose the capsule: otherwise a leaf that touches its link would be hidden.
    """
    axis = np.asarray(p1, dtype=float) - p0
    length = float(np.linalg.norm(axis))
    ball = trimesh.creation.uv_sphere(
        radius=radius / np.cos(np.pi / sides) ** 2, count=(sides + 1, sides)
    )
    vertices = np.array(ball.vertices)
    if length > 0.0:
        vertices[:, 2] += np.where(vertices[:, 2] > 1e-9 * radius, length, 0.0)
        vertices = vertices @ trimesh.geometry.align_vectors([0.0, 0.0, 1.0], axis)[:3, :3].T
    return vertices + p0, np.array(ball.faces)


def _with_edges(mesh: trimesh.Trimesh) -> Surface:
    """The same triangles, with separate corners at visible edges."""
    angles = mesh.face_adjacency_angles
    smooth = trimesh.graph.connected_component_labels(
        mesh.face_adjacency[angles <= _SMOOTH_ANGLE], node_count=len(mesh.faces)
    )
    # A corner is defined by its vertex and the smooth piece of its triangle.
    corners = np.column_stack([mesh.faces.reshape(-1), np.repeat(smooth, 3)])
    kept, number = np.unique(corners, axis=0, return_inverse=True)
    return np.asarray(mesh.vertices)[kept[:, 0]], number.reshape(-1, 3)
