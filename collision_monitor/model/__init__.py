# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A robot and its scene, ready for distance queries, with obstacles that come and go.

Names are imported at their first use.
"""

from collision_monitor.common.lazy_imports import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "collision_model": ("CollisionModel",),
        "live.live_scene": ("LiveScene",),
        "thresholds": ("Thresholds", "load_thresholds"),
    },
)
