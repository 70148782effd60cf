# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the robots that the collision_monitor node monitors: one, or several in a cell."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rclpy.node import Node

from collision_monitor.common.loading_limits import LoadingLimits
from collision_monitor.errors import RobotDescriptionError
from collision_monitor.model.loading import Recipe, RobotSource
from collision_monitor.nodes.parameters.parameter import Parameter, declare_parameters, fixed

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_ALONE = ("robot_description", "robot_description_semantic")


@dataclass(frozen=True)
class RobotPort:
    """Where one robot comes from.

    Attributes:
        source: its parameters.
        description_topic: where its URDF comes from if ``source`` has none.
        joint_states: the topic of its joint states.
    """

    source: RobotSource
    description_topic: str = "robot_description"
    joint_states: str = "joint_states"


def parameters_of(name: str) -> tuple[Parameter, ...]:
    """Those that each robot of a cell has."""
    return (
        fixed(f"{name}.robot_description", "",
              text=f"URDF of {name}, as text or as a file's path; empty: wait for its topic"),
        fixed(f"{name}.robot_description_semantic", "",
              text=f"SRDF of {name}, as text or as a file's path"),
        fixed(f"{name}.robot_description_topic", f"{name}/robot_description",
              text=f"latched topic of the URDF of {name}"),
        fixed(f"{name}.joint_states", f"{name}/joint_states",
              text=f"topic of the joint states of {name}"),
        fixed(f"{name}.prefix", f"{name}/", text=f"prefix of the link and joint names of {name}"),
        fixed(f"{name}.mount", [0.0] * 6,
              text=f"x, y, z, roll, pitch, yaw of the root link of {name} in its parent, metres "
                   "and radians"),
        fixed(f"{name}.parent", "",
              text=f"parent link of {name}, with its prefix, of a robot earlier in robots; empty: "
                   "world_frame"),
    )  # fmt: skip


def declare_robots(node: Node, values: Mapping[str, Any]) -> tuple[RobotPort, ...]:
    """Declare the parameters of each robot that ``robots`` names; where all robots come from.

    Raises:
        RobotDescriptionError: names, mounts or topics that cannot be; it names the parameter.
    """
    names = [name for name in values["robots"] if name]
    if not names:
        urdf, srdf = (values[name] for name in _ALONE)
        return (RobotPort(RobotSource(urdf, srdf)),)
    _check_names(names, values)
    ports = []
    for name in names:
        declared = declare_parameters(node, parameters_of(name))
        found = {key.removeprefix(f"{name}."): value for key, value in declared.items()}
        mount = tuple(found["mount"])
        if len(mount) != 6 or not all(map(math.isfinite, mount)):
            raise RobotDescriptionError(
                f"{name}.mount: {list(mount)} is not x, y, z, roll, pitch, yaw: six finite numbers"
            )
        source = RobotSource(
            found["robot_description"], found["robot_description_semantic"], name,
            found["prefix"], mount, found["parent"],
        )  # fmt: skip
        topics = found["robot_description_topic"], found["joint_states"]
        ports.append(RobotPort(source, *topics))
    _check_topics(ports)
    return tuple(ports)


def _check_names(names: list[str], values: Mapping[str, Any]) -> None:
    for name in names:
        if not _NAME.fullmatch(name):
            raise RobotDescriptionError(
                f"robots: {name!r} is not a valid name: expected a letter, then letters, digits "
                "and underscores"
            )
        if name in values:
            raise RobotDescriptionError(f"robots: {name!r} is the name of a parameter")
        if names.count(name) > 1:
            raise RobotDescriptionError(f"robots: {name!r} is named twice")
    for name in _ALONE:
        if values[name]:
            raise RobotDescriptionError(
                f"{name} applies to a single robot, but robots has the names {', '.join(names)}: "
                f"set {names[0]}.{name}"
            )


def _check_topics(ports: list[RobotPort]) -> None:
    prefixes: dict[str, RobotSource] = {}
    for port in ports:
        other = prefixes.setdefault(port.joint_states, port.source)
        if other.prefix != port.source.prefix:
            raise RobotDescriptionError(
                f"{port.source.name}.joint_states is that of {other.name}, {port.joint_states!r}, "
                f"but their prefixes are {other.prefix!r} and {port.source.prefix!r}: joints "
                "could not be assigned to a robot"
            )


def limits_of(values: Mapping[str, Any]) -> LoadingLimits:
    """The limits of loading."""
    return LoadingLimits(
        values["max_links"], values["max_shapes"], 1000 * values["max_thousand_triangles"],
        1000 * values["max_thousand_pairs"], values["max_load_seconds"],
    )  # fmt: skip


def recipe_of(
    values: Mapping[str, Any], robots: tuple[RobotSource, ...], exact: bool
) -> Recipe:
    """The recipe of a model of these robots; ``exact`` as of `Recipe`."""
    return Recipe(
        robots,
        tuple(folder for folder in values["package_dirs"] if folder),
        values["scene"],
        values["max_leaves_per_link"],
        values["leaf_tolerance"],
        values["leaves"],
        values["visual_meshes"],
        values["world_frame"],
        exact,
        values["fit"],
        values["hierarchy"],
        limits_of(values),
    )
