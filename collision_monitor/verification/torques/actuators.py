# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Data for torques from a YAML file: drives of joints, margins, and a payload.

::

    default: {margin: {relative: 0.1}}      # for other joints
    joints:
      elbow:
        rotor_inertia: 2.0e-5               # kg m^2 of the rotor, before the gear
        gear_ratio: 100
        stiffness: 15000                    # N m/rad of the spring between gear and link
        damping: 12.0                       # N m s/rad of the spring
        max_motor_torque: 60.0              # N m after the gear; default: effort of the joint
        margin: {relative: 0.1, absolute: 2.0}
    payload: {link: tool0, mass: 5.0, com: [0, 0, 0.1], inertia: [0.02, 0.02, 0.01]}
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np

from collision_monitor.errors import DynamicsError, SceneError
from collision_monitor.robot.inertials import Inertial
from collision_monitor.robot.yaml_values import Entry, read_yaml


@dataclass(frozen=True)
class Drive:
    """Motor, gear and spring of one joint; a joint without ``stiffness`` is rigid.

    Attributes:
        rotor_inertia: of the rotor, before the gear, kg m^2 (kg for prismatic joints).
        gear_ratio: revolutions of the rotor per revolution of the joint.
        stiffness: of the spring between gear and link, N m/rad.
        damping: of the spring, N m s/rad.
        max_motor_torque: after the gear, N m.
        relative_margin: error of a torque relative to it, from effects such as friction that the
            model omits.
        absolute_margin: additional error of any torque, N m.
    """

    rotor_inertia: float = 0.0
    gear_ratio: float = 1.0
    stiffness: float = math.inf
    damping: float = 0.0
    max_motor_torque: float = math.inf
    relative_margin: float = 0.0
    absolute_margin: float = 0.0

    def __post_init__(self) -> None:
        """Raise DynamicsError for values out of range."""
        for f in fields(self):
            value = getattr(self, f.name)
            positive = f.name in ("gear_ratio", "stiffness", "max_motor_torque")
            if math.isnan(value) or value < 0.0 or (positive and value == 0.0):
                raise DynamicsError(
                    f"{f.name}: {value:g} is not {'above zero' if positive else 'zero or more'}"
                )

    @property
    def reflected_inertia(self) -> float:
        """Inertia of the rotor after the gear, kg m^2."""
        return self.rotor_inertia * self.gear_ratio**2


@dataclass(frozen=True, eq=False)
class Payload:
    """A mass attached to ``link``, in its frame."""

    link: str
    inertial: Inertial


@dataclass(frozen=True, eq=False)
class Drives:
    """Drives by joint, and the payload."""

    joints: Mapping[str, Drive] = field(default_factory=dict)
    default: Drive = Drive()
    payload: Payload | None = None

    def of(self, joint: str) -> Drive:
        """The drive of a joint."""
        return self.joints.get(joint, self.default)


_NUMBERS = ("rotor_inertia", "gear_ratio", "stiffness", "damping", "max_motor_torque")


def read_drives(path: str | os.PathLike) -> Drives:
    """Read the file described above.

    Raises:
        DynamicsError: an unknown key, not a number, a value out of range; the message names file
            and key.
    """
    name = Path(path).name
    try:
        data = read_yaml(path, "file of drives")
        entry = Entry(f"{name}", data, ("default", "joints", "payload"))
        default = _drive(data["default"], f"{name}: default") if "default" in entry else Drive()
        joints = data.get("joints") or {}
        if not isinstance(joints, Mapping):
            entry.fail("joints", "expected a mapping of joints")
        drives = {
            str(joint): _drive(given, f"{name}: joints.{joint}") for joint, given in joints.items()
        }
        payload = _payload(data["payload"], f"{name}: payload") if "payload" in entry else None
    except SceneError as problem:
        raise DynamicsError(str(problem)) from None
    return Drives(drives, default, payload)


def _drive(data: object, where: str) -> Drive:
    entry = Entry(where, data, (*_NUMBERS, "margin"))
    values = {key: entry.number(key) for key in _NUMBERS if key in entry}
    if "margin" in entry:
        margin = Entry(f"{where}.margin", data["margin"], ("relative", "absolute"))
        for key in ("relative", "absolute"):
            if key in margin:
                values[f"{key}_margin"] = margin.number(key)
    try:
        return Drive(**values)
    except DynamicsError as problem:
        raise DynamicsError(f"{where}.{problem}") from None


def _payload(data: object, where: str) -> Payload:
    entry = Entry(where, data, ("link", "mass", "com", "inertia"))
    centre = np.array(entry.numbers("com", 3) if "com" in entry else (0.0, 0.0, 0.0))
    inertia = np.zeros((3, 3))
    if "inertia" in entry:
        count = len(entry.list("inertia"))
        if count not in (3, 6):
            entry.fail("inertia", "expected [ixx, iyy, izz] or [ixx, iyy, izz, ixy, ixz, iyz]")
        values = entry.numbers("inertia", count)
        inertia[np.diag_indices(3)] = values[:3]
        if count == 6:
            inertia[[0, 0, 1], [1, 2, 2]] = values[3:]
            inertia = inertia + np.triu(inertia, 1).T
    inertial = Inertial(entry.number("mass", positive=True), centre, inertia)
    if not inertial.is_possible:
        entry.fail("inertia", "is impossible: a moment is negative or above the sum of the others")
    return Payload(entry.text("link"), inertial)
