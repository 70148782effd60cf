# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Allowed collision matrices: pairs that can meet, with proofs; SRDFs written and audited."""
