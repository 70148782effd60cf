# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A live page in the browser: the robot, its leaves and clearance, moved by hand."""
