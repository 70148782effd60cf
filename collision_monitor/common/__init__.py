# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Files, caches, checked XML and YAML, and the set-up of numba. Knows no robots."""
