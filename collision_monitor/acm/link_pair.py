# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Two links and the joints between them: their poses, and the distance of their surfaces.

Only the joints between link A and link B move them relative to each other. They are numbered from A
to B: the first ``up`` lead from A down to the body that carries both, the others from there to B.
All coordinates are in the frame of that body. The geometry of each link is packed for the kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from collision_monitor.common.array_views import work_space
from collision_monitor.common.compiled import FOUR, ONE, ZERO, offline_kernel, small_kernel
from collision_monitor.geometry.leaf import Leaf, moved
from collision_monitor.hierarchy.kinematics import forward_kinematics, place_leaves
from collision_monitor.hierarchy.packed import PRISMATIC, REVOLUTE, pack_chain
from collision_monitor.mesh_distance import link_pair_distance
from collision_monitor.mesh_distance.link_pair_distance import copy_rows, pair_distance
from collision_monitor.mesh_distance.mesh_distance import DISTANCES, calls
from collision_monitor.mesh_distance.parts import (
    data_of,
    new_state,
    unpack_shapes,
    unpack_state,
)
from collision_monitor.mesh_distance.poses import (
    compose,
    compose_inverse,
    move_points,
    take_pose,
)
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.robot.bodies import Bodies
from collision_monitor.robot.description import Shape
from collision_monitor.robot.shape_kinds import enclosing_surface

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
        shape_numbers, shape_index: the shapes of the model, see `parts.Shapes`.
        work, work_index: work space for one pair of links, see `parts.State`.
        calls: addresses of kernels, see `part_calls`.
        links: (2,) A and B in the shapes.
        guess: (1, 4) nearest parts and triangles of the last query.
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
    shape_numbers: np.ndarray
    shape_index: np.ndarray
    work: np.ndarray
    work_index: np.ndarray
    calls: np.ndarray
    links: np.ndarray
    guess: np.ndarray
    swept: np.ndarray
    up: int
    leaves: int
    rows: int


@offline_kernel
def place_links(view, q):
    """Place the bodies and leaves of a chain at the positions ``q`` of its columns."""
    forward_kinematics(view, q)
    place_leaves(view, len(view.leaf_bodies))


@small_kernel
def _place_link(view, chain, shapes, side, out):
    """Write the pose of a link: ``side`` 0 for A, 1 for B."""
    body, frame = work_space(1.0, 4, 3), work_space(1.0, 4, 3)
    take_pose(view.poses, chain.bodies[side], body)
    take_pose(shapes.frames, chain.links[side], frame)
    compose(body, frame, out)


@offline_kernel
def _relative_pose(view, chain, shapes, out):
    """Write the pose of B in the frame of A."""
    first, second = work_space(1.0, 4, 3), work_space(1.0, 4, 3)
    _place_link(view, chain, shapes, ZERO, first)
    _place_link(view, chain, shapes, ONE, second)
    compose_inverse(first, second, out)


@offline_kernel
def surface_distance(view, chain, limit, points):
    """Distance of the surfaces of A and B, at most ``limit`` metres; 0 if they touch or cross.

    ``points`` (2, 3) gets the nearest points of links that do not touch; it is unchanged if they
    are at least ``limit`` apart.
    """
    shapes = unpack_shapes(chain.shape_numbers, chain.shape_index)
    state = unpack_state(chain.work, chain.work_index)
    data = data_of(
        chain.shape_numbers, chain.shape_index, chain.work, chain.work_index, chain.calls
    )
    pose, local = work_space(limit, 4, 3), work_space(limit, 3, 3)
    nearest = work_space(ZERO, 1, 4)
    _relative_pose(view, chain, shapes, pose)
    copy_rows(chain.guess, state.guesses, ONE, FOUR)
    apart = pair_distance(
        data, shapes, state, ZERO, chain.links[0], chain.links[1], pose, limit, np.inf,
        nearest, local,
    )  # fmt: skip
    if apart < limit:
        copy_rows(nearest, chain.guess, ONE, FOUR)
        _place_link(view, chain, shapes, ZERO, pose)
        move_points(pose, local)
        for k in range(2):
            points[k, 0], points[k, 1], points[k, 2] = local[k, 0], local[k, 1], local[k, 2]
    return max(0.0, min(apart, limit))


@offline_kernel
def one_holds_the_other(view, chain):
    """Whether a part of one link is inside the other, if their surfaces do not meet."""
    shapes = unpack_shapes(chain.shape_numbers, chain.shape_index)
    data = data_of(
        chain.shape_numbers, chain.shape_index, chain.work, chain.work_index, chain.calls
    )
    pose = work_space(1.0, 4, 3)
    _relative_pose(view, chain, shapes, pose)
    return link_pair_distance.one_holds_the_other(
        data, shapes, chain.links[0], chain.links[1], pose
    )


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
    """

    ends: np.ndarray
    radii: np.ndarray
    hull: np.ndarray
    thick: float


def link_geometry(
    shapes: Sequence[Shape], leaves: Sequence[Leaf], pose: np.ndarray
) -> LinkGeometry:
    """Collect the geometry of a link with ``shapes`` and ``leaves`` in its frame.

    ``pose`` (4, 4) of the link in its body.
    """
    surfaces = [enclosing_surface(shape, _SIDES) for shape in shapes]
    poses = [pose @ shape.pose for shape in shapes]
    vertices = [
        vertices @ placed[:3, :3].T + placed[:3, 3]
        for (vertices, _, _), placed in zip(surfaces, poses, strict=True)
    ]
    in_body = moved(leaves, pose, "")
    return LinkGeometry(
        ends=np.array([[*leaf.p0, *leaf.p1] for leaf in in_body]),
        radii=np.array([leaf.radius for leaf in in_body]),
        hull=_hull(np.concatenate(vertices)),
        thick=max(skin for _, _, skin in surfaces),
    )


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
        chain: for kernels. It contains work space: a pair is for one thread.
    """

    links: tuple[str, str]
    columns: np.ndarray
    low: np.ndarray
    high: np.ndarray
    chain: Chain

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


class _Exact(NamedTuple):
    """What all pairs of a model share for exact distances; see `Chain`."""

    shape_numbers: np.ndarray
    shape_index: np.ndarray
    work: np.ndarray
    work_index: np.ndarray
    calls: np.ndarray


def _link_pair(
    bodies: Bodies,
    links: tuple[str, str],
    geometries: tuple[LinkGeometry, LinkGeometry],
    exact: _Exact,
    numbers_of_links: np.ndarray,
) -> LinkPair:
    """Combine two links of different bodies, in the order of ``links``.

    ``numbers_of_links`` (2,): in the shapes of ``exact``.
    """
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
        **exact._asdict(),
        links=numbers_of_links,
        guess=np.full((1, 4), -1, dtype=np.int64),
        swept=swept,
        up=len(up),
        leaves=len(a.ends),
        rows=len(ends),
    )
    low = np.array([bodies.joints[column].lower for column in columns])
    high = np.array([bodies.joints[column].upper for column in columns])
    return LinkPair(links, np.array(columns), low, high, chain)


class PairGeometries:
    """The links of a model for proofs, each built at first use; for one thread."""

    def __init__(self, model: CollisionModel) -> None:
        self._model = model
        self._leaves: dict[str, list[Leaf]] = {}
        for leaf in model.leaves:
            self._leaves.setdefault(leaf.link, []).append(leaf)
        self._built: dict[str, LinkGeometry] = {}
        shapes = model.exact_shapes
        arrays = shapes.arrays()
        state = new_state(1, np.zeros((1, 2), dtype=np.int64), shapes.nodes)
        self._exact = _Exact(*arrays, *state, calls(DISTANCES))

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
        names = self._model.exact_shapes.names
        numbers = np.array([names.index(a), names.index(b)])
        return _link_pair(self._model.bodies, (a, b), (self[a], self[b]), self._exact, numbers)
