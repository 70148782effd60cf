# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the simulation node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from collision_monitor.errors import ConfigurationError
from collision_monitor.nodes.parameters import monitor_parameters
from collision_monitor.nodes.parameters.parameter import (
    FASTEST,
    LONGEST_TIMEOUT,
    SLOWEST,
    TIMEOUT,
    Parameter,
    fixed,
    from_settings,
)
from collision_monitor.simulation.mujoco_model import SimulationSettings

_SHARED = ("robot_description", "robot_description_semantic", "package_dirs", "scene")

PARAMETERS = (
    *(p for p in monitor_parameters.GENERAL if p.name in _SHARED),
    fixed("start_positions", "",
          text="start positions, joint=value,... in radians or metres; other joints start at 0, "
               "or at the nearer limit"),
    *from_settings(
        SimulationSettings, "timestep", "gravity", "servo_bandwidth", "effort_limits",
        read_only=True,
    ),
    fixed("joint_state_rate", 200.0, least=SLOWEST, most=FASTEST,
          text="rate of joint_states and /clock in simulated time, Hz; time steps are "
               "shortened to fit it"),
    Parameter("real_time_factor", 1.0, least=SLOWEST, most=100.0,
              text="maximum speed of the simulation relative to real time"),
    Parameter("heed_speed_scale", False,
              text="scale trajectories by ~/speed_scale, and stop while it is 0 or silent"),
    Parameter("speed_scale_timeout", TIMEOUT, most=LONGEST_TIMEOUT, positive=True,
              text="~/speed_scale is silent when no message was received for this time, "
                   "simulated seconds"),
    Parameter("goal_tolerance", 0.01, most=1.0, positive=True,
              text="an action goal is reached when every joint is within this distance of it, "
                   "rad or m; a tolerance of the goal takes precedence"),
    *(p for p in monitor_parameters.GENERAL if p.name == "state_rate"),
)  # fmt: skip


def check(values: Mapping[str, Any]) -> None:
    """Check values, without a robot.

    Raises:
        ConfigurationError: they are inconsistent.
    """
    if values["joint_state_rate"] * values["timestep"] > 1.0:
        raise ConfigurationError(
            f"joint_state_rate {values['joint_state_rate']:g} Hz is more than one message per "
            f"timestep of {values['timestep']:g} s"
        )
