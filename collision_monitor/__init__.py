# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Real-time minimum distances for robot arms, safe motions of two arms, verified trajectories.

`CollisionModel` loads a robot and measures distances, `Monitor` turns joint states into states and
actions, `adjust` makes a motion of two arms safe, `verify` checks a motion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from collision_monitor.common import end_of_process  # noqa: F401 - first: others take a second
from collision_monitor.common.lazy_imports import lazy_exports
from collision_monitor.geometry.leaf import Leaf
from collision_monitor.hierarchy.query import Clearance
from collision_monitor.model.collision_model import CollisionModel

if TYPE_CHECKING:
    from collision_monitor.monitoring.monitor import Monitor, MonitorState
    from collision_monitor.self_collision.adjustment import adjust
    from collision_monitor.verification.run_checks import verify

__all__ = ["Clearance", "CollisionModel", "Leaf", "Monitor", "MonitorState", "adjust", "verify"]
__version__ = "0.1.0"

# Imported at their first use: they are not needed for distances.
__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "monitoring.monitor": ("Monitor", "MonitorState"),
        "self_collision.adjustment": ("adjust",),
        "verification.run_checks": ("verify",),
    },
)[1:]
