# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What the launch files of this package share: arguments, nodes of the package, RViz."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ament_index_python.packages import get_package_share_directory
from launch import LaunchContext
from launch.actions import DeclareLaunchArgument
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

PACKAGE = "collision_monitor"
SWITCH = ["true", "false"]
# Arguments that are parameters of a node too; left empty, params_file has the say.
ROBOT = {
    "robot_description": "URDF file of the robot; empty: what params_file says, by default the "
    "latched topic robot_description",
    "robot_description_semantic": "SRDF file of the robot; empty: what params_file says",
    "scene": "YAML file with obstacles and pairs to ignore; empty: what params_file says",
}
# The same for those that are true or false.
SWITCHES = {
    "visual_meshes": "whether links without collision geometry take their visual one; empty: what "
    "params_file says",
}


def share(*parts: str) -> str:
    """A file that this package has installed."""
    return str(Path(get_package_share_directory(PACKAGE), *parts))


def argument(name: str, default: str, text: str, **options: Any) -> DeclareLaunchArgument:
    """One argument of a launch file."""
    return DeclareLaunchArgument(name, default_value=default, description=text, **options)


def switch(name: str, default: bool, text: str) -> DeclareLaunchArgument:
    """An argument that is true or false."""
    return argument(name, str(default).lower(), text, choices=SWITCH)


def common_arguments(
    params_file: str, overrides: Mapping[str, str] = ROBOT
) -> list[DeclareLaunchArgument]:
    """Namespace, file of parameters (of those in config/), clock, RViz, parameters, log level."""
    return [
        argument("namespace", "", "namespace of the node and its topics"),
        argument(
            "params_file", share("config", params_file), "YAML file with the parameters of the node"
        ),
        switch("use_sim_time", False, "take the time from /clock"),
        switch("rviz", False, "start RViz and show the markers"),
        fixed_frame(),
        *[argument(name, "", text) for name, text in overrides.items()],
        *[argument(name, "", text, choices=["", *SWITCH]) for name, text in SWITCHES.items()],
        argument("log_level", "info", "debug, info, warn, error or fatal"),
    ]


def as_text(value: str) -> ParameterValue:
    """A parameter that is text: a path is not to be read as YAML."""
    return ParameterValue(value, value_type=str)


def flag(name: str) -> ParameterValue:
    """A parameter that is an argument of the same name, true or false."""
    return ParameterValue(LaunchConfiguration(name), value_type=bool)


def given(context: LaunchContext, names: Iterable[str]) -> dict[str, ParameterValue | bool]:
    """Those arguments that are not empty, as parameters."""
    values = {name: LaunchConfiguration(name).perform(context) for name in names}
    return {
        name: value == "true" if name in SWITCHES else as_text(value)
        for name, value in values.items()
        if value
    }


def file_given(context: LaunchContext, name: str) -> str:
    """The argument ``name``, a file that is there; launch itself would go on without it."""
    path = LaunchConfiguration(name).perform(context)
    if not Path(path).is_file():
        raise FileNotFoundError(f"argument {name}: no file {path!r}")
    return path


def number_given(context: LaunchContext, name: str) -> float:
    """The argument ``name``, a number."""
    text = LaunchConfiguration(name).perform(context)
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"argument {name}: {text!r} is not a number") from None


def package_node(
    executable: str,
    parameters: Mapping[str, Any],
    params_file: str,
    remappings: Iterable[tuple[str, str]] = (),
    **options: Any,
) -> Node:
    """A node of this package; ``parameters`` go before those of the file (a path)."""
    return Node(
        package=PACKAGE,
        executable=executable,
        name=executable,
        namespace=LaunchConfiguration("namespace"),
        output="screen",
        parameters=[params_file, dict(parameters)],
        remappings=list(remappings),
        arguments=["--ros-args", "--log-level", LaunchConfiguration("log_level")],
        **options,
    )


def fixed_frame() -> DeclareLaunchArgument:
    """The argument that `rviz` reads beside its switch."""
    return argument(
        "fixed_frame", "base_link", "frame that RViz draws in, such as the robot's root link"
    )


def rviz(use_sim_time: Any = None) -> Node:
    """RViz with the markers, where the argument rviz asks for it."""
    return Node(
        package="rviz2",
        executable="rviz2",
        name="rviz2",
        namespace=LaunchConfiguration("namespace"),
        output="screen",
        # The topics in that file are relative: they follow the namespace.
        arguments=[
            "-d", share("rviz", "collision_monitor.rviz"), "-f", LaunchConfiguration("fixed_frame"),
        ],
        parameters=[
            {"use_sim_time": flag("use_sim_time") if use_sim_time is None else use_sim_time}
        ],
        condition=IfCondition(LaunchConfiguration("rviz")),
    )
