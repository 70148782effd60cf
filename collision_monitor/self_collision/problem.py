# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What a method of adjustment is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.self_collision.margins import Margins

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel
    from collision_monitor.self_collision.arms.arms import Arm


@dataclass(frozen=True, eq=False)
class Problem:
    """A desired motion of two arms, and how far apart things are to be kept.

    Attributes:
        model: the robot and its scene.
        arms: right and left.
        times: (n,) seconds, increasing.
        desired: (n, nq) configurations of all joints of the model.
        columns: columns of q of the right and of the left arm.
        margins: d_saf and d_dan of every pair.
        yielding: which arm gives way: ``both``, ``left`` or ``right``.
        tip_weight: how much a metre of a tip counts against a radian of a joint.
    """

    model: CollisionModel
    arms: tuple[Arm, Arm]
    times: np.ndarray
    desired: np.ndarray
    columns: tuple[np.ndarray, np.ndarray]
    margins: Margins
    yielding: str = "both"
    tip_weight: float = 0.0
