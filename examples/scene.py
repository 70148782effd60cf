# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Define obstacles around a robot: one is attached to it, and a joint moves one."""

import numpy as np

from collision_monitor import CollisionModel

URDF = """
<robot name="gantry">
  <link name="base"/>
  <link name="arm">
    <collision><origin xyz="0.4 0 0"/><geometry><box size="0.8 0.1 0.1"/></geometry></collision>
  </link>
  <joint name="turn" type="revolute">
    <parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" velocity="1" effort="10"/>
  </joint>
</robot>
"""
SCENE = {  # the same as a YAML file: docs/scene.md
    "obstacles": [
        {"name": "post", "type": "cylinder", "radius": 0.05, "length": 1, "position": [0, 0.7, 0]},
        {"name": "tool", "type": "sphere", "radius": 0.08, "link": "arm", "position": [0.85, 0, 0]},
        {"name": "door", "type": "box", "size": [0.9, 0.03, 1], "position": [0.45, 0, 0],
         "joint": "hinge"},
    ],
    "joints": [
        {"name": "hinge", "type": "revolute", "axis": [0, 0, 1], "position": [1.2, -0.9, 0],
         "lower": 0.0, "upper": 3.14, "velocity": 0.5},
    ],
    "ignore": [["post", "door"]],
}  # fmt: skip

model = CollisionModel.from_urdf(URDF, scene=SCENE)
print("joints:", ", ".join(model.joint_names))  # includes the hinge of the door
for turn in np.linspace(-1.0, 1.2, 6):
    nearest = model.distance([turn, 1.5])
    print(f"turn {turn:5.2f}: {nearest.distance:6.3f} m, {' and '.join(nearest.links)}")
