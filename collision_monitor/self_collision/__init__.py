# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The linear repulsion field, and motions of arms adjusted to be safe (Wu et al., 2018).

::

    from collision_monitor import adjust

    adjustment = adjust(model, motion)    # or AdjustmentError with the reason
    adjustment.motion, adjustment.certified
"""

from collision_monitor.errors import AdjustmentError, ArmsError
from collision_monitor.self_collision.adjustment import Adjustment, adjust
from collision_monitor.self_collision.arms import Arm, find_chains
from collision_monitor.self_collision.field.nine_cases import ControlPoints, control_points
from collision_monitor.self_collision.motion_clearance import repulsion
from collision_monitor.self_collision.point_stream import Streamer
from collision_monitor.self_collision.settings import AdjustmentSettings

__all__ = [
    "Adjustment",
    "AdjustmentError",
    "AdjustmentSettings",
    "Arm",
    "ArmsError",
    "ControlPoints",
    "Streamer",
    "adjust",
    "find_chains",
    "control_points",
    "repulsion",
]
