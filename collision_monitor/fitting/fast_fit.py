# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Fast capsules and spheres around a shape: in closed form, or in one pass.

Rows (k, 7): both end points and the radius, in the frame of the shape. They always enclose the
shape, or the surface of a mesh. They are looser than fitted leaves, which take seconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from collision_monitor.fitting.bounding_shapes import fit_parts, volumes
from collision_monitor.geometry.fixed_order import principal_axes_of_parts, product
from collision_monitor.geometry.segments import ROUNDING
from collision_monitor.robot.description import Shape
from collision_monitor.robot.shape_kinds import KINDS, ROUNDED, radius_and_length, unknown_kind

# Radius over the smallest one that encloses a cell's corners, up to 1.5; a larger radius allows the
# ends to move inwards.
_RADIUS_FACTORS = 1.0 + 1e-3 * 2.0 ** np.arange(10)


def _cells(short: float, long: float, most: int) -> np.ndarray:
    """Best grids over a cross-section for 1 .. ``most`` capsules: rows (rows, columns)."""
    best = set()
    for count in range(1, most + 1):
        grids = [(rows, count // rows) for rows in range(1, math.isqrt(count) + 1)]
        best.add(min(grids, key=lambda grid: math.hypot(short / grid[0], long / grid[1])))
    return np.array(sorted(best))


def _strip(radius: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Mean height of a circle above its centre over a strip of ``width``."""
    u = 0.5 * width
    return 0.5 * (np.sqrt(radius**2 - u**2) + radius**2 / u * np.arcsin(u / radius))


def cover_box(
    size: tuple[float, float, float], most: int, tolerance: float
) -> tuple[np.ndarray, float]:
    """Return capsules (k, 7) that enclose a box about the origin, and their mean stand-off (m).

    Every capsule encloses one cell of a grid over the two shorter sides. The result has the fewest
    capsules with a mean stand-off within ``tolerance``; if ``most`` capsules are not enough, the
    smallest stand-off.

    Args:
        size: lengths along x, y, z in metres.
        most: capsules at most.
        tolerance: metres.
    """
    return covers_of_box(size, (most,), tolerance, 1.0)[0]


def covers_of_box(
    size: tuple[float, float, float], counts: Sequence[int], tolerance: float, worth: float
) -> list[tuple[np.ndarray, float]]:
    """Return the results of `cover_box` for ascending ``counts``, up to the first within tolerance.

    Only results whose stand-off is at most ``worth`` times that of all before are kept.
    """  # noqa: D205
    order = np.argsort(size, kind="stable")
    sides = np.maximum(np.asarray(size, dtype=float)[order], 1e-9)
    grids, radius, inset, stand_off = _grids(*sides, max(counts))
    capsules = grids.prod(axis=1)
    covers: list[tuple[np.ndarray, float]] = []
    for most in counts:
        within = np.flatnonzero(capsules <= most)
        good = within[stand_off[within] <= tolerance]
        if len(good):
            within = good[capsules[good] == capsules[good].min()]
        k = within[stand_off[within].argmin()]
        if not covers or stand_off[k] <= worth * covers[-1][1]:
            row = _row_of_capsules(order, sides, grids[k], radius[k], inset[k])
            covers.append((row, float(stand_off[k])))
        if len(good):
            break
    return covers


def _grids(
    a: float, b: float, c: float, most: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Grids (k, 2) of up to ``most`` capsules, with radii, inset ends and mean stand-off (k,)."""
    cells = _cells(a, b, most)
    grids = np.repeat(cells, len(_RADIUS_FACTORS), axis=0)
    high, wide = (np.array([a, b]) / grids).T
    corner = 0.5 * np.sqrt(wide**2 + high**2)
    radius, inset = _around_cylinders(corner, np.tile(_RADIUS_FACTORS, len(cells)), c)
    # Mean height above the three kinds of faces; an upper bound for cells covered by spheres.
    over_b = _strip(radius, wide) - 0.5 * high
    over_a = _strip(radius, high) - 0.5 * wide
    over_c = np.sqrt(radius**2 - corner**2 / 3.0) - inset
    areas = np.array([b * c, a * c, a * b])
    return grids, radius, inset, product(np.array([over_b, over_a, over_c]).T, areas) / areas.sum()


def _around_cylinders(
    radius: np.ndarray | float, factors: np.ndarray, length: float
) -> tuple[np.ndarray, np.ndarray]:
    """Radii of capsules around cylinders, and how far their ends are inside those of the cylinders.

    ``factors``: radii over those of the cylinders; where that makes a sphere, the smallest one.
    """
    larger, half = radius * factors, 0.5 * length
    inset = np.sqrt(larger**2 - radius**2)
    is_ball = inset >= half
    return np.where(is_ball, np.hypot(radius, half), larger), np.where(is_ball, half, inset)


def _row_of_capsules(
    order: np.ndarray, sides: np.ndarray, grid: np.ndarray, radius: float, inset: float
) -> np.ndarray:
    """The capsules (k, 7) of one grid; ``sides`` ascend, ``order`` gives their axes."""
    a, b, c = sides
    count_u, count_v = grid
    u = (np.arange(count_u) + 0.5) * (a / count_u) - 0.5 * a
    v = (np.arange(count_v) + 0.5) * (b / count_v) - 0.5 * b
    half = 0.5 * c - inset
    capsules = np.zeros((count_u * count_v, 7))
    for end, sign in ((0, -1.0), (3, 1.0)):
        capsules[:, end + order[0]] = np.repeat(u, count_v)
        capsules[:, end + order[1]] = np.tile(v, count_u)
        capsules[:, end + order[2]] = sign * half
    capsules[:, 6] = radius * (1.0 + 1e-12) + 1e-12 * c
    return capsules


_TOLERANCE = 0.002  # metres; mean stand-off of the leaves of boxes
# A mesh of few triangles is subdivided, so that its parts can be small.
_FINE, _MAX_TRIANGLES = 6.0, 2000
_WORTH = 0.99  # of the volume; more leaves, which cost time in each query, have to gain more


@lru_cache(maxsize=1000)
def _box(size: tuple[float, ...], most: int) -> np.ndarray:
    rows, _ = cover_box(size, most, _TOLERANCE)
    return rows


@lru_cache(maxsize=1000)
def _cylinder(radius: float, length: float, most: int) -> np.ndarray:
    """The smaller of one capsule that encloses the rims, and the leaves of the box around it."""
    half = 0.5 * length
    radii, inset = _around_cylinders(radius, _RADIUS_FACTORS, length)
    rows = np.zeros((len(radii), 7))
    rows[:, 2], rows[:, 5] = inset - half, half - inset
    rows[:, 6] = radii + ROUNDING * (radii + half)
    one, box = rows[[volumes(rows).argmin()]], _box((2.0 * radius, 2.0 * radius, length), most)
    return box if volumes(box).sum() < volumes(one)[0] else one


def cover(shape: Shape, most: int) -> np.ndarray:
    """Return at most ``most`` rows (k, 7) that enclose a shape, in the shape's own frame."""
    if shape.kind in ROUNDED:
        radius, length = radius_and_length(shape)
        return np.array([[0.0, 0.0, -0.5 * length, 0.0, 0.0, 0.5 * length, radius]])
    if shape.kind == "box":
        return _box(tuple(map(float, shape.size)), most).copy()
    if shape.kind == "cylinder":
        return _cylinder(*map(float, shape.size), most).copy()
    if shape.kind != "mesh":
        raise unknown_kind(shape, KINDS)
    return cover_triangles(shape.vertices[shape.triangles], most)


def cover_bounds(points: np.ndarray, most: int) -> np.ndarray:
    """Return rows (k, 7) around the axis-aligned box of ``points`` (n, 3): coarse but fast."""
    low, high = points.min(axis=0), points.max(axis=0)
    rows = cover_box(tuple((high - low).tolist()), most, _TOLERANCE)[0]
    middle = 0.5 * (low + high)
    rows[:, :6] += np.r_[middle, middle]
    rows[:, 6] += ROUNDING * (rows[:, 6] + np.abs(points).max())
    return rows


def cover_triangles(corners: np.ndarray, most: int) -> np.ndarray:
    """Return rows (k, 7), ``most`` at most, that enclose triangles (n, 3, 3).

    Parts are halved across their long axes, all in one step of numpy, while there may be more
    rows, the largest first. The step with the least volume counts.
    """
    triangles = _subdivided(np.asarray(corners, dtype=float))
    part = np.zeros(len(triangles), dtype=np.int64)
    best, least, parts = np.empty((0, 7)), math.inf, 0
    while True:
        order = np.argsort(part, kind="stable")
        triangles, part = triangles[order], part[order]
        starts = np.flatnonzero(np.diff(part, prepend=-1))
        if len(starts) == parts:
            return best
        parts = len(starts)
        points, first = triangles.reshape(-1, 3), 3 * starts
        rows, x = fit_parts(points, first, principal_axes_of_parts(points, first))
        sizes = volumes(rows)
        if sizes.sum() < _WORTH * least:
            best, least = rows, sizes.sum()
        counts, along = np.diff(starts, append=len(part)), x.reshape(-1, 3).mean(axis=1)
        is_large = np.zeros(parts, dtype=bool)
        by_size = np.argsort(np.where(counts > 1, -sizes, 0.0), kind="stable")
        is_large[by_size[: most - parts]] = True
        number = np.repeat(np.arange(parts), counts)
        border = np.add.reduceat(along, starts) / counts
        part = 2 * number + (is_large[number] & (along > border[number]))


def _subdivided(corners: np.ndarray) -> np.ndarray:
    """Halve triangles until they are short compared with the mesh, or many; (m, 3, 3)."""
    extent = float(np.ptp(corners.reshape(-1, 3), axis=0).max())
    while len(corners) < _MAX_TRIANGLES:
        sides = np.linalg.norm(corners - np.roll(corners, -1, axis=1), axis=2)
        long = sides.max(axis=1) > extent / _FINE
        if not long.any():
            break
        a, b, c = corners[long].transpose(1, 0, 2)
        ab, bc, ca = 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)
        four = [np.stack(t, axis=1) for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))]
        corners = np.concatenate([corners[~long], *four])
    return corners
