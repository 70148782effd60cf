# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The kinematic chains of a robot: which joints and links are which arm."""
