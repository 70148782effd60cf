# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the simulation node."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from collision_monitor.errors import ConfigurationError
from collision_monitor.nodes.parameters import parameters
from collision_monitor.nodes.parameters.parameters import Parameter
from collision_monitor.simulation.servos import BANDWIDTH

_SHARED = (
    "robot_description", "robot_description_semantic", "package_dirs", "scene", "state_rate",
)  # fmt: skip

PARAMETERS = (
    *(p for p in parameters.PARAMETERS if p.name in _SHARED and p.name != "state_rate"),
    Parameter(
        "start_positions", "",
        "start positions, joint=value,... in radians or metres; other joints start at 0, or at "
        "the nearer limit", read_only=True,
    ),
    Parameter("timestep", 0.002, "integration time step, seconds", most=0.02, read_only=True),
    Parameter(
        "gravity", 9.81,
        "gravity along -z of the robot's root link, m/s^2", most=100.0, read_only=True,
    ),
    Parameter(
        "servo_bandwidth", BANDWIDTH,
        "bandwidth of the servos, Hz; doubling it reduces the tracking error to a quarter",
        most=100.0,
        read_only=True,
    ),
    Parameter(
        "effort_limits", True, "apply the effort limits of the URDF to the servos",
        read_only=True,
    ),
    Parameter(
        "joint_state_rate", 200.0,
        "rate of joint_states and /clock in simulated time, Hz; rounded to whole time steps",
        most=1000.0, read_only=True,
    ),
    Parameter(
        "real_time_factor", 1.0,
        "maximum speed of the simulation relative to real time",
        most=100.0,
    ),
    Parameter(
        "heed_speed_scale", False,
        "scale trajectories by ~/speed_scale, and stop while it is 0 or silent",
    ),
    Parameter(
        "speed_scale_timeout", 0.5,
        "~/speed_scale is silent when no message was received for this time, simulated seconds",
        most=60.0,
    ),
    Parameter(
        "goal_tolerance", 0.01,
        "an action goal is reached when every joint is within this distance of it, rad or m",
        most=1.0,
    ),
    *(p for p in parameters.PARAMETERS if p.name == "state_rate"),
)  # fmt: skip


def refusal(values: Mapping[str, Any]) -> str:
    """Why this set of values cannot stand; empty when it can."""
    for name in (
        "timestep", "servo_bandwidth", "joint_state_rate", "real_time_factor",
        "speed_scale_timeout", "goal_tolerance",
    ):  # fmt: skip
        if not values[name] > 0.0:
            return f"{name} {values[name]:g} is not above 0"
    if values["joint_state_rate"] * values["timestep"] > 1.0:
        return (
            f"joint_state_rate {values['joint_state_rate']:g} Hz is more than one message per "
            f"timestep of {values['timestep']:g} s"
        )
    if values["state_rate"] < 1.0:
        return f"state_rate {values['state_rate']:g} is below 1 Hz: the heartbeat cannot be slower"
    return ""


def start_positions(text: str) -> dict[str, float]:
    """Positions by joint, out of ``joint=value,...``.

    Raises:
        ConfigurationError: an entry of another form, a joint named twice, or no finite number.
    """
    found: dict[str, float] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (part.strip() for part in entry.partition("="))
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not (name and equals and math.isfinite(number)):
            raise ConfigurationError(
                f"start_positions: {entry!r} is not of the form joint=value, such as elbow=0.5"
            )
        if name in found:
            raise ConfigurationError(f"start_positions: joint {name!r} is given twice")
        found[name] = number
    return found
