# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Find pairs of links that can never collide, with proofs where possible; write an SRDF."""

from pathlib import Path

from collision_monitor import CollisionModel
from collision_monitor.acm import SearchSettings, classify, exemptions

ROOT = Path(__file__).resolve().parents[1]

model = CollisionModel.from_urdf(ROOT / "urdf/probe_arm.urdf")
results = classify(model, settings=SearchSettings(seconds=5.0, samples=500))
for result in results[:8]:
    print(f"{result.meeting.value:9} by {result.ground.value:14} {' - '.join(result.links)}")
found = exemptions(model, results)
print(f"{len(found)} of {len(results)} pairs need no check")
for exemption in found[:3]:
    print(f"  {' - '.join(exemption.links)}: {exemption.reason}, {exemption.detail}")
