# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The linear repulsion field and the adjustment that follows it (Wu et al., 2018)."""
