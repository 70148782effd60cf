# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What the robots of a cell are loaded from; loading here, or in a process beside this one."""
