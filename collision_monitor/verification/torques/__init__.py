# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Torques along a motion: rigid and flexible joints, fixed and floating bases."""
