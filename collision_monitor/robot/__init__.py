# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Robots and scenes as plain data: bodies, kinematics, joint limits, pairs of links."""
