# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Reports of verified motions: text, JSON, JUnit, HTML."""
