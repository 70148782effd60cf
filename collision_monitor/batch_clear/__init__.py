# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Yes or no for batches of configurations, eight at a time (SIMD)."""
