# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Check many configurations in one call: distances, or only whether each keeps a margin."""

import time
from pathlib import Path

from collision_monitor import CollisionModel

ROOT = Path(__file__).resolve().parents[1]

model = CollisionModel.from_urdf(ROOT / "urdf/dual_arm.urdf", srdf=ROOT / "urdf/dual_arm.srdf")
rows = model.random_configurations(20_000, seed=1)  # (20000, number of joints)
model.is_clear(rows[:8])  # compiles kernels
model.min_distances(rows[:8])

begin = time.perf_counter()
distances = model.min_distances(rows)
middle = time.perf_counter()
clear = model.is_clear(rows, margin=0.02)
end = time.perf_counter()

print(f"{(distances < 0.0).mean():.1%} of the configurations collide")
print(f"{clear.mean():.1%} keep 20 mm")
assert (clear == (distances >= 0.02)).all()
print(f"{1e6 * (middle - begin) / len(rows):.2f} us a distance, ", end="")
print(f"{1e6 * (end - middle) / len(rows):.2f} us a yes or no; threads=0 takes all processors")
