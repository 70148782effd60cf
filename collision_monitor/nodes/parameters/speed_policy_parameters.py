# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of what the collision_monitor node does about distances, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from collision_monitor.errors import BehaviourError
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.model.thresholds import Rule, Thresholds, load_thresholds
from collision_monitor.monitoring.speed_policy.decelerations import braking_decelerations
from collision_monitor.monitoring.speed_policy.pair_rules import rules_of
from collision_monitor.monitoring.speed_policy.settings import Settings
from collision_monitor.nodes.parameters.parameter import Parameter
from collision_monitor.robot.joint_limits import read_joint_limits

PARAMETERS = (
    Parameter(
        "pair_thresholds", [""],
        "distances of single pairs or groups, a line each: 'left_* right_* warn=0.2 stop=0.05', "
        "metres; a later one counts",
    ),
    Parameter(
        "thresholds_file", "",
        "file (YAML) with a list 'pairs' of such distances, read when it is set; pair_thresholds "
        "come after it",
    ),
    Parameter(
        "prediction", True,
        "slow down and stop by the clearance along the braking path, not by that of now alone",
    ),
    Parameter(
        "reaction_time", 0.05,
        "seconds from a joint state until the robot begins to brake when it is told to", most=5.0,
    ),
    Parameter(
        "braking_decelerations", [""],
        "how hard joints brake, 'left_*=3.0', rad/s^2 or m/s^2; a later one counts. Else by "
        "joint_limits, else the velocity limit over half a second",
    ),
    Parameter(
        "joint_limits", "",
        "joint_limits.yaml whose max_acceleration is how hard joints brake", read_only=True,
    ),
    Parameter(
        "parting_speed", 0.005,
        "two links move away from each other when their distance grows faster than this, m/s",
        most=10.0,
    ),
    Parameter(
        "escape_scale", 0.25,
        "~/speed_scale while links within their stop distance move away", most=1.0,
    ),
    Parameter(
        "release_distance", 0.005,
        "a level is left only so much farther away than it was entered, metres", most=1.0,
    ),
    Parameter(
        "release_cycles", 5,
        "a level is left, and the scale rises, after so many joint states in a row that allow it",
        most=100,
    ),
    Parameter(
        "rise_time", 1.0,
        "seconds in which ~/speed_scale rises from 0 to 1 at the fastest; it falls at once",
        most=60.0,
    ),
    Parameter("latch_stops", False, "a stop lasts until ~/reset is called"),
    Parameter(
        "acknowledge_stops", False,
        "a stop lasts until ~/acknowledge is called, which may be while its cause lasts",
    ),
    Parameter(
        "stop_service", "",
        "service of a driver (std_srvs Trigger or SetBool) to call once for each stop; empty: none",
    ),
    Parameter("stop_service_data", False, "what a SetBool stop_service is called with"),
    Parameter(
        "stop_service_attempts", 4,
        "stop_service is called so often at most for one stop, until it succeeds", most=100,
    ),
    Parameter(
        "stop_service_timeout", 0.5, "seconds in which stop_service has to answer", most=60.0,
    ),
)  # fmt: skip

_DECIDING = (
    "prediction", "reaction_time", "parting_speed", "escape_scale", "release_distance",
    "release_cycles", "rise_time",
)  # fmt: skip


def settings_of(values: Mapping[str, Any]) -> Settings:
    """What decides about actions.

    Raises:
        BehaviourError: values that mean nothing.
    """
    return Settings(**{name: values[name] for name in _DECIDING})


def file_rules(values: Mapping[str, Any]) -> tuple[Rule, ...]:
    """Rules of the file of thresholds; none without one.

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
    own = rules_of(values["pair_thresholds"])
    return Thresholds(values["warn_distance"], values["stop_distance"], (*rules, *own))


def joint_limits_of(values: Mapping[str, Any], model: CollisionModel) -> dict[str, float]:
    """Accelerations by joint out of the file of limits; none without one.

    Raises:
        JointLimitsError: it cannot be used.
    """
    if not values["joint_limits"]:
        return {}
    found = read_joint_limits(values["joint_limits"], model.joint_names)
    return {name: joint.acceleration for name, joint in found.items()}


def decelerations_of(
    values: Mapping[str, Any], model: CollisionModel, limits: Mapping[str, float] | None
) -> np.ndarray:
    """(nq,) of the joints of a model; ``limits`` as of `joint_limits_of`.

    Raises:
        BehaviourError: an entry cannot be used.
    """
    given = [entry for entry in values["braking_decelerations"] if entry.strip()]
    return braking_decelerations(model.joint_names, model.velocity_limits, given, limits)


def check_behaviour(
    values: Mapping[str, Any],
    rules: Sequence[Rule],
    model: CollisionModel | None = None,
    limits: Mapping[str, float] | None = None,
) -> None:
    """Refuse values that cannot stand, or not with the model, if there is one.

    Raises:
        CollisionMonitorError: why.
    """
    settings_of(values)
    thresholds = thresholds_of(values, rules)
    if model is not None:
        thresholds.of(model.pairs, objects=model.link_names)
        decelerations_of(values, model, limits)
    if values["stop_service"] and values["stop_service_timeout"] <= 0.0:
        raise BehaviourError("stop_service_timeout 0: an answer takes some time")
