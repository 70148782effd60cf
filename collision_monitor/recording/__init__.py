# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The last minutes around a stop, kept in memory and written to mcap files."""
