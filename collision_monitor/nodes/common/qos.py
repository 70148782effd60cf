# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Qualities of service."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

# The last message is kept for those who come late.
LATCHED = QoSProfile(
    depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE
)
# Reliable, so that both reliable and best-effort subscribers match.
VALUES = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
