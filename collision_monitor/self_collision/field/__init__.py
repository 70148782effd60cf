# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The linear repulsion field of two arms: control points, pushes, and the published adjustment."""
