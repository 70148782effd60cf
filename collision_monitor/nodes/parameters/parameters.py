# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters: names, defaults, ranges, what they mean; those of the collision_monitor node."""

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
        "folders that hold packages, at any depth; package:// is looked up there before the ament "
        "index", read_only=True,
    ),
    Parameter(
        "visual_meshes", False,
        "links without collision geometry take their visual one; links that have both keep "
        "their collision geometry", read_only=True,
    ),
    Parameter("scene", "", "file (YAML) with obstacles and pairs to ignore", read_only=True),
    Parameter(
        "max_leaves_per_link", 8,
        "capsules and spheres around a link at most: more are tighter, and slower", most=64,
        read_only=True,
    ),
    Parameter(
        "leaf_tolerance", 0.002,
        "no more leaves are added to a link once they stand off its mesh by so many metres in "
        "the mean", most=1.0, read_only=True,
    ),
    Parameter(
        "leaves", "",
        "file (YAML) of leaves, as 'fit --output' writes it, instead of a fit; refused where "
        "they do not enclose the robot", read_only=True,
    ),
    Parameter(
        "warn_distance", 0.1,
        "WARN and slow down when two links are as near as this, metres", most=10.0,
    ),
    Parameter(
        "stop_distance", 0.02,
        "ERROR and stop when two links are as near as this, metres; at most warn_distance",
        most=10.0,
    ),
    Parameter(
        "narrow_phase", "leaf",
        "what distances are measured on: 'leaf': capsules and spheres, never too far; 'mesh': the "
        "triangles; 'auto': the triangles where leaves are as near as warn_distance. Started with "
        "'leaf' it stays so: the others have more to load and compile",
    ),
    Parameter(
        "joint_state_timeout", 0.5,
        "STALE when the position of any joint is older than this, seconds; 0 switches the "
        "watchdog off, which is unsafe and warned of", most=60.0,
    ),
    Parameter(
        "cycle_deadline", 0.05,
        "WARN when it takes longer from taking a joint state until its distance is published, "
        "seconds; keep it within reaction_time", most=10.0,
    ),
    Parameter(
        "zero_state_confirmation", 0.3,
        "a first joint state of nothing but zeros is taken for a pose only after it has "
        "repeated for so many seconds", most=60.0, read_only=True,
    ),
    Parameter(
        "state_rate", 10.0,
        "~/state, ~/safe and, while it is not known, ~/min_distance are repeated so many "
        "times a second, at least once", most=100.0,
    ),
    Parameter(
        "distances_rate", 10.0,
        "~/distances so many times a second while somebody listens; 0: never", most=1000.0,
    ),
    Parameter(
        "marker_rate", 10.0,
        "~/markers so many times a second while somebody listens; 0: never", most=100.0,
    ),
    Parameter(
        "show_aabb_levels", "",
        "levels of the hierarchy of boxes to show among the markers, such as '0-2,5' or 'all'; the "
        "roots are level 0; empty: none",
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
            f"{values['warn_distance']:g}: a robot would stop before it is warned"
        )
    if values["narrow_phase"] not in NARROW_PHASES:
        return (
            f"narrow_phase {values['narrow_phase']!r} is none of {', '.join(NARROW_PHASES)}"
        )
    if reason := scene_parameters.refusal(values):
        return reason
    if values["cycle_deadline"] <= 0.0:
        return "cycle_deadline 0: a cycle takes some time, and a deadline cannot be switched off"
    if values["state_rate"] < 1.0:
        return f"state_rate {values['state_rate']:g} is below 1 Hz: the heartbeat cannot be slower"
    try:
        levels_of(values["show_aabb_levels"])
    except ConfigurationError as error:
        return str(error)
    return ""
