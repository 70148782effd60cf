# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""CollisionModel: a robot and its scene, prepared for distance queries."""

from __future__ import annotations

import copy
import logging
import math
import os
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from collision_monitor.common.disk_cache import content_key
from collision_monitor.common.limits import (
    LoadingLimits,
    check_count,
    limited,
)
from collision_monitor.common.safe_files import ReceivedText
from collision_monitor.errors import (
    ConfigurationError,
)
from collision_monitor.fitting.fitter import FITS, given_leaves
from collision_monitor.fitting.shapes import Fit, FitSettings
from collision_monitor.geometry.leaf import Leaf
from collision_monitor.hierarchy import query
from collision_monitor.hierarchy.clearance import Clearance
from collision_monitor.hierarchy.packed import close_all_but, pack_model
from collision_monitor.hierarchy.query import warm_up
from collision_monitor.mesh_distance.mesh_distance import (
    CROSSINGS,
    Crossing,
    ExactDistance,
)
from collision_monitor.mesh_distance.mesh_tree import Hierarchy
from collision_monitor.model.leaf_queries import LeafQueries
from collision_monitor.model.left_out_pairs import pairs_to_leave_out
from collision_monitor.model.near_by_design import DistanceNotByDesign, near_by_design
from collision_monitor.model.neighbour_contacts import meeting_around_turns
from collision_monitor.model.pair_selection import PairRules, PairSelection
from collision_monitor.model.placed_leaves import PlacedLeaves
from collision_monitor.model.sampled_distances import (
    SampledDistances,
    reach_for,
    sampled_distances,
)
from collision_monitor.model.thresholds import (
    STOP_DISTANCE,
    WARN_DISTANCE,
    Thresholds,
)
from collision_monitor.robot.bodies import (
    link_poses,
    relative_reach,
    rigid_bodies,
)
from collision_monitor.robot.description import Robot
from collision_monitor.robot.scene import Scene, load_scene, with_joints, without_joints
from collision_monitor.robot.srdf import Semantics, load_srdf
from collision_monitor.robot.urdf import load_robot

logger = logging.getLogger(__name__)

Source = str | bytes | os.PathLike | ReceivedText

def _require_length(margin: float) -> None:
    if not math.isfinite(margin):  # numpy.isfinite would take as long as a small query
        raise ConfigurationError(f"margin: {margin!r} is not a length in metres")


def _two_ranks(pair: tuple[str, str], names: Sequence[str], robot: str) -> tuple[int, int]:
    """Indices of two different links or obstacles of a robot among ``names``."""
    if isinstance(pair, str) or len(pair) != 2 or pair[0] == pair[1]:
        raise ConfigurationError(f"pair: {pair!r} is not two different links or obstacles")
    if unknown := [name for name in pair if name not in names]:
        raise ConfigurationError(
            f"{unknown[0]!r} is not among the {len(names)} links and obstacles with shapes of "
            f"'{robot}'"
        )
    return names.index(pair[0]), names.index(pair[1])


class CollisionModel:
    """A robot and its scene, as capsules and spheres (leaves) below a hierarchy of boxes.

    Create a model with `from_urdf`. Distances are signed and in metres; points and normals are in
    the frame of ``root``. The leaves enclose the shapes, so a leaf distance is never larger than
    the true distance. A model is not thread-safe: use a `twin` for each thread.

    Attributes:
        name: name of the robot.
        root: root link of the robot; its frame is the base frame.
        joint_names: (nq,) names of the joints, in the order of a configuration ``q``.
        lower: (nq,) lower end of the range of each joint, radians or metres: its position limit, or
            -pi for a continuous joint.
        upper: (nq,) upper end.
        unlimited: (2, nq) bool, whether they are not position limits, as of a continuous joint.
        velocity_limits: (nq,) rad/s or m/s, from the URDF.
        link_names: links and obstacles with shapes.
        leaves: the leaves of all links and obstacles.
        pairs: pairs of links that are checked.
        pair_links: (pairs, 2) the links of ``pairs``, as indices into ``link_names``.
        unmonitored_pairs: pairs that are not checked: ``link_a``, ``link_b`` and ``reason``.
        bodies: the kinematic tree; links that are rigidly connected are one body.
        leaf_queries: distances of the leaves of some pairs, and in batches.
        warnings: findings in the input that did not prevent loading.
        content: digest of all that decides distances, for caches.
    """

    def __init__(
        self,
        robot: Robot,
        semantics: Semantics | None = None,
        scene: Scene | None = None,
        settings: FitSettings | None = None,
        leaves: Mapping[str, Sequence[Leaf]] | None = None,
        hierarchy: str = "aabb",
        checked: Sequence[str] = (),
        unchecked: Sequence[str] = (),
    ) -> None:
        """The constructor takes parsed input; most callers use `from_urdf`.

        The joints of ``scene`` follow those of ``robot``. ``leaves`` are given for every link with
        shapes, in its frame, and are not checked.
        """
        Hierarchy.parse(hierarchy)  # raises
        semantics = Semantics() if semantics is None else semantics
        scene = Scene() if scene is None else scene
        robot = with_joints(robot, scene.joints)
        self.robot = robot
        self.semantics = semantics
        self.scene = scene
        self.settings = FitSettings() if settings is None else settings
        self.name = robot.name
        self.root = robot.root
        self.warnings: tuple[str, ...] = (*robot.warnings, *semantics.warnings)

        shaped = [len(link.shapes) for link in robot.links.values() if link.shapes]
        check_count("max_links", len(shaped), f"robot {robot.name!r}")
        check_count(
            "max_shapes", sum(shaped) + len(scene.obstacles), f"robot {robot.name!r} and its scene"
        )
        self._set_joints()
        self.hierarchy = hierarchy
        self._rules = PairRules(checked, unchecked)
        pool = ThreadPoolExecutor(1)  # most of compiling needs no GIL: fit meanwhile
        try:
            compiled = pool.submit(warm_up)
            self._place_leaves(leaves)
            compiled.result()
        finally:
            pool.shutdown(wait=False)  # an error does not wait for the compiler
        self._choose_pairs()
        for text in self.warnings:
            logger.warning("%s", text)

    @classmethod
    def from_urdf(
        cls,
        urdf: Source,
        srdf: Source | None = None,
        package_dirs: Sequence[str | os.PathLike] = (),
        scene: str | os.PathLike | Mapping | None = None,
        max_leaves_per_link: int = FitSettings.max_leaves_per_link,
        leaf_tolerance: float = FitSettings.leaf_tolerance,
        leaves: str | os.PathLike | Mapping | None = None,
        check_leaves: bool = True,
        hierarchy: str = "aabb",
        visual_meshes: bool = False,
        fit: str = FITS[0],
        limits: LoadingLimits | None = None,
        checked: Sequence[str] = (),
        unchecked: Sequence[str] = (),
    ) -> CollisionModel:
        """Load a robot and, optionally, a scene.

        Args:
            urdf: path or text of a URDF.
            srdf: path or text of an SRDF. Pairs that it disables are not checked, and pairs that
                it enables are, unless the scene ignores them or they are rigidly joined.
            package_dirs: folders that contain packages, at any depth; searched first for
                ``package://``.
            scene: path or content of a scene file (docs/scene.md).
            max_leaves_per_link: more leaves are tighter and slower to query. Links on which that
                many are loose have up to four times as many (see `FitSettings`).
            leaf_tolerance: mean offset of the leaves from a mesh, in metres, below which no
                leaves are added.
            leaves: path or content of a leaves file (docs/reports/leaves.md), used instead of a
                fit; for links of the robot, not for obstacles.
            check_leaves: whether to reject leaves from a file that do not enclose their link.
            hierarchy: bounding volumes over triangles for exact distances: ``aabb``, ``obb``,
                ``rss`` or ``octree``. All give the same distances. The default is generally the
                fastest; ``obb`` is where meshes lie at an angle in the frames of their links.
                ``octree:depth=5,leaf=4`` limits the levels of an octree and the triangles of a leaf
                (docs/reports/exact.md).
            visual_meshes: whether links without collision geometry use their visual geometry.
            fit: ``optimised``, or ``published``: one capsule or sphere for each shape of the
                robot, as Zhang et al. fit it (docs/reports/methods.md), for comparison; with the
                defaults of ``max_leaves_per_link`` and ``leaf_tolerance`` only, and without
                ``leaves``.
            limits: numbers of links, shapes, triangles and pairs, and time that a load may take.
            checked: pairs that are checked although their shapes overlap by design, or one joint
                connects their links (docs/behaviour.md): each two names, or two patterns that match
                no pair that is checked anyway, such as ``left_finger right_finger``.
            unchecked: pairs of links or obstacles that are not checked unless the SRDF enables
                them: each two names or patterns.

        Raises:
            ConfigurationError: an entry of ``checked`` or ``unchecked`` is not two names or
                patterns.
            LoadingLimitError: a limit is exceeded, or the memory.
            RobotDescriptionError: the URDF cannot be loaded completely.
            MeshError: a mesh is missing, unreadable, empty or not finite.
            SemanticDescriptionError: the SRDF cannot be read.
            SceneError: the scene is invalid.
            FitError: max_leaves_per_link, leaf_tolerance, hierarchy or fit is invalid, or they
                contradict each other.
            LeavesError: the leaves file is invalid, or its leaves do not enclose a link.
        """
        with limited(limits):
            robot = load_robot(urdf, package_dirs, visual_meshes)
            semantics = None if srdf is None else load_srdf(srdf, robot)
            surroundings = None if scene is None else load_scene(scene, robot, package_dirs)
            settings = FitSettings(max_leaves_per_link, leaf_tolerance)
            given = given_leaves(robot, settings, leaves, fit, check_leaves)
            return cls(
                robot, semantics, surroundings, settings, given, hierarchy, checked, unchecked
            )

    def distance(
        self,
        q: Sequence[float] | np.ndarray,
        exact: bool = False,
        any_contact: bool = False,
        by_design: bool = True,
    ) -> Clearance:
        """Minimum distance and nearest pair at a configuration.

        Args:
            q: (nq,) joint positions, radians or metres, in the order of ``joint_names``.
            exact: whether to measure the shapes instead of the leaves (docs/reports/exact.md). The
                first exact query calls `prepare_exact`.
            any_contact: whether the first contact that is found ends an exact query. Otherwise the
                deepest one by the leaves is found. In contact the distance is that of the leaves,
                which is never larger than the true one: the shapes are at most so deep.
            by_design: whether pairs that are near by design count, such as a forearm and its wrist.
                Otherwise they only do within their own warning distance, as in the state of a
                monitor with default thresholds. The first such query measures the pairs.

        Raises:
            ConfigurationError: q has the wrong shape or a value that is not finite.
            NothingToCheckError: no pair of links is checked.
        """
        if not by_design:
            return self._distance_not_by_design(self.configuration(q), exact, any_contact)
        if exact:
            return self._exact_distance().nearest(self.leaf_queries.configuration(q), any_contact)
        result = self.leaf_queries.nearest(q)
        i, j = result[0], result[1]
        links = self.leaves[i].link, self.leaves[j].link
        return Clearance(result[2], links, result[3:9], result[9:], (i, j))

    def _distance_not_by_design(
        self, q: np.ndarray, exact: bool, any_contact: bool
    ) -> Clearance:
        queries = self._not_by_design.get(exact)
        if queries is None:
            defaults = Thresholds(WARN_DISTANCE, STOP_DISTANCE)
            by_design = near_by_design(self, STOP_DISTANCE, WARN_DISTANCE, exact)
            warn = defaults.of(self.pairs, near=by_design)[:, 1]
            near = {*by_design, *self.sampled_distances(exact).constant}
            queries = self._not_by_design[exact] = DistanceNotByDesign(self, near, warn, exact)
        return queries.of(q, np.inf if exact else -np.inf, any_contact)

    def distances(
        self,
        q: Sequence[float] | np.ndarray,
        exact: bool = False,
        within: float = np.inf,
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
        q = self.leaf_queries.configuration(q)
        if not isinstance(within, float | int | np.number) or np.isnan(within):
            raise ConfigurationError(f"within: {within!r} is not a length in metres")
        out = self.leaf_queries.pair_distances(q.reshape(1, -1))[0]
        return self._exact_distance().refine(q, out, within) if exact else out

    def exact_bounds(
        self,
        q: np.ndarray,
        pairs: np.ndarray,
        leaves: np.ndarray,
        within: float | np.ndarray,
        loose: float | np.ndarray = 1e-3,
        seconds: float = 0.0,
    ) -> np.ndarray:
        """Lower bounds (k,) of the exact distances of some pairs, in bounded time.

        Intended for consecutive configurations, as in monitoring. First, the distances of the
        leaves are raised by the results of earlier queries, less the motion of the links since
        then. Then pairs whose contact is undecided, or whose bound may be too low by more than
        ``loose``, are measured, loosest bound first: one pair, and more until ``seconds`` are over.
        Touching shapes get the distance of their leaves.

        Args:
            q: (nq,) joint positions, radians or metres.
            pairs: (k,) indices into ``pairs`` of the model.
            leaves: (k,) distances of the leaves of these pairs at q, metres.
            within: only distances up to this one are raised, metres; one for all, or (k,).
            loose: tolerated error of a bound, metres; one for all, or (k,).
            seconds: time for further measurements.

        Raises:
            ConfigurationError: q has the wrong shape or a value that is not finite.
        """
        return self._exact_distance().bound(
            self.leaf_queries.configuration(q), pairs, leaves, within, loose, seconds
        )

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
        ranks = _two_ranks(pair, self.link_names, self.name)
        if not isinstance(most, int | np.integer) or most < 1:
            raise ConfigurationError(f"most: {most!r} is not a number of triangles above 0")
        return self._exact_distance().crossing(self.leaf_queries.configuration(q), ranks, int(most))

    def __getstate__(self) -> dict[str, Any]:
        # Prepared exact queries contain addresses of this process.
        return self.__dict__ | {"_exact": None}

    def _exact_distance(self) -> ExactDistance:
        if self._exact is None:
            self._exact = ExactDistance(
                self.exact_shapes, self.leaf_queries.arrays, self.pair_links,
                self.pairs.__getitem__, self.leaf_queries.refusal,
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

    def min_distances(self, configurations: np.ndarray, threads: int = 1) -> np.ndarray:
        """Minimum signed distances (N,) of a batch, in metres.

        Args:
            configurations: (N, nq) one configuration per row, radians or metres.
            threads: number of threads; 0 uses all processors.

        Raises:
            ConfigurationError: configurations have the wrong shape or a value that is not finite.
            NothingToCheckError: no pair of links is checked.
        """
        return self.leaf_queries.min_distances(configurations, threads)

    def is_clear(
        self, configurations: np.ndarray, margin: float = 0.0, threads: int = 1
    ) -> np.ndarray:
        """Whether no checked pair is closer than ``margin``, (N,) booleans.

        The result equals ``min_distances(configurations) >= margin``, but each row stops at the
        first pair that is too close.

        Args:
            configurations: (N, nq) one configuration per row, radians or metres.
            margin: metres.
            threads: number of threads; 0 uses all processors.

        Raises:
            ConfigurationError: configurations have the wrong shape or a value that is not finite,
                or margin is not a finite number.
            NothingToCheckError: no pair of links is checked.
        """
        _require_length(margin)
        return self.leaf_queries.are_clear(configurations, float(margin), threads)

    def contacts(
        self, q: Sequence[float] | np.ndarray, margin: float = 0.0
    ) -> list[tuple[int, int]]:
        """Pairs of leaves nearer than ``margin`` metres at ``q`` (nq,), as indices into ``leaves``.

        Raises:
            ConfigurationError: q has the wrong shape or a value that is not finite, or margin is
                not a finite number.
        """
        _require_length(margin)
        pairs = self.leaf_queries.contacts(self.leaf_queries.configuration(q), margin)
        return list(map(tuple, pairs.tolist()))

    def home_configurations(self) -> np.ndarray:
        """Configurations (homes, nq) in which the robot may rest.

        All joints at zero or the limit nearest to it, and so for each named state of the SRDF with
        the positions that it gives.
        """
        zero = dict.fromkeys(self.joint_names, 0.0)
        homes = [zero, *(zero | dict(state) for state in self.semantics.states.values())]
        rows = np.array([[home[name] for name in self.joint_names] for home in homes])
        rows = rows.reshape(len(homes), len(zero)).clip(self.lower, self.upper)
        return rows[np.sort(np.unique(rows, axis=0, return_index=True)[1])]

    def sampled_distances(self, exact: bool = True, beyond: float = 0.0) -> SampledDistances:
        """Distances of near pairs at home and over the joint ranges of the robot.

        Measured at the first call, which takes 0.1 s for a UR5 and 10 s for a hand of fine meshes,
        and cached on disk. ``exact``: measured on the shapes, which calls `prepare_exact`;
        otherwise on the leaves. ``beyond``: the table reaches beyond this distance, metres.
        """
        key = exact, reach_for(beyond)
        if key not in self._sampled:
            whole = copy.copy(self)
            whole._set_joints()  # position limits that were narrowed since do not count
            self._sampled[key] = sampled_distances(whole, *key)
            self._exact = whole._exact
        return self._sampled[key]

    def shares_within(self, distance: float) -> np.ndarray:
        """Share (len(pairs),) of the sampled configurations with leaves within ``distance``, m.

        From `sampled_distances`; 0 for pairs that are rarely near.
        """
        table, shares = self.sampled_distances(False, distance), np.zeros(len(self.pairs))
        shares[table.pairs] = table.share_within(distance)
        return shares

    def surface_distances(
        self, q: np.ndarray, pairs: np.ndarray, near_last: bool = True, limit: float = np.inf
    ) -> np.ndarray:
        """Exact distances (k,) of pairs by index (k,) at q (nq,), metres; 0 in contact.

        A distance that is not below ``limit`` may be any number from there on. ``near_last``:
        whether q may be near that of the last query, whose nearest triangles are measured first.
        Otherwise they only delay the search.
        """
        if not near_last:
            self._exact_distance().forget()
        pairs = np.asarray(pairs, dtype=np.int64)
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
        q = self.leaf_queries.configuration(q)
        return self._exact_distance().points(q, pairs, limits, enough)

    def exact_arrays(self) -> tuple[np.ndarray, ...]:
        """Return the first arguments of the kernels of `mesh_distance.nearest_query`."""
        return self._exact_distance().arrays

    def leaf_segments(self, q: Sequence[float] | np.ndarray) -> np.ndarray:
        """End points (len(leaves), 2, 3) of the leaves at ``q`` (nq,), base frame, metres."""
        return self.leaf_queries.segments(q)

    def link_poses(self, q: Sequence[float] | np.ndarray) -> dict[str, np.ndarray]:
        """Pose (4, 4) of every link of the robot at ``q`` (nq,), in the base frame."""
        rows = self.leaf_queries.configuration(q).reshape(1, -1)
        poses = link_poses(self.bodies, self.robot.links, rows)
        return {link: pose[0] for link, pose in poses.items()}

    def work_space(self, kept: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Copies of the packed arrays (numbers, index), for use in another thread.

        ``kept`` (pairs,) bool: the pairs that searches of the tree find; None: all.
        """
        numbers, index = self.leaf_queries.arrays
        arrays = numbers.copy(), index.copy()
        if kept is not None:
            close_all_but(kept, *arrays)
        return arrays

    def joints_between(self, a: str, b: str) -> list[int]:
        """Sorted entries of q that change the relative pose of two links or obstacles.

        Other names, as of objects of a live scene, are taken to stand on the base.
        """
        up, down = self.bodies.between(*(self._placed.body_of.get(name, 0) for name in (a, b)))
        return np.unique(self.bodies.columns[up + down]).tolist()

    @property
    def moving_links(self) -> list[str]:
        """Links with shapes that are moved by a joint, in the order of ``link_names``."""
        return [name for name in self.link_names if self._placed.body_of[name] > 0]

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

    def twin(self, pairs: Collection[tuple[str, str]] | None = None) -> CollisionModel:
        """A copy of the model for another thread; nothing is loaded or fitted again.

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

    def overlapping_by_design(
        self, pairs: Sequence[tuple[str, str]]
    ) -> dict[tuple[str, str], str]:
        """Return those of ``pairs`` that a model omits because of their contacts, and why.

        The rules are those for the pairs of a model (docs/behaviour.md). They do not depend on
        whether this model checks a pair, nor on pairs of its SRDF.

        Raises:
            ConfigurationError: a name is not a link with shapes.
        """
        for pair in pairs:
            _two_ranks(pair, self.link_names, self.name)
        other = copy.copy(self)
        other.pairs = list(pairs)
        other._pack()
        reasons, _ = pairs_to_leave_out(other)
        return {other.pairs[k]: reason for k, reason in reasons.items()}

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

    def with_scene(self, scene: Scene) -> CollisionModel:
        """Return the same robot with another scene, in a fraction of the time of a load.

        The pairs are those of a load with ``scene``: all with an obstacle are checked, except those
        that it ignores. The leaves are kept, and which pairs overlap by design; only those that the
        current scene ignores are judged now. ``scene`` refers to links and joints of the robot, not
        of the current scene. Warnings are of rules (``checked``) only, and not repeated.
        """
        other = copy.copy(self)
        other.scene = scene
        other.robot = with_joints(without_joints(self.robot, self.scene.joints), scene.joints)
        other._set_joints()
        other._place_leaves(None, self.fits)
        selection = other._select_pairs()
        links = self.robot.links.keys()
        ignored = {frozenset(pair) for pair in self.scene.ignore if links >= set(pair)}
        new = [pair for pair in selection.pairs if frozenset(pair) in ignored]
        if new:
            other._by_design = self._by_design | other.overlapping_by_design(new)
        other._leave_out(selection, logging.DEBUG)
        for text in other.warnings[len(self.warnings) :]:
            logger.warning("%s", text)
        # A twin with fewer pairs lists the others nowhere: they stay out.
        listed = {*self.pairs, *((a, b) for a, b, _ in self.unmonitored_pairs)}
        obstacles = set(other._placed.obstacle_names)
        other.pairs = [
            pair for pair in other.pairs if pair in listed or not obstacles.isdisjoint(pair)
        ]
        other._pack()
        return other

    # -- loading ---------------------------------------------------------------------

    def _set_joints(self) -> None:
        """Set the names and limits of the elements of a configuration."""
        self.bodies = rigid_bodies(self.robot)
        joints = self.bodies.joints
        self.joint_names: tuple[str, ...] = self.bodies.joint_names
        self.lower = np.array([joint.lower for joint in joints])
        self.upper = np.array([joint.upper for joint in joints])
        continuous = np.array([joint.kind == "continuous" for joint in joints], dtype=bool)
        self.unlimited = np.array([continuous, continuous])
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
        self.exact_shapes = placed.shapes

    def _select_pairs(self) -> PairSelection:
        """Use the pairs that the SRDF, the scene and rules select, regardless of their shapes."""
        selection = PairSelection(
            self.robot, self.bodies, self.semantics, self.scene, self._placed, self._rules
        )
        self.pairs, self.unmonitored_pairs = selection.pairs, selection.unmonitored
        return selection

    def _choose_pairs(self) -> None:
        selection = self._select_pairs()
        self._pack()
        packed = self.pairs
        reasons, warnings = pairs_to_leave_out(self)
        self._by_design = {packed[k]: reason for k, reason in reasons.items()}
        self.warnings += warnings
        self._leave_out(selection, logging.INFO)
        self.warnings += meeting_around_turns(self)
        if self.pairs != packed:
            self._pack()
        known = [*self.pairs, *((a, b) for a, b, _ in self.unmonitored_pairs)]
        self.warnings += tuple(self._rules.without_pair(known, self.link_names))

    def _leave_out(self, selection: PairSelection, level: int) -> None:
        """Omit pairs whose shapes overlap by design; see `PairSelection.leave_out`."""
        warnings = selection.leave_out(self._by_design, level)
        self.pairs, self.unmonitored_pairs = selection.pairs, selection.unmonitored
        known = set(self.warnings)
        self.warnings += tuple(text for text in warnings if text not in known)

    def _pack(self) -> None:
        placed = self._placed
        rank = {name: k for k, name in enumerate(self.link_names)}
        rows = np.array([[rank[a], rank[b]] for a, b in self.pairs], dtype=np.int64)
        self.pair_links = rows.reshape(-1, 2)
        of_leaves = np.array([placed.body_of[leaf.link] for leaf in self.leaves], dtype=np.int64)
        arrays = pack_model(
            self.bodies, placed.body_leaves, of_leaves, placed.ranges, self.pair_links
        )
        query.place_all(*arrays)
        self.leaf_queries = LeafQueries(
            arrays, self.name, self.joint_names, self.link_names, self.unmonitored_pairs
        )
        self._exact: ExactDistance | None = None  # until `prepare_exact`
        # Before any query, because queries write to the arrays.
        self.content = content_key(
            *arrays, self.lower, self.upper, self.joint_names, placed.obstacle_names,
            self.exact_shapes.content,
        )  # fmt: skip
        self._sampled: dict[tuple[bool, float], SampledDistances] = {}
        self._not_by_design: dict[bool, DistanceNotByDesign] = {}

    def configuration(self, q: Sequence[float] | np.ndarray) -> np.ndarray:
        """Return ``q`` as an array (nq,) of numbers; queries check the values.

        Raises:
            ConfigurationError: it has another shape, or is not of numbers.
        """
        return self.leaf_queries.configuration(q)

    def refusal(self, code: int, q: Sequence[float] | np.ndarray) -> Exception:
        """The error for the return code of a kernel: -1 no pairs, -2 - k an invalid q[k]."""
        return self.leaf_queries.refusal(code, q)
