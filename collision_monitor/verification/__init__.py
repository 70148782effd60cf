# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Motions verified before they are sent: limits, torques, clearance between samples.

`collision_monitor.verify` runs all checks; those of this room can also be called one by one. Names
are imported at their first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collision_monitor.verification.clearance.clearance_check import (
        ClearanceCheck,
        ClearanceSeries,
        CollisionVerdict,
        check_clearance,
    )
    from collision_monitor.verification.clearance.schedule import Scheduled
    from collision_monitor.verification.joint_limits_check import LimitsCheck, check_joint_limits
    from collision_monitor.verification.torques.actuators import Drives, read_drives
    from collision_monitor.verification.torques.dynamics import RobotDynamics
    from collision_monitor.verification.torques.torque_check import TorqueCheck, check_torques
    from collision_monitor.verification.verification import (
        Beside,
        Settings,
        Torques,
        Verdict,
        Verification,
    )
    from collision_monitor.verification.verify import verify_many

__all__ = [
    "Beside",
    "ClearanceCheck",
    "ClearanceSeries",
    "CollisionVerdict",
    "Drives",
    "LimitsCheck",
    "RobotDynamics",
    "Scheduled",
    "Settings",
    "TorqueCheck",
    "Torques",
    "Verdict",
    "Verification",
    "check_clearance",
    "check_joint_limits",
    "check_torques",
    "read_drives",
    "verify_many",
]

_MODULES = {
    "Beside": "verification",
    "ClearanceCheck": "clearance.clearance_check",
    "ClearanceSeries": "clearance.clearance_check",
    "CollisionVerdict": "clearance.clearance_check",
    "Drives": "torques.actuators",
    "LimitsCheck": "joint_limits_check",
    "RobotDynamics": "torques.dynamics",
    "Scheduled": "clearance.schedule",
    "Settings": "verification",
    "TorqueCheck": "torques.torque_check",
    "Torques": "verification",
    "Verdict": "verification",
    "Verification": "verification",
    "check_clearance": "clearance.clearance_check",
    "check_joint_limits": "joint_limits_check",
    "check_torques": "torques.torque_check",
    "read_drives": "torques.actuators",
    "verify_many": "verify",
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
