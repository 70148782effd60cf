# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Shapes as coal's, and what coal says of their distance."""

import coal
import numpy as np

NAMES = {"box": "Box", "sphere": "Sphere", "cylinder": "Cylinder", "capsule": "Capsule"}


def coal_shape(shape):
    """A shape of a URDF itself, or its triangles."""
    if shape.kind == "mesh":
        return coal_mesh(shape.vertices, shape.triangles)
    return getattr(coal, NAMES[shape.kind])(*map(float, shape.size))


def coal_mesh(vertices, triangles):
    """Triangles as coal's hierarchy of OBBs and RSSs."""
    tree = coal.BVHModelOBBRSS()
    tree.beginModel(len(triangles), len(vertices))
    tree.addVertices(np.asarray(vertices, dtype=float))
    tree.addTriangles(np.asarray(triangles, dtype=np.int64))
    tree.endModel()
    return tree


def coal_capsule(ends: np.ndarray, radius: float):
    """(shape, transform) of a leaf between two ends (2, 3)."""
    axis = ends[1] - ends[0]
    length = float(np.linalg.norm(axis))
    if length < 1e-12:
        return coal.Sphere(radius), coal.Transform3s(np.eye(3), ends[0])
    z = axis / length
    x = np.cross(np.eye(3)[np.abs(z).argmin()], z)
    x /= np.linalg.norm(x)
    turn = np.column_stack([x, np.cross(z, x), z])
    return coal.Capsule(radius, length), coal.Transform3s(turn, ends.mean(axis=0))


def coal_distance(first, second, rotation, translation) -> float:
    """Signed distance of two of coal's shapes, the second one at a pose."""
    request = coal.DistanceRequest()
    request.gjk_tolerance = 1e-9  # more than its default asks for
    place = coal.Transform3s(np.ascontiguousarray(rotation), translation)
    return coal.distance(first, coal.Transform3s(), second, place, request, coal.DistanceResult())


def least(first: list, second: list) -> float:
    """Signed distance of two lists of (shape, transform)."""
    request = coal.DistanceRequest()
    return min(
        coal.distance(a, ta, b, tb, request, coal.DistanceResult())
        for a, ta in first
        for b, tb in second
    )
