# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Adjust a motion on which two arms collide so that they keep 10 cm apart."""

from pathlib import Path

from collision_monitor import CollisionModel
from collision_monitor.motion import read_motion
from collision_monitor.self_collision import AdjustmentError, adjust

ROOT = Path(__file__).resolve().parents[1]

model = CollisionModel.from_urdf(ROOT / "urdf/dual_arm.urdf", srdf=ROOT / "urdf/dual_arm.srdf")
motion = read_motion(ROOT / "config/dual_arm_motion.csv")
order = [motion.joint_names.index(name) for name in model.joint_names]

try:
    adjustment = adjust(model, motion, safe_distance=0.1)
except AdjustmentError as error:  # has the place, the pair, its distance, and the safe part
    raise SystemExit(f"cannot be made safe: {error}") from None

before = model.min_distances(motion.positions[:, order]).min()
found = adjustment.motion
order = [found.joint_names.index(name) for name in model.joint_names]
after = model.min_distances(found.positions[:, order]).min()
print(f"nearest of all pairs at the waypoints: {before:.3f} m before, {after:.3f} m after")
print(f"certified at every instant between the arms: {adjustment.certified:.3f} m")
print(f"changed by {adjustment.largest_change:.3f} rad at most; {len(found.times)} waypoints")
