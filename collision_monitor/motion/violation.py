# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What can be wrong with a motion, under names that stay."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Code(str, Enum):
    """Reason codes: tools compare them, so they never change."""

    JOINT_POSITION = "joint-position"
    JOINT_VELOCITY = "joint-velocity"
    JOINT_ACCELERATION = "joint-acceleration"
    JOINT_JERK = "joint-jerk"
    LINK_TORQUE = "link-torque"
    MOTOR_TORQUE = "motor-torque"
    COLLISION = "collision"
    CLEARANCE_STOP = "clearance-stop"
    CLEARANCE_WARN = "clearance-warn"
    UNDECIDED = "undecided"
    SINGULARITY = "singularity"
    OFF_THE_LINE = "off-the-line"


@dataclass(frozen=True)
class Violation:
    """A joint or a pair of links that breaks a limit during a motion.

    Attributes:
        code: the reason.
        subject: name of the joint, or ``a - b`` of two links.
        first: seconds into the motion at which the limit is broken first.
        worst: seconds into the motion at which ``value`` is reached.
        value: the worst value, in ``unit``.
        limit: what it should not pass, in ``unit``.
        unit: rad, m, rad/s, N m and so on.
        warning: true where the motion is still safe: a threshold that only warns.
        text: what else there is to say, a sentence or nothing.
    """

    code: Code
    subject: str
    first: float
    worst: float
    value: float
    limit: float
    unit: str
    warning: bool = False
    text: str = ""
