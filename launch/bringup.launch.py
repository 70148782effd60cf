# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Start both nodes beside the driver of a robot, and optionally RViz.

Trajectories go from the planner to self_collision, which adjusts them and passes them on to the
controller. The monitor watches the joint states. Both nodes take the same robot description.
``ros2 launch collision_monitor bringup.launch.py --show-args`` lists the arguments.
"""

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import OpaqueFunction

from collision_monitor.nodes import launch_parts as parts

MONITOR, ADJUSTER = "collision_monitor", "self_collision"


def nodes(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return both nodes, with the arguments that are not empty, and RViz."""
    robot = parts.given(context, (*parts.ROBOT, *parts.SWITCHES))
    robot["use_sim_time"] = parts.flag("use_sim_time")
    file = parts.file_given(context, "params_file")
    topic = parts.text_given(context, "joint_states")
    controller = parts.text_given(context, "controller_topic") or f"{ADJUSTER}/joint_trajectory"
    # The monitor reads what is commanded, so that a stopped robot can move out of contact.
    monitored = {"joint_states": topic, "~/command": controller}
    adjusted = {"joint_states": topic, "~/joint_trajectory": controller}
    return [
        parts.package_node(MONITOR, robot, file, monitored),
        parts.package_node(
            ADJUSTER, {**robot, **parts.given(context, parts.ADJUSTMENT)}, file, adjusted
        ),
        *parts.view(context, parts.shown_robot(context, file, MONITOR), joint_states=topic),
    ]


def generate_launch_description() -> LaunchDescription:
    """Return the arguments, both nodes and RViz."""
    overrides = {**parts.ROBOT, **parts.ADJUSTMENT}
    return LaunchDescription(
        [
            *parts.common_arguments("bringup.yaml", overrides, publisher="false"),
            parts.controller_topic(),
            OpaqueFunction(function=nodes),
        ]
    )
