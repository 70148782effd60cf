# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Files for gz sim with gz_ros2_control: the URDF with control tags, controllers, and the world.

The tags contain paths of this machine, so they are added at start and not stored in the URDF.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml
from lxml import etree
from scipy.spatial.transform import Rotation

from collision_monitor.common.safe_files import parse_xml, read_document
from collision_monitor.errors import RobotDescriptionError, SceneError, SimulationError
from collision_monitor.robot.bodies import rigid_bodies
from collision_monitor.robot.description import Robot, Shape
from collision_monitor.robot.inertials import read_inertials
from collision_monitor.robot.scene import Scene, with_joints
from collision_monitor.robot.shape_kinds import sizes_by_key
from collision_monitor.robot.urdf import load_robot

WORLD = "world"
_SYSTEM = "gz_ros2_control/GazeboSimSystem"
_LIBRARY = "gz_ros2_control-system"
_PLUGIN = "gz_ros2_control::GazeboSimROS2ControlPlugin"
_BROADCASTER = "joint_state_broadcaster"
_TRAJECTORY_TYPE = "joint_trajectory_controller/JointTrajectoryController"
_COLOUR = "0.55 0.5 0.42 1"
_WORLD_SDF = """
<sdf version="1.9">
  <world name="cell">
    <physics name="1ms" type="ignored">
      <max_step_size>0.001</max_step_size>
      <real_time_factor>1.0</real_time_factor>
    </physics>
    <plugin filename="gz-sim-physics-system" name="gz::sim::systems::Physics"/>
    <plugin filename="gz-sim-user-commands-system" name="gz::sim::systems::UserCommands"/>
    <plugin filename="gz-sim-scene-broadcaster-system" name="gz::sim::systems::SceneBroadcaster"/>
    <light name="sun" type="directional">
      <cast_shadows>true</cast_shadows>
      <pose>0 0 10 0 0 0</pose>
      <diffuse>0.9 0.9 0.9 1</diffuse>
      <specular>0.2 0.2 0.2 1</specular>
      <direction>-0.5 0.2 -0.9</direction>
    </light>
  </world>
</sdf>
"""
_FLOOR = "<plane><normal>0 0 1</normal><size>20 20</size></plane>"


def gazebo_description(urdf: str | bytes | os.PathLike, controllers: str | os.PathLike) -> str:
    """The URDF (path or text) as text, attached to the world and with position interfaces.

    Every independent joint has a position command interface, and starts at zero or the nearer
    limit; mimic joints have state interfaces only. The root link is attached to a link ``world``,
    unless it has this name.

    Args:
        urdf: of the robot.
        controllers: YAML file with the parameters of controller manager and controllers.

    Raises:
        RobotDescriptionError: the URDF is invalid or already has a <ros2_control>, or a moving link
            has no mass.
    """
    robot = load_robot(urdf)
    root = parse_xml(urdf).root
    if root.find("ros2_control") is not None:
        raise RobotDescriptionError(
            f"robot {robot.name!r} has a <ros2_control> already; start it by its own launch file"
        )
    inertials = read_inertials(urdf)
    for joint in robot.joints:
        if joint.moves and joint.child not in inertials:
            raise RobotDescriptionError(
                f"link {joint.child!r} has no mass: Gazebo would ignore it and all that it "
                "carries; add an <inertial>"
            )
    if robot.root != WORLD:
        etree.SubElement(root, "link", name=WORLD)
        fixed = etree.SubElement(root, "joint", name=f"{WORLD}_joint", type="fixed")
        etree.SubElement(fixed, "parent", link=WORLD)
        etree.SubElement(fixed, "child", link=robot.root)
    control = etree.SubElement(root, "ros2_control", name="GazeboSimSystem", type="system")
    etree.SubElement(etree.SubElement(control, "hardware"), "plugin").text = _SYSTEM
    for joint in robot.joints:
        if not joint.moves:
            continue
        element = etree.SubElement(control, "joint", name=joint.name)
        if joint.mimic is None:
            command = etree.SubElement(element, "command_interface", name="position")
            if joint.kind != "continuous":
                for end, value in (("min", joint.lower), ("max", joint.upper)):
                    etree.SubElement(command, "param", name=end).text = repr(float(value))
        position = etree.SubElement(element, "state_interface", name="position")
        if joint.mimic is None:
            value = 0.0
            if joint.kind != "continuous":
                value = min(max(value, joint.lower), joint.upper)
            etree.SubElement(position, "param", name="initial_value").text = repr(float(value))
        etree.SubElement(element, "state_interface", name="velocity")
        etree.SubElement(element, "state_interface", name="effort")
    plugin = etree.SubElement(
        etree.SubElement(root, "gazebo"), "plugin", filename=_LIBRARY, name=_PLUGIN
    )
    etree.SubElement(plugin, "parameters").text = os.fspath(controllers)
    return etree.tostring(root, encoding="unicode", pretty_print=True)


@dataclass(frozen=True)
class Controllers:
    """The controllers in a file of parameters.

    ``names`` are those of the controller manager, broadcasters first; ``trajectory`` is the one
    that executes trajectories, empty if there is none or more than one.
    """

    names: tuple[str, ...]
    trajectory: str


def controllers_text(robot: Robot) -> str:
    """Parameters (YAML) of one trajectory controller for all independent joints of a robot."""
    joints = [joint.name for joint in robot.joints if joint.moves and joint.mimic is None]
    parameters = {
        "controller_manager": {
            "update_rate": 500,  # Hz
            _BROADCASTER: {"type": f"{_BROADCASTER}/JointStateBroadcaster"},
            "arms_controller": {"type": _TRAJECTORY_TYPE},
        },
        "arms_controller": {
            "joints": joints,
            "command_interfaces": ["position"],
            "state_interfaces": ["position", "velocity"],
            "allow_partial_joints_goal": True,  # one arm alone
        },
    }
    tree = {name: {"ros__parameters": values} for name, values in parameters.items()}
    return yaml.safe_dump(tree, sort_keys=False)


def read_controllers(path: str | os.PathLike) -> Controllers:
    """Read which controllers a YAML file has parameters for.

    Raises:
        SimulationError: the file cannot be read, or has no controllers.
    """
    tree = read_document(Path(path), SimulationError, "controllers")
    try:
        manager = tree["controller_manager"]["ros__parameters"]
        types = {
            name: str(value["type"])
            for name, value in manager.items()
            if isinstance(value, dict) and "type" in value
        }
    except (TypeError, KeyError, AttributeError):
        types = {}
    if not types:
        raise SimulationError(
            f"{os.fspath(path)}: no controllers; expected controller_manager: ros__parameters: "
            "with a type for each"
        )
    trajectory = [name for name, kind in types.items() if kind == _TRAJECTORY_TYPE]
    names = sorted(types, key=lambda name: name in trajectory)
    return Controllers(tuple(names), trajectory[0] if len(trajectory) == 1 else "")


def world_sdf(robot: Robot, scene: Scene) -> str:
    """SDF of a world with the obstacles of a scene; its origin is the robot's root link.

    It does not contain the robot. Steps are 1 ms, in real time.

    Raises:
        SceneError: an obstacle is a mesh, or attached to a moving link.
    """
    bodies = rigid_bodies(with_joints(robot, scene.joints))
    sdf = etree.fromstring(_WORLD_SDF, etree.XMLParser(remove_blank_text=True))
    world = sdf.find("world")
    _add_model(world, "floor", "0 0 0 0 0 0", "0.8 0.8 0.8 1", _FLOOR)
    for obstacle in scene.obstacles:
        if bodies.link_bodies[obstacle.link] != 0:
            raise SceneError(
                f"obstacle {obstacle.name!r} is fixed to link {obstacle.link!r}, which moves: "
                "in Gazebo, obstacles must be static"
            )
        if obstacle.shape.kind == "mesh":
            raise SceneError(
                f"obstacle {obstacle.name!r} is a mesh, which is not carried over to Gazebo; use "
                "boxes, spheres, cylinders or capsules"
            )
        pose = bodies.link_poses[obstacle.link] @ obstacle.shape.pose
        _add_model(world, obstacle.name, pose_text(pose), _COLOUR, _geometry(obstacle.shape))
    return etree.tostring(sdf, encoding="unicode", pretty_print=True)


def pose_text(pose: np.ndarray) -> str:
    """A pose (4, 4) as x y z roll pitch yaw about fixed axes."""
    angles = Rotation.from_matrix(pose[:3, :3]).as_euler("xyz")
    return " ".join(f"{float(value) + 0.0:.9g}" for value in (*pose[:3, 3], *angles))


def _add_model(world: etree._Element, name: str, pose: str, colour: str, geometry: str) -> None:
    """Add a static model with one link, with the same geometry for contacts and display."""
    geometry = f"<geometry>{geometry}</geometry>"
    model = etree.fromstring(
        f"<model><static>true</static><pose>{pose}</pose><link name='link'>"
        f"<collision name='collision'>{geometry}</collision>"
        f"<visual name='visual'>{geometry}<material><ambient>{colour}</ambient>"
        f"<diffuse>{colour}</diffuse></material></visual></link></model>"
    )
    model.set("name", name)
    world.append(model)


def _geometry(shape: Shape) -> str:
    inside = ""
    for key, value in sizes_by_key(shape).items():
        inside += f"<{key}>{' '.join(f'{x:.9g}' for x in np.atleast_1d(value))}</{key}>"
    return f"<{shape.kind}>{inside}</{shape.kind}>"
