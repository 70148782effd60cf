# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Start the self_collision node in front of two arms' controller, and RViz when asked.

``ros2 launch collision_monitor self_collision.launch.py --show-args`` lists the arguments.
"""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

PACKAGE = "collision_monitor"
# Arguments that are parameters of the node too; left empty, params_file has the say.
OVERRIDES = {
    "robot_description": "URDF file of the robot; empty: what params_file says, by default the "
    "latched topic robot_description",
    "robot_description_semantic": "SRDF file of the robot; empty: what params_file says",
    "scene": "YAML file with obstacles and pairs to ignore; empty: what params_file says",
    "controller_action": "FollowJointTrajectory action of the controller; empty: what params_file "
    "says, by default topics only",
}
SWITCH = ["true", "false"]
VISUAL_MESHES = (
    "true: links without collision geometry take their visual one; empty: what params_file says"
)


def argument(name: str, default: str, description: str, **options) -> DeclareLaunchArgument:
    """One argument of this launch file."""
    return DeclareLaunchArgument(name, default_value=default, description=description, **options)


def self_collision(context: LaunchContext) -> list[Node]:
    """Return the node, with those arguments as parameters and names that are not empty."""
    given = {name: LaunchConfiguration(name).perform(context) for name in OVERRIDES}
    visual_meshes = LaunchConfiguration("visual_meshes").perform(context)
    topic = LaunchConfiguration("controller_topic").perform(context)
    return [
        Node(
            package=PACKAGE,
            executable="self_collision",
            name="self_collision",
            namespace=LaunchConfiguration("namespace"),
            output="screen",
            parameters=[
                LaunchConfiguration("params_file"),
                {
                    "use_sim_time": ParameterValue(
                        LaunchConfiguration("use_sim_time"), value_type=bool
                    ),
                    # As text: a path is not to be read as YAML.
                    **{
                        name: ParameterValue(value, value_type=str)
                        for name, value in given.items()
                        if value
                    },
                    **({"visual_meshes": visual_meshes == "true"} if visual_meshes else {}),
                },
            ],
            remappings=[("~/joint_trajectory", topic)] if topic else [],
            arguments=["--ros-args", "--log-level", LaunchConfiguration("log_level")],
        )
    ]


def generate_launch_description() -> LaunchDescription:
    """Return the arguments, the node and RViz."""
    share = Path(get_package_share_directory(PACKAGE))
    rviz = Node(
        package="rviz2",
        executable="rviz2",
        name="rviz2",
        namespace=LaunchConfiguration("namespace"),
        output="screen",
        # The topics in that file are relative: they follow the namespace.
        arguments=["-d", str(share / "rviz" / "collision_monitor.rviz")],
        parameters=[
            {"use_sim_time": ParameterValue(LaunchConfiguration("use_sim_time"), value_type=bool)}
        ],
        condition=IfCondition(LaunchConfiguration("rviz")),
    )
    return LaunchDescription(
        [
            argument("namespace", "", "namespace of the node and its topics"),
            argument(
                "params_file",
                str(share / "config" / "self_collision.yaml"),
                "YAML file with the parameters of the node",
            ),
            argument("use_sim_time", "false", "take the time from /clock", choices=SWITCH),
            argument("rviz", "false", "start RViz and show the markers", choices=SWITCH),
            *[argument(name, "", text) for name, text in OVERRIDES.items()],
            argument("visual_meshes", "", VISUAL_MESHES, choices=["", *SWITCH]),
            argument(
                "controller_topic",
                "",
                "where adjusted trajectories go, the controller's topic; empty: "
                "~/joint_trajectory",
            ),
            argument("log_level", "info", "debug, info, warn, error or fatal"),
            OpaqueFunction(function=self_collision),
            rviz,
        ]
    )
