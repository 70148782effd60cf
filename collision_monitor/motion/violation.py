# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Violations of limits by a motion, with stable reason codes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Code(str, Enum):
    """Reason codes; they never change, because tools compare them."""

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
    """A limit that a joint or a pair of links breaks during a motion.

    Attributes:
        code: the reason.
        subject: name of the joint, or ``a - b`` of two links.
        first: seconds into the motion at which the limit is first broken.
        worst: seconds into the motion at which ``value`` is reached.
        value: the worst value, in ``unit``.
        limit: the limit of ``value``, in ``unit``.
        unit: rad, m, rad/s, N m and so on.
        warning: whether the motion is still safe: only a warning threshold is broken.
        text: further information, a sentence or empty.
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
