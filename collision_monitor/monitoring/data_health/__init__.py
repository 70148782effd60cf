# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Health of the data: clocks, cycle times, publishers, and counts of rejected joint states."""
