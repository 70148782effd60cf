# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Motions and trajectories, and their files: CSV, YAML, bags and command files.

A `Motion` is a table of times and joint positions; a `Trajectory` consists of polynomials over
time.
"""

from collision_monitor.motion.motion_files import read_motion
from collision_monitor.motion.trajectory import Motion, Trajectory, write_motion

__all__ = ["Motion", "Trajectory", "read_motion", "write_motion"]
