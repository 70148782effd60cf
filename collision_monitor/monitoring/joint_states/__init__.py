# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states, merged by name and checked, for one or several robots; joint velocities."""
