# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Yes/no clearance checks of batches of configurations, eight at a time (SIMD)."""
