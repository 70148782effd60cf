# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Whether leaves enclose the shapes of their links, by construction and not by samples.

Meshes and boxes are asked triangle by triangle (`fitting.enclosure_kernels`). What is round is
asked from outside: a cylinder as the prism around it, thousands of sides and so less
than a micrometre larger. A sphere or a capsule lies in a leaf if its centre, or axis,
lies in the leaf made thinner by its radius; where that fails, a polyhedron around
it may still lie in the union.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from collision_monitor.errors import LeavesError
from collision_monitor.fitting.enclosure_kernels import uncovered
from collision_monitor.geometry.leaf import Leaf
from collision_monitor.robot.description import Robot, Shape

# A prism around a cylinder is at most so much larger, metres ...
_OVERSHOOT = 1e-7
# ... or has so many sides.
_MOST_SIDES = 20_000
# Edges (metres) of the smallest triangles: the first settles what is clear, the second what
# is close. Then the tolerance itself: where leaves enclose, a triangle of its size lies in one
# of them made thicker by it. Leaves of a box touch its corners, and need this.
_EDGES = (1e-3, 1e-5)


def leaf_arrays(leaves: Sequence[Leaf]) -> tuple[np.ndarray, np.ndarray]:
    """End points (k, 6) and radii (k,) of leaves, as kernels take them."""
    ends = np.array([[*leaf.p0, *leaf.p1] for leaf in leaves], dtype=float).reshape(-1, 6)
    return ends, np.array([leaf.radius for leaf in leaves], dtype=float)


def _prism_around(radius: float, length: float) -> np.ndarray:
    """Triangles (m, 3, 3) of a prism around a cylinder along z; its sides touch it."""
    sides = math.ceil(math.pi * math.sqrt(radius / (2.0 * _OVERSHOOT)))
    sides = min(max(sides, 16), _MOST_SIDES)
    angles = np.arange(sides) * (2.0 * math.pi / sides)
    rim = np.zeros((sides, 3))
    rim[:, 0], rim[:, 1] = np.cos(angles), np.sin(angles)
    rim *= radius / math.cos(math.pi / sides)
    half = np.array([0.0, 0.0, 0.5 * length])
    top, bottom = rim + half, rim - half
    next_top, next_bottom = np.roll(top, -1, axis=0), np.roll(bottom, -1, axis=0)
    return np.concatenate(
        [
            np.stack([bottom, next_bottom, top], axis=1),
            np.stack([next_bottom, next_top, top], axis=1),
            np.stack([np.broadcast_to(half, top.shape), top, next_top], axis=1),
            np.stack([np.broadcast_to(-half, top.shape), next_bottom, bottom], axis=1),
        ]
    )


def _polyhedron_around(radius: float, length: float) -> np.ndarray:
    """Triangles (m, 3, 3) of a polyhedron around a sphere, or around a capsule along z."""
    import trimesh

    ball = trimesh.creation.icosphere(subdivisions=4)
    nearest = np.einsum("ij,ij->i", ball.face_normals, ball.triangles[:, 0]).min()
    corners = ball.vertices * (radius / nearest)
    if length == 0.0:
        return corners[ball.faces]
    half = np.array([0.0, 0.0, 0.5 * length])
    return trimesh.convex.convex_hull(np.vstack([corners + half, corners - half])).triangles


def _axis_of(shape: Shape) -> tuple[float, float]:
    """(radius, length) of a sphere or a capsule."""
    return (shape.size[0], 0.0) if shape.kind == "sphere" else (shape.size[0], shape.size[1])


def outer_triangles(shape: Shape) -> np.ndarray:
    """Triangles (m, 3, 3) that a shape lies within, or consists of, in the link's frame."""
    import trimesh

    if shape.kind == "mesh":
        triangles = np.asarray(shape.vertices, dtype=float)[shape.triangles]
    elif shape.kind == "box":
        triangles = trimesh.creation.box(shape.size).triangles
    elif shape.kind == "cylinder":
        triangles = _prism_around(*shape.size)
    else:
        triangles = _polyhedron_around(*_axis_of(shape))
    rotation, translation = shape.pose[:3, :3], shape.pose[:3, 3]
    return np.ascontiguousarray(triangles @ rotation.T + translation)


def _gap_of_round(
    shape: Shape, ends: np.ndarray, radii: np.ndarray, smallest_edge: float
) -> float:
    """Upper bound for a sphere or a capsule by its axis: each ball along it in one leaf."""
    radius, length = _axis_of(shape)
    middle, half = shape.pose[:3, 3], 0.5 * length * shape.pose[:3, 2]
    axis = np.array([[middle - half, middle + half, middle + half]])
    return float(uncovered(axis, ends, radii - radius, smallest_edge)[0])


def gap(shape: Shape, leaves: Sequence[Leaf], smallest_edge: float = 1e-3) -> float:
    """How far a shape sticks out of the union of ``leaves``, metres; 0 if not at all.

    An upper bound: with radii grown by it the leaves enclose the shape. It is above the
    true value by ``smallest_edge`` at most (for spheres and capsules of no more than one
    leaf; where several leaves share them, by that and 0.3 % of their radius).

    Args:
        shape: in the frame of its link.
        leaves: in the same frame.
        smallest_edge: metres; triangles are halved down to it.
    """
    return _gap(shape, *leaf_arrays(leaves), smallest_edge)


def _gap(shape: Shape, ends: np.ndarray, radii: np.ndarray, smallest_edge: float) -> float:
    found = math.inf
    if shape.kind in ("sphere", "capsule"):
        found = _gap_of_round(shape, ends, radii, smallest_edge)
    if found > 0.0:
        found = min(found, float(uncovered(outer_triangles(shape), ends, radii, smallest_edge)[0]))
    return found


def _least_gap(shape: Shape, ends: np.ndarray, radii: np.ndarray, finest: float) -> float:
    """`_gap` at finer and finer edges, while a finer one could still say 0."""
    found, before = math.inf, math.inf
    for edge in (*_EDGES, finest):
        if edge < _EDGES[-1] and found > before:
            break  # sure to stick out: its true gap is above found - before
        found, before = _gap(shape, ends, radii, edge), edge
        if not found > 0.0:
            break
    return found


def check_enclosing(
    robot: Robot, leaves: Mapping[str, Sequence[Leaf]], tolerance: float = 1e-6
) -> None:
    """Refuse leaves that do not enclose the surfaces of all shapes of their links.

    Args:
        robot: whose links' shapes are to be enclosed.
        leaves: of each link with shapes, in its frame.
        tolerance: metres; a surface that sticks out no farther is not held against them.

    Raises:
        LeavesError: names the worst link and how far it sticks out, then the others.
    """
    outside: dict[str, tuple[float, str]] = {}
    for link in robot.links.values():
        if not link.shapes:
            continue
        ends, radii = leaf_arrays(leaves.get(link.name, ()))
        for shape in link.shapes:
            if (found := _least_gap(shape, ends, radii + tolerance, tolerance)) > 0.0:
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
