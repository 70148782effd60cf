# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A recorded motion beside its command: the largest differences of each joint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from collision_monitor.common.text import shortened
from collision_monitor.errors import MotionError
from collision_monitor.motion.bags import NO_DATA
from collision_monitor.motion.measured import POSITIONS, TORQUES, VELOCITIES, MeasuredMotion
from collision_monitor.motion.violation import Code
from collision_monitor.verification.verification import Verification


@dataclass(frozen=True)
class Difference:
    """The largest difference of a joint.

    Attributes:
        joint: name.
        quantity: positions, velocities or torques.
        value: measured minus commanded, where it is largest.
        time: seconds since the command began.
        unit: of the value.
    """

    joint: str
    quantity: str
    value: float
    time: float
    unit: str


def differences(result: Verification, measured: MeasuredMotion) -> list[Difference]:
    """Largest differences between a recorded motion and its command, by quantity and joint.

    Torques are those of the motors. Quantities that were not recorded, or not checked, are left
    out.

    Raises:
        MotionError: no joint of the command was recorded during it.
    """
    curves = []
    if result.limits is not None:
        check = result.limits
        curves.append((POSITIONS, Code.JOINT_POSITION, check, check.positions))
        curves.append((VELOCITIES, Code.JOINT_VELOCITY, check, check.velocities))
    if result.torques is not None:
        curves.append((TORQUES, Code.MOTOR_TORQUE, result.torques, result.torques.motor_torques))
    largest: list[Difference] = []
    for quantity, code, check, values in curves:
        units = {peak.joint: peak.unit for peak in check.peaks if peak.code is code}
        for joint, commanded in zip(check.joint_names, values.T, strict=True):
            off = measured.at(joint, quantity, check.times) - commanded
            if np.isfinite(off).any():
                worst = int(np.nanargmax(np.abs(off)))
                at = float(check.times[worst])
                largest.append(Difference(joint, quantity, float(off[worst]), at, units[joint]))
    if not largest:
        raise MotionError(
            f"{measured.source}: none of the joints of {result.source} was recorded during the "
            "motion; --measured BAG@START says when it began, seconds after the first joint state"
        )
    return largest


def not_compared(result: Verification, measured: MeasuredMotion) -> tuple[str, ...]:
    """Notes of joints without recorded positions, at all or at an end of the motion."""
    if (check := result.limits) is None:
        return ()
    missing, partly = [], {}
    for joint in check.joint_names:
        known = check.times[np.isfinite(measured.at(joint, POSITIONS, check.times))]
        if not len(known):
            missing.append(joint)
        elif max(known[0] - check.times[0], check.times[-1] - known[-1]) > NO_DATA:
            partly.setdefault(f"{known[0]:.3f} to {known[-1]:.3f} s only", []).append(joint)
    notes = [f"positions of {shortened(joints)} from {when}" for when, joints in partly.items()]
    notes += [f"no positions of {shortened(missing)}"] * bool(missing)
    return tuple(f"{measured.source}: recorded during the motion: {note}" for note in notes)
