# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What a model is made of, as plain values that can be sent to another process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from collision_monitor.common.loading_limits import LoadingLimits, limited
from collision_monitor.common.safe_xml import ReceivedText
from collision_monitor.errors import CollisionMonitorError, NothingToCheckError
from collision_monitor.fitting.fit_settings import FitSettings
from collision_monitor.fitting.fitter import FITS, given_leaves
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.robot.composed import Mounted, compose, compose_semantics
from collision_monitor.robot.poses import pose_from_xyz_rpy
from collision_monitor.robot.scene import load_scene
from collision_monitor.robot.srdf import load_srdf
from collision_monitor.robot.urdf.urdf import load_robot

# Whose the joints are that a scene adds to robots.
SCENE = "scene"


@dataclass(frozen=True)
class RobotSource:
    """One robot.

    Attributes:
        urdf: path, or text; from a topic, `ReceivedText`.
        srdf: path, or text; empty without one.
        name: in its cell; empty for a robot that is alone.
        prefix: put before the names of its links, joints and groups.
        mount: x, y, z, roll, pitch, yaw of its root link in the frame of ``parent``, metres and
            radians.
        parent: the link that it is fixed to, of a robot before it; empty for the common root.
    """

    urdf: str | ReceivedText
    srdf: str = ""
    name: str = ""
    prefix: str = ""
    mount: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    parent: str = ""


@dataclass(frozen=True)
class Loaded:
    """What came of a `Recipe`.

    Attributes:
        model: of all robots and the scene.
        joints: of robots in a cell, by name, those of the scene under ``scene``: all joints, fixed
            ones too, as ``model`` names them. Empty for a robot that is alone.
    """

    model: CollisionModel
    joints: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Recipe:
    """Everything that a model is made of; arguments as those of `CollisionModel.from_urdf`.

    Attributes:
        robots: one without a name, or several with names.
        root: the link without a shape that robots with names stand on.
        exact: whether exact distances are made ready as well.
        limits: how much loading may take.
    """

    robots: tuple[RobotSource, ...]
    package_dirs: tuple[str, ...] = ()
    scene: str = ""
    max_leaves_per_link: int = FitSettings.max_leaves_per_link
    leaf_tolerance: float = FitSettings.leaf_tolerance
    leaves: str = ""
    visual_meshes: bool = False
    root: str = "world"
    exact: bool = False
    fit: str = FITS[0]
    hierarchy: str = "obb"
    limits: LoadingLimits = LoadingLimits()

    def load(self) -> Loaded:
        """Load, fit and compile.

        Raises:
            LoadingLimitError: a limit is exceeded.
            CollisionMonitorError: as `CollisionModel.from_urdf` and `compose`; it names the robot.
            NothingToCheckError: there is no pair of links to check.
        """
        with limited(self.limits):
            loaded = self.load_leaves()
            self.prepare(loaded.model)
            return loaded

    def load_leaves(self) -> Loaded:
        """The first part of `load`: what `CollisionModel.distance` needs."""
        loaded = self._one() if not self.robots[0].name else self._several()
        model = loaded.model
        if not model.pairs:
            raise NothingToCheckError(
                f"robot '{model.name}' has no pair of links to check ({len(model.link_names)} "
                "links have collision shapes)"
            )
        return loaded

    def prepare(self, model: CollisionModel) -> None:
        """The second part of `load`: what a monitor needs as well."""
        if self.exact:
            model.prepare_exact(depths=False)
        model.usual_distances(self.exact)

    def _one(self) -> Loaded:
        (robot,) = self.robots
        model = CollisionModel.from_urdf(
            robot.urdf,
            srdf=robot.srdf or None,
            package_dirs=self.package_dirs,
            scene=self.scene or None,
            max_leaves_per_link=self.max_leaves_per_link,
            leaf_tolerance=self.leaf_tolerance,
            leaves=self.leaves or None,
            visual_meshes=self.visual_meshes,
            fit=self.fit,
            hierarchy=self.hierarchy,
        )
        return Loaded(model)

    def _several(self) -> Loaded:
        parts = [self._mounted(robot) for robot in self.robots]
        whole = compose(parts, " and ".join(robot.name for robot in self.robots), self.root)
        scene = load_scene(self.scene, whole, self.package_dirs) if self.scene else None
        settings = FitSettings(self.max_leaves_per_link, self.leaf_tolerance)
        leaves = given_leaves(whole, settings, self.leaves or None, self.fit)
        joints = {
            robot.name: tuple(robot.prefix + joint.name for joint in part.robot.joints)
            for robot, part in zip(self.robots, parts, strict=True)
        }
        if scene is not None and scene.joints:
            joints[SCENE] = tuple(joint.name for joint in scene.joints)
        semantics = compose_semantics(parts)
        model = CollisionModel(whole, semantics, scene, settings, leaves, self.hierarchy)
        return Loaded(model, joints)

    def _mounted(self, source: RobotSource) -> Mounted:
        try:
            robot = load_robot(source.urdf, self.package_dirs, self.visual_meshes)
            semantics = load_srdf(source.srdf, robot) if source.srdf else None
        except CollisionMonitorError as error:
            raise type(error)(f"robot {source.name!r}: {error}") from None
        pose = pose_from_xyz_rpy(source.mount[:3], source.mount[3:])
        return Mounted(robot, source.prefix, pose, source.parent or None, semantics)
