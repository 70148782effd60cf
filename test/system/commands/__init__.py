# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Tests: commands."""
