# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the speed policy of the collision_monitor node."""

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
        "thresholds of pairs or groups, one entry each: 'left_* right_* warn=0.2 stop=0.05', "
        "metres; later entries take precedence",
    ),
    Parameter(
        "thresholds_file", "",
        "YAML file with a list 'pairs' of such thresholds, read when it is set; pair_thresholds "
        "take precedence",
    ),
    Parameter(
        "prediction", True,
        "slow down and stop based on the clearance along the braking path, not only on the "
        "current one",
    ),
    Parameter(
        "reaction_time", 0.05,
        "time from a joint state until the robot begins to brake on command, seconds", most=5.0,
    ),
    Parameter(
        "braking_decelerations", [""],
        "braking deceleration of joints, 'left_*=3.0', rad/s^2 or m/s^2; later entries take "
        "precedence. Default: from joint_limits, else the velocity limit divided by 0.5 s",
    ),
    Parameter(
        "joint_limits", "",
        "joint_limits.yaml whose max_acceleration is used as braking deceleration", read_only=True,
    ),
    Parameter(
        "parting_speed", 0.005,
        "two links count as moving away when their distance grows faster than this, m/s",
        most=10.0,
    ),
    Parameter(
        "escape_scale", 0.25,
        "value of ~/speed_scale while links within their stop distance move away", most=1.0,
    ),
    Parameter(
        "release_distance", 0.005,
        "hysteresis: a level is left only when the distance exceeds its threshold by this, metres",
        most=1.0,
    ),
    Parameter(
        "release_cycles", 5,
        "number of consecutive joint states that must allow it before a level is left and the "
        "scale rises",
        most=100,
    ),
    Parameter(
        "rise_time", 1.0,
        "minimum time for ~/speed_scale to rise from 0 to 1, seconds; it falls immediately",
        most=60.0,
    ),
    Parameter("latch_stops", False, "a stop lasts until ~/reset is called"),
    Parameter(
        "acknowledge_stops", False,
        "a stop lasts until ~/acknowledge is called, which is allowed while its cause persists",
    ),
    Parameter(
        "stop_service", "",
        "driver service (std_srvs Trigger or SetBool) to call once for each stop; empty: none",
    ),
    Parameter("stop_service_data", False, "value with which a SetBool stop_service is called"),
    Parameter(
        "stop_service_attempts", 4,
        "maximum number of stop_service calls per stop, until one succeeds", most=100,
    ),
    Parameter(
        "stop_service_timeout", 0.5, "timeout of a stop_service call, seconds", most=60.0,
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
        raise BehaviourError("stop_service_timeout 0: must be above 0")
