# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Motions from ROS 2 bags (mcap, sqlite3)."""
