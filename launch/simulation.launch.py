# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Start a simulated robot and its monitor, optionally with self_collision and RViz.

``ros2 launch collision_monitor simulation.launch.py --show-args`` lists the arguments.
"""

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import OpaqueFunction
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration

from collision_monitor.nodes import launch_parts as parts

ROBOT = {
    "robot_description": ("urdf", "dual_arm.urdf"),
    "robot_description_semantic": ("urdf", "dual_arm.srdf"),
    "scene": ("urdf", "dual_arm_scene.yaml"),
}
TEXT = {
    "robot_description": "URDF file of the robot",
    "robot_description_semantic": "SRDF file of the robot; empty: none",
    "scene": "YAML file with obstacles and pairs to ignore; empty: none",
}


def nodes(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return the simulation, the monitor, self_collision and RViz."""
    robot = {name: parts.as_text(parts.text_given(context, name)) for name in parts.ROBOT}
    simulated = {
        **robot,
        "heed_speed_scale": parts.flag("monitor"),
        "real_time_factor": parts.number_given(context, "real_time_factor"),
        "start_positions": parts.as_text(parts.text_given(context, "start_positions")),
    }
    on_its_clock = {**robot, "use_sim_time": True}
    adjusting = {**on_its_clock, **parts.given(context, ["method"])}
    file = parts.file_given(context, "params_file")
    shown = parts.Shown(
        parts.text_given(context, "robot_description"),
        parts.package_dirs(parts.file_parameters(file, "simulation")),
    )
    return [
        parts.package_node(
            "simulation", simulated, file, {"~/speed_scale": "collision_monitor/speed_scale"}
        ),
        parts.package_node(
            "collision_monitor",
            on_its_clock,
            parts.share("config", "collision_monitor.yaml"),
            condition=IfCondition(LaunchConfiguration("monitor")),
        ),
        parts.package_node(
            "self_collision",
            adjusting,
            parts.share("config", "self_collision.yaml"),
            {"~/joint_trajectory": "simulation/joint_trajectory"},
            condition=IfCondition(LaunchConfiguration("self_collision")),
        ),
        *parts.view(context, shown, use_sim_time=True),
    ]


def generate_launch_description() -> LaunchDescription:
    """Return the arguments and the nodes."""
    return LaunchDescription(
        [
            parts.argument("namespace", "", "namespace of the nodes and their topics"),
            parts.argument(
                "params_file",
                parts.share("config", "simulation.yaml"),
                "YAML file with the parameters of the simulation",
            ),
            *[parts.argument(name, parts.share(*file), TEXT[name]) for name, file in ROBOT.items()],
            parts.argument("start_positions", "", "start positions, joint=value,...; others: 0"),
            parts.argument(
                "real_time_factor", "1.0", "maximum speed relative to real time"
            ),
            parts.switch("monitor", True, "start the monitor, and obey its speed scale"),
            parts.switch("self_collision", False, "start self_collision in front of the arms"),
            parts.argument("method", "", parts.ADJUSTMENT["method"]),
            *parts.view_arguments(),
            parts.argument("log_level", "info", "debug, info, warn, error or fatal"),
            OpaqueFunction(function=nodes),
        ]
    )
