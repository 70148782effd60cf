# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Clearance of robot arms while they move, and keeping two arms out of each other's way."""

from collision_monitor.geometry.leaf import Leaf
from collision_monitor.hierarchy.clearance import Clearance
from collision_monitor.model.collision_model import CollisionModel

__all__ = ["Clearance", "CollisionModel", "Leaf"]
__version__ = "0.1.0"
