# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A URDF with what Gazebo needs to carry a robot and to be told where its joints shall go.

For gz sim with gz_ros2_control; its tags name files by their place on this machine, so they are
added when the robot is started and not kept in the URDF.
"""

from __future__ import annotations

import os

from lxml import etree

from collision_monitor.common.safe_xml import parse_xml
from collision_monitor.errors import RobotDescriptionError
from collision_monitor.robot.urdf.inertials import read_inertials
from collision_monitor.robot.urdf.urdf import load_robot

WORLD = "world"
_SYSTEM = "gz_ros2_control/GazeboSimSystem"
_LIBRARY = "gz_ros2_control-system"
_PLUGIN = "gz_ros2_control::GazeboSimROS2ControlPlugin"


def gazebo_description(
    urdf: str | bytes | os.PathLike,
    controllers: str | os.PathLike,
    start: dict[str, float] | None = None,
) -> str:
    """The URDF (path or text) as text, fixed to the world and with position interfaces.

    Every joint that moves by itself takes positions; mimic joints tell their state. The root
    link is fixed to a link ``world``, unless it is that link.

    Args:
        urdf: of the robot.
        controllers: YAML file with the parameters of controller manager and controllers.
        start: positions by joint name, radians or metres; 0 for the others.

    Raises:
        RobotDescriptionError: the URDF is faulty, has a <ros2_control> already, or a joint of
            ``start`` is not there, or a link that moves has no mass.
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
                f"link {joint.child!r} has no mass: Gazebo would leave it out, with all that it "
                "carries; give it an <inertial>"
            )
    start = {} if start is None else start
    names = [joint.name for joint in robot.joints if joint.moves]
    if unknown := [name for name in start if name not in names]:
        raise RobotDescriptionError(f"robot {robot.name!r} has no joint {unknown[0]!r} to start at")
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
            value = min(max(start.get(joint.name, 0.0), joint.lower), joint.upper)
            etree.SubElement(position, "param", name="initial_value").text = repr(float(value))
        etree.SubElement(element, "state_interface", name="velocity")
        etree.SubElement(element, "state_interface", name="effort")
    plugin = etree.SubElement(
        etree.SubElement(root, "gazebo"), "plugin", filename=_LIBRARY, name=_PLUGIN
    )
    etree.SubElement(plugin, "parameters").text = os.fspath(controllers)
    return etree.tostring(root, encoding="unicode", pretty_print=True)
