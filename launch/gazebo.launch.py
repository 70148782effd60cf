# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Start the dual arm and its cell in Gazebo (gz sim), with controllers and monitor.

``ros2 launch collision_monitor gazebo.launch.py --show-args`` lists the arguments. Needs
ros_gz_sim, ros_gz_bridge, gz_ros2_control, robot_state_publisher, controller_manager,
joint_state_broadcaster and joint_trajectory_controller.
"""

import os
import shlex
from pathlib import Path

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import (
    AppendEnvironmentVariable,
    IncludeLaunchDescription,
    OpaqueFunction,
    RegisterEventHandler,
)
from launch.conditions import IfCondition
from launch.event_handlers import OnProcessExit
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.logging import launch_config
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

from collision_monitor.nodes import launch_parts as parts
from collision_monitor.robot.scene import load_scene
from collision_monitor.robot.urdf import load_robot
from collision_monitor.simulation.gazebo import gazebo_description, world_sdf

NAME = "dual_arm"
CONTROLLERS = ("joint_state_broadcaster", "arms_controller")
# The controllers have no namespace, regardless of that of the nodes of this package.
JOINT_STATES = ("joint_states", "/joint_states")


def world_file(urdf: str, scene: str) -> Path:
    """Write the scene as a world to the log folder of this launch."""
    robot = load_robot(urdf)
    path = Path(launch_config.log_dir) / f"{NAME}_cell.sdf"
    path.write_text(world_sdf(robot, load_scene(scene, robot)), encoding="utf-8")
    return path


def everything(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return Gazebo with cell and robot, its controllers, and the nodes of this package."""
    urdf, scene = (LaunchConfiguration(name).perform(context) for name in ("urdf", "scene"))
    controllers = LaunchConfiguration("controllers").perform(context)
    headless = LaunchConfiguration("headless").perform(context) == "true"
    clock = {"use_sim_time": True}
    gazebo = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(
            PathJoinSubstitution([FindPackageShare("ros_gz_sim"), "launch", "gz_sim.launch.py"])
        ),
        launch_arguments={
            # It goes through a shell.
            "gz_args": f"-r {'-s ' if headless else ''}{shlex.quote(str(world_file(urdf, scene)))}",
            "on_exit_shutdown": "true",
        }.items(),
    )
    view = parts.view(
        context,
        parts.Shown(urdf),
        use_sim_time=True,
        description=gazebo_description(urdf, controllers),
        needed=True,  # by create
        in_namespace=False,
    )
    create = Node(
        package="ros_gz_sim",
        executable="create",
        output="screen",
        arguments=["-topic", "robot_description", "-name", NAME],
    )
    bridge = Node(
        package="ros_gz_bridge",
        executable="parameter_bridge",
        name="clock_bridge",
        output="screen",
        arguments=["/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock"],
    )
    # One process for both: they are activated in this order.
    spawner = Node(
        package="controller_manager",
        executable="spawner",
        output="screen",
        arguments=[*CONTROLLERS, "--param-file", controllers],
    )
    robot = {
        "robot_description": parts.as_text(urdf),
        "robot_description_semantic": parts.as_text(parts.share("urdf", "dual_arm.srdf")),
        "scene": parts.as_text(scene),
        **clock,
    }
    return [
        # Gazebo reads meshes as model://collision_monitor/...
        AppendEnvironmentVariable("GZ_SIM_RESOURCE_PATH", os.path.dirname(parts.share())),
        gazebo,
        *view,
        create,
        bridge,
        RegisterEventHandler(OnProcessExit(target_action=create, on_exit=[spawner])),
        parts.package_node(
            "collision_monitor",
            robot,
            parts.share("config", "collision_monitor.yaml"),
            remappings=[JOINT_STATES],
        ),
        parts.package_node(
            "self_collision",
            {**robot, **parts.given(context, ["controller_action"])},
            parts.share("config", "self_collision.yaml"),
            remappings=[
                ("~/joint_trajectory", "/arms_controller/joint_trajectory"),
                JOINT_STATES,
            ],
            condition=IfCondition(LaunchConfiguration("self_collision")),
        ),
    ]


def generate_launch_description() -> LaunchDescription:
    """Return the arguments and all nodes."""
    return LaunchDescription(
        [
            parts.argument("namespace", "", "namespace of this package's nodes"),
            parts.argument("urdf", parts.share("urdf", "dual_arm.urdf"), "URDF file of the robot"),
            parts.argument(
                "scene",
                parts.share("urdf", "dual_arm_scene.yaml"),
                "YAML file with the obstacles of the cell",
            ),
            parts.argument(
                "controllers",
                parts.share("config", "gazebo_controllers.yaml"),
                "YAML file with the parameters of the controllers",
            ),
            parts.argument(
                "controller_action",
                "/arms_controller/follow_joint_trajectory",
                "FollowJointTrajectory action of the controller; empty: topics only",
            ),
            parts.switch("headless", False, "start Gazebo without its window"),
            parts.switch("self_collision", True, "start the node self_collision in front"),
            *parts.view_arguments(),
            parts.argument("log_level", "info", "debug, info, warn, error or fatal"),
            OpaqueFunction(function=everything),
        ]
    )
