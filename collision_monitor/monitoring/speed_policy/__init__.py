# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Speed policies: braking check, decision with hysteresis, latched stops, escape directions."""
