# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""CollisionModel: a robot and its scene, prepared for distance queries."""

from __future__ import annotations

import copy
import logging
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from collision_monitor.common.limits import LoadingLimits, check_count, limited
from collision_monitor.common.safe_files import ReceivedText
from collision_monitor.fitting.fitter import FITS, given_leaves
from collision_monitor.fitting.shapes import FitSettings
from collision_monitor.geometry.leaf import Leaf
from collision_monitor.hierarchy.query import Clearance, warm_up
from collision_monitor.mesh_distance.mesh_tree import Hierarchy
from collision_monitor.model.left_out_pairs import meeting_around_turns, pairs_to_leave_out
from collision_monitor.model.near_by_design import MinimumDistance, near_by_design
from collision_monitor.model.pair_queries import PairQueries, two_ranks
from collision_monitor.model.pair_selection import PairRules, PairSelection
from collision_monitor.model.sampled_distances import SampledDistances, reach_for, sampled_distances
from collision_monitor.model.thresholds import STOP_DISTANCE, WARN_DISTANCE, Thresholds
from collision_monitor.robot.description import Robot
from collision_monitor.robot.scene import Scene, load_scene, with_joints, without_joints
from collision_monitor.robot.srdf import Semantics, load_srdf
from collision_monitor.robot.urdf import load_robot

logger = logging.getLogger(__name__)

Source = str | bytes | os.PathLike | ReceivedText


class CollisionModel(PairQueries):
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
        velocity_limits: (nq,) rad/s or m/s, from the URDF; infinite where it has none.
        link_names: links and obstacles with shapes.
        carriers: of each link and obstacle, the link that it is fixed to: a link to itself.
        body_numbers: (links,) body of each of ``link_names``, as of ``bodies``.
        link_rows: the index of each name in ``link_names``.
        leaves: the leaves of all links and obstacles.
        leaf_links: (leaves,) the link of each, an index into ``link_names``.
        pairs: pairs of links that are checked.
        pair_links: (pairs, 2) the links of ``pairs``, as indices into ``link_names``.
        unmonitored_pairs: pairs that are not checked: ``link_a``, ``link_b`` and ``reason``.
        bodies: the kinematic tree; links that are rigidly connected are one body.
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
        self.warnings: tuple[str, ...] = (*robot.warnings, *semantics.warnings)

        shaped = [len(link.shapes) for link in robot.links.values() if link.shapes]
        check_count("max_links", len(shaped), f"robot {robot.name!r}")
        check_count(
            "max_shapes", sum(shaped) + len(scene.obstacles), f"robot {robot.name!r} and its scene"
        )
        self._rules = PairRules(checked, unchecked)
        pool = ThreadPoolExecutor(1)  # most of compiling needs no GIL: fit meanwhile
        try:
            compiled = pool.submit(warm_up)
            super().__init__(robot, semantics, scene, settings or FitSettings(), hierarchy, leaves)
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
            return self._exact_distance().nearest(self.configuration(q), any_contact)
        result = self._nearest_leaves(q)
        i, j = result[0], result[1]
        links = self.leaves[i].link, self.leaves[j].link
        return Clearance(result[2], links, result[3:9], result[9:], (i, j))

    def _distance_not_by_design(self, q: np.ndarray, exact: bool, any_contact: bool) -> Clearance:
        queries = self._not_by_design.get(exact)
        if queries is None:
            defaults = Thresholds(WARN_DISTANCE, STOP_DISTANCE)
            by_design = near_by_design(self, STOP_DISTANCE, WARN_DISTANCE, exact)
            warn = defaults.of(self.pairs, near=by_design)[:, 1]
            near = {*by_design, *self.sampled_distances(exact).constant}
            queries = self._not_by_design[exact] = MinimumDistance(self, near, warn, exact)
        return queries.of(q, np.inf if exact else -np.inf, any_contact)

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

    def overlapping_by_design(self, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
        """Return those of ``pairs`` that a model omits because of their contacts, and why.

        The rules are those for the pairs of a model (docs/behaviour.md). They do not depend on
        whether this model checks a pair, nor on pairs of its SRDF.

        Raises:
            ConfigurationError: a name is not a link with shapes.
        """
        for pair in pairs:
            two_ranks(pair, self.link_names, self.name)
        other = copy.copy(self)
        other.pairs = list(pairs)
        other._pack()
        reasons, _ = pairs_to_leave_out(other)
        return {other.pairs[k]: reason for k, reason in reasons.items()}

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
        super()._pack()
        self._sampled: dict[tuple[bool, float], SampledDistances] = {}
        self._not_by_design: dict[bool, MinimumDistance] = {}
