# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Verify that a motion is safe: limits and distances, also between its samples."""

from pathlib import Path

from collision_monitor import CollisionModel
from collision_monitor.model.thresholds import Thresholds
from collision_monitor.motion.motion_files import load_trajectory
from collision_monitor.verification import Settings, verify

ROOT = Path(__file__).resolve().parents[1]

model = CollisionModel.from_urdf(ROOT / "urdf/dual_arm.urdf", srdf=ROOT / "urdf/dual_arm.srdf")
settings = Settings(Thresholds(warn=0.05, stop=0.005))

for name in ("dual_arm_motion.csv", "dual_arm_motion_adjusted.csv"):
    motion = load_trajectory(ROOT / "config" / name, model.robot)
    result = verify(model, motion, settings)
    print(f"{name}: {result.verdict.name.lower()}")
    for found in result.violations[:3]:
        print(f"  {found.code.value}: {found.subject}, {found.value:.3f} {found.unit} ", end="")
        print(f"at {found.worst:.1f} s, {found.limit:g} {found.unit} is the limit")
