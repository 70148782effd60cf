# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Capsules and spheres fitted around meshes, and the check that they enclose them."""
