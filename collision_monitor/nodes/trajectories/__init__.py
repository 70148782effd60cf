# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Desired trajectories: messages, actions, and their way from a request to a controller."""
