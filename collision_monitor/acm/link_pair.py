# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Two links and the joints between them: their poses, and the distance of their surfaces.

Only the joints between link A and link B move them relative to each other. They are numbered from A
to B: the first ``up`` lead from A down to the body that carries both, the others from there to B.
All coordinates are in the frame of that body. The geometry of each link is packed for the kernels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from collision_monitor.common.array_views import work_space
from collision_monitor.common.compiled import offline_kernel
from collision_monitor.geometry.bounding_volumes import place
from collision_monitor.geometry.leaf import Leaf, moved
from collision_monitor.hierarchy.kinematics import forward_kinematics, place_leaves, place_point
from collision_monitor.hierarchy.packed import PRISMATIC, REVOLUTE, pack_chain, windows
from collision_monitor.mesh_distance.mesh_pair_distance import nearest_triangles
from collision_monitor.mesh_distance.mesh_tree import build_triangle_tree, unpack_tree
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.robot.bodies import Bodies
from collision_monitor.robot.description import Shape
from collision_monitor.robot.insides import Inside
from collision_monitor.robot.shape_kinds import ROUNDED, enclosing_surface

# -- the joints between two links --


class Chain(NamedTuple):
    """Two links and the joints between them, as arrays; lengths in metres.

    Attributes:
        numbers, index: joints and leaves as in `hierarchy.packed`; its columns are those of the
            pair. First the ``leaves`` of A, then those of B, m together. They are followed by as
            many swept ones: each encloses a leaf at any position of its body's own joint, if
            ``swept`` is set.
        joints: (n,) the joints of that model, from A to B.
        bodies: (2,) its bodies of A and B.
        hull_a, hull_b: (k, 3) vertices around which balls of radius ``thick`` (2,) enclose the
            links.
        numbers_a, index_a: trees of triangles one after another; also numbers_b, index_b.
        pieces_a, pieces_b: (k, 2) beginning of each tree.
        skins_a, skins_b: (k,) radius of a ball swept along the triangles of each tree.
        swept: (2,) for A and B, whether this joint is between them and revolute.
        rows: m.
    """

    numbers: np.ndarray
    index: np.ndarray
    joints: np.ndarray
    bodies: np.ndarray
    hull_a: np.ndarray
    hull_b: np.ndarray
    thick: np.ndarray
    numbers_a: np.ndarray
    index_a: np.ndarray
    pieces_a: np.ndarray
    skins_a: np.ndarray
    numbers_b: np.ndarray
    index_b: np.ndarray
    pieces_b: np.ndarray
    skins_b: np.ndarray
    swept: np.ndarray
    up: int
    leaves: int
    rows: int


@offline_kernel
def place_links(view, q):
    """Place the bodies and leaves of a chain at the positions ``q`` of its columns."""
    forward_kinematics(view, q)
    place_leaves(view, len(view.leaf_bodies))


@offline_kernel
def surface_distance(view, chain, limit, guess, points):
    """Distance of the surfaces of A and B, at most ``limit`` metres; 0 if they touch or cross.

    ``points`` (2, 3) gets the nearest points on the triangles; it is unchanged if the links are at
    least ``limit`` apart. ``guess`` (k, 2), a row for each two pieces: nearest triangles of the
    last call.
    """
    relative, local = work_space(limit, 7, 3), work_space(limit, 2, 3)
    rotation, shift = np.empty((3, 3)), np.empty(3)
    poses, a, b = view.poses, chain.bodies[0], chain.bodies[1]
    for i in range(3):
        shift[i] = 0.0
        for m in range(3):
            shift[i] += poses[a, 3 * m + i] * (poses[b, 9 + m] - poses[a, 9 + m])
        for j in range(3):
            rotation[i, j] = 0.0
            for m in range(3):
                rotation[i, j] += poses[a, 3 * m + i] * poses[b, 3 * m + j]
    place(relative, rotation, shift)
    least = limit
    for i in range(len(chain.pieces_a)):
        tree_a = unpack_tree(
            chain.numbers_a, chain.index_a, chain.pieces_a[i, 0], chain.pieces_a[i, 1]
        )
        for j in range(len(chain.pieces_b)):
            tree_b = unpack_tree(
                chain.numbers_b, chain.index_b, chain.pieces_b[j, 0], chain.pieces_b[j, 1]
            )
            row = i * len(chain.pieces_b) + j
            skin = chain.skins_a[i] + chain.skins_b[j]
            square, first, second = nearest_triangles(
                tree_a, tree_b, relative, guess[row, 0], guess[row, 1], least + skin, True, local
            )
            if first < 0:
                continue
            guess[row, 0], guess[row, 1] = first, second
            apart = max(0.0, math.sqrt(square) - skin)
            if apart < least:
                least = apart
                for k in range(2):
                    x, y, z = local[k, 0], local[k, 1], local[k, 2]
                    points[k, 0], points[k, 1], points[k, 2] = place_point(view, a, x, y, z)
            if least == 0.0:
                return 0.0
    return least


# Sides of the prism around a cylinder: its stand-off is 0.05 % of the radius.
_SIDES = 96

# -- one link --


@dataclass(frozen=True, eq=False)
class LinkGeometry:
    """One link; in the frame of its body, metres.

    Attributes:
        ends: (m, 6) of its leaves.
        radii: (m,) of its leaves.
        hull: (k, 3) vertices; balls of radius ``thick`` around them enclose the link in their hull.
        thick: see ``hull``.
        numbers: trees of triangles one after another, see `mesh_tree`.
        index: see ``numbers``.
        pieces: (p, 2) beginning of each tree in both.
        skins: (p,) radius of the ball swept along the triangles of each tree.
        inside: test for points inside closed parts, and a probe point of each part.
    """

    ends: np.ndarray
    radii: np.ndarray
    hull: np.ndarray
    thick: float
    numbers: np.ndarray
    index: np.ndarray
    pieces: np.ndarray
    skins: np.ndarray
    inside: Inside


def link_geometry(
    shapes: Sequence[Shape], leaves: Sequence[Leaf], pose: np.ndarray
) -> LinkGeometry:
    """Collect the geometry of a link with ``shapes`` and ``leaves`` in its frame.

    ``pose`` (4, 4) of the link in its body.

    Raises:
        FitError: no hierarchy can be built over a mesh.
    """
    placed = [replace(shape, pose=pose @ shape.pose) for shape in shapes]
    soups: dict[float, list[tuple[np.ndarray, np.ndarray]]] = {}
    for shape in placed:
        vertices, triangles, skin = as_triangles(shape)
        soups.setdefault(skin, []).append((vertices, triangles))
    numbers, index, pieces = [], [], []
    for parts in soups.values():
        starts = np.cumsum([0, *(len(vertices) for vertices, _ in parts)])
        tree = build_triangle_tree(
            np.concatenate([vertices for vertices, _ in parts]),
            np.concatenate(
                [triangles + start for (_, triangles), start in zip(parts, starts, strict=False)]
            ),
        )
        pieces.append((sum(map(len, numbers)), sum(map(len, index))))
        numbers.append(tree.numbers)
        index.append(tree.index)
    in_body = moved(leaves, pose, "")
    return LinkGeometry(
        ends=np.array([[*leaf.p0, *leaf.p1] for leaf in in_body]),
        radii=np.array([leaf.radius for leaf in in_body]),
        hull=_hull(np.concatenate([vertices for soup in soups.values() for vertices, _ in soup])),
        thick=max(soups),
        numbers=np.concatenate(numbers),
        index=np.concatenate(index),
        pieces=np.array(pieces, dtype=np.int64),
        skins=np.array(list(soups)),
        inside=Inside([_as_solid(shape) for shape in placed]),
    )


def as_triangles(shape: Shape) -> tuple[np.ndarray, np.ndarray, float]:
    """Return vertices (n, 3), triangles (m, 3), and the radius of a ball swept along them.

    In the frame of the link. Exact, except that cylinders are enclosed.
    """
    vertices, triangles, skin = enclosing_surface(shape, _SIDES)
    return vertices @ shape.pose[:3, :3].T + shape.pose[:3, 3], triangles, skin


def _as_solid(shape: Shape) -> Shape:
    """Return hollow shapes as a mesh, so that `Inside` counts their interior."""
    if shape.kind == "mesh" or shape.kind in ROUNDED:
        return shape
    vertices, triangles, _ = as_triangles(replace(shape, pose=np.eye(4)))
    return replace(shape, kind="mesh", size=(), vertices=vertices, triangles=triangles)


def _hull(points: np.ndarray) -> np.ndarray:
    try:
        return points[ConvexHull(points).vertices]
    except QhullError:  # flat
        return np.unique(points, axis=0)


# -- two links --


@dataclass(frozen=True, eq=False)
class LinkPair:
    """Two links, the joints between them and the ranges of these joints.

    Attributes:
        links: names of A and B.
        columns: (c,) entries of q that move the links relative to each other.
        low: (c,) lower limits, radians or metres.
        high: (c,) upper limits, radians or metres.
    """

    links: tuple[str, str]
    columns: np.ndarray
    low: np.ndarray
    high: np.ndarray
    chain: Chain
    geometries: tuple[LinkGeometry, LinkGeometry]

    def guess(self) -> np.ndarray:
        """Return an empty buffer (k, 2) for the nearest triangles of a query."""
        pieces = len(self.chain.pieces_a) * len(self.chain.pieces_b)
        return np.full((pieces, 2), -1, dtype=np.int64)

    def one_holds_the_other(self, values: np.ndarray) -> bool:
        """Whether a part of one link is inside the other at ``values`` (c,) of the columns."""
        view = windows(self.chain.numbers, self.chain.index)
        forward_kinematics(view, values)
        poses = view.poses[self.chain.bodies]
        rotations, shifts = poses[:, :9].reshape(2, 3, 3), poses[:, 9:]
        for outer, inner in ((0, 1), (1, 0)):
            probes = self.geometries[inner].inside.probes @ rotations[inner].T + shifts[inner]
            local = (probes - shifts[outer]) @ rotations[outer]
            if self.geometries[outer].inside.holds_any(local):
                return True
        return False

    def complete(self, values: np.ndarray, default: np.ndarray) -> np.ndarray:
        """Return the configuration (nq,) with ``values`` (c,); other joints as in ``default``."""
        q = np.array(default, dtype=float)
        q[self.columns] = values
        return q


def _swept(ends: np.ndarray, radius: float, turns: bool) -> tuple[np.ndarray, float]:
    """Return a leaf (6,) and its radius, swept about the z axis if its body ``turns`` about it."""
    if not turns:
        return ends, radius
    away = max(np.hypot(ends[0], ends[1]), np.hypot(ends[3], ends[4]))
    return np.array([0.0, 0.0, ends[2], 0.0, 0.0, ends[5]]), radius + away


def link_pair(
    bodies: Bodies,
    links: tuple[str, str],
    geometries: tuple[LinkGeometry, LinkGeometry],
) -> LinkPair:
    """Combine two links of different bodies, in the order of ``links``."""
    up, down = bodies.between(*(bodies.link_bodies[link] for link in links))
    joints = [*up[::-1], *down]  # parents first
    columns = sorted({int(bodies.columns[k]) for k in joints})
    a, b = geometries
    swept = np.array(
        [bool(up) and not bodies.slides[up[0]], bool(down) and not bodies.slides[down[-1]]]
    )
    ends = np.concatenate([a.ends, b.ends])
    radii = np.concatenate([a.radii, b.radii])
    whose = np.repeat([0, 1], [len(a.ends), len(b.ends)])
    around = [
        _swept(row, radius, swept[k]) for row, radius, k in zip(ends, radii, whose, strict=True)
    ]
    parents = np.arange(len(joints))
    parents[len(up) : len(up) + 1] = 0
    of_links = np.array([len(up), len(joints) if down else 0])
    numbers, index = pack_chain(
        joint_table=np.column_stack(
            [
                parents,
                np.where(bodies.slides[joints], PRISMATIC, REVOLUTE),
                np.searchsorted(columns, bodies.columns[joints]),
            ]
        ),
        joint_motion=np.column_stack([bodies.gains[joints], bodies.offsets[joints]]),
        placements=bodies.placements[joints],
        leaf_bodies=of_links[np.tile(whose, 2)],
        leaf_ends=np.concatenate([ends, [row for row, _ in around]]),
        radii=np.concatenate([radii, [radius for _, radius in around]]),
    )
    chain = Chain(
        numbers=numbers,
        index=index,
        joints=np.r_[np.arange(len(up))[::-1], np.arange(len(up), len(joints))],
        bodies=of_links,
        hull_a=a.hull,
        hull_b=b.hull,
        thick=np.array([a.thick, b.thick]),
        numbers_a=a.numbers,
        index_a=a.index,
        pieces_a=a.pieces,
        skins_a=a.skins,
        numbers_b=b.numbers,
        index_b=b.index,
        pieces_b=b.pieces,
        skins_b=b.skins,
        swept=swept,
        up=len(up),
        leaves=len(a.ends),
        rows=len(ends),
    )
    low = np.array([bodies.joints[column].lower for column in columns])
    high = np.array([bodies.joints[column].upper for column in columns])
    return LinkPair(links, np.array(columns), low, high, chain, geometries)


class PairGeometries:
    """The links of a model for proofs, each built at first use."""

    def __init__(self, model: CollisionModel) -> None:
        self._model = model
        self._leaves: dict[str, list[Leaf]] = {}
        for leaf in model.leaves:
            self._leaves.setdefault(leaf.link, []).append(leaf)
        self._built: dict[str, LinkGeometry] = {}

    @property
    def links(self) -> list[str]:
        """Links of the robot that have shapes, in the order of the robot."""
        return [link.name for link in self._model.robot.links.values() if link.shapes]

    def __getitem__(self, link: str) -> LinkGeometry:
        """The geometry of a link that has shapes."""
        if link not in self._built:
            self._built[link] = link_geometry(
                self._model.robot.links[link].shapes,
                self._leaves[link],
                self._model.bodies.link_poses[link],
            )
        return self._built[link]

    def pair(self, a: str, b: str) -> LinkPair:
        """Return two links that can move relative to each other."""
        return link_pair(self._model.bodies, (a, b), (self[a], self[b]))
