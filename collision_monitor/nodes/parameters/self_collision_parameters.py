# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the self_collision node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from collision_monitor.common.limits import LARGEST_LIMIT
from collision_monitor.common.settings import values_of
from collision_monitor.errors import ConfigurationError
from collision_monitor.monitoring.settings import MonitorSettings
from collision_monitor.nodes.parameters import monitor_parameters
from collision_monitor.nodes.parameters.parameter import (
    FASTEST,
    SLOWEST,
    Parameter,
    check_fit_values,
    fixed,
    from_settings,
)
from collision_monitor.self_collision.settings import YIELDING
from collision_monitor.self_collision.trajectory_filter import FilterSettings

GUARDS = ("running", "always")
_CHAIN = ("right_base_link", "right_tip_link", "left_base_link", "left_tip_link")
_SHARED = (
    "robot_description", "robot_description_semantic", "package_dirs", "visual_meshes", "scene",
    "max_leaves_per_link", "leaf_tolerance", "leaves", "fit", "zero_state_confirmation",
    "state_rate",
)  # fmt: skip

PARAMETERS = (
    *(p for p in monitor_parameters.GENERAL if p.name in _SHARED),
    *monitor_parameters.LIMITS,
    fixed("arms", [""],
          text="groups of the SRDF, or base_link:tip_link: one arm, the right and the left arm, "
               "or more; empty: use the base and tip links, or detect two arms, or else the only "
               "one, if those are empty too"),
    *(fixed(name, "",
            text="{1} link of the {0} arm, instead of a group; set all four or none".format(
                *name.split("_")))
      for name in _CHAIN),
    *from_settings(FilterSettings, "safe_distance", positive=True),
    *from_settings(FilterSettings, "danger_distance", "method"),
    *from_settings(FilterSettings, "yielding", choices=YIELDING,
                   text="which arm gives way: 'both' for all, 'left' or 'right' of two"),
    *from_settings(FilterSettings, "tip_weight"),
    Parameter("acceleration_limit", 0.0, most=LARGEST_LIMIT,
              text="maximum joint acceleration of adjusted trajectories, rad/s^2 or m/s^2; 0: no "
                   "limit"),
    Parameter("jerk_limit", 0.0, most=LARGEST_LIMIT,
              text="maximum joint jerk of adjusted trajectories, rad/s^3 or m/s^3; 0: no limit"),
    *from_settings(FilterSettings, "start_tolerance"),
    *from_settings(
        MonitorSettings, "joint_state_timeout", positive=True,
        text="STALE, and trajectories are rejected, when the position of any joint is older than "
             "this, seconds",
    ),
    *from_settings(FilterSettings, "max_points"),
    Parameter("guard", GUARDS[0], choices=GUARDS,
              text="which arms are held when they are closer than danger_distance: 'running': "
                   "those that may move because of what this node has sent; 'always': all that may "
                   "move"),
    *from_settings(FilterSettings, "stream_horizon", "stream_timeout"),
    fixed("controller_action", "", is_name=True,
          text="FollowJointTrajectory action of the controller; adjusted goals of "
               "~/follow_joint_trajectory are forwarded to it; empty: topics only"),
    Parameter("marker_rate", 1.0, least=SLOWEST, or_zero=True, most=FASTEST,
              text="rate of ~/markers while it has subscribers, Hz; 0: never"),
)  # fmt: skip


def check(values: Mapping[str, Any]) -> None:
    """Check values, without a robot.

    Raises:
        CollisionMonitorError: they are inconsistent.
    """
    settings_of(values)
    check_fit_values(values)
    groups = [name for name in values["arms"] if name]
    links = [name for name in _CHAIN if values[name]]
    if groups and links:
        raise ConfigurationError(
            f"arms {groups} and {links[0]} '{values[links[0]]}' are both given: give only one of "
            "them"
        )
    if links and len(links) != len(_CHAIN):
        missing = [name for name in _CHAIN if name not in links]
        raise ConfigurationError(
            f"{links[0]} is given, but not {', '.join(missing)}: all four are needed"
        )


def settings_of(values: Mapping[str, Any]) -> FilterSettings:
    """Settings of the filter; joint limits of 0 are none.

    Raises:
        ConfigurationError: invalid values.
    """
    return FilterSettings(
        **values_of(FilterSettings, values),
        acceleration_limits=values["acceleration_limit"] or None,
        jerk_limits=values["jerk_limit"] or None,
    )


def arm_names(values: Mapping[str, Any]) -> Sequence[str] | None:
    """The arms as an argument of the library; None to detect them."""
    if groups := [name for name in values["arms"] if name]:
        return groups
    if values[_CHAIN[0]]:
        right_base, right_tip, left_base, left_tip = (values[name] for name in _CHAIN)
        return [f"{right_base}:{right_tip}", f"{left_base}:{left_tip}"]
    return None
