# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The leaves of all links and obstacles, fitted and placed on their bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from collision_monitor.fitting.approach_points import watchers_of
from collision_monitor.fitting.fitter import fit_all, needs_watchers
from collision_monitor.fitting.shapes import Fit, FitSettings
from collision_monitor.geometry.leaf import Leaf, moved
from collision_monitor.mesh_distance.mesh_distance import ExactShapes, LinkShapes
from collision_monitor.robot.bodies import Bodies, axis_distances, link_poses
from collision_monitor.robot.description import Robot, Shape
from collision_monitor.robot.pairs import omitted_pairs, select_pairs
from collision_monitor.robot.scene import Scene, require_places
from collision_monitor.robot.srdf import Semantics

# Configurations in which approaches of links are sampled; fewer if that would take seconds.
_APPROACH_SAMPLES = 512
_MAX_APPROACH_PAIRS = 400_000
# With more links than this, approaches are not sampled: there are too many pairs.
_MAX_APPROACH_LINKS = 400


class PlacedLeaves:
    """Leaves in the order that the kernels need: moving links first, along the chains.

    Attributes:
        fits: by link or obstacle, the fits of its shapes.
        link_names: links and obstacles with shapes.
        obstacle_names: those that are obstacles.
        carriers: of each link and obstacle, the link that it is fixed to: a link to itself.
        body_of: body of each of them.
        leaves: of all, in the frames of their links.
        body_leaves: the same in the frames of their bodies.
        ranges: (links, 2) first leaf of each link and one past its last.
        leaf_links: (leaves,) the link of each leaf, an index into ``link_names``.
        shapes: the shapes inside them, for exact distances.
    """

    def __init__(
        self, robot: Robot, bodies: Bodies, semantics: Semantics, scene: Scene,
        settings: FitSettings, hierarchy: str, given: Mapping[str, Sequence[Leaf]] | None,
        known: Mapping[str, list[Fit]] | None,
    ) -> None:  # fmt: skip
        """Fit leaves to all shapes.

        ``given``: leaves of the robot's links; ``known``: their fits. Links in either are not
        fitted. ``hierarchy``: as of `CollisionModel.from_urdf`.

        Raises:
            SceneError: as `require_places`.
        """
        require_places(scene, robot)
        self._bodies, self._links = bodies, frozenset(robot.links)
        self.carriers = {name: name for name in robot.links}
        self.carriers |= {obstacle.name: obstacle.link for obstacle in scene.obstacles}
        self.body_of = {name: bodies.link_bodies[link] for name, link in self.carriers.items()}
        shapes = {link.name: link.shapes for link in robot.links.values() if link.shapes}
        self.fits = _fits_of(robot, bodies, semantics, scene, settings, shapes, given, known)
        shapes |= {obstacle.name: (obstacle.shape,) for obstacle in scene.obstacles}
        self.obstacle_names = [obstacle.name for obstacle in scene.obstacles]
        leaves = {
            name: [leaf for fit in fits for leaf in fit.leaves] for name, fits in self.fits.items()
        }
        names = sorted(leaves, key=lambda name: self.body_of[name] == 0)  # static links last
        self.link_names: tuple[str, ...] = tuple(names)
        self.leaves: list[Leaf] = [leaf for name in names for leaf in leaves[name]]
        self.body_leaves = []
        poses = {name: bodies.link_poses[self.carriers[name]] for name in names}
        for name, pose in poses.items():
            in_place = np.array_equal(pose, np.eye(4))
            self.body_leaves += leaves[name] if in_place else moved(leaves[name], pose, name)
        stops = np.cumsum([len(leaves[name]) for name in names])
        self.ranges = np.column_stack([np.r_[0, stops[:-1]], stops])
        self.leaf_links = np.repeat(np.arange(len(names)), np.diff(self.ranges).ravel())
        self.shapes = ExactShapes(
            {name: LinkShapes(shapes[name], self.body_of[name], poses[name]) for name in names},
            self.leaf_links, hierarchy,
        )  # fmt: skip
        self._reach: tuple[np.ndarray, np.ndarray] | None = None

    def reaches(self) -> tuple[np.ndarray, np.ndarray]:
        """`CollisionModel.link_reach` and `CollisionModel.axis_distances`."""
        if self._reach is None:
            leaves = [self.body_leaves[a:b] for a, b in self.ranges.tolist()]
            of_links = [self.body_of[name] for name in self.link_names]
            distances, moves = axis_distances(self._bodies, of_links, leaves)
            is_own = np.array([name in self._links for name in self.link_names], dtype=bool)
            self._reach = (
                np.where(moves, distances, 0.0),
                np.where(is_own[:, None], distances, np.inf),
            )
        return self._reach


def _fits_of(
    robot: Robot, bodies: Bodies, semantics: Semantics, scene: Scene, settings: FitSettings,
    links: Mapping[str, Sequence[Shape]], given: Mapping[str, Sequence[Leaf]] | None,
    known: Mapping[str, list[Fit]] | None,
) -> dict[str, list[Fit]]:  # fmt: skip
    """The fits of all ``links`` and of the obstacles of the scene."""
    obstacles = {obstacle.name: (obstacle.shape,) for obstacle in scene.obstacles}
    fitted = links if given is None and known is None else {}
    watchers = None
    if needs_watchers(fitted) and len(fitted) <= _MAX_APPROACH_LINKS:
        watchers = _watchers(robot, bodies, semantics, scene, links)
    fits: dict[str, list[Fit]] = fit_all(fitted, obstacles, settings, watchers)
    if known is not None:
        fits |= {name: known[name] for name in links}
    if given is not None:
        fits |= {
            name: [Fit(tuple(given[name]), tuple(links[name]), np.nan, np.nan)] for name in links
        }
    return fits


def _watchers(
    robot: Robot, bodies: Bodies, semantics: Semantics, scene: Scene,
    links: Mapping[str, Sequence[Shape]],
) -> dict[str, list[np.ndarray]]:  # fmt: skip
    """Return the watchers of the links that are checked against each other."""
    left_out = omitted_pairs(robot, bodies, semantics, scene)
    pairs, _ = select_pairs(list(links), [], bodies.link_bodies, left_out)
    count = min(max(_MAX_APPROACH_PAIRS // max(1, len(pairs)), 64), _APPROACH_SAMPLES)
    limits = np.array([(joint.lower, joint.upper) for joint in bodies.joints])
    lower, upper = limits.reshape(-1, 2).T
    # Joints of the scene move no link: fits do not depend on them.
    samples = np.tile(np.clip(0.0, lower, upper), (count, 1))
    own = len(bodies.joints) - len(scene.joints)
    samples[:, :own] = np.random.default_rng(1).uniform(lower[:own], upper[:own], (count, own))
    return watchers_of(links, link_poses(bodies, links, samples), pairs)
