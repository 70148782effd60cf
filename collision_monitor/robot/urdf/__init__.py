# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""URDF files as plain data: links, joints, mimic joints, inertias, friction."""
