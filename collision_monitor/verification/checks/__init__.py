# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The checks of a verification, one in each file; `verify.CHECKS` lists them."""
