# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Compiled kernels: arrays in, numbers out. Nothing here knows robots, files or ROS."""
