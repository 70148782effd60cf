# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The demo: a command is verified, adjusted, executed under the monitor, and shown."""
