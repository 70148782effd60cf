# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Which pairs of links never, sometimes or always meet, with the proof; SRDFs from it."""
