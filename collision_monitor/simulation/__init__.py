# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A robot simulated by MuJoCo, and files for Gazebo.

Names are imported at their first use.
"""

from collision_monitor.common.lazy_imports import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "gazebo": ("gazebo_description", "world_sdf"),
        "mujoco_model": ("SimulationSettings",),
        "simulation": ("Contact", "Simulation", "Touch"),
        "trajectory_execution": ("Command", "checked_command"),
    },
)
