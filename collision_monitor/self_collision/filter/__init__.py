# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The filter in front of a controller: desired trajectories and points in, safe ones out."""
