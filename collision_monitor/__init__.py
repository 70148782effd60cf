# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Real-time minimum distances for robot arms, safe motions of two arms, verified trajectories.

`CollisionModel` loads a robot and measures distances, `Monitor` turns joint states into states and
actions, `adjust` makes a motion of two arms safe, `verify` checks a motion.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from collision_monitor.common import end_of_process  # noqa: F401 - first: others take a second
from collision_monitor.geometry.leaf import Leaf
from collision_monitor.hierarchy.clearance import Clearance
from collision_monitor.model.collision_model import CollisionModel

if TYPE_CHECKING:
    from collision_monitor.monitoring.monitor import Monitor, MonitorState
    from collision_monitor.self_collision.adjustment import adjust
    from collision_monitor.verification.verify import verify

__all__ = ["Clearance", "CollisionModel", "Leaf", "Monitor", "MonitorState", "adjust", "verify"]
__version__ = "0.1.0"

# Imported at their first use: they are not needed for distances.
_MODULES = {
    "Monitor": "monitoring.monitor",
    "MonitorState": "monitoring.monitor",
    "adjust": "self_collision.adjustment",
    "verify": "verification.verify",
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
