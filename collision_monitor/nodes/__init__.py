# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The ROS face: thin nodes and message conversions. No geometry here."""
