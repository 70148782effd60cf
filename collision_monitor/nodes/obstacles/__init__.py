# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Obstacles from topics: markers, attached objects, point clouds, planning scenes."""
