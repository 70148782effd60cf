# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the self_collision node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from collision_monitor.nodes.parameters import parameters
from collision_monitor.nodes.parameters.parameters import Parameter

METHODS = ("robust", "published")
YIELDING = ("both", "left", "right")
GUARDS = ("running", "always")
_CHAIN = ("right_base_link", "right_tip_link", "left_base_link", "left_tip_link")
_SHARED = (
    "robot_description", "robot_description_semantic", "package_dirs", "visual_meshes", "scene",
    "max_leaves_per_link", "leaf_tolerance", "leaves", "zero_state_confirmation", "state_rate",
)  # fmt: skip

PARAMETERS = (
    *(p for p in parameters.PARAMETERS if p.name in _SHARED),
    Parameter(
        "arms", [""],
        "two groups of the SRDF, the right arm and the left arm; empty: use the base and tip "
        "links, or detect the two arms if those are empty too", read_only=True,
    ),
    *(
        Parameter(
            name, "",
            f"{name.split('_')[1]} link of the {name.split('_')[0]} arm, instead of a group; set "
            "all four or none", read_only=True,
        )
        for name in _CHAIN
    ),
    Parameter(
        "safe_distance", 0.1,
        "minimum distance of the arms from each other and from everything else, metres between "
        "leaves",
        most=10.0,
    ),
    Parameter(
        "danger_distance", 0.05,
        "ERROR and hold the arms when they are closer to each other than this, metres; at most "
        "safe_distance", most=10.0,
    ),
    Parameter("method", "robust", f"how trajectories are adjusted: {' or '.join(METHODS)}"),
    Parameter("yielding", "both", f"which arm gives way: {', '.join(YIELDING)}"),
    Parameter(
        "tip_weight", 0.0,
        "cost of a metre of tip displacement relative to a radian of joint displacement; higher "
        "values keep the tips closer to their path", most=1e6,
    ),
    Parameter(
        "acceleration_limit", 0.0,
        "maximum joint acceleration of adjusted trajectories, rad/s^2 or m/s^2; 0: no limit",
        most=1e6,
    ),
    Parameter(
        "start_tolerance", 0.01,
        "maximum difference between a trajectory's start and the current joint state, in any "
        "joint, rad or m",
        most=1.0,
    ),
    Parameter(
        "joint_state_timeout", 0.5,
        "STALE, and trajectories are rejected, when the position of any joint is older than "
        "this, seconds", most=60.0,
    ),
    Parameter(
        "max_points", 20000,
        "trajectories with more points are rejected", most=1000000,
    ),
    Parameter(
        "guard", "running",
        "when to hold arms that are closer than danger_distance: only while a trajectory from "
        f"this node is being executed, or always: {' or '.join(GUARDS)}",
    ),
    Parameter(
        "stream_horizon", 1.0,
        "maximum time of a desired point in the future, seconds", most=60.0,
    ),
    Parameter(
        "stream_timeout", 0.5,
        "a stream ends after this time without a desired point, seconds; the next one starts at "
        "the current position", most=60.0,
    ),
    Parameter(
        "controller_action", "",
        "FollowJointTrajectory action of the controller; adjusted goals of "
        "~/follow_joint_trajectory are forwarded to it; empty: topics only", read_only=True,
    ),
    Parameter(
        "marker_rate", 1.0,
        "rate of ~/markers while it has subscribers, Hz; 0: never", most=100.0,
    ),
)  # fmt: skip


def refusal(values: Mapping[str, Any]) -> str:
    """Why this set of values cannot stand; empty when it can."""
    if values["danger_distance"] > values["safe_distance"]:
        return (
            f"danger_distance {values['danger_distance']:g} is above safe_distance "
            f"{values['safe_distance']:g}"
        )
    for name, choices in (("method", METHODS), ("yielding", YIELDING), ("guard", GUARDS)):
        if values[name] not in choices:
            return f"{name} '{values[name]}' is not one of {', '.join(choices)}"
    for name in ("joint_state_timeout", "stream_horizon", "stream_timeout", "safe_distance"):
        if values[name] <= 0.0:
            return f"{name} {values[name]:g} is not above 0"
    if values["state_rate"] < 1.0:
        return f"state_rate {values['state_rate']:g} is below 1 Hz: the heartbeat cannot be slower"
    if reason := _arms_refusal(values):
        return reason
    return ""


def _arms_refusal(values: Mapping[str, Any]) -> str:
    groups = [name for name in values["arms"] if name]
    links = [name for name in _CHAIN if values[name]]
    if groups and links:
        return (
            f"arms {groups} and {links[0]} '{values[links[0]]}' are both given: give only one of "
            "them"
        )
    if groups and len(groups) != 2:
        return f"arms {groups}: expected two groups, the right arm and the left arm"
    if links and len(links) != len(_CHAIN):
        missing = [name for name in _CHAIN if name not in links]
        return f"{links[0]} is given, but not {', '.join(missing)}: all four are needed"
    return ""


def arm_names(values: Mapping[str, Any]) -> Sequence[str] | None:
    """The two arms as the library takes them; None where it is to find them."""
    if groups := [name for name in values["arms"] if name]:
        return groups
    if values[_CHAIN[0]]:
        right_base, right_tip, left_base, left_tip = (values[name] for name in _CHAIN)
        return [f"{right_base}:{right_tip}", f"{left_base}:{left_tip}"]
    return None
