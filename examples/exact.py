# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Compute distances of meshes, and the triangles in contact."""

from pathlib import Path

from collision_monitor import CollisionModel
from collision_monitor.motion import read_motion

ROOT = Path(__file__).resolve().parents[1]

model = CollisionModel.from_urdf(ROOT / "urdf/dual_arm.urdf", srdf=ROOT / "urdf/dual_arm.srdf")
model.prepare_exact()
motion = read_motion(ROOT / "config/dual_arm_motion.csv")  # with a collision of the arms
order = [motion.joint_names.index(name) for name in model.joint_names]

for time in (35.0, 41.0, 45.0, 50.0):
    q = motion.at(time)[order]
    leaves, meshes = model.distance(q), model.distance(q, exact=True)
    print(f"{time:.0f} s: leaves {1000 * leaves.distance:7.1f} mm, ", end="")
    print(f"meshes {1000 * meshes.distance:7.1f} mm, {' and '.join(meshes.links)}")
    assert leaves.distance <= meshes.distance + 1e-9  # leaf distances are conservative
    if meshes.distance <= 0.0:
        found = model.crossing_triangles(q, meshes.links)
        print(f"      {len(found.triangles)} pairs of triangles cross: {found.triangles[0]} ...")
