# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Robots and scenes as plain data: bodies, kinematics, joint limits, pairs of links.

Names are imported at their first use.
"""

from collision_monitor.common.lazy_imports import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "composed": ("Mounted", "compose", "compose_semantics"),
        "description": ("Joint", "Link", "Robot", "Shape"),
        "inertials": ("Inertial", "read_inertials"),
        "limits": ("JointLimits", "joint_limits", "read_joint_limits"),
        "poses": ("pose_from_xyz_rpy",),
        "scene": ("Obstacle", "Scene", "load_scene"),
        "srdf": ("Semantics", "load_srdf"),
        "urdf": ("load_robot",),
    },
)
