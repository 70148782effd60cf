# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""CollisionModel: a robot and its scene, ready for distance queries."""
