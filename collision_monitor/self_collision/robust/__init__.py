# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The method robust: steps, detours, and programs over the knots of a motion."""
