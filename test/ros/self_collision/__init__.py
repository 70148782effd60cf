# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Tests: the node self_collision, and its action."""
