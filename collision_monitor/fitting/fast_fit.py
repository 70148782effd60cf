# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Capsules and spheres around a shape without a fit: in closed form, or in one pass.

Rows (k, 7): both end points and the radius, in the frame of the shape. They always enclose the
shape; of a mesh its surface. They are looser than those of a fit, which takes seconds.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from collision_monitor.fitting.box_leaves import cover_box
from collision_monitor.robot.description import Shape

_TOLERANCE = 0.002  # metres that boxes' leaves may stand off in the mean
# A mesh of few triangles is cut finer, so that parts of it can be small.
_FINE, _MOST_CUT = 6.0, 2000
_ROUNDING = 1e-9  # relative, that rounding may leave outside


@lru_cache(maxsize=1000)
def _box(size: tuple[float, ...], most: int) -> np.ndarray:
    rows, _ = cover_box(size, most, _TOLERANCE)
    return rows


@lru_cache(maxsize=1000)
def _cylinder(radius: float, length: float, most: int) -> np.ndarray:
    """One capsule with rims inside, or the box around it, whichever is smaller."""
    grown = radius * np.array([1.02, 1.05, 1.1, 1.2, 1.35, 1.5])
    inset = np.sqrt(grown**2 - radius**2)
    half = 0.5 * length
    reach = np.where(inset < half, grown, np.hypot(radius, half))
    straight = np.maximum(2.0 * (half - inset), 0.0)
    volumes = np.pi * reach**2 * (straight + 4.0 / 3.0 * reach)
    k = int(volumes.argmin())
    z, r = 0.5 * straight[k], reach[k]
    one = np.array([[0.0, 0.0, -z, 0.0, 0.0, z, r + _ROUNDING * (r + half)]])
    box = _box((2.0 * radius, 2.0 * radius, length), most)
    spans = np.linalg.norm(box[:, 3:6] - box[:, :3], axis=1)
    around = (np.pi * box[:, 6] ** 2 * (spans + 4.0 / 3.0 * box[:, 6])).sum()
    rows = box if around < volumes[k] else one
    return rows


def cover(shape: Shape, most: int) -> np.ndarray:
    """Rows (k, 7) around a shape, at most ``most``, in the shape's own frame."""
    if shape.kind == "sphere":
        return np.array([[0.0] * 6 + [shape.size[0]]])
    if shape.kind == "capsule":
        z = 0.5 * shape.size[1]
        return np.array([[0.0, 0.0, -z, 0.0, 0.0, z, shape.size[0]]])
    if shape.kind == "box":
        return _box(tuple(map(float, shape.size)), most).copy()
    if shape.kind == "cylinder":
        return _cylinder(*map(float, shape.size), most).copy()
    return cover_triangles(shape.vertices[shape.triangles], most)


def cover_bounds(points: np.ndarray, most: int) -> np.ndarray:
    """Rows (k, 7) around the axis-aligned box of ``points`` (n, 3): coarse, and at once."""
    low, high = points.min(axis=0), points.max(axis=0)
    rows = cover_box(tuple((high - low).tolist()), most, _TOLERANCE)[0]
    middle = 0.5 * (low + high)
    rows[:, :6] += np.r_[middle, middle]
    rows[:, 6] += _ROUNDING * (rows[:, 6] + np.abs(points).max())
    return rows


def cover_triangles(corners: np.ndarray, most: int) -> np.ndarray:
    """Rows (k, 7) around triangles (n, 3, 3): halved where they are largest, a row each.

    A capsule that holds the corners of a triangle holds the triangle.
    """
    parts = [_part(_cut(np.asarray(corners, dtype=float)))]
    while len(parts) < most:
        k = int(np.argmax([volume if len(part) > 1 else -1.0 for part, _, volume, _ in parts]))
        part, row, volume, axis = parts[k]
        if len(part) < 2:
            break
        along = part.mean(axis=1) @ axis
        order = np.argpartition(along, len(part) // 2)
        halves = [
            _part(part[order[: len(part) // 2]]), _part(part[order[len(part) // 2 :]])
        ]  # fmt: skip
        if halves[0][2] + halves[1][2] >= volume:
            parts[k] = (part[:1], row, volume, axis)  # halves are no better: it is left whole
            if all(len(part) < 2 for part, *_ in parts):
                break
            continue
        parts[k : k + 1] = halves
    return np.array([row for _, row, _, _ in parts])


def _cut(corners: np.ndarray) -> np.ndarray:
    """Triangles halved at their sides until they are short beside the whole, or many."""
    extent = float(np.ptp(corners.reshape(-1, 3), axis=0).max())
    while len(corners) < _MOST_CUT:
        sides = np.linalg.norm(corners - np.roll(corners, -1, axis=1), axis=2)
        long = sides.max(axis=1) > extent / _FINE
        if not long.any():
            break
        a, b, c = corners[long].transpose(1, 0, 2)
        ab, bc, ca = 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)
        four = [np.stack(t, axis=1) for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))]
        corners = np.concatenate([corners[~long], *four])
    return corners


def _part(triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
    """(triangles, row, volume, direction of their length) of the smaller of two leaves."""
    points = triangles.reshape(-1, 3)
    middle = points.mean(axis=0)
    offsets = points - middle
    axes = np.linalg.eigh(offsets.T @ offsets)[1]
    local = offsets @ axes
    low, high = local.min(axis=0), local.max(axis=0)
    centre = 0.5 * (low + high)
    local -= centre
    axis = int((high - low).argmax())
    along, squares = local[:, axis], local**2
    across = squares[:, axis - 1] + squares[:, axis - 2]
    radius = math.sqrt(across.max())
    inset = np.sqrt(np.maximum(radius**2 - across, 0.0))
    first, last = float((along + inset).min()), float((along - inset).max())
    if first > last:
        first = last = 0.5 * (first + last)
    ball = math.sqrt(squares.sum(axis=1).max())
    volume = math.pi * radius**2 * (last - first + 4.0 / 3.0 * radius)
    ends = np.tile(centre, (2, 1))
    if 4.0 / 3.0 * math.pi * ball**3 < volume:
        radius, volume = ball, 4.0 / 3.0 * math.pi * ball**3
    else:
        ends[:, axis] += first, last
    ends = ends @ axes.T + middle
    radius += _ROUNDING * (radius + float(np.abs(points).max()))
    return triangles, np.array([*ends[0], *ends[1], radius]), float(volume), axes[:, axis]
