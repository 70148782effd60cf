# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A robot simulated by MuJoCo, and files for Gazebo.

Names are imported at their first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collision_monitor.simulation.gazebo import gazebo_description, world_sdf
    from collision_monitor.simulation.simulation import Contact, Simulation, Touch
    from collision_monitor.simulation.trajectory_execution import Command, checked_command

__all__ = [
    "Command",
    "Contact",
    "Simulation",
    "Touch",
    "checked_command",
    "gazebo_description",
    "world_sdf",
]

_MODULES = {
    "Command": "trajectory_execution",
    "Contact": "simulation",
    "Simulation": "simulation",
    "Touch": "simulation",
    "checked_command": "trajectory_execution",
    "gazebo_description": "gazebo",
    "world_sdf": "gazebo",
}


def __getattr__(name: str) -> Any:
    """Import a public name at its first use (PEP 562)."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Public names, also those not imported yet."""
    return sorted({*globals(), *__all__})
