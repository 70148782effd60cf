# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the collision_monitor node and of its robots, and settings from them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rclpy.node import Node

from collision_monitor.common.limits import LoadingLimits
from collision_monitor.common.settings import values_of
from collision_monitor.errors import BehaviourError, ConfigurationError, RobotDescriptionError
from collision_monitor.fitting.shapes import FitSettings
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.model.live.live_objects import Bounds
from collision_monitor.model.live.point_cloud import CloudSettings
from collision_monitor.model.loading import Recipe, RobotSource
from collision_monitor.model.thresholds import Rule, Thresholds, load_thresholds
from collision_monitor.monitoring.settings import (
    MonitorSettings,
    SpeedSettings,
    braking_decelerations,
    parse_pair_thresholds,
)
from collision_monitor.nodes.parameters.parameter import (
    FASTEST,
    LONGEST_TIMEOUT,
    RATE,
    SLOWEST,
    TIMEOUT,
    Parameter,
    check_fit_values,
    declare_parameters,
    fixed,
    from_settings,
    levels_of,
    package_dirs_of,
)
from collision_monitor.recording.stop_recorder import RecordingSettings
from collision_monitor.robot.limits import read_joint_limits

GENERAL = (
    fixed("robot_description", "",
          text="URDF of the robot, as text or as a file's path; empty: wait for the topic "
               "robot_description"),
    fixed("robot_description_semantic", "",
          text="SRDF of the robot, as text or as a file's path; its named states are poses of "
               "rest, its disabled pairs are not checked"),
    fixed("package_dirs", [""],
          text="folders that contain packages, at any depth; searched for package:// before the "
               "ament index. Descriptions and messages from topics may name files by a path only "
               "inside these folders, and by file:// inside installed packages, too"),
    *from_settings(Recipe, "visual_meshes", "scene", read_only=True),
    *from_settings(FitSettings, "max_leaves_per_link", "leaf_tolerance", read_only=True),
    *from_settings(Recipe, "leaves", "fit", "hierarchy", read_only=True),
    *from_settings(
        MonitorSettings, "warn_distance", "stop_distance", "narrow_phase", "joint_state_timeout"
    ),
    Parameter("cycle_deadline", 0.05, most=10.0, positive=True,
              text="WARN when the time from receiving a joint state to publishing its distance "
                   "exceeds this, seconds; at most reaction_time is recommended"),
    *from_settings(MonitorSettings, "zero_state_confirmation", read_only=True),
    Parameter("state_rate", RATE, least=1.0, most=FASTEST,
              text="rate at which ~/state is repeated, Hz: the heartbeat of the node; also that of "
                   "~/min_distance while unknown, and of ~/contacts of the simulation"),
    Parameter("distances_rate", RATE, least=SLOWEST, or_zero=True, most=FASTEST,
              text="rate of ~/distances while it has subscribers, Hz; 0: never"),
    Parameter("marker_rate", RATE, least=SLOWEST, or_zero=True, most=FASTEST,
              text="rate of ~/markers while it has subscribers, Hz; 0: never"),
    Parameter("show_aabb_levels", "",
              text="levels of the bounding box hierarchy to publish as markers, such as '0-2,5' "
                   "or 'all'; the roots are level 0; empty: none"),
    Parameter("show_mesh_level", "",
              text="level of the boxes over the triangles (hierarchy) to publish as markers, such "
                   "as '3' or 'all' for the deepest, with the boxes of the nearest two links that "
                   "overlap; '0': the boxes of links; empty: none"),
)  # fmt: skip


def _in_thousands(name: str) -> Parameter:
    (each,) = from_settings(LoadingLimits, name, read_only=True)
    return replace(
        each, name=name.replace("max_", "max_thousand_"), text=f"{each.text}, thousands",
        default=each.default // 1000, most=each.most // 1000,
    )  # fmt: skip


LIMITS = (
    *from_settings(LoadingLimits, "max_links", "max_shapes", read_only=True),
    *map(_in_thousands, ("max_triangles", "max_pairs")),
    *from_settings(LoadingLimits, "max_load_seconds", default=900.0, read_only=True),
)

RECORDING = (
    fixed("record", "",
          text="mcap file for the last minutes before every stop; further recordings are "
               "numbered; empty: no recording"),
    *from_settings(
        RecordingSettings, "record_seconds", "record_after", "record_megabytes", "record_files",
        read_only=True,
    ),
)  # fmt: skip

ROBOTS = (
    fixed("robots", [""],
          text="names of the robots in a cell, each with its own parameters such as left.mount; "
               "empty: a single robot, from robot_description"),
    fixed("world_frame", "world",
          text="frame in which robots are mounted and distances and markers are published, if "
               "robots has names"),
)  # fmt: skip

# Fields of `Bounds`, by parameter.
_BOUNDS = {
    "scene_max_objects": "objects", "scene_leaves_per_object": "leaves_per_object",
    "scene_max_triangles": "triangles", "cloud_max_voxels": "voxels",
}  # fmt: skip


def _bound(name: str) -> list[Parameter]:
    return from_settings(Bounds, _BOUNDS[name], name=name, read_only=True)


SCENE = (
    *_bound("scene_max_objects"),
    *_bound("scene_leaves_per_object"),
    *_bound("scene_max_triangles"),
    Parameter("scene_timeout", 0.0, most=3600.0,
              text="ERROR when no message is received on ~/scene for this time, seconds; 0: never"),
    *_bound("cloud_max_voxels"),
    *from_settings(CloudSettings, "voxel_size", name="cloud_voxel_size"),
    *from_settings(CloudSettings, "padding", name="cloud_padding"),
    Parameter("cloud_timeout", 0.0, most=LONGEST_TIMEOUT,
              text="ERROR when the last cloud is older than this, seconds, or none was received; "
                   "0: never"),
)  # fmt: skip

SPEED_POLICY = (
    Parameter("pair_thresholds", [""],
              text="thresholds of pairs or groups, one entry each: 'left_* right_* warn=0.2 "
                   "stop=0.05', metres, or 'finger_a finger_b check=false' for pairs that are not "
                   "to be checked; later entries take precedence"),
    Parameter("thresholds_file", "",
              text="YAML file with a list 'pairs' of such thresholds, read when it is set; "
                   "pair_thresholds take precedence"),
    *from_settings(SpeedSettings, "prediction", "reaction_time"),
    Parameter("braking_decelerations", [""],
              text="braking deceleration of joints, 'left_*=3.0', rad/s^2 or m/s^2; later "
                   "entries take precedence. Default: from joint_limits, else the velocity limit "
                   "divided by 0.5 s"),
    fixed("joint_limits", "",
          text="joint_limits.yaml whose max_acceleration is used as braking deceleration"),
    *from_settings(
        SpeedSettings, "parting_speed", "escape_scale", "release_distance", "release_cycles",
        "rise_time",
    ),
    Parameter("latch_stops", False, text="a stop lasts until ~/reset is called"),
    Parameter("acknowledge_stops", False,
              text="a stop lasts until ~/acknowledge is called, which is allowed while its cause "
                   "persists"),
    Parameter("stop_service", "", is_name=True,
              text="driver service (std_srvs Trigger or SetBool) to call once for each stop; "
                   "empty: none"),
    Parameter("stop_service_data", False, text="value with which a SetBool stop_service is called"),
    Parameter("stop_service_attempts", 4, most=100,
              text="maximum number of stop_service calls per stop, until one succeeds"),
    Parameter("stop_service_timeout", TIMEOUT, most=LONGEST_TIMEOUT,
              text="timeout of a stop_service call, seconds"),
)  # fmt: skip

# By title; docs/parameters.md has them in this order.
GROUPS = {
    "": GENERAL,
    "Limits of loading: a description or scene that exceeds one is rejected.": LIMITS,
    "Recordings of the messages of a collision_monitor node around each stop.": RECORDING,
    "Parameters of the robots that the collision_monitor node monitors: one, or several in a "
    "cell.": ROBOTS,
    "Parameters of the live scene: capacities and timeouts.": SCENE,
    "Parameters of the speed policy of the collision_monitor node.": SPEED_POLICY,
}
PARAMETERS = tuple(parameter for group in GROUPS.values() for parameter in group)


def check(values: Mapping[str, Any]) -> None:
    """Check values, without a robot.

    Raises:
        CollisionMonitorError: they are inconsistent.
    """
    if values["stop_distance"] > values["warn_distance"]:
        raise ConfigurationError(
            f"stop_distance {values['stop_distance']:g} is above warn_distance "
            f"{values['warn_distance']:g}: the robot would stop before the warning"
        )
    if values["stop_service"] and values["stop_service_timeout"] <= 0.0:
        raise BehaviourError("stop_service_timeout 0: must be above 0")
    for name in ("show_aabb_levels", "show_mesh_level"):
        levels_of(values[name], name)
    check_fit_values(values)
    settings_of(values)
    thresholds_of(values)


def settings_of(values: Mapping[str, Any]) -> SpeedSettings:
    """Settings of the speed policy.

    Raises:
        BehaviourError: invalid values.
    """
    return SpeedSettings(**values_of(SpeedSettings, values))


def file_rules(values: Mapping[str, Any]) -> tuple[Rule, ...]:
    """Rules of the file of thresholds; empty without a file.

    Raises:
        ThresholdsError: it cannot be used.
    """
    path = values["thresholds_file"]
    return load_thresholds(path).rules if path else ()


def thresholds_of(values: Mapping[str, Any], rules: Sequence[Rule] = ()) -> Thresholds:
    """Distances of all pairs; ``rules`` of the file come before those of the parameter.

    Raises:
        ThresholdsError: an entry of the parameter cannot be used.
    """
    own = parse_pair_thresholds(values["pair_thresholds"])
    return Thresholds(values["warn_distance"], values["stop_distance"], (*rules, *own))


def joint_limits_of(values: Mapping[str, Any], model: CollisionModel) -> dict[str, float]:
    """Accelerations by joint from the file of limits, rad/s^2 or m/s^2; empty without a file.

    Raises:
        JointLimitsError: it cannot be used.
    """
    if not values["joint_limits"]:
        return {}
    found = read_joint_limits(values["joint_limits"], model.joint_names)
    return {name: joint.acceleration for name, joint in found.items()}


def decelerations_of(
    values: Mapping[str, Any], model: CollisionModel, limits: Mapping[str, float]
) -> np.ndarray:
    """(nq,) of the joints of a model; ``limits`` as of `joint_limits_of`.

    Raises:
        BehaviourError: an entry cannot be used.
    """
    given = [entry for entry in values["braking_decelerations"] if entry.strip()]
    return braking_decelerations(model.joint_names, model.velocity_limits, given, limits)


def check_for_model(
    values: Mapping[str, Any],
    rules: Sequence[Rule],
    model: CollisionModel,
    limits: Mapping[str, float],
) -> None:
    """Check thresholds and decelerations of joints against a model.

    Raises:
        CollisionMonitorError: a value is invalid.
    """
    thresholds = thresholds_of(values, rules)
    thresholds.of(model.pairs, objects=model.link_names, left_out=model.unmonitored_pairs)
    thresholds.check_left_out(model.unmonitored_pairs)
    decelerations_of(values, model, limits)


# -- one robot, or several in a cell --

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_ALONE = ("robot_description", "robot_description_semantic")


@dataclass(frozen=True)
class RobotPort:
    """Sources of one robot.

    Attributes:
        source: its parameters.
        description_topic: topic of its URDF if ``source`` has none.
        joint_states: topic of its joint states.
    """

    source: RobotSource
    description_topic: str = "robot_description"
    joint_states: str = "joint_states"


def parameters_of(name: str) -> tuple[Parameter, ...]:
    """Parameters of each robot of a cell."""
    return (
        fixed(f"{name}.robot_description", "",
              text=f"URDF of {name}, as text or as a file's path; empty: wait for its topic"),
        fixed(f"{name}.robot_description_semantic", "",
              text=f"SRDF of {name}, as text or as a file's path"),
        fixed(f"{name}.robot_description_topic", f"{name}/robot_description", is_name=True,
              text=f"latched topic of the URDF of {name}"),
        fixed(f"{name}.joint_states", f"{name}/joint_states", is_name=True,
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
    """Declare the parameters of each robot in ``robots``; returns the sources of all robots.

    Raises:
        RobotDescriptionError: invalid names, mounts or topics; the message names the parameter.
    """
    names = [name for name in values["robots"] if name]
    if not names:
        urdf, srdf = (values[name] for name in _ALONE)
        return (RobotPort(RobotSource(urdf, srdf)),)
    _check_names(names, values)
    ports = []
    for name in names:
        declared = declare_parameters(node, parameters_of(name))
        robot_values = {key.removeprefix(f"{name}."): value for key, value in declared.items()}
        mount = tuple(robot_values["mount"])
        if len(mount) != 6 or not all(map(math.isfinite, mount)):
            raise RobotDescriptionError(
                f"{name}.mount: {list(mount)} is not x, y, z, roll, pitch, yaw: six finite numbers"
            )
        source = RobotSource(
            robot_values["robot_description"], robot_values["robot_description_semantic"], name,
            robot_values["prefix"], mount, robot_values["parent"],
        )  # fmt: skip
        topics = robot_values["robot_description_topic"], robot_values["joint_states"]
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


def bounds_of(values: Mapping[str, Any]) -> Bounds:
    """Capacity of the live scene."""
    return Bounds(**{field: values[name] for name, field in _BOUNDS.items()})


def recipe_of(
    values: Mapping[str, Any],
    robots: tuple[RobotSource, ...],
    exact: bool,
    rules: Sequence[Rule] = (),
) -> Recipe:
    """The recipe of a model of these robots; ``exact`` as of `Recipe`, ``rules`` of the file."""
    thresholds = thresholds_of(values, rules)
    return Recipe(
        robots,
        package_dirs_of(values),
        root=values["world_frame"],
        exact=exact,
        limits=limits_of(values),
        checked=thresholds.patterns(check=True),
        unchecked=thresholds.patterns(check=False),
        **values_of(FitSettings, values),
        **values_of(Recipe, values),
    )
