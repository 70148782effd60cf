# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Motions verified before they are sent: limits, torques, clearance between samples.

`verify` runs all checks; they can also be called one by one. Names
are imported at their first use.
"""

from collision_monitor.common.lazy_imports import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "check": ("Settings", "SimultaneousMotion", "Torques"),
        "clearance.clearance_check": (
            "ClearanceCheck", "ClearanceSeries", "CollisionVerdict", "PairClearance",
            "check_clearance",
        ),
        "clearance.schedule": ("Scheduled",),
        "joint_limits_check": ("LimitsCheck", "check_joint_limits"),
        "run_checks": ("verify", "verify_many"),
        "torques.actuators": ("Drives", "read_drives"),
        "torques.dynamics": ("RobotDynamics",),
        "torques.torque_check": ("TorqueCheck", "check_torques"),
        "verification": ("Verdict", "Verification"),
    },
)
