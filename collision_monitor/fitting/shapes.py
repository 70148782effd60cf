# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Fits leaves to one collision shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from collision_monitor.common.settings import check_settings, setting
from collision_monitor.errors import FitError
from collision_monitor.fitting.body import Body
from collision_monitor.fitting.bounding_shapes import (
    OrientedBox,
    fit_box,
    fit_leaf,
    hull_points,
    outermost,
)
from collision_monitor.fitting.coverage import gaps_to_union
from collision_monitor.fitting.fast_fit import cover_box, covers_of_box
from collision_monitor.fitting.multi_capsule_fit import fit_union, lost, thickness
from collision_monitor.geometry.fixed_order import product
from collision_monitor.geometry.leaf import Leaf, moved
from collision_monitor.robot.description import Shape
from collision_monitor.robot.shape_kinds import (
    KINDS,
    ROUNDED,
    enclosing_surface,
    radius_and_length,
    unknown_kind,
)


@dataclass(frozen=True)
class FitSettings:
    """Maximum number of leaves and tolerance of a fit.

    Attributes:
        max_leaves_per_link: maximum number of leaves of a link, shared by its shapes (each has at
            least one); 1 gives one capsule or sphere for each shape. The links of a robot use
            three quarters of it in the mean at most. Links whose leaves take more than 10 mm from
            other links where these come near may have four times as many, unless it is 1.
        leaf_tolerance: metres of mean stand-off, over the whole surface and where other links come
            near; no more leaves are added once it is reached.

    Raises:
        FitError: a value is out of range.
    """

    # fmt: off
    max_leaves_per_link: int = setting(
        8, "maximum number of capsules and spheres per link (up to four times as many where these "
        "take more than 10 mm from other links): more are tighter and slower", most=64)
    leaf_tolerance: float = setting(
        0.002, "stop adding leaves to a link when their mean distance from its mesh is below "
        "this, metres", most=1.0)
    # fmt: on

    def __post_init__(self) -> None:
        """Check the values."""
        check_settings(self, FitError)


# -- volume of overlapping leaves --


_POINTS = 60_000


def union_volume(capsules: np.ndarray) -> float:
    """Return the volume (m^3) of the union of capsules (k, 7); exact for one.

    For several capsules an estimate from one random point in each cell of a grid; its error is
    about 0.3 % at most.
    """
    if len(capsules) == 1:
        return leaves_of(capsules)[0].volume
    radii = capsules[:, 6:]
    low = np.minimum(capsules[:, :3] - radii, capsules[:, 3:6] - radii).min(axis=0)
    high = np.maximum(capsules[:, :3] + radii, capsules[:, 3:6] + radii).max(axis=0)
    step = float(np.cbrt(np.prod(high - low) / _POINTS))
    counts = np.ceil((high - low) / step).astype(int)
    cells = (high - low) / counts
    grid = np.stack(np.meshgrid(*map(np.arange, counts), indexing="ij"), -1).reshape(-1, 3)
    points = low + (grid + np.random.default_rng(0).random(grid.shape)) * cells
    return float((gaps_to_union(points, capsules) <= 0.0).mean() * np.prod(high - low))


# A fit with more leaves is kept if its stand-off is at most this part of the one before.
_MAX_RATIO = 0.95
# A body thinner than this part of its length counts as flat.
_FLATNESS = 1e-3

# Leaves, their mean stand-off, and the clearance that they take from other links, in metres.
Found = tuple[tuple[Leaf, ...], float, float]


class Volumes(NamedTuple):
    """Volumes in m^3: of shapes (of the hull if a mesh is open), their hulls, oriented boxes."""

    shape: float
    hull: float
    obb: float


@dataclass(frozen=True, eq=False)
class Fit:
    """Leaves around a shape, in the link's frame, with measures of their quality.

    Attributes:
        leaves: in the frame of the link.
        shapes: the shape; all shapes of a link for leaves that were given.
        stand_off: mean distance in metres between leaves and shape over the surface of the hull;
            infinite for one leaf around a plate that several enclose better; NaN for leaves that
            were given.
        hull_area: surface of the hull in m^2; NaN for leaves that were given.
        lost: mean distance in metres that the leaves take from other links where these come near
            (`watchers`).
    """

    leaves: tuple[Leaf, ...]
    shapes: tuple[Shape, ...]
    stand_off: float
    hull_area: float
    lost: float = 0.0

    @property
    def excess(self) -> float:
        """Stand-off plus lost distance in metres, which more leaves reduce."""
        return self.stand_off + self.lost

    def is_within(self, tolerance: float) -> bool:
        """Whether stand-off and lost distance are at most ``tolerance`` (metres)."""
        return max(self.stand_off, self.lost) <= tolerance

    @cached_property
    def union_volume(self) -> float:
        """Volume of the union of all leaves in m^3; slow, so computed on first access."""
        return union_volume(leaf_rows(self.leaves))

    @cached_property
    def volumes(self) -> Volumes:
        """Volumes of the shapes, added up; slow, so computed on first access."""
        return Volumes(*np.sum([_volumes(shape) for shape in self.shapes], axis=0).tolist())


def leaf_rows(leaves: Sequence[Leaf]) -> np.ndarray:
    """Return leaves as rows (k, 7): two end points and the radius."""
    rows = [[*leaf.p0, *leaf.p1, leaf.radius] for leaf in leaves]
    return np.array(rows, dtype=float).reshape(-1, 7)


def leaves_of(rows: np.ndarray) -> tuple[Leaf, ...]:
    """Return leaves of rows (k, 7), not assigned to a link."""
    return tuple(Leaf("", row[:3].copy(), row[3:6].copy(), float(row[6])) for row in rows)


def _fit_mesh(
    vertices: np.ndarray,
    triangles: np.ndarray,
    most: int,
    tolerance: float,
    watchers: np.ndarray | None = None,
    known: Fit | None = None,
) -> tuple[list[Found], float]:
    """Return fits of a mesh, and the area of its hull in m^2.

    Fits have more and more leaves until stand-off and lost distance are within ``tolerance``
    (metres); only those that are clearly better than any with fewer leaves are kept. With a
    ``known`` fit, the next one has ``most`` leaves.
    """
    points = hull_points(vertices)
    box = fit_box(points)
    published = fit_leaf(points, box)
    if box.extents[0] <= _FLATNESS * box.extents[2]:
        return _fit_flat(box, published, most, tolerance), 2.0 * float(np.prod(box.extents[1:]))
    body = Body(vertices, triangles, box, watchers, outermost(points))
    if known is not None:
        leaves, counts = known.leaves, [most] if most > len(known.leaves) else []
    else:
        found = leaves_of(body.unscaled(fit_union(body, 1, is_thorough=False)))
        leaves, counts = (min(*found, published, key=lambda leaf: leaf.volume),), counts_up_to(most)
    best = body.scaled(leaf_rows(leaves))
    fits = [(leaves, thickness(body, best), lost(body, best))]
    for count in counts:
        _, off, loss = fits[-1]
        if max(off, loss) <= tolerance:
            break
        # Most links use the last fit with the usual number of leaves: it is worth more starts.
        is_last = known is None and count == counts[-1]
        best = fit_union(body, count, best, is_thorough=is_last)
        now = thickness(body, best), lost(body, best)
        if sum(now) <= _MAX_RATIO * (off + loss):
            fits.append((leaves_of(body.unscaled(best)), *now))
    return fits, body.hull_area * body.size**2


def counts_up_to(most: int) -> list[int]:
    """Return the numbers of leaves above one to try: 2, 3, 4, 6, 8, 12, ... and ``most``."""
    counts = {step << k for step in (2, 3) for k in range(most.bit_length())}
    return sorted(count for count in {*counts, most} if 1 < count <= most)


def _fit_flat(box: OrientedBox, leaf: Leaf, most: int, tolerance: float) -> list[Found]:
    """Leaves of a plate or a wire: those of its oriented box, if they are smaller."""
    rows, stand_off = cover_box(tuple(box.extents), most, tolerance)
    ends = product(rows[:, :6].reshape(-1, 3), box.axes.T) + box.center
    leaves = leaves_of(np.column_stack([ends.reshape(-1, 6), rows[:, 6]]))
    if len(leaves) > 1 and sum(each.volume for each in leaves) < leaf.volume:
        return [((leaf,), math.inf, 0.0), (leaves, stand_off, 0.0)]
    return [((leaf,), 0.0, 0.0)]


def fits_in_own_frame(
    shape: Shape,
    most: int,
    tolerance: float,
    watchers: np.ndarray | None = None,
    known: Fit | None = None,
) -> list[Fit]:
    """Return fits of a shape in its own frame, with increasing numbers of leaves.

    They have at most ``most`` leaves; the last fit is the first within ``tolerance`` (metres), if
    any. ``watchers`` (w, 4): points in the same frame, and weights. ``known``: a fit in that frame
    to improve on, of a mesh that is not flat or of a cylinder.
    """
    if shape.kind in ROUNDED:
        radius, length = radius_and_length(shape)
        half = np.array([0.0, 0.0, 0.5 * length])
        return [Fit((Leaf("", -half, half, radius),), (shape,), 0.0, 0.0)]
    if shape.kind == "box":
        x, y, z = shape.size
        area = 2.0 * (x * y + y * z + z * x)
        covers = covers_of_box(shape.size, (1, *counts_up_to(most)), tolerance, _MAX_RATIO)
        fits = [(leaves_of(rows), stand_off, 0.0) for rows, stand_off in covers]
    else:
        vertices, triangles, _ = enclosing_surface(shape)
        fits, area = _fit_mesh(vertices, triangles, most, tolerance, watchers, known)
    return [Fit(leaves, (shape,), stand_off, area, loss) for leaves, stand_off, loss in fits]


def _volumes(shape: Shape) -> Volumes:
    if shape.kind == "mesh":
        return _mesh_volumes(shape)
    if shape.kind == "box":
        volume = obb = float(np.prod(shape.size))
    elif shape.kind == "cylinder":
        radius, length = shape.size
        volume, obb = math.pi * radius**2 * length, 4.0 * radius**2 * length
    elif shape.kind in ROUNDED:
        leaf = fits_in_own_frame(shape, 1, math.inf)[0].leaves[0]
        volume, obb = leaf.volume, 4.0 * leaf.radius**2 * (leaf.length + 2.0 * leaf.radius)
    else:
        raise unknown_kind(shape, KINDS)
    return Volumes(volume, volume, obb)


def _mesh_volumes(shape: Shape) -> Volumes:
    import trimesh
    from scipy.spatial import QhullError

    points = hull_points(np.asarray(shape.vertices, dtype=float))
    obb = fit_box(points).volume
    mesh = trimesh.Trimesh(shape.vertices, shape.triangles, process=True)
    try:
        hull = trimesh.convex.convex_hull(outermost(points)).volume if obb > 0.0 else 0.0
    except (QhullError, ValueError):  # nearly flat
        return Volumes(0.0, 0.0, obb)
    volume = float(abs(mesh.volume)) if mesh.is_watertight else float(hull)
    return Volumes(volume, max(volume, float(hull)), obb)


def placed(fit: Fit, pose: np.ndarray, link: str) -> Fit:
    """Transform the fit of a shape into the frame of ``link``; ``pose`` (4, 4) is the shape's."""
    return replace(fit, leaves=moved(fit.leaves, pose, link))
