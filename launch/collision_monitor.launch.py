# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Start the collision monitor, and optionally RViz.

``ros2 launch collision_monitor collision_monitor.launch.py --show-args`` lists the arguments.
"""

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import OpaqueFunction

from collision_monitor.nodes import launch_parts as parts

NODE = "collision_monitor"


def monitor(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return the monitor, with the arguments that are not empty, and RViz."""
    given = parts.given(context, (*parts.ROBOT, *parts.SWITCHES))
    parameters = {"use_sim_time": parts.flag("use_sim_time"), **given}
    file = parts.file_given(context, "params_file")
    topic = parts.text_given(context, "joint_states")
    return [
        parts.package_node(NODE, parameters, file, {"joint_states": topic}),
        *parts.view(context, parts.shown_robot(context, file, NODE), joint_states=topic),
    ]


def generate_launch_description() -> LaunchDescription:
    """Return the arguments, the monitor and RViz."""
    arguments = parts.common_arguments("collision_monitor.yaml")
    return LaunchDescription([*arguments, OpaqueFunction(function=monitor)])
