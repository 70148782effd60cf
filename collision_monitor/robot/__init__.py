# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Robots and scenes as plain data: bodies, kinematics, joint limits, pairs of links.

Names are imported at their first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collision_monitor.robot.composed import Mounted, compose, compose_semantics
    from collision_monitor.robot.description import Joint, Link, Robot, Shape
    from collision_monitor.robot.inertials import Inertial, read_inertials
    from collision_monitor.robot.joint_limits import JointLimits, read_joint_limits
    from collision_monitor.robot.poses import pose_from_xyz_rpy
    from collision_monitor.robot.scene import Obstacle, Scene, load_scene
    from collision_monitor.robot.srdf import Semantics, load_srdf
    from collision_monitor.robot.urdf import load_robot

__all__ = [
    "Inertial",
    "Joint",
    "JointLimits",
    "Link",
    "Mounted",
    "Obstacle",
    "Robot",
    "Scene",
    "Semantics",
    "Shape",
    "compose",
    "compose_semantics",
    "load_robot",
    "load_scene",
    "load_srdf",
    "pose_from_xyz_rpy",
    "read_inertials",
    "read_joint_limits",
]

_MODULES = {
    "Inertial": "inertials",
    "Joint": "description",
    "JointLimits": "joint_limits",
    "Link": "description",
    "Mounted": "composed",
    "Obstacle": "scene",
    "Robot": "description",
    "Scene": "scene",
    "Semantics": "srdf",
    "Shape": "description",
    "compose": "composed",
    "compose_semantics": "composed",
    "load_robot": "urdf",
    "load_scene": "scene",
    "load_srdf": "srdf",
    "pose_from_xyz_rpy": "poses",
    "read_inertials": "inertials",
    "read_joint_limits": "joint_limits",
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
