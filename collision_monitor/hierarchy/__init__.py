# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The packed model: arrays, kinematics, the AABB tree over the leaves, and its queries."""
