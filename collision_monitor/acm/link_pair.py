# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Two links and the joints between them: their poses, and the distance of their surfaces.

Only the joints between link A and link B move them relative to each other. They are numbered from A
to B: the first ``up`` lead from A down to the body that carries both, the others from there to B.
All coordinates are in the frame of that body. The geometry of each link is packed for the kernels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from collision_monitor.common.array_views import work_space
from collision_monitor.common.compiled import FOUR, ONE, THREE, TWO, ZERO, offline_kernel
from collision_monitor.geometry.leaf import Leaf, moved
from collision_monitor.hierarchy.packed import PRISMATIC, REVOLUTE, pack_chain
from collision_monitor.hierarchy.query import place_all
from collision_monitor.mesh_distance import link_pair_distance
from collision_monitor.mesh_distance.link_pair_distance import copy_rows, pair_distance, place_link
from collision_monitor.mesh_distance.mesh_distance import DISTANCES, calls
from collision_monitor.mesh_distance.parts import data_of, new_state, unpack_shapes, unpack_state
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.robot.bodies import Bodies, parts_between_held_joints
from collision_monitor.robot.poses import compose_inverse, move_points
from collision_monitor.robot.shape_kinds import hull_points

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
        hull_a, hull_b: (k, 4) balls whose hulls enclose the links, in the frames of their bodies.
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
def _place(view, chain, shapes, first, pose):
    """Write the pose of A, and that of B in the frame of A."""
    second = work_space(1.0, 4, 3)
    place_link(view, shapes, chain.links[0], chain.bodies[0], first)
    place_link(view, shapes, chain.links[1], chain.bodies[1], second)
    compose_inverse(first, second, pose)


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
    first, pose = work_space(limit, 4, 3), work_space(limit, 4, 3)
    local, nearest = work_space(limit, 3, 3), work_space(ZERO, 1, 4)
    _place(view, chain, shapes, first, pose)
    copy_rows(chain.guess, state.guesses, ONE, FOUR)
    apart = pair_distance(
        data, shapes, state, ZERO, chain.links[0], chain.links[1], pose, limit, np.inf,
        nearest, local,
    )  # fmt: skip
    if apart < limit:
        copy_rows(nearest, chain.guess, ONE, FOUR)
        move_points(first, local)
        copy_rows(local, points, TWO, THREE)
    return max(0.0, min(apart, limit))


@offline_kernel
def one_holds_the_other(view, chain):
    """Whether a part of one link is inside the other, if their surfaces do not meet."""
    shapes = unpack_shapes(chain.shape_numbers, chain.shape_index)
    data = data_of(
        chain.shape_numbers, chain.shape_index, chain.work, chain.work_index, chain.calls
    )
    first, pose = work_space(1.0, 4, 3), work_space(1.0, 4, 3)
    _place(view, chain, shapes, first, pose)
    return link_pair_distance.one_holds_the_other(
        data, shapes, chain.links[0], chain.links[1], pose
    )


class LinkGeometry(NamedTuple):
    """One link; in the frame of its body, metres.

    Attributes:
        ends: (m, 6) of its leaves.
        radii: (m,) of its leaves.
        hull: (k, 4) balls whose hull encloses it.
    """

    ends: np.ndarray
    radii: np.ndarray
    hull: np.ndarray


# -- two links --


@dataclass(frozen=True, eq=False)
class LinkPair:
    """Two links, the joints between them and the ranges of these joints.

    Attributes:
        links: names of A and B.
        columns: (c,) entries of q that move the links relative to each other.
        low: (c,) lower limits, radians or metres.
        high: (c,) upper limits, radians or metres.
        has_range: whether the joints between the links stay within these limits for certain. They
            do not if a joint is held, or has equal limits, which CAD exports write for none, or
            makes a part of a turn while a continuous joint turns.
        chain: for kernels. It contains work space: a pair is for one thread.
    """

    links: tuple[str, str]
    columns: np.ndarray
    low: np.ndarray
    high: np.ndarray
    has_range: bool
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


def _link_pair(
    bodies: Bodies,
    links: tuple[str, str],
    geometries: tuple[LinkGeometry, LinkGeometry],
    numbers_of_links: np.ndarray,
    shared: Mapping[str, np.ndarray],
    over_held: bool,
) -> LinkPair:
    """Combine two links of different bodies, in the order of ``links``.

    ``numbers_of_links`` (2,): in the shapes of the model. ``shared``: entries of `Chain` that all
    pairs of a model share. ``over_held``: whether a joint between the links is held.
    """
    up, down = bodies.between(*links)
    joints = [*up[::-1], *down]  # parents first
    columns = bodies.joints_between(*links)
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
        links=np.array([[0, len(a.ends)], [len(a.ends), len(ends)]]),
    )
    place_all(numbers, index)
    chain = Chain(
        numbers=numbers,
        index=index,
        joints=np.r_[np.arange(len(up))[::-1], np.arange(len(up), len(joints))],
        bodies=of_links,
        hull_a=a.hull,
        hull_b=b.hull,
        **shared,
        links=numbers_of_links,
        guess=np.full((1, 4), -1, dtype=np.int64),
        swept=swept,
        up=len(up),
        leaves=len(a.ends),
        rows=len(ends),
    )
    low = np.array([bodies.joints[column].lower for column in columns])
    high = np.array([bodies.joints[column].upper for column in columns])
    is_covered = bodies.in_step[joints] | ~bodies.continuous[bodies.columns[joints]]
    has_range = not over_held and bool((low < high).all() and is_covered.all())
    return LinkPair(links, np.array(columns), low, high, has_range, chain)


class PairGeometries:
    """The links of a model for proofs, each built at first use; for one thread."""

    def __init__(self, model: CollisionModel) -> None:
        self._model = model
        self._leaves: dict[str, list[Leaf]] = {}
        for leaf in model.leaves:
            self._leaves.setdefault(leaf.link, []).append(leaf)
        self._built: dict[str, LinkGeometry] = {}
        self._parts = parts_between_held_joints(model.robot)
        shapes = model.exact_shapes
        numbers, index = shapes.arrays()
        work, work_index = new_state(1, np.zeros((1, 2), dtype=np.int64), shapes.nodes)
        self._shared = {
            "shape_numbers": numbers, "shape_index": index, "work": work,
            "work_index": work_index, "calls": calls(DISTANCES),
        }  # fmt: skip

    @property
    def links(self) -> list[str]:
        """Links of the robot that have shapes, in the order of the robot."""
        return [link.name for link in self._model.robot.links.values() if link.shapes]

    def _geometry(self, link: str) -> LinkGeometry:
        if link not in self._built:
            pose = self._model.bodies.link_poses[link]
            leaves = moved(self._leaves[link], pose, "")
            hull = hull_points(self._model.robot.links[link].shapes)
            hull[:, :3] = hull[:, :3] @ pose[:3, :3].T + pose[:3, 3]
            self._built[link] = LinkGeometry(
                np.array([[*leaf.p0, *leaf.p1] for leaf in leaves]),
                np.array([leaf.radius for leaf in leaves]),
                hull,
            )
        return self._built[link]

    def are_over_held(self, a: str, b: str) -> bool:
        """Whether a joint between two links is held at zero, since its position is never known."""
        return self._parts[a] != self._parts[b]

    def pair(self, a: str, b: str) -> LinkPair:
        """Return two links that can move relative to each other."""
        names = self._model.exact_shapes.names
        numbers = np.array([names.index(a), names.index(b)])
        geometries = self._geometry(a), self._geometry(b)
        return _link_pair(
            self._model.bodies, (a, b), geometries, numbers, self._shared, self.are_over_held(a, b)
        )
