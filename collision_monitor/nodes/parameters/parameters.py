# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the collision_monitor node, with defaults, ranges and descriptions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rclpy.node import Node

from collision_monitor.errors import ConfigurationError
from collision_monitor.monitoring.monitor import NARROW_PHASES
from collision_monitor.nodes import recorder
from collision_monitor.nodes.markers.aabb_markers import levels_of
from collision_monitor.nodes.parameters import (
    robot_parameters,
    scene_parameters,
    speed_policy_parameters,
)
from collision_monitor.nodes.parameters.parameter import Parameter

PARAMETERS = (
    Parameter(
        "robot_description", "",
        "URDF of the robot, as text or as a file's path; empty: wait for the topic "
        "robot_description", read_only=True,
    ),
    Parameter(
        "robot_description_semantic", "",
        "SRDF of the robot, as text or as a file's path; its disabled pairs are not checked",
        read_only=True,
    ),
    Parameter(
        "package_dirs", [""],
        "folders that contain packages, at any depth; searched for package:// before the ament "
        "index", read_only=True,
    ),
    Parameter(
        "visual_meshes", False,
        "use the visual geometry of links without collision geometry; other links keep their "
        "collision geometry", read_only=True,
    ),
    Parameter("scene", "", "YAML file with obstacles and pairs to ignore", read_only=True),
    Parameter(
        "max_leaves_per_link", 8,
        "maximum number of capsules and spheres per link: more are tighter and slower", most=64,
        read_only=True,
    ),
    Parameter(
        "leaf_tolerance", 0.002,
        "stop adding leaves to a link when their mean distance from its mesh is below this, "
        "metres", most=1.0, read_only=True,
    ),
    Parameter(
        "leaves", "",
        "YAML file of leaves, as written by 'fit --output', used instead of fitting; rejected if "
        "they do not enclose the robot", read_only=True,
    ),
    Parameter(
        "warn_distance", 0.1,
        "WARN and slow down when the distance of two links is at or below this, metres", most=10.0,
    ),
    Parameter(
        "stop_distance", 0.02,
        "ERROR and stop when the distance of two links is at or below this, metres; at most "
        "warn_distance",
        most=10.0,
    ),
    Parameter(
        "narrow_phase", "leaf",
        "geometry for distances: 'leaf': capsules and spheres, conservative; 'mesh': triangles; "
        "'auto': triangles where leaves are within warn_distance. A node started with 'leaf' "
        "cannot be switched at run time: the others need more data and kernels",
    ),
    Parameter(
        "joint_state_timeout", 0.5,
        "STALE when the position of any joint is older than this, seconds; 0 disables the "
        "watchdog, which is unsafe and logged as a warning", most=60.0,
    ),
    Parameter(
        "cycle_deadline", 0.05,
        "WARN when the time from receiving a joint state to publishing its distance exceeds "
        "this, seconds; at most reaction_time is recommended", most=10.0,
    ),
    Parameter(
        "zero_state_confirmation", 0.3,
        "an all-zero first joint state is accepted only after it has repeated for this time, "
        "seconds", most=60.0, read_only=True,
    ),
    Parameter(
        "state_rate", 10.0,
        "rate at which ~/state, ~/safe and, while unknown, ~/min_distance are repeated, Hz, at "
        "least 1", most=100.0,
    ),
    Parameter(
        "distances_rate", 10.0,
        "rate of ~/distances while it has subscribers, Hz; 0: never", most=1000.0,
    ),
    Parameter(
        "marker_rate", 10.0,
        "rate of ~/markers while it has subscribers, Hz; 0: never", most=100.0,
    ),
    Parameter(
        "show_aabb_levels", "",
        "levels of the bounding box hierarchy to publish as markers, such as '0-2,5' or 'all'; "
        "the roots are level 0; empty: none",
    ),
    *scene_parameters.PARAMETERS,
    *speed_policy_parameters.PARAMETERS,
    *recorder.PARAMETERS,
    *robot_parameters.PARAMETERS,
)  # fmt: skip


def declare_parameters(
    node: Node, parameters: Sequence[Parameter] = PARAMETERS
) -> dict[str, Any]:
    """Declare them all; returns their values."""
    return {
        p.name: node.declare_parameter(p.name, p.default, p.descriptor()).value
        for p in parameters
    }


def not_finite(values: Mapping[str, Any]) -> str:
    """Which value is no number, in words; empty when all are: a range lets NaN pass."""
    for name, value in values.items():
        if isinstance(value, float) and not math.isfinite(value):
            return f"{name}: {value} is not a finite number"
    return ""


def refusal(values: Mapping[str, Any]) -> str:
    """Why this set of values cannot stand; empty when it can."""
    if values["stop_distance"] > values["warn_distance"]:
        return (
            f"stop_distance {values['stop_distance']:g} is above warn_distance "
            f"{values['warn_distance']:g}: the robot would stop before the warning"
        )
    if values["narrow_phase"] not in NARROW_PHASES:
        return (
            f"narrow_phase {values['narrow_phase']!r} is not one of {', '.join(NARROW_PHASES)}"
        )
    if reason := scene_parameters.refusal(values):
        return reason
    if values["cycle_deadline"] <= 0.0:
        return "cycle_deadline 0: must be above 0; the deadline cannot be disabled"
    if values["state_rate"] < 1.0:
        return f"state_rate {values['state_rate']:g} is below 1 Hz: the heartbeat cannot be slower"
    try:
        levels_of(values["show_aabb_levels"])
    except ConfigurationError as error:
        return str(error)
    return ""
