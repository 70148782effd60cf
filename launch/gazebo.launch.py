# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Start a robot and its cell in Gazebo (gz sim), with controllers and monitor.

Without arguments it is the dual arm of the package. With ``urdf:=other.urdf`` semantics, scene and
controllers are those of the other arguments; without them the robot has no SRDF, an empty cell, and
one trajectory controller for all its joints.
``ros2 launch collision_monitor gazebo.launch.py --show-args`` lists the arguments. Needs
ros_gz_sim, ros_gz_bridge, gz_ros2_control, robot_state_publisher, controller_manager,
joint_state_broadcaster and joint_trajectory_controller.
"""

import os
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

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

from collision_monitor.errors import SemanticDescriptionError
from collision_monitor.nodes import launch_parts as parts
from collision_monitor.robot.packages import publishable
from collision_monitor.robot.scene import Scene, load_scene
from collision_monitor.robot.srdf import load_srdf
from collision_monitor.robot.urdf import load_robot
from collision_monitor.simulation import gazebo

ROBOT = {"robot_description_semantic": "dual_arm.srdf", "scene": "dual_arm_scene.yaml"}


class Cell(NamedTuple):
    """What is simulated: files, the name of the model, and its controllers."""

    urdf: str
    srdf: str
    scene: str
    name: str
    world: str
    controllers_file: str
    controllers: gazebo.Controllers


def simulated_cell(context: LaunchContext) -> Cell:
    """Return the cell of the arguments; world and controllers are written beside the launch log.

    Raises:
        SemanticDescriptionError: the SRDF is of another robot.
    """
    urdf, controllers = (parts.text_given(context, name) for name in ("urdf", "controllers"))
    files = {name: parts.text_given(context, name) for name in ROBOT}
    own = parts.share("urdf", "dual_arm.urdf")
    if Path(urdf).resolve() == Path(own).resolve():
        files = {name: files[name] or parts.share("urdf", ROBOT[name]) for name in ROBOT}
    robot = load_robot(urdf)
    srdf = files["robot_description_semantic"]
    if srdf and (problem := load_srdf(srdf, robot).other_robot):
        raise SemanticDescriptionError(f"argument robot_description_semantic: {problem}")
    scene = load_scene(files["scene"], robot) if files["scene"] else Scene()
    folder = Path(launch_config.log_dir)
    world = folder / f"{robot.name}_cell.sdf"
    world.write_text(gazebo.world_sdf(robot, scene), encoding="utf-8")
    if not controllers:
        path = folder / f"{robot.name}_controllers.yaml"
        path.write_text(gazebo.controllers_text(robot), encoding="utf-8")
        controllers = str(path)
    return Cell(
        urdf, srdf, files["scene"], robot.name, str(world), controllers,
        gazebo.read_controllers(controllers),
    )  # fmt: skip


def package_folders() -> str:
    """The folders with the sourced packages, separated as in PATH."""
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    shares = [os.path.join(prefix, "share") for prefix in prefixes if prefix]
    return os.pathsep.join([*shares, os.path.dirname(parts.share())])


def everything(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return Gazebo with cell and robot, its controllers, and the nodes of this package."""
    cell = simulated_cell(context)
    headless = parts.text_given(context, "headless") == "true"
    simulator = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(
            PathJoinSubstitution([FindPackageShare("ros_gz_sim"), "launch", "gz_sim.launch.py"])
        ),
        launch_arguments={
            # It goes through a shell.
            "gz_args": f"-r {'-s ' if headless else ''}{shlex.quote(cell.world)}",
            "on_exit_shutdown": "true",
        }.items(),
    )
    view = parts.view(
        context,
        parts.Shown(cell.urdf),
        use_sim_time=True,
        description=gazebo.gazebo_description(publishable(cell.urdf)[0], cell.controllers_file),
        needed=True,  # by create
        in_namespace=False,
    )
    create = Node(
        package="ros_gz_sim",
        executable="create",
        output="screen",
        arguments=["-topic", "robot_description", "-name", cell.name],
    )
    bridge = Node(
        package="ros_gz_bridge",
        executable="parameter_bridge",
        name="clock_bridge",
        output="screen",
        arguments=["/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock"],
    )
    # One process for all: they are activated in this order.
    spawner = Node(
        package="controller_manager",
        executable="spawner",
        output="screen",
        arguments=[*cell.controllers.names, "--param-file", cell.controllers_file],
    )
    return [
        # Gazebo reads package:// as model://, in these folders.
        AppendEnvironmentVariable("GZ_SIM_RESOURCE_PATH", package_folders()),
        simulator,
        *view,
        create,
        bridge,
        RegisterEventHandler(OnProcessExit(target_action=create, on_exit=[spawner])),
        *package_nodes(context, cell),
    ]


def package_nodes(context: LaunchContext, cell: Cell) -> list[LaunchDescriptionEntity]:
    """Return monitor and self_collision, connected to the controllers, which have no namespace."""
    robot = {
        "robot_description": parts.as_text(cell.urdf),
        "robot_description_semantic": parts.as_text(cell.srdf),
        "scene": parts.as_text(cell.scene),
        "use_sim_time": True,
    }
    given = parts.given(context, parts.ADJUSTMENT)
    topic = parts.text_given(context, "controller_topic")
    if cell.controllers.trajectory:
        if find_spec("control_msgs"):  # it comes with the controller
            action = f"/{cell.controllers.trajectory}/follow_joint_trajectory"
            given.setdefault("controller_action", parts.as_text(action))
        topic = topic or f"/{cell.controllers.trajectory}/joint_trajectory"
    elif not topic and parts.text_given(context, "self_collision") == "true":
        raise ValueError(
            "argument controller_topic is empty, and the controllers "
            f"{', '.join(cell.controllers.names)} are not one JointTrajectoryController: give the "
            "topic of the one that gets adjusted trajectories, or self_collision:=false"
        )
    joint_states = {"joint_states": "/joint_states"}
    return [
        parts.package_node(
            "collision_monitor",
            robot,
            parts.share("config", "collision_monitor.yaml"),
            {**joint_states, "~/command": topic},
        ),
        parts.package_node(
            "self_collision",
            {**robot, **given},
            parts.share("config", "self_collision.yaml"),
            {**joint_states, "~/joint_trajectory": topic},
            condition=IfCondition(LaunchConfiguration("self_collision")),
        ),
    ]


def generate_launch_description() -> LaunchDescription:
    """Return the arguments and all nodes."""
    own = "empty: that of the dual arm if the robot is the dual arm, else none"
    return LaunchDescription(
        [
            parts.argument("namespace", "", "namespace of this package's nodes"),
            parts.argument("urdf", parts.share("urdf", "dual_arm.urdf"), "URDF file of the robot"),
            parts.argument("robot_description_semantic", "", f"SRDF file of the robot; {own}"),
            parts.argument("scene", "", f"YAML file with the obstacles of the cell; {own}"),
            parts.argument(
                "controllers",
                "",
                "YAML file with the parameters of the controllers; empty: one trajectory "
                "controller, arms_controller, for all joints",
            ),
            parts.controller_topic(),
            *[parts.argument(name, "", text) for name, text in parts.ADJUSTMENT.items()],
            parts.switch("headless", False, "start Gazebo without its window"),
            parts.switch("self_collision", True, "start self_collision before the controllers"),
            *parts.view_arguments(),
            parts.argument("log_level", "info", "debug, info, warn, error or fatal"),
            OpaqueFunction(function=everything),
        ]
    )
