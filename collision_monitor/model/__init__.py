# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A robot and its scene, ready for distance queries, with obstacles that come and go.

Names are imported at their first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel
    from collision_monitor.model.live_scene import LiveScene
    from collision_monitor.model.thresholds import Thresholds, load_thresholds

__all__ = [
    "CollisionModel",
    "LiveScene",
    "Thresholds",
    "load_thresholds",
]

_MODULES = {
    "CollisionModel": "collision_model",
    "LiveScene": "live_scene",
    "Thresholds": "thresholds",
    "load_thresholds": "thresholds",
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
