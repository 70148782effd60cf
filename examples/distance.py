# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Compute the minimum distance of a robot and its cell at a configuration."""

from pathlib import Path

from collision_monitor import CollisionModel

ROOT = Path(__file__).resolve().parents[1]

model = CollisionModel.from_urdf(
    ROOT / "urdf/dual_arm.urdf",
    srdf=ROOT / "urdf/dual_arm.srdf",
    scene=ROOT / "urdf/dual_arm_scene.yaml",
)
q = [0.0] * len(model.joint_names)  # radians and metres, in the order of model.joint_names
q[model.joint_names.index("right_joint_4")] = 1.2

nearest = model.distance(q)
print(f"{' and '.join(nearest.links)} are {1000 * nearest.distance:.1f} mm apart")
print(f"from {nearest.points[0]} to {nearest.points[1]}, along {nearest.normal}")

distances = model.distances(q)  # one for each checked pair
for k in distances.argsort()[:3]:
    print(f"{1000 * distances[k]:8.1f} mm  {' - '.join(model.pairs[k])}")
for a, b, reason in model.unmonitored_pairs[:3]:
    print(f"not checked: {a} - {b}, {reason}")
