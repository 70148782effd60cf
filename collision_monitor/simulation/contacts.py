# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What touches what, by the names of links and obstacles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from collision_monitor.simulation.mujoco_model import SimulatedRobot, mujoco_library

Pair = tuple[str, str]


@dataclass(frozen=True)
class Contact:
    """Two links that touch: ``depth`` of their hulls in metres, ``force`` in newtons.

    The largest depth of one contact point, and the sum of the normal forces of all.
    """

    depth: float
    force: float


@dataclass(frozen=True)
class Touch:
    """All that is known of a pair that has touched: times in s, the worst of everything."""

    first: float
    last: float
    depth: float
    force: float


def contacts_of(robot: SimulatedRobot, data: Any) -> dict[Pair, Contact]:
    """By pair, names in alphabetical order, what touches after a step."""
    if data.ncon == 0:
        return {}
    mujoco = mujoco_library()
    found: dict[Pair, Contact] = {}
    wrench = np.zeros(6)
    bodies = robot.model.geom_bodyid[data.contact.geom]
    for k, (row, distance) in enumerate(zip(bodies.tolist(), data.contact.dist.tolist(),
                                            strict=True)):  # fmt: skip
        if distance > 0.0:
            continue
        first, second = sorted(robot.names[body] for body in row)
        mujoco.mj_contactForce(robot.model, data, k, wrench)
        old = found.get((first, second), Contact(0.0, 0.0))
        found[first, second] = Contact(max(old.depth, -distance), old.force + float(wrench[0]))
    return found


class TouchLog:
    """Every pair that has ever touched, until it is cleared."""

    def __init__(self) -> None:
        self.touches: dict[Pair, Touch] = {}

    def note(self, contacts: dict[Pair, Contact], time: float) -> None:
        """Take in what touches at ``time`` s."""
        for pair, contact in contacts.items():
            old = self.touches.get(pair, Touch(time, time, 0.0, 0.0))
            self.touches[pair] = Touch(
                old.first, time, max(old.depth, contact.depth), max(old.force, contact.force)
            )
