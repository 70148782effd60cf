# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Violations as sentences."""

from __future__ import annotations

import math

from collision_monitor.motion.violation import Code, Violation

_WHAT = {
    Code.JOINT_POSITION: "is beyond its position limit",
    Code.JOINT_VELOCITY: "is faster than its limit",
    Code.JOINT_ACCELERATION: "accelerates more than its limit",
    Code.JOINT_JERK: "jerks more than its limit",
    Code.LINK_TORQUE: "needs more torque at the link than its limit",
    Code.MOTOR_TORQUE: "needs more torque of its motor than its limit",
    Code.COLLISION: "collide",
    Code.CLEARANCE_STOP: "are nearer than the stop threshold",
    Code.CLEARANCE_WARN: "are nearer than the warn threshold",
    Code.UNDECIDED: "cannot be told to be apart",
    Code.SINGULARITY: "is near a singular pose",
    Code.OFF_THE_LINE: "leaves its line",
}


def what(code: Code) -> str:
    """The reason as the end of a sentence that begins with the subject."""
    return _WHAT[code]


def value(number: float, unit: str) -> str:
    """A number and its unit, short enough for a table; ``none`` for what is not finite."""
    unit = "" if unit == "1" else unit
    return f"{number:.4g} {unit}".rstrip() if math.isfinite(number) else "none"


def brief(violation: Violation) -> str:
    """Who breaks what, and when."""
    return f"{violation.subject} {what(violation.code)} from {violation.first:.3f} s"


def sentence(violation: Violation) -> str:
    """Who breaks what, when, and by how much."""
    v = violation
    when = f"from {v.first:.3f} s" + (f", worst at {v.worst:.3f} s" if v.worst != v.first else "")
    limit = f", limit {value(v.limit, v.unit)}" if math.isfinite(v.limit) else ""
    said = f": {v.text}" if v.text else ""
    return f"{v.subject} {what(v.code)} {when} ({value(v.value, v.unit)}{limit}){said}"
