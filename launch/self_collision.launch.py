# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Start the self_collision node between planner and controller, and optionally RViz.

``ros2 launch collision_monitor self_collision.launch.py --show-args`` lists the arguments.
"""

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import OpaqueFunction

from collision_monitor.nodes import launch_parts as parts

NODE = "self_collision"
OVERRIDES = {**parts.ROBOT, **parts.ADJUSTMENT}


def self_collision(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return the node, with the arguments that are not empty, and RViz."""
    given = parts.given(context, (*OVERRIDES, *parts.SWITCHES))
    parameters = {"use_sim_time": parts.flag("use_sim_time"), **given}
    file = parts.file_given(context, "params_file")
    topic = parts.text_given(context, "joint_states")
    remappings = {
        "joint_states": topic,
        "~/joint_trajectory": parts.text_given(context, "controller_topic"),
    }
    return [
        parts.package_node(NODE, parameters, file, remappings),
        *parts.view(context, parts.shown_robot(context, file, NODE), joint_states=topic),
    ]


def generate_launch_description() -> LaunchDescription:
    """Return the arguments, the node and RViz."""
    return LaunchDescription(
        [
            *parts.common_arguments("self_collision.yaml", OVERRIDES),
            parts.controller_topic(),
            OpaqueFunction(function=self_collision),
        ]
    )
