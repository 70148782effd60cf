# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Start the collision monitor of one robot, and RViz when asked.

``ros2 launch collision_monitor collision_monitor.launch.py --show-args`` lists the arguments.
"""

from launch import LaunchContext, LaunchDescription
from launch.actions import OpaqueFunction
from launch_ros.actions import Node

from collision_monitor.nodes import launch_parts as parts


def monitor(context: LaunchContext) -> list[Node]:
    """Return the monitor, with those arguments as parameters that are not empty."""
    given = parts.given(context, (*parts.ROBOT, *parts.SWITCHES))
    parameters = {"use_sim_time": parts.flag("use_sim_time"), **given}
    file = parts.file_given(context, "params_file")
    return [parts.package_node("collision_monitor", parameters, file)]


def generate_launch_description() -> LaunchDescription:
    """Return the arguments, the monitor and RViz."""
    arguments = parts.common_arguments("collision_monitor.yaml")
    return LaunchDescription([*arguments, OpaqueFunction(function=monitor), parts.rviz()])
