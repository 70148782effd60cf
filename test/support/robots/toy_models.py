# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Small robots made of text, loaded."""

from typing import Any

from collision_monitor import CollisionModel
from collision_monitor.robot.description import Robot
from collision_monitor.robot.urdf import load_robot
from support.robots.toys import robot


def toy_robot(*parts: str, name: str = "toy") -> Robot:
    """The robot of these links and joints."""
    return load_robot(robot(*parts, name=name))


def toy_model(*parts: str, **options: Any) -> CollisionModel:
    """The model of these links and joints."""
    return CollisionModel.from_urdf(robot(*parts), **options)
