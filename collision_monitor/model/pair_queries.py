# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""PairQueries: a robot and its scene, packed for distance queries of given pairs."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from collision_monitor.common.disk_cache import content_key
from collision_monitor.common.limits import LARGEST_OF_JOINT
from collision_monitor.errors import ConfigurationError
from collision_monitor.fitting.shapes import Fit, FitSettings
from collision_monitor.geometry.leaf import Leaf
from collision_monitor.hierarchy import query
from collision_monitor.hierarchy.packed import close_all_but, pack_model
from collision_monitor.mesh_distance.mesh_distance import CROSSINGS, Crossing, ExactDistance
from collision_monitor.model.leaf_queries import LeafQueries, existing_pairs
from collision_monitor.model.placed_leaves import PlacedLeaves
from collision_monitor.robot.angles import whole_turns
from collision_monitor.robot.bodies import link_poses, relative_reach, rigid_bodies
from collision_monitor.robot.description import Robot
from collision_monitor.robot.scene import Scene
from collision_monitor.robot.srdf import Semantics

_Queries = TypeVar("_Queries", bound="PairQueries")


def two_ranks(pair: tuple[str, str], names: Sequence[str], robot: str) -> tuple[int, int]:
    """Indices of two different links or obstacles of a robot among ``names``."""
    if isinstance(pair, str) or len(pair) != 2 or pair[0] == pair[1]:
        raise ConfigurationError(f"pair: {pair!r} is not two different links or obstacles")
    if unknown := [name for name in pair if name not in names]:
        raise ConfigurationError(
            f"{unknown[0]!r} is not among the {len(names)} links and obstacles with shapes of "
            f"'{robot}'"
        )
    return names.index(pair[0]), names.index(pair[1])


class PairQueries(LeafQueries):
    """Distances of given pairs of a robot and its scene; see `CollisionModel` for the attributes.

    ``pairs`` and ``unmonitored_pairs`` are set, and packed, by the derived class that chooses them.
    """

    pairs: list[tuple[str, str]]

    def __init__(
        self, robot: Robot, semantics: Semantics, scene: Scene, settings: FitSettings,
        hierarchy: str, leaves: Mapping[str, Sequence[Leaf]] | None,
    ) -> None:  # fmt: skip
        """Fit and place the leaves; arguments as of `CollisionModel`.

        The joints of ``scene`` are those of ``robot`` as well.
        """
        self.robot, self.semantics, self.scene = robot, semantics, scene
        self.settings, self.hierarchy = settings, hierarchy
        self.name, self.root = robot.name, robot.root
        self._set_joints()
        self._place_leaves(leaves)

    def _set_joints(self) -> None:
        """Set the names and limits of the elements of a configuration."""
        self.bodies = rigid_bodies(self.robot)
        joints = self.bodies.joints
        self.joint_names: tuple[str, ...] = self.bodies.joint_names
        self.lower = np.array([joint.lower for joint in joints])
        self.upper = np.array([joint.upper for joint in joints])
        self.unlimited = np.array([self.bodies.continuous] * 2)
        self.velocity_limits = np.array([joint.velocity for joint in joints])

    def _place_leaves(
        self,
        given: Mapping[str, Sequence[Leaf]] | None,
        known: Mapping[str, list[Fit]] | None = None,
    ) -> None:
        self._placed = placed = PlacedLeaves(
            self.robot, self.bodies, self.semantics, self.scene, self.settings, self.hierarchy,
            given, known,
        )  # fmt: skip
        self.link_names, self.leaves, self.fits = placed.link_names, placed.leaves, placed.fits
        self.carriers, self.exact_shapes = placed.carriers, placed.shapes
        self.leaf_links = placed.leaf_links
        self.link_rows = {name: k for k, name in enumerate(placed.link_names)}
        numbers = [placed.body_of[name] for name in placed.link_names]
        self.body_numbers = np.array(numbers, dtype=np.int64)

    def _pack(self) -> None:
        placed = self._placed
        row = self.link_rows
        rows = np.array([[row[a], row[b]] for a, b in self.pairs], dtype=np.int64)
        self.pair_links = rows.reshape(-1, 2)
        arrays = pack_model(
            self.bodies, placed.body_leaves, self.body_numbers[self.leaf_links], placed.ranges,
            self.pair_links,
        )  # fmt: skip
        query.place_all(*arrays)
        self._use_arrays(*arrays)
        self._exact: ExactDistance | None = None  # until `prepare_exact`
        # Before any query, because queries write to the arrays.
        self.content = content_key(
            *arrays, self.lower, self.upper, self.joint_names, placed.obstacle_names,
            self.exact_shapes.content, [self.robot.parts.get(name) for name in self.link_names],
        )  # fmt: skip

    def distances(
        self, q: Sequence[float] | np.ndarray, exact: bool = False, within: float = np.inf
    ) -> np.ndarray:
        """Signed distances (len(pairs),) of all pairs, in the order of ``pairs``, metres.

        Args:
            q: (nq,) joint positions, radians or metres.
            exact: as in `distance`. Much slower than the nearest pair alone.
            within: exact distances are only measured for pairs whose leaves are at most this far
                apart, metres; the others keep the distance of their leaves.

        Raises:
            ConfigurationError: q has the wrong shape or a value that is not finite, or ``within``
                is not a length.
        """
        q = self.configuration(q)
        if not isinstance(within, float | int | np.number) or np.isnan(within):
            raise ConfigurationError(f"within: {within!r} is not a length in metres")
        out = self.pair_distances(q.reshape(1, -1))[0]
        return self._exact_distance().refine(q, out, within) if exact else out

    def exact_bounds(
        self,
        q: np.ndarray,
        pairs: np.ndarray,
        leaves: np.ndarray,
        within: float | np.ndarray,
        loose: float | np.ndarray = 1e-3,
        near: float | np.ndarray = np.inf,
        seconds: float = 0.0,
    ) -> np.ndarray:
        """Lower bounds (k,) of the exact distances of some pairs, in bounded time.

        Intended for consecutive configurations, as in monitoring. First, the distances of the
        leaves are raised by the results of earlier queries, less the motion of the links since
        then. Then pairs whose contact is undecided, or whose bound may be too low by more than
        ``loose``, are measured, the smallest part of ``within`` first: one pair, and more until
        ``seconds`` are over. Touching shapes get the distance of their leaves.

        Args:
            q: (nq,) joint positions, radians or metres.
            pairs: (k,) indices into ``pairs`` of the model.
            leaves: (k,) distances of the leaves of these pairs at q, metres.
            within: only distances up to this one are raised, metres; one for all, or (k,).
            loose: tolerated error of a bound, metres; one for all, or (k,).
            near: pairs whose bound is above this are not measured, metres; one for all, or (k,).
            seconds: time for further measurements.

        Raises:
            ConfigurationError: q has the wrong shape or a value that is not finite.
        """
        q, pairs = self.configuration(q), existing_pairs(pairs, len(self.pair_links))
        return self._exact_distance().bound(q, pairs, leaves, within, loose, near, seconds)

    def prepare_exact(self, crossings: bool = False) -> None:
        """Build the hierarchies over all triangles and compile the exact queries.

        Otherwise the first exact query does this. It takes a quarter of a second per 100,000
        triangles, and half a minute to compile at the first use on a machine. Later twins share the
        hierarchies. ``crossings``: also compile `crossing_triangles`, some seconds.
        """
        exactly = self._exact_distance()
        if crossings:
            exactly.prepare(CROSSINGS)

    def crossing_triangles(
        self, q: Sequence[float] | np.ndarray, pair: tuple[str, str], most: int = 1000
    ) -> Crossing:
        """Pairs of crossing triangles of two links or obstacles at ``q`` (nq,), at most ``most``.

        Raises:
            ConfigurationError: q is invalid, ``pair`` is not two different links or obstacles with
                shapes, or ``most`` is not a positive integer.
        """
        ranks = two_ranks(pair, self.link_names, self.name)
        if not isinstance(most, int | np.integer) or most < 1:
            raise ConfigurationError(f"most: {most!r} is not a number of triangles above 0")
        return self._exact_distance().crossing(self.configuration(q), ranks, int(most))

    def __getstate__(self) -> dict[str, Any]:
        # Prepared exact queries contain addresses of this process.
        return self.__dict__ | {"_exact": None}

    def _exact_distance(self) -> ExactDistance:
        if self._exact is None:
            self._exact = ExactDistance(
                self.exact_shapes, self.packed, self.pair_links, self.pairs.__getitem__,
                self.refusal,
            )  # fmt: skip
        return self._exact

    def nearest_of_links(self, distances: np.ndarray) -> dict[str, float]:
        """The smallest of known ``distances`` (len(pairs),), metres, of every link and obstacle.

        inf if the link is in no pair.
        """
        nearest = dict.fromkeys(self.link_names, np.inf)
        for (a, b), distance in zip(self.pairs, distances.tolist(), strict=True):
            nearest[a] = min(nearest[a], distance)
            nearest[b] = min(nearest[b], distance)
        return nearest

    def home_configurations(self) -> np.ndarray:
        """Configurations (homes, nq) in which the robot may rest.

        All joints at zero or the limit nearest to it, and so for each named state of the SRDF with
        the positions that it gives, without whole turns of joints that have no end stops.
        """
        zero = dict.fromkeys(self.joint_names, 0.0)
        homes = [zero, *(zero | dict(state) for state in self.semantics.states.values())]
        rows = np.array([[home[name] for name in self.joint_names] for home in homes])
        rows = rows.reshape(len(homes), len(zero))
        rows = (rows + whole_turns(rows, 0.0, self.bodies.endless)).clip(self.lower, self.upper)
        return rows[np.sort(np.unique(rows, axis=0, return_index=True)[1])]

    def surface_distances(
        self, q: np.ndarray, pairs: np.ndarray, limit: float = np.inf
    ) -> np.ndarray:
        """Exact distances (k,) of pairs by index (k,), or a mask, at q (nq,), metres; 0 in contact.

        A distance that is not below ``limit`` may be any number from there on.
        """
        pairs = existing_pairs(pairs, len(self.pair_links))
        return self.surface_points(q, pairs, np.full(len(pairs), limit))[0]

    def surface_points(
        self, q: np.ndarray, pairs: np.ndarray, limits: np.ndarray,
        enough: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """Exact distances (k,) as `surface_distances`, and nearest points (k, 2, 3), base frame.

        A distance that is not below its limit (k,) may be any number from there on. One that is
        above ``enough`` (k,) may be less than the true one, by half of what that is beyond at
        most, with points that are not quite the nearest: this is faster. Points are only valid for
        distances above 0 and below their limit.
        """
        q, pairs = self.configuration(q), existing_pairs(pairs, len(self.pair_links))
        return self._exact_distance().points(q, pairs, limits, enough)

    def exact_arrays(self) -> tuple[np.ndarray, ...]:
        """Return the first arguments of the kernels of `mesh_distance.nearest_query`."""
        return self._exact_distance().arrays

    def link_poses(self, q: Sequence[float] | np.ndarray) -> dict[str, np.ndarray]:
        """Pose (4, 4) of every link of the robot at ``q`` (nq,), in the base frame.

        Raises:
            ConfigurationError: q has the wrong shape or a value that is not finite.
        """
        q = self.configuration(q)
        if len(bad := np.flatnonzero(~(np.abs(q) <= LARGEST_OF_JOINT))):
            raise self.refusal(-2 - int(bad[0]), q)
        poses = link_poses(self.bodies, self.robot.links, q.reshape(1, -1))
        return {link: pose[0] for link, pose in poses.items()}

    def work_space(self, kept: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Copies of the packed arrays (numbers, index), for use in another thread.

        ``kept`` (pairs,) bool: the pairs that searches of the tree find; None: all.
        """
        numbers, index = self.packed
        arrays = numbers.copy(), index.copy()
        if kept is not None:
            close_all_but(kept, *arrays)
        return arrays

    def joints_between(self, a: str, b: str) -> list[int]:
        """Sorted entries of q that change the relative pose of two links or obstacles.

        Other names, as of objects of a live scene, are taken to stand on the base.
        """
        links = (self.carriers.get(name, self.root) for name in (a, b))
        return self.bodies.joints_between(*links)

    @property
    def moving_links(self) -> list[str]:
        """Links with shapes that are moved by a joint, in the order of ``link_names``."""
        return [self.link_names[k] for k in np.flatnonzero(self.body_numbers)]

    def link_reach(self) -> np.ndarray:
        """Upper bounds (links, moving joints) of the travel of a link per unit of a joint.

        Rows are in the order of ``link_names``; mimic joints have their own columns. Metres per
        radian; 1 for prismatic joints.
        """
        return self._placed.reaches()[0]

    def axis_distances(self) -> np.ndarray:
        """Upper bounds (links, moving joints) of the distance of a link from the axis of a joint.

        Like `link_reach`, but also for joints that do not move the link. Infinity for obstacles of
        the scene.
        """
        return self._placed.reaches()[1]

    def pair_reach(self, which: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Metres (k, moving joints) that links come nearer at most for a unit of a joint.

        ``which``: indices (k,) of pairs, by default all.
        """
        a, b = self.pair_links[which].T
        travel, distances = self._placed.reaches()
        return relative_reach(travel[a], travel[b], (distances[a], distances[b]))

    def twin(self: _Queries, pairs: Collection[tuple[str, str]] | None = None) -> _Queries:
        """A copy for another thread; nothing is loaded or fitted again.

        ``pairs`` is the subset of ``self.pairs`` that the copy checks, by default all.

        Raises:
            ConfigurationError: a pair is not checked by this model.
        """
        selected = set(self.pairs if pairs is None else pairs)
        if unknown := sorted(selected.difference(self.pairs)):
            raise ConfigurationError(
                f"{unknown[0]} is not among the {len(self.pairs)} pairs that '{self.name}' checks"
            )
        twin = copy.copy(self)
        twin.pairs = [pair for pair in self.pairs if pair in selected]
        twin._pack()
        return twin

    def columns_of(self, joint_names: Iterable[str]) -> np.ndarray:
        """Entries (k,) of q of these joints."""
        return np.array([self.joint_names.index(name) for name in joint_names], dtype=np.int64)

    @property
    def position_limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper position limits (nq,), radians or metres; infinite where there are none.

        A continuous joint has none.
        """
        below, above = self.unlimited
        return np.where(below, -np.inf, self.lower), np.where(above, np.inf, self.upper)

    def random_configurations(self, n: int, seed: int | None = 0) -> np.ndarray:
        """Random configurations (n, nq), uniform within the joint limits."""
        rng = np.random.default_rng(seed)
        return rng.uniform(self.lower, self.upper, (n, len(self.joint_names)))
