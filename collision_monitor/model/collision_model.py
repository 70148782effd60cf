# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""CollisionModel: a robot and its scene, prepared for distance queries."""

from __future__ import annotations

import copy
import logging
import math
import os
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from collision_monitor.common.disk_cache import content_key
from collision_monitor.common.limits import (
    LARGEST_POSITION,
    LoadingLimits,
    check_count,
    check_time,
    limited,
)
from collision_monitor.common.safe_files import ReceivedText
from collision_monitor.common.text import shortened
from collision_monitor.errors import (
    ConfigurationError,
    NothingToCheckError,
)
from collision_monitor.fitting.approach_points import watchers_of
from collision_monitor.fitting.fitter import FITS, fit_all, given_leaves, needs_watchers
from collision_monitor.fitting.shapes import Fit, FitSettings
from collision_monitor.geometry.leaf import Leaf, moved
from collision_monitor.hierarchy import query
from collision_monitor.hierarchy.clearance import Clearance
from collision_monitor.hierarchy.packed import close_all_but, pack_model
from collision_monitor.hierarchy.query import warm_up
from collision_monitor.mesh_distance.mesh_distance import (
    CROSSINGS,
    Crossing,
    ExactDistance,
    ExactShapes,
    LinkShapes,
)
from collision_monitor.mesh_distance.mesh_tree import Hierarchy
from collision_monitor.model.left_out_pairs import pairs_to_leave_out
from collision_monitor.model.near_by_design import DistanceNotByDesign, near_by_design
from collision_monitor.model.neighbour_contacts import meeting_around_turns
from collision_monitor.model.sampled_distances import SampledDistances, sampled_distances
from collision_monitor.model.thresholds import (
    NOT_TWO_NAMES,
    STOP_DISTANCE,
    WARN_DISTANCE,
    Rule,
    Thresholds,
    brought_back,
    excluded_by,
    may_be_object,
    mixed_rules,
    two_names,
)
from collision_monitor.robot.bodies import (
    Bodies,
    axis_distances,
    link_poses,
    relative_reach,
    rigid_bodies,
)
from collision_monitor.robot.description import Robot, Shape
from collision_monitor.robot.pairs import (
    NEIGHBOURS,
    UnmonitoredPair,
    count_pairs,
    omitted_pairs,
    select_pairs,
)
from collision_monitor.robot.scene import Scene, load_scene, with_joints, without_joints
from collision_monitor.robot.srdf import Semantics, load_srdf
from collision_monitor.robot.urdf import load_robot

logger = logging.getLogger(__name__)

Source = str | bytes | os.PathLike | ReceivedText

_MIN_ROWS_PER_THREAD = 200  # fewer rows do not justify a thread
_FLOAT = np.dtype(np.float64)
# Configurations in which approaches of links are sampled; fewer if that would take seconds.
_APPROACH_SAMPLES = 512
_MAX_APPROACH_PAIRS = 400_000
# With more links than this, approaches are not sampled: there are too many pairs.
_MAX_APPROACH_LINKS = 400
_MOST_NAMED = 8  # pairs in a message


def _require_length(margin: float) -> None:
    if not math.isfinite(margin):  # numpy.isfinite would take as long as a small query
        raise ConfigurationError(f"margin: {margin!r} is not a length in metres")


def _patterns(name: str, entries: Sequence[str]) -> list[tuple[str, str]]:
    found = [two_names(pattern) for pattern in entries]
    if None in found:
        raise ConfigurationError(f"{name}: {entries[found.index(None)]!r} {NOT_TWO_NAMES}")
    return found


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
        unmonitored_pairs: pairs that are not checked: ``link_a``, ``link_b`` and ``reason``.
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
        self._reach: tuple[np.ndarray, np.ndarray] | None = None
        self._found = np.empty((4096, 2), dtype=np.int64)  # work space of contacts()
        pool = ThreadPoolExecutor(1)  # most of compiling needs no GIL: fit meanwhile
        try:
            compiled = pool.submit(warm_up)
            self._place_leaves(leaves)
            compiled.result()
        finally:
            pool.shutdown(wait=False)  # an error does not wait for the compiler
        self._choose_pairs(checked, unchecked)
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
            return self._distance_not_by_design(self._configuration(q), exact, any_contact)
        if exact:
            return self._exact_distance().nearest(self._configuration(q), any_contact)
        result = query.distance(self._numbers, self._index, self._configuration(q))
        i, j = result[0], result[1]
        if i < 0:
            raise self.refusal(i, q)
        links = self._leaf_links
        return Clearance(result[2], (links[i], links[j]), result[3:9], result[9:], (i, j))

    def _distance_not_by_design(
        self, q: np.ndarray, exact: bool, any_contact: bool
    ) -> Clearance:
        queries = self._not_by_design.get(exact)
        if queries is None:
            defaults = Thresholds(WARN_DISTANCE, STOP_DISTANCE)
            structural = near_by_design(self, STOP_DISTANCE, WARN_DISTANCE, exact)
            warn = defaults.of(self.pairs, structural=structural)[:, 1]
            near = {*structural, *self.sampled_distances(exact).constant}
            queries = self._not_by_design[exact] = DistanceNotByDesign(self, near, warn, exact)
        nearest = self.distance(q, exact, any_contact)
        return queries.of(q, nearest, np.inf if exact else -np.inf)

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
        q = self._configuration(q)
        if not isinstance(within, float | int | np.number) or np.isnan(within):
            raise ConfigurationError(f"within: {within!r} is not a length in metres")
        out = self._pair_distances(q.reshape(1, -1))[0]
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
            self._configuration(q), pairs, leaves, within, loose, seconds
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
        if isinstance(pair, str) or len(pair) != 2 or pair[0] == pair[1]:
            raise ConfigurationError(f"pair: {pair!r} is not two different links or obstacles")
        if unknown := [name for name in pair if name not in self.link_names]:
            raise ConfigurationError(
                f"{unknown[0]!r} is not among the {len(self.link_names)} links and obstacles with "
                f"shapes of '{self.name}'"
            )
        if not isinstance(most, int | np.integer) or most < 1:
            raise ConfigurationError(f"most: {most!r} is not a number of triangles above 0")
        ranks = self.link_names.index(pair[0]), self.link_names.index(pair[1])
        return self._exact_distance().crossing(self._configuration(q), ranks, int(most))

    def __getstate__(self) -> dict[str, Any]:
        # Prepared exact queries contain addresses of this process.
        return self.__dict__ | {"_exact": None}

    def _exact_distance(self) -> ExactDistance:
        if self._exact is None:
            # A weak reference: a reference cycle would keep the model in memory until garbage
            # collection.
            refusal = weakref.WeakMethod(self.refusal)
            self._exact = ExactDistance(
                self.exact_shapes, (self._numbers, self._index), self.pair_links,
                self.pairs.__getitem__, lambda code, q: refusal()(code, q),
            )  # fmt: skip
        return self._exact

    def link_distances(self, q: Sequence[float] | np.ndarray) -> dict[str, float]:
        """Distance in metres of every link and obstacle to the nearest of its pairs at ``q`` (nq,).

        inf if the link is in no pair.
        """
        return self.nearest_of_links(self.distances(q))

    def nearest_of_links(self, distances: np.ndarray) -> dict[str, float]:
        """Same as `link_distances`, from known ``distances`` (len(pairs),)."""
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
        configurations = self._configurations(configurations)
        self._require_pairs()
        out = np.empty(len(configurations))
        self._in_parallel(
            lambda space, rows, out: query.min_distances(*space, rows, out),
            configurations, out, threads,
        )  # fmt: skip
        return out

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
        configurations = self._configurations(configurations)
        self._require_pairs()
        out = np.empty(len(configurations), dtype=np.bool_)
        self._in_parallel(
            lambda space, rows, out: query.clear_rows(*space, rows, float(margin), out),
            configurations, out, threads,
        )  # fmt: skip
        return out

    def _in_parallel(
        self,
        kernel: Callable[[Sequence[np.ndarray], np.ndarray, np.ndarray], int],
        configurations: np.ndarray,
        out: np.ndarray,
        threads: int,
    ) -> None:
        """Run a batch kernel over ``configurations``; every thread has a copy of the work space."""
        threads = min(
            threads or os.cpu_count() or 1, max(1, len(configurations) // _MIN_ROWS_PER_THREAD)
        )
        if threads <= 1:
            bad = kernel((self._numbers, self._index), configurations, out)
            self._raise_for_row(bad, configurations)
            return
        bounds = np.linspace(0, len(configurations), threads + 1).astype(int)
        with ThreadPoolExecutor(threads) as pool:
            parts = [
                pool.submit(
                    kernel, (self._numbers.copy(), self._index.copy()), configurations[a:b],
                    out[a:b],
                )  # fmt: skip
                for a, b in zip(bounds[:-1], bounds[1:], strict=True)
            ]
        for start, part in zip(bounds, parts, strict=False):
            if (bad := part.result()) >= 0:
                self._raise_for_row(start + bad, configurations)

    def contacts(
        self, q: Sequence[float] | np.ndarray, margin: float = 0.0
    ) -> list[tuple[int, int]]:
        """Pairs of leaves nearer than ``margin`` metres at ``q`` (nq,), as indices into ``leaves``.

        Raises:
            ConfigurationError: q has the wrong shape or a value that is not finite, or margin is
                not a finite number.
        """
        _require_length(margin)
        return list(map(tuple, self._leaf_contacts(self._configuration(q), margin).tolist()))

    def _leaf_contacts(self, q: np.ndarray, margin: float) -> np.ndarray:
        """Pairs (k, 2) of leaves nearer than ``margin`` metres; valid until the next call."""
        while True:
            leaf_pairs = self._found
            count = query.contacts(self._numbers, self._index, q, float(margin), leaf_pairs)
            if count < 0:
                raise self.refusal(count, q)
            if count <= len(leaf_pairs):
                return leaf_pairs[:count]
            self._found = np.empty((2 * len(leaf_pairs), 2), dtype=np.int64)

    def near_shares(self, configurations: np.ndarray, margin: float) -> np.ndarray:
        """Share (len(pairs),) of ``configurations`` (N, nq) with leaves nearer than ``margin``.

        Uses the tree, because few pairs of a large scene are near.
        """
        count = len(self.link_names)
        link_of = np.repeat(np.arange(count), np.diff(self._link_leaves, axis=1).ravel())

        def keys(links: np.ndarray) -> np.ndarray:
            links = np.sort(links, axis=1)
            return links[:, 0] * count + links[:, 1]

        known = keys(self.pair_links)
        order = np.argsort(known)
        known = known[order]
        hits = np.zeros(len(known))
        for q in configurations:
            check_time("selecting pairs")
            found = np.unique(keys(link_of[self._leaf_contacts(q, margin)]))
            hits[order[np.searchsorted(known, found)]] += 1
        return hits / len(configurations)

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

    def sampled_distances(self, exact: bool = True) -> SampledDistances:
        """Distances of near pairs at home and over the joint ranges.

        Measured at the first call, which takes 0.1 s for a UR5 and 10 s for a hand of fine meshes,
        and cached on disk. ``exact``: measured on the shapes, which calls `prepare_exact`;
        otherwise on the leaves.
        """
        if exact not in self._sampled:
            self._sampled[exact] = sampled_distances(self, exact)
        return self._sampled[exact]

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
        self, q: np.ndarray, pairs: np.ndarray, limits: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Exact distances (k,) as `surface_distances`, and nearest points (k, 2, 3), base frame.

        A distance that is not below its limit (k,) may be any number from there on. Points are
        only valid for distances above 0 and below their limit.
        """
        return self._exact_distance().points(self._configuration(q), pairs, limits)

    def exact_arrays(self) -> tuple[np.ndarray, ...]:
        """Return the first arguments of the kernels of `mesh_distance.nearest_query`."""
        return self._exact_distance().arrays

    def leaf_segments(self, q: Sequence[float] | np.ndarray) -> np.ndarray:
        """End points (len(leaves), 2, 3) of the leaves at ``q`` (nq,), base frame, metres."""
        q = self._configuration(q)
        out = np.empty((len(self.leaves), 6))
        code = query.leaf_segments(self._numbers, self._index, q, out)
        if code < 0:
            raise self.refusal(code, q)
        return out.reshape(-1, 2, 3)

    def link_poses(self, q: Sequence[float] | np.ndarray) -> dict[str, np.ndarray]:
        """Pose (4, 4) of every link of the robot at ``q`` (nq,), in the base frame."""
        rows = self._configuration(q).reshape(1, -1)
        poses = link_poses(self._bodies, self.robot.links, rows)
        return {link: pose[0] for link, pose in poses.items()}

    def work_space(self, kept: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Copies of the packed arrays (numbers, index), for use in another thread.

        ``kept`` (pairs,) bool: the pairs that searches of the tree find; None: all.
        """
        arrays = self._numbers.copy(), self._index.copy()
        if kept is not None:
            close_all_but(kept, *arrays)
        return arrays

    @property
    def bodies(self) -> Bodies:
        """The kinematic tree; links that are rigidly connected are one body."""
        return self._bodies

    def joints_between(self, a: str, b: str) -> list[int]:
        """Sorted entries of q that change the relative pose of two links or obstacles.

        Other names, as of objects of a live scene, are taken to stand on the base.
        """
        up, down = self._bodies.between(self._body_of.get(a, 0), self._body_of.get(b, 0))
        return np.unique(self._bodies.columns[up + down]).tolist()

    @property
    def moving_links(self) -> list[str]:
        """Links with shapes that are moved by a joint, in the order of ``link_names``."""
        return [name for name in self.link_names if self._body_of[name] > 0]

    @property
    def pair_links(self) -> np.ndarray:
        """(pairs, 2) the links of ``pairs``, as indices into ``link_names``."""
        return self._pair_links

    def link_reach(self) -> np.ndarray:
        """Upper bounds (links, moving joints) of the travel of a link per unit of a joint.

        Rows are in the order of ``link_names``; mimic joints have their own columns. Metres per
        radian; 1 for prismatic joints.
        """
        return self._reaches()[0]

    def axis_distances(self) -> np.ndarray:
        """Upper bounds (links, moving joints) of the distance of a link from the axis of a joint.

        Like `link_reach`, but also for joints that do not move the link. Infinity for obstacles of
        the scene.
        """
        return self._reaches()[1]

    def pair_reach(self, which: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Metres (k, moving joints) that links come nearer at most for a unit of a joint.

        ``which``: indices (k,) of pairs, by default all.
        """
        a, b = self._pair_links[which].T
        travel, distances = self._reaches()
        return relative_reach(travel[a], travel[b], (distances[a], distances[b]))

    def _reaches(self) -> tuple[np.ndarray, np.ndarray]:
        if self._reach is None:
            leaves = [self._body_leaves[a:b] for a, b in self._link_leaves.tolist()]
            of_links = [self._body_of[name] for name in self.link_names]
            distances, moves = axis_distances(self._bodies, of_links, leaves)
            is_own = np.array([name in self.robot.links for name in self.link_names], dtype=bool)
            self._reach = (
                np.where(moves, distances, 0.0),
                np.where(is_own[:, None], distances, np.inf),
            )
        return self._reach

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
        twin._found = self._found.copy()
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
        if unknown := [name for pair in pairs for name in pair if name not in self.link_names]:
            raise ConfigurationError(
                f"{unknown[0]!r} is not among the {len(self.link_names)} links and obstacles with "
                f"shapes of '{self.name}'"
            )
        other = copy.copy(self)
        other._found = self._found.copy()
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
        other._reach = None
        other._found = self._found.copy()
        other._set_joints()
        other._place_leaves(None, self.fits)
        other._select_pairs()
        links = self.robot.links.keys()
        ignored = {frozenset(pair) for pair in self.scene.ignore if links >= set(pair)}
        new = [pair for pair in other.pairs if frozenset(pair) in ignored]
        if new:
            other._by_design = self._by_design | other.overlapping_by_design(new)
        other._apply_design(logging.DEBUG)
        for text in other.warnings[len(self.warnings) :]:
            logger.warning("%s", text)
        # A twin with fewer pairs lists the others nowhere: they stay out.
        listed = {*self.pairs, *((a, b) for a, b, _ in self.unmonitored_pairs)}
        obstacles = set(other._obstacle_names)
        other.pairs = [
            pair for pair in other.pairs if pair in listed or not obstacles.isdisjoint(pair)
        ]
        other._pack()
        return other

    # -- loading ---------------------------------------------------------------------

    def _set_joints(self) -> None:
        """Set the names and limits of the elements of a configuration."""
        self._bodies = rigid_bodies(self.robot)
        joints = self._bodies.joints
        self.joint_names: tuple[str, ...] = self._bodies.joint_names
        self._shape = (len(joints),)  # of a configuration
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
        """Fit leaves to all shapes and order them as the kernels need them: moving ones first.

        ``given``: leaves of the robot's links; ``known``: their fits. Links in either are not
        fitted.
        """
        body_of = dict(self._bodies.link_bodies)
        pose_of = dict(self._bodies.link_poses)
        links = {link.name: link.shapes for link in self.robot.links.values() if link.shapes}
        obstacles = {obstacle.name: (obstacle.shape,) for obstacle in self.scene.obstacles}
        for obstacle in self.scene.obstacles:
            body_of[obstacle.name] = body_of[obstacle.link]
            pose_of[obstacle.name] = pose_of[obstacle.link]
        self._obstacle_names = list(obstacles)
        self._body_of = body_of
        fitted = links if given is None and known is None else {}
        watched = needs_watchers(fitted) and len(fitted) <= _MAX_APPROACH_LINKS
        watchers = self._watchers(links) if watched else None
        self.fits: dict[str, list[Fit]] = fit_all(fitted, obstacles, self.settings, watchers)
        if known is not None:
            self.fits |= {name: known[name] for name in links}
        if given is not None:
            self.fits |= {
                name: [Fit(tuple(given[name]), tuple(links[name]), np.nan, np.nan)]
                for name in links
            }
        leaves = {
            name: [leaf for fit in fits for leaf in fit.leaves] for name, fits in self.fits.items()
        }
        # Chain order, static links last.
        names = sorted(leaves, key=lambda name: body_of[name] == 0)
        self.link_names: tuple[str, ...] = tuple(names)
        self.leaves: list[Leaf] = [leaf for name in names for leaf in leaves[name]]
        self._body_leaves = []
        for name in names:
            in_place = np.array_equal(pose_of[name], np.eye(4))
            self._body_leaves += (
                leaves[name] if in_place else moved(leaves[name], pose_of[name], name)
            )
        self._leaf_links = [leaf.link for leaf in self.leaves]
        shapes = {**links, **obstacles}
        rank = {name: k for k, name in enumerate(names)}
        self.exact_shapes = ExactShapes(
            {name: LinkShapes(shapes[name], body_of[name], pose_of[name]) for name in names},
            [rank[name] for name in self._leaf_links],
            self.hierarchy,
        )
        stops = np.cumsum([len(leaves[name]) for name in names])
        self._link_leaves = np.column_stack([np.r_[0, stops[:-1]], stops])

    def _watchers(self, links: Mapping[str, Sequence[Shape]]) -> dict[str, list[np.ndarray]]:
        """Return the watchers of the links that are checked against each other."""
        left_out = omitted_pairs(self.robot, self._bodies, self.semantics, self.scene)
        pairs, _ = select_pairs(list(links), [], self._body_of, left_out)
        count = min(max(_MAX_APPROACH_PAIRS // max(1, len(pairs)), 64), _APPROACH_SAMPLES)
        # Joints of the scene move no link: fits do not depend on them.
        samples = np.tile(np.clip(0.0, self.lower, self.upper), (count, 1))
        own = len(self.joint_names) - len(self.scene.joints)
        samples[:, :own] = np.random.default_rng(1).uniform(
            self.lower[:own], self.upper[:own], (count, own)
        )
        return watchers_of(links, link_poses(self._bodies, links, samples), pairs)

    def _choose_pairs(self, checked: Sequence[str], unchecked: Sequence[str]) -> None:
        self._checked = _patterns("checked", checked)
        self._unchecked = _patterns("unchecked", unchecked)
        self._select_pairs()
        self._pack()
        packed = self.pairs
        reasons, warnings = pairs_to_leave_out(self)
        self._by_design = {packed[k]: reason for k, reason in reasons.items()}
        self.warnings += warnings
        self._apply_design(logging.INFO)
        self.warnings += meeting_around_turns(self)
        if self.pairs != packed:
            self._pack()
        known = [*self.pairs, *((a, b) for a, b, _ in self.unmonitored_pairs)]
        for pattern in Thresholds(rules=tuple(map(Rule, checked))).naming_none(known):
            if not any(may_be_object(name, self.link_names) for name in pattern.split()):
                self.warnings += (f"checked: {pattern!r} matches no pair",)
        for pattern in Thresholds(rules=tuple(map(Rule, unchecked))).naming_none(known):
            self.warnings += (f"unchecked: {pattern!r} matches no pair",)

    def _select_pairs(self, restored: Collection[tuple[str, str]] = ()) -> None:
        """List pairs regardless of their shapes; ``restored``: neighbours that are checked."""
        obstacles = set(self._obstacle_names)
        links = [name for name in self.link_names if name not in obstacles]
        left_out = omitted_pairs(self.robot, self._bodies, self.semantics, self.scene)
        for pair in restored:
            del left_out[frozenset(pair)]
        # Check the number of pairs before listing them: there may be millions.
        least = count_pairs(links, self._obstacle_names, self._body_of) - len(left_out)
        check_count("max_pairs", least, f"robot {self.name!r} and its scene")
        check_time("selecting pairs")
        pairs, unmonitored = select_pairs(links, self._obstacle_names, self._body_of, left_out)
        check_count("max_pairs", len(pairs), f"robot {self.name!r} and its scene")
        excluded = excluded_by(self._unchecked, pairs)
        for a, b in list(excluded):
            if frozenset((a, b)) in self.semantics.enabled:
                del excluded[a, b]
        unmonitored += [
            UnmonitoredPair(a, b, f"not checked by the rule {pattern!r}", by_rule=True)
            for (a, b), pattern in excluded.items()
        ]
        self.pairs: list[tuple[str, str]] = [pair for pair in pairs if pair not in excluded]
        self.unmonitored_pairs: list[UnmonitoredPair] = unmonitored

    def _apply_design(self, level: int) -> None:
        """Omit link pairs whose shapes overlap by design; restore pairs that are to be checked.

        Pairs that overlap by design and neighbours over one joint are checked if the SRDF enables
        them, or ``checked`` names them; see `pairs_to_leave_out` and `brought_back`. ``level``: of
        what is logged.
        """
        left_out = {pair: self._by_design[pair] for pair in self.pairs if pair in self._by_design}
        others = [pair for pair in self.pairs if pair not in left_out]
        left_out |= {
            (a, b): reason for a, b, reason in self.unmonitored_pairs if reason == NEIGHBOURS
        }
        enabled = {pair for pair in left_out if frozenset(pair) in self.semantics.enabled}
        by_rule = [(p.link_a, p.link_b) for p in self.unmonitored_pairs if p.by_rule]
        others += [*enabled, *by_rule]  # a pattern is about these, whether they are checked or not
        unchecked = excluded_by(self._unchecked, list(left_out))
        ruled = brought_back(
            self._checked, others,
            [pair for pair in left_out if pair not in enabled and pair not in unchecked],
        )  # fmt: skip
        for who, pairs in (("the SRDF", enabled), ("a rule", ruled)):
            for a, b in sorted(pairs):
                reason = left_out.pop((a, b))
                logger.log(level, "monitored by %s: '%s' and '%s', although %s", who, a, b, reason)
        if restored := (enabled | ruled).difference(self.pairs):
            self._select_pairs(restored)
        by_design = {pair: why for pair, why in left_out.items() if pair in self._by_design}
        for (a, b), reason in by_design.items():
            self.unmonitored_pairs.append(UnmonitoredPair(a, b, reason, by_design=True))
        self.pairs = [pair for pair in self.pairs if pair not in by_design]
        known = set(self.warnings)
        warnings = mixed_rules(self._checked, others, list(by_design))
        if by_rule:
            names = shortened([f"{a} - {b}" for a, b in by_rule], _MOST_NAMED)
            warnings.append(f"not checked because a rule has check: false: {names}")
        self.warnings += tuple(text for text in warnings if text not in known)

    def _pack(self) -> None:
        self._exact: ExactDistance | None = None  # likewise
        rank = {name: k for k, name in enumerate(self.link_names)}
        rows = np.array([[rank[a], rank[b]] for a, b in self.pairs], dtype=np.int64)
        self._pair_links = rows.reshape(-1, 2)
        self._numbers, self._index = pack_model(
            self._bodies,
            self._body_leaves,
            np.array([self._body_of[leaf.link] for leaf in self.leaves], dtype=np.int64),
            self._link_leaves,
            self._pair_links,
        )
        query.place_all(self._numbers, self._index)
        # Before any query, because queries write to the arrays.
        self.content = content_key(
            self._numbers, self._index, self.lower, self.upper, self.joint_names,
            self._obstacle_names, self.exact_shapes.content,
        )  # fmt: skip
        self._sampled: dict[bool, SampledDistances] = {}
        self._not_by_design: dict[bool, DistanceNotByDesign] = {}

    # -- checks ----------------------------------------------------------------------

    def _configuration(self, q: Sequence[float] | np.ndarray) -> np.ndarray:
        if (
            type(q) is np.ndarray
            and q.dtype is _FLOAT
            and q.shape == self._shape
            and q.flags.c_contiguous
        ):
            return q  # the usual case; the code below would take as long as a small query
        try:
            q = np.ascontiguousarray(q, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"q is not an array of numbers: {error}") from None
        if q.shape != self._shape:
            raise ConfigurationError(
                f"q has shape {q.shape}, but '{self.name}' has {len(self.joint_names)} joints: "
                f"{', '.join(self.joint_names)}"
            )
        return q

    def _configurations(self, configurations: np.ndarray) -> np.ndarray:
        try:
            configurations = np.ascontiguousarray(configurations, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"not an array of configurations: {error}") from None
        if configurations.ndim != 2 or configurations.shape[1] != len(self.joint_names):
            raise ConfigurationError(
                f"configurations have shape {configurations.shape}, not "
                f"(N, {len(self.joint_names)}): one row each, one column per joint of '{self.name}'"
            )
        return configurations

    def _pair_distances(self, configurations: np.ndarray) -> np.ndarray:
        out = np.empty((len(configurations), len(self.pairs)))
        self._raise_for_row(
            query.pair_distances(self._numbers, self._index, configurations, out), configurations
        )
        return out

    def _raise_for_row(self, row: int, configurations: np.ndarray) -> None:
        if row >= 0:
            bad = int(np.flatnonzero(~(np.abs(configurations[row]) <= LARGEST_POSITION))[0])
            raise ConfigurationError(
                f"row {row}: joint '{self.joint_names[bad]}' is at {configurations[row, bad]:.6g}; "
                f"a finite number is needed, at most {LARGEST_POSITION:g}"
            )

    def refusal(self, code: int, q: Sequence[float] | np.ndarray) -> Exception:
        """The error for the return code of a kernel: -1 no pairs, -2 - k an invalid q[k]."""
        if code == -1:
            return self._nothing_to_check()
        return ConfigurationError(
            f"joint '{self.joint_names[-2 - code]}' is at {q[-2 - code]:.6g}; "
            f"a finite number is needed, at most {LARGEST_POSITION:g}"
        )

    def _require_pairs(self) -> None:
        if not self.pairs:
            raise self._nothing_to_check()

    def _nothing_to_check(self) -> NothingToCheckError:
        if not self.unmonitored_pairs:
            return NothingToCheckError(
                f"'{self.name}' has no pair of links to check: only {self.link_names[0]!r} has a "
                "shape; add obstacles"
            )
        return NothingToCheckError(
            f"'{self.name}' has no pair of links to check: of {len(self.link_names)} links with "
            f"shapes, all {len(self.unmonitored_pairs)} pairs are left out (unmonitored_pairs "
            "says why); add obstacles or enable pairs"
        )
