# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Where the project is."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
