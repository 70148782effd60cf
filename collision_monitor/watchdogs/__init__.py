# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What looks after a monitor's data: publishers, clocks, the time that cycles take. No ROS."""
