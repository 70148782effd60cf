# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of leaves: whether they enclose and fill their shapes, and their stand-off.

Enclosure is proved and not sampled. Meshes and boxes are checked triangle by triangle. Round shapes
are checked by an outer approximation: a cylinder by a prism around it, with so many sides that it
is less than a micrometre larger. A sphere or a capsule lies in a leaf if its centre or axis lies in
the leaf shrunk by its radius. If this test fails, a polyhedron around the shape is checked against
the union.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from collision_monitor.common.compiled import reproducible_kernel
from collision_monitor.errors import LeavesError
from collision_monitor.fitting.body import surface_points
from collision_monitor.fitting.coverage import (
    STACK,
    gaps_to_union,
    halve,
    longest_edge,
    triangle_in_union,
)
from collision_monitor.fitting.shapes import leaf_rows
from collision_monitor.geometry.convex import RADIUS, ROUND
from collision_monitor.geometry.leaf import Leaf
from collision_monitor.geometry.segments import ROUNDING
from collision_monitor.robot.description import Robot, Shape
from collision_monitor.robot.insides import Inside
from collision_monitor.robot.shape_kinds import (
    ROUNDED,
    enclosing_surface,
    radius_and_length,
    solid_row,
)

# -- enclosure --


@reproducible_kernel
def uncovered(triangles, capsules, smallest_edge):
    """Return how far the triangles stick out of the union of the capsules, and where.

    Args:
        triangles: (m, 3, 3) corners, metres, finite.
        capsules: (k, 7) rows as of `leaf_rows`.
        smallest_edge: metres, above zero; triangles no larger are not halved again.

    Returns:
        (gap, index): no point of any triangle is more than ``gap`` outside the union, and some
        point is more than ``gap - smallest_edge`` outside. With all radii grown by ``gap`` the
        capsules enclose every triangle. ``index`` is the triangle with this gap; (0.0, -1) if all
        are enclosed, (inf, 0) without capsules.
    """
    if len(capsules) == 0 and len(triangles) > 0:
        return math.inf, 0
    worst, at = 0.0, -1
    # The corners first: parts whose upper bound cannot increase the gap are not halved.
    for m in range(len(triangles)):
        lower = triangle_in_union(triangles, m, capsules)[2]
        if lower > worst:
            worst, at = lower, m
    parts = np.empty((STACK, 3, 3))
    for m in range(len(triangles)):
        for c in range(3):
            for axis in range(3):
                parts[0, c, axis] = triangles[m, c, axis]
        size = 1
        while size > 0:
            size -= 1
            nearest, radius, lower = triangle_in_union(parts, size, capsules)
            upper = radius - capsules[nearest, 6]
            if upper <= worst:
                continue
            if lower > worst:
                worst, at = lower, m
            squared, corner = longest_edge(parts, size)
            if (
                squared <= smallest_edge * smallest_edge
                or upper - lower <= 1e-4 * smallest_edge
                or size + 2 > len(parts)
            ):
                worst, at = upper, m
                continue
            halve(parts, size, corner)
            size += 2
    return worst, at


# A prism around a cylinder is at most this much larger, metres.
_OVERSHOOT = 1e-7
# Smallest edges (metres) to halve to: the first decides clear cases, the second close ones, and
# finally the tolerance: triangles of this size lie in one leaf grown by it if the leaves enclose
# them. Leaves of a box touch its corners and need the last step.
_EDGES = (1e-3, 1e-5)


def _grown(capsules: np.ndarray, more: float) -> np.ndarray:
    """Capsules (k, 7) with radii larger by ``more`` metres."""
    return capsules + np.r_[np.zeros(6), more]


def _polyhedron_around(radius: float, length: float) -> np.ndarray:
    """Triangles (m, 3, 3) of a polyhedron around a sphere, or around a capsule along z."""
    import trimesh

    ball = trimesh.creation.icosphere(subdivisions=4)
    nearest = np.einsum("ij,ij->i", ball.face_normals, ball.triangles[:, 0]).min()
    corners = ball.vertices * (radius / nearest)
    half = np.array([0.0, 0.0, 0.5 * length])
    return trimesh.convex.convex_hull(np.vstack([corners + half, corners - half])).triangles


def outer_triangles(shape: Shape) -> np.ndarray:
    """Triangles (m, 3, 3) that enclose a shape, or are its surface, in the link's frame."""
    if shape.kind in ROUNDED:
        return _placed(shape, _polyhedron_around(*radius_and_length(shape)))
    radius = 0.0 if shape.kind == "mesh" else solid_row(shape)[0]
    # So many that the prism around a cylinder is larger by less than the overshoot.
    sides = max(16, math.ceil(math.pi * math.sqrt(radius / (2.0 * _OVERSHOOT))))
    vertices, triangles, _ = enclosing_surface(shape, sides)
    return _placed(shape, vertices[triangles])


def _placed(shape: Shape, triangles: np.ndarray) -> np.ndarray:
    """Triangles (m, 3, 3) in the frame of a shape, seen in that of its link."""
    return np.ascontiguousarray(triangles @ shape.pose[:3, :3].T + shape.pose[:3, 3])


def gap(shape: Shape, capsules: np.ndarray, smallest_edge: float = 1e-3) -> float:
    """Return how far a shape sticks out of the union of leaves, metres; 0 if it is enclosed.

    An upper bound: leaves with radii grown by it enclose the shape. It exceeds the true value by at
    most ``smallest_edge``; for spheres and capsules that need several leaves, by 0.3 % of their
    radius more.

    Args:
        shape: in the frame of its link.
        capsules: (k, 7) the leaves in the same frame.
        smallest_edge: metres; triangles are halved down to it.
    """
    bound = math.inf
    if shape.kind in ROUNDED:  # its axis, a flat triangle, against leaves shrunk by its radius
        vertices, triangles, radius = enclosing_surface(shape, 0)
        axis = _placed(shape, vertices[triangles])
        bound = float(uncovered(axis, _grown(capsules, -radius), smallest_edge)[0])
    if bound > 0.0:
        bound = min(bound, float(uncovered(outer_triangles(shape), capsules, smallest_edge)[0]))
    return bound


def _refined_gap(shape: Shape, capsules: np.ndarray, finest: float) -> float:
    """Return `gap` at decreasing edges, stopping when a finer one cannot give 0."""
    bound, before = math.inf, math.inf
    for edge in (*_EDGES, finest):
        if edge < _EDGES[-1] and bound > before:
            break  # the true gap is above bound - before, so it is positive
        bound, before = gap(shape, capsules, edge), edge
        if not bound > 0.0:
            break
    return bound


def check_enclosing(
    robot: Robot, leaves: Mapping[str, Sequence[Leaf]], tolerance: float = 1e-6
) -> None:
    """Raise an error if leaves do not enclose the surfaces of all shapes of their links.

    Args:
        robot: provides the shapes of its links.
        leaves: of each link with shapes, in the frame of the link.
        tolerance: metres that a surface may stick out.

    Raises:
        LeavesError: names the worst link and how far it sticks out, then the others.
    """
    outside: dict[str, tuple[float, str]] = {}
    for link in robot.links.values():
        if not link.shapes:
            continue
        capsules = _grown(leaf_rows(leaves.get(link.name, ())), tolerance)
        for shape in link.shapes:
            if (found := _refined_gap(shape, capsules, tolerance)) > 0.0:
                worst = outside.get(link.name, (0.0, ""))
                outside[link.name] = max(worst, (found + tolerance, shape.source or shape.kind))
    if not outside:
        return
    name, *others = sorted(outside, key=lambda name: -outside[name][0])
    far, source = outside[name]
    if math.isinf(far):
        raise LeavesError(f"link {name!r} has a shape ({source}), but no leaf")
    text = f"link {name!r}: {source} sticks out of its leaves by {1e3 * far:.3f} mm"
    if others:
        listed = ", ".join(f"{other!r} {1e3 * outside[other][0]:.3f} mm" for other in others[:10])
        rest = f" and {len(others) - 10} more" if len(others) > 10 else ""
        text += f"; so do {listed}{rest}"
    raise LeavesError(f"{text}: leaves that do not enclose a link report distances too large")


# -- filling: objects that are fully inside a link must be in contact with its leaves --

_POINTS = 3000  # tested in each shape


def check_filling(robot: Robot, leaves: Mapping[str, Sequence[Leaf]]) -> None:
    """Raise an error if a shape has an inner region that none of its link's leaves covers.

    The test uses random points, so regions of less than a few thousandths of the shape may be
    missed.

    Args:
        robot: provides the shapes of its links.
        leaves: of each link with shapes, in the frame of the link.

    Raises:
        LeavesError: names the link, the shape and a point that is inside it but in no leaf.
    """
    for link in robot.links.values():
        for shape in link.shapes:
            point = hollow(shape, leaves.get(link.name, ()))
            if point is not None:
                where = ", ".join(f"{1e3 * x:.1f}" for x in point)
                raise LeavesError(
                    f"link {link.name!r}: ({where}) mm is inside {shape.source or shape.kind} and "
                    "in none of its leaves; add a leaf there; otherwise objects fully inside this "
                    "link would be reported as separated"
                )


def hollow(shape: Shape, leaves: Sequence[Leaf]) -> np.ndarray | None:
    """Return a point (3,), link frame, inside the shape but in no leaf; None if none was found."""
    if shape.kind != "mesh":
        points = _points_in_solid(shape)
        free = _in_no_leaf(points, leaves)
        return free[0] if len(free) else None
    inside = Inside([shape])
    low, high = inside.box
    if not np.isfinite(low).all():
        return None  # no closed surface
    points = np.random.default_rng(0).uniform(low, high, (_POINTS, 3))
    free = _in_no_leaf(points, leaves)
    return next((point for point in free if inside.holds_any(point[None])), None)


def _points_in_solid(shape: Shape) -> np.ndarray:
    """Random points (n, 3) in a box, sphere, cylinder or capsule, link frame."""
    solid = solid_row(shape)
    half = solid[:3] + solid[RADIUS]
    points = np.random.default_rng(0).uniform(-half, half, (_POINTS, 3))
    points = points[_distances_to_core(solid, points) <= solid[RADIUS]]
    return points @ shape.pose[:3, :3].T + shape.pose[:3, 3]


def _in_no_leaf(points: np.ndarray, leaves: Sequence[Leaf]) -> np.ndarray:
    """Those of ``points`` (n, 3) that are in no leaf."""
    return points[gaps_to_union(points, leaf_rows(leaves)) > 1e-6]


# -- stand-off of leaves --

_SURFACE_POINTS = 2000  # on the surfaces of all leaves of a link
_SAMPLES = 10_000  # on the triangles of a mesh
_NEAREST = 6  # nearest samples whose triangles are measured for each point


def stand_off(
    shapes: Sequence[Shape], leaves: Sequence[Leaf], hidden: Sequence[Leaf] = ()
) -> tuple[float, float]:
    """Return mean and maximum distance (m) from the surface of the leaves to the nearest shape.

    Sampled at random points, the same in every call, uniform on the outer surface of the union of
    the leaves. (0, 0) if all of it is hidden.

    Args:
        shapes: of a link.
        leaves: that enclose them, link frame.
        hidden: other leaves in the link frame; the surface inside them does not count.
    """
    rng = np.random.default_rng(0)
    points = _outer_points(leaf_rows(leaves), rng)
    if len(hidden) and len(points):
        points = points[gaps_to_union(points, leaf_rows(hidden)) > 0.0]
    if not len(points):
        return 0.0, 0.0
    distances = np.min([_distances(shape, points, rng) for shape in shapes], axis=0)
    return float(distances.mean()), float(distances.max())


def _outer_points(capsules: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Random points (n, 3) on the surface of the union of capsules (k, 7)."""
    start, axis, radii = capsules[:, :3], capsules[:, 3:6] - capsules[:, :3], capsules[:, 6]
    lengths = np.linalg.norm(axis, axis=1)
    areas = 2.0 * np.pi * radii * (lengths + 2.0 * radii)
    owners = rng.choice(len(capsules), _SURFACE_POINTS, p=areas / areas.sum())
    unit = axis[owners] / np.where(lengths > 0.0, lengths, 1.0)[owners, None]
    normals = rng.normal(size=(_SURFACE_POINTS, 3))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    along = (normals * unit).sum(axis=1)
    place = (along > 0.0).astype(float)  # on the axis: the end whose hemisphere the point is on
    on_side = rng.random(_SURFACE_POINTS) * (lengths + 2.0 * radii)[owners] < lengths[owners]
    normals[on_side] -= (along[:, None] * unit)[on_side]
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    place[on_side] = rng.random(int(on_side.sum()))
    points = start[owners] + place[:, None] * axis[owners] + radii[owners, None] * normals
    return points[gaps_to_union(points, capsules) > -ROUNDING]


def _distances(shape: Shape, points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Distances (n,) of ``points`` (n, 3) in the link frame to a shape; 0 inside a primitive."""
    local = (points - shape.pose[:3, 3]) @ shape.pose[:3, :3]
    if shape.kind == "mesh":
        return _mesh_distances(np.asarray(shape.vertices)[shape.triangles], local, rng)
    solid = solid_row(shape)
    return np.maximum(_distances_to_core(solid, local) - solid[RADIUS], 0.0)


def _distances_to_core(solid: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Distances (n,) of ``points`` (n, 3) to a solid without its radius (`geometry.convex`)."""
    extents = np.abs(points)
    if solid[ROUND] > 0.0:
        extents = np.column_stack([np.hypot(points[:, 0], points[:, 1]), extents[:, 2]])
        return np.linalg.norm(np.maximum(extents - solid[[0, 2]], 0.0), axis=1)
    return np.linalg.norm(np.maximum(extents - solid[:3], 0.0), axis=1)


def _mesh_distances(
    triangles: np.ndarray, points: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Distances (n,) to the triangles (m, 3, 3) of the nearest samples: rarely too large."""
    from scipy.spatial import cKDTree
    from trimesh.triangles import closest_point

    samples, owners = surface_points(triangles, _SAMPLES, rng)
    nearest = owners[cKDTree(samples).query(points, _NEAREST)[1]].ravel()
    feet = closest_point(triangles[nearest], np.repeat(points, _NEAREST, axis=0))
    gaps = np.linalg.norm(feet.reshape(-1, _NEAREST, 3) - points[:, None], axis=2)
    return gaps.min(axis=1)
