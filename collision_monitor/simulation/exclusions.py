# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Which pairs of links a simulation does not let touch each other: those nobody watches either."""

from __future__ import annotations

from collision_monitor.robot.bodies import Bodies
from collision_monitor.robot.description import Robot
from collision_monitor.robot.pairs import NEIGHBOURS, neighbours
from collision_monitor.robot.scene import Scene
from collision_monitor.robot.srdf.srdf import Semantics


def excluded_pairs(
    robot: Robot, bodies: Bodies, semantics: Semantics, scene: Scene
) -> dict[frozenset[str], str]:
    """Reason by pair of names (links or obstacles), as a CollisionModel leaves them out.

    Neighbours over one joint, what the SRDF disables and what the scene ignores. Links
    of one rigid body need no exclusion: MuJoCo never lets them touch.
    """
    excluded = {pair: NEIGHBOURS for pair in neighbours(robot, bodies)}
    for pair, reason in semantics.disabled.items():
        text = f": {reason}" if reason else ""
        excluded.setdefault(pair, f"disabled in the SRDF{text}")
    for a, b in scene.ignore:
        excluded.setdefault(frozenset((a, b)), "ignored by the scene")
    return excluded
