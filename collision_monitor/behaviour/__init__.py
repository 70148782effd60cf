# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What a robot should do about what is near: by distance, by prediction, and how long."""
