# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The ROS nodes: executables, conversions of messages. No geometry here."""
