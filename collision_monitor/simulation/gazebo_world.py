# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A scene as a world for Gazebo (SDF 1.9): floor, light, physics, and the obstacles."""

from __future__ import annotations

import numpy as np
from lxml import etree
from scipy.spatial.transform import Rotation

from collision_monitor.errors import SceneError
from collision_monitor.robot.bodies import rigid_bodies
from collision_monitor.robot.description import Robot, Shape
from collision_monitor.robot.scene import Scene
from collision_monitor.robot.scene_joints import with_joints

# What a world needs so that a robot can be put into it, move, and be seen: file, class.
_SYSTEMS = {
    "gz-sim-physics-system": "gz::sim::systems::Physics",
    "gz-sim-user-commands-system": "gz::sim::systems::UserCommands",
    "gz-sim-scene-broadcaster-system": "gz::sim::systems::SceneBroadcaster",
}
_COLOUR = "0.55 0.5 0.42 1"


def world_sdf(robot: Robot, scene: Scene, name: str = "cell") -> str:
    """SDF of a world with the obstacles of a scene; its origin is the robot's root link.

    The robot itself is not in it. Steps of 1 ms, as fast as real time.

    Raises:
        SceneError: an obstacle that is a mesh, or is carried by a link that moves.
    """
    bodies = rigid_bodies(with_joints(robot, scene.joints))
    sdf = etree.Element("sdf", version="1.9")
    world = etree.SubElement(sdf, "world", name=name)
    physics = etree.SubElement(world, "physics", name="1ms", type="ignored")
    _text(physics, "max_step_size", "0.001")
    _text(physics, "real_time_factor", "1.0")
    for file, system in _SYSTEMS.items():
        etree.SubElement(world, "plugin", filename=file, name=system)
    light = etree.SubElement(world, "light", name="sun", type="directional")
    _text(light, "cast_shadows", "true")
    _text(light, "pose", "0 0 10 0 0 0")
    _text(light, "diffuse", "0.9 0.9 0.9 1")
    _text(light, "specular", "0.2 0.2 0.2 1")
    _text(light, "direction", "-0.5 0.2 -0.9")
    floor = _model(world, "floor", "0 0 0 0 0 0")
    for part in _parts(floor, "0.8 0.8 0.8 1"):
        plane = etree.SubElement(part, "plane")
        _text(plane, "normal", "0 0 1")
        _text(plane, "size", "20 20")
    for obstacle in scene.obstacles:
        if bodies.link_bodies[obstacle.link] != 0:
            raise SceneError(
                f"obstacle {obstacle.name!r} is fixed to link {obstacle.link!r}, which moves: a "
                "world of Gazebo holds only what stands still"
            )
        if obstacle.shape.kind == "mesh":
            raise SceneError(
                f"obstacle {obstacle.name!r} is a mesh, which is not carried over to Gazebo; use "
                "boxes, spheres, cylinders or capsules"
            )
        pose = bodies.link_poses[obstacle.link] @ obstacle.shape.pose
        model = _model(world, obstacle.name, pose_text(pose))
        for part in _parts(model, _COLOUR):
            _geometry(part, obstacle.shape)
    return etree.tostring(sdf, encoding="unicode", pretty_print=True)


def pose_text(pose: np.ndarray) -> str:
    """A pose (4, 4) as x y z roll pitch yaw about fixed axes."""
    angles = Rotation.from_matrix(pose[:3, :3]).as_euler("xyz")
    return " ".join(f"{float(value) + 0.0:.9g}" for value in (*pose[:3, 3], *angles))


def _text(parent: etree._Element, tag: str, text: str) -> None:
    etree.SubElement(parent, tag).text = text


def _model(world: etree._Element, name: str, pose: str) -> etree._Element:
    """A static model with one link; returns the link."""
    model = etree.SubElement(world, "model", name=name)
    _text(model, "static", "true")
    _text(model, "pose", pose)
    return etree.SubElement(model, "link", name="link")


def _parts(link: etree._Element, colour: str) -> list[etree._Element]:
    """Geometry elements of what is touched and what is seen."""
    touched = etree.SubElement(link, "collision", name="collision")
    seen = etree.SubElement(link, "visual", name="visual")
    geometries = [etree.SubElement(part, "geometry") for part in (touched, seen)]
    material = etree.SubElement(seen, "material")
    _text(material, "ambient", colour)
    _text(material, "diffuse", colour)
    return geometries


def _geometry(parent: etree._Element, shape: Shape) -> None:
    element = etree.SubElement(parent, shape.kind)
    if shape.kind == "box":
        _text(element, "size", " ".join(f"{value:.9g}" for value in shape.size))
        return
    _text(element, "radius", f"{shape.size[0]:.9g}")
    if shape.kind != "sphere":
        _text(element, "length", f"{shape.size[1]:.9g}")
