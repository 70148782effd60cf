# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Common parts of the launch files: arguments, nodes of the package, and RViz.

RViz shows a robot by the topic robot_description and the transforms of its links. Both come from
robot_state_publisher, so `view` starts it together with RViz.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ament_index_python.packages import get_package_share_directory
from launch import LaunchContext, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, LogInfo
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from collision_monitor.errors import ConfigurationError
from collision_monitor.nodes.common.arguments import given_in_file
from collision_monitor.robot.packages import publishable

PACKAGE = "collision_monitor"
SWITCH = ["true", "false"]
DEFAULT_FRAME = "base_link"
# Arguments that set parameters of a node; if empty, those of params_file apply.
ROBOT = {
    "robot_description": (
        "URDF file of the robot; empty: the value in params_file, by default the latched topic "
        "robot_description"
    ),
    "robot_description_semantic": "SRDF file of the robot; empty: the value in params_file",
    "scene": "YAML file with obstacles and pairs to ignore; empty: the value in params_file",
}
# The same for self_collision only.
ADJUSTMENT = {
    "controller_action": (
        "FollowJointTrajectory action of the controller; empty: the value in params_file, by "
        "default topics only"
    ),
    "method": (
        "how trajectories are adjusted: robust (quadratic programme) or field (linear repulsion "
        "field); empty: the value in params_file, by default robust"
    ),
}
# The same for those that are true or false.
SWITCHES = {
    "visual_meshes": (
        "use the visual geometry of links without collision geometry; empty: the value in "
        "params_file"
    ),
}


def share(*parts: str) -> str:
    """Path of an installed file of this package."""
    return str(Path(get_package_share_directory(PACKAGE), *parts))


def argument(name: str, default: str, text: str, **options: Any) -> DeclareLaunchArgument:
    """One argument of a launch file."""
    return DeclareLaunchArgument(name, default_value=default, description=text, **options)


def switch(name: str, default: bool, text: str) -> DeclareLaunchArgument:
    """An argument that is true or false."""
    return argument(name, str(default).lower(), text, choices=SWITCH)


def common_arguments(
    params_file: str, overrides: Mapping[str, str] = ROBOT, publisher: str = "auto"
) -> list[DeclareLaunchArgument]:
    """Arguments: namespace, file of parameters (in config/), topics, RViz, parameters, log level.

    ``publisher`` is the default of robot_state_publisher.
    """
    return [
        argument("namespace", "", "namespace of the nodes and their topics"),
        argument(
            "params_file",
            share("config", params_file),
            "YAML file with the parameters of the nodes",
        ),
        argument("joint_states", "joint_states", "topic of the joint states of the driver"),
        switch("use_sim_time", False, "use the time from /clock"),
        *view_arguments(publisher),
        *[argument(name, "", text) for name, text in overrides.items()],
        *[argument(name, "", text, choices=["", *SWITCH]) for name, text in SWITCHES.items()],
        argument("log_level", "info", "debug, info, warn, error or fatal"),
    ]


def controller_topic() -> DeclareLaunchArgument:
    """The argument for the topic of adjusted trajectories."""
    return argument(
        "controller_topic",
        "",
        "topic of the controller, to which adjusted trajectories are sent; empty: "
        "self_collision/joint_trajectory",
    )


def as_text(value: str) -> ParameterValue:
    """A text parameter, which is not parsed as YAML."""
    return ParameterValue(value, value_type=str)


def flag(name: str) -> ParameterValue:
    """A boolean parameter, set by the argument of the same name."""
    return ParameterValue(LaunchConfiguration(name), value_type=bool)


def given(context: LaunchContext, names: Iterable[str]) -> dict[str, ParameterValue | bool]:
    """The arguments that are not empty, as parameters."""
    values = {name: text_given(context, name) for name in names}
    return {
        name: value == "true" if name in SWITCHES else as_text(value)
        for name, value in values.items()
        if value
    }


def file_given(context: LaunchContext, name: str) -> str:
    """The argument ``name``, an existing file; launch would ignore a missing one."""
    path = text_given(context, name)
    if not Path(path).is_file():
        raise FileNotFoundError(f"argument {name}: no file {path!r}")
    return path


def text_given(context: LaunchContext, name: str) -> str:
    """The argument ``name``."""
    return LaunchConfiguration(name).perform(context)


def number_given(context: LaunchContext, name: str) -> float:
    """The argument ``name``, a number."""
    text = text_given(context, name)
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"argument {name}: {text!r} is not a number") from None


def package_node(
    executable: str,
    parameters: Mapping[str, Any],
    params_file: str,
    remappings: Mapping[str, str] | None = None,
    **options: Any,
) -> Node:
    """A node of this package; ``parameters`` take precedence over those of the file (a path).

    ``remappings``: new name by name; an empty new name changes nothing.
    """
    return Node(
        package=PACKAGE,
        executable=executable,
        name=executable,
        namespace=LaunchConfiguration("namespace"),
        output="screen",
        parameters=[params_file, dict(parameters)],
        remappings=[names for names in (remappings or {}).items() if names[1]],
        arguments=["--ros-args", "--log-level", LaunchConfiguration("log_level")],
        **options,
    )


def view_arguments(publisher: str = "auto") -> list[DeclareLaunchArgument]:
    """The arguments of `view`; ``publisher`` is the default of robot_state_publisher."""
    return [
        switch("rviz", False, "start RViz and show the robot and the markers"),
        argument(
            "robot_state_publisher",
            publisher,
            "whether to start robot_state_publisher; auto: if RViz or Gazebo needs it and the URDF "
            "is known here; false: beside a driver that starts its own",
            choices=["auto", *SWITCH],
        ),
        argument(
            "fixed_frame",
            "",
            "fixed frame of RViz; empty: the root link of the URDF, or base_link if the URDF is "
            "not known here",
        ),
    ]


class Shown(NamedTuple):
    """A robot for `view`.

    ``urdf`` is its path or text, empty if it comes from a topic; ``frame`` is the fixed frame if it
    differs from the root link of the URDF.
    """

    urdf: str
    package_dirs: tuple[str, ...] = ()
    frame: str = ""


def shown_robot(context: LaunchContext, params_file: str, node: str) -> Shown:
    """The robot of the argument robot_description, or of ``params_file`` if that is empty."""
    values = file_parameters(params_file, node)
    folders = package_dirs(values)
    urdf = text_given(context, "robot_description")
    if not urdf and any(values.get("robots") or ()):
        return Shown("", folders, str(values.get("world_frame") or "world"))
    return Shown(urdf or str(values.get("robot_description") or ""), folders)


def package_dirs(values: Mapping[str, Any]) -> tuple[str, ...]:
    """The parameter package_dirs of `file_parameters`."""
    return tuple(str(folder) for folder in values.get("package_dirs") or () if folder)


def file_parameters(params_file: str, node: str) -> dict[str, Any]:
    """Parameters in a file for ``node``, in any namespace.

    Empty if it cannot be read: the node reports the error.
    """
    values: dict[str, Any] = {}
    with suppress(ConfigurationError):
        given = [(each.node.rsplit("/", 1)[-1], each.values) for each in given_in_file(params_file)]
        for names in (("*", "**"), (node,)):  # the latter take precedence
            for name, found in given:
                values |= found if name in names else {}
    return values


def view(
    context: LaunchContext,
    robot: Shown,
    use_sim_time: Any = None,
    description: str = "",
    needed: bool = False,
    in_namespace: bool = True,
    joint_states: str = "",
) -> list[LaunchDescriptionEntity]:
    """robot_state_publisher and RViz, as the arguments request.

    Args:
        context: the launch context.
        robot: the displayed robot.
        use_sim_time: of both; None: the argument of that name.
        description: published by robot_state_publisher; empty: the URDF of ``robot``.
        needed: whether robot_state_publisher is also needed without RViz.
        in_namespace: whether joint states and robot_description are in the namespace of the nodes.
        joint_states: topic that robot_state_publisher takes instead of joint_states.

    Raises:
        ValueError: robot_state_publisher is needed, but the URDF is unknown or invalid.
    """
    rviz = text_given(context, "rviz") == "true"
    mode = text_given(context, "robot_state_publisher")
    publish = _is_published(mode, robot, rviz or needed)
    text, root = "", ""
    if robot.urdf and (rviz or publish):
        text, root = publishable(robot.urdf, robot.package_dirs)
    clock = {"use_sim_time": flag("use_sim_time") if use_sim_time is None else use_sim_time}
    namespace = LaunchConfiguration("namespace")
    entities: list[LaunchDescriptionEntity] = []
    if publish:
        entities.append(
            Node(
                package="robot_state_publisher",
                executable="robot_state_publisher",
                name="robot_state_publisher",
                namespace=namespace if in_namespace else "",
                output="screen",
                parameters=[{"robot_description": as_text(description or text), **clock}],
                remappings=[("joint_states", joint_states)] if joint_states else [],
            )
        )
    elif rviz and mode == "auto":
        text = "robot_state_publisher is not started: this launch file does not know the URDF. "
        text += "RViz shows the robot if another node publishes robot_description and /tf"
        entities.append(LogInfo(msg=text))
    if rviz:
        frame = text_given(context, "fixed_frame") or robot.frame or root or DEFAULT_FRAME
        entities.append(
            Node(
                package="rviz2",
                executable="rviz2",
                name="rviz2",
                namespace=namespace,
                output="screen",
                # The topics in that file are relative to the namespace.
                arguments=["-d", share("rviz", "collision_monitor.rviz"), "-f", frame],
                parameters=[clock],
                remappings=[] if in_namespace else [("robot_description", "/robot_description")],
            )
        )
    return entities


def _is_published(mode: str, robot: Shown, needed: bool) -> bool:
    """Whether to start robot_state_publisher, by its argument; ``needed`` decides if it is auto."""
    if mode == "true" and not robot.urdf:
        raise ValueError(
            "argument robot_state_publisher: true, but there is no URDF to publish: give "
            "robot_description a file"
        )
    return bool(robot.urdf) and (mode == "true" or (mode == "auto" and needed))
