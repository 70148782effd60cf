# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Whether leaves fill the shapes that they enclose: objects inside a link are in contact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from collision_monitor.errors import LeavesError
from collision_monitor.geometry.leaf import Leaf
from collision_monitor.robot.description import Robot, Shape
from collision_monitor.robot.insides import Inside

_POINTS = 3000  # looked at in each shape


def check_filling(robot: Robot, leaves: Mapping[str, Sequence[Leaf]]) -> None:
    """Refuse leaves between which a shape of their link has a hollow.

    Looked for at thousands of points, so that one of a few thousandths of the shape may be missed.

    Args:
        robot: whose links' shapes are to be filled.
        leaves: of each link with shapes, in its frame.

    Raises:
        LeavesError: names the link, the shape and a point that is inside it and in no leaf.
    """
    for link in robot.links.values():
        for shape in link.shapes:
            point = hollow(shape, leaves.get(link.name, ()))
            if point is not None:
                where = ", ".join(f"{1e3 * x:.1f}" for x in point)
                raise LeavesError(
                    f"link {link.name!r}: ({where}) mm is inside {shape.source or shape.kind} and "
                    "in none of its leaves; one more is needed there, or what is wholly inside the "
                    "link would be called apart from it"
                )


def hollow(shape: Shape, leaves: Sequence[Leaf]) -> np.ndarray | None:
    """A point (3,) in the frame of the link that is inside the shape and in no leaf, if found."""
    if shape.kind != "mesh":
        points = _points_in_solid(shape)
        free = points[~_covered(points, leaves)]
        return free[0] if len(free) else None
    inside = Inside([shape])
    low, high = inside.box
    if not np.isfinite(low).all():
        return None  # nothing is closed
    points = np.random.default_rng(0).uniform(low, high, (_POINTS, 3))
    free = points[~_covered(points, leaves)]
    return next((point for point in free if inside.holds_any(point[None])), None)


def _points_in_solid(shape: Shape) -> np.ndarray:
    """Points (n, 3) in a box, sphere, cylinder or capsule, link frame."""
    size = np.array(shape.size, dtype=float)
    round_ends = shape.kind in ("sphere", "capsule")
    if shape.kind == "box":
        half = 0.5 * size
    else:
        length = 0.0 if shape.kind == "sphere" else size[1]
        half = np.array([size[0], size[0], 0.5 * length + (size[0] if round_ends else 0.0)])
    points = np.random.default_rng(0).uniform(-half, half, (_POINTS, 3))
    if shape.kind != "box":
        end = np.clip(points[:, 2], -0.5 * length, 0.5 * length)
        offset = np.column_stack([points[:, :2], points[:, 2] - end])
        points = points[np.linalg.norm(offset, axis=1) < size[0]]
    return points @ shape.pose[:3, :3].T + shape.pose[:3, 3]


def _covered(points: np.ndarray, leaves: Sequence[Leaf]) -> np.ndarray:
    """Which points (n, 3) are in one of the leaves."""
    found = np.zeros(len(points), dtype=bool)
    for leaf in leaves:
        start, axis = np.array(leaf.p0), np.subtract(leaf.p1, leaf.p0)
        part = np.clip((points - start) @ axis / max(axis @ axis, 1e-300), 0.0, 1.0)
        gap = np.linalg.norm(points - start - part[:, None] * axis, axis=1)
        found |= gap <= leaf.radius + 1e-6
    return found
