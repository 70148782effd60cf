# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Bounding volume hierarchies over the triangles of one mesh."""
