# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Masses and inertias of links, and friction of joints, out of a URDF."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from collision_monitor.common.safe_xml import parse_xml
from collision_monitor.robot.urdf.elements import Reader

_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_ROUNDING = 1e-6  # of the largest principal moment: files have six digits


@dataclass(frozen=True, eq=False)
class Inertial:
    """Mass in kg, its centre (3,) in the link frame, and inertia (3, 3) about that centre, kg m^2.

    The axes of the inertia are those of the link.
    """

    mass: float
    centre: np.ndarray
    inertia: np.ndarray

    @property
    def is_possible(self) -> bool:
        """Whether a body can have it: no moment is negative or above the sum of the others."""
        low, middle, high = np.linalg.eigvalsh(self.inertia)
        return low >= -_ROUNDING * high and high <= (low + middle) * (1.0 + _ROUNDING) + 1e-12


@dataclass(frozen=True)
class JointFriction:
    """Of a joint: ``damping`` in N m s/rad (N s/m), ``friction`` in N m (N)."""

    damping: float = 0.0
    friction: float = 0.0


def read_inertials(source: str | bytes | os.PathLike) -> dict[str, Inertial]:
    """Inertials by link name, out of a URDF as path, text or bytes; not of links without mass.

    Raises:
        RobotDescriptionError: naming ``file:line``, link and attribute; not XML, numbers that are
            missing or not finite, a mass below zero, two inertials in a link.
    """
    document = parse_xml(source)
    found = {}
    for link in document.root.iterchildren("link"):
        name = (link.get("name") or "").strip()
        read = Reader(document, f"link {name!r}")
        element = read.children(link, ["inertial"])["inertial"]
        if element is None:
            continue
        parts = read.children(element, ("origin", "mass", "inertia"))
        if parts["mass"] is None:
            read.fail(element, "<inertial> has no <mass>")
        pose = read.origin(parts["origin"])
        (mass,) = read.numbers(parts["mass"], "value", any_size=True)
        if mass < 0.0:
            read.fail(parts["mass"], f"a mass of {mass:g} kg is below zero")
        moments = np.zeros((3, 3))
        if parts["inertia"] is not None:
            upper = [read.number(parts["inertia"], key, 0.0) for key in _MOMENTS]
            moments[np.triu_indices(3)] = upper
            moments = moments + np.triu(moments, 1).T
        turn = pose[:3, :3]
        if mass > 0.0:
            found[name] = Inertial(mass, pose[:3, 3], turn @ moments @ turn.T)
    return found


def read_friction(source: str | bytes | os.PathLike) -> dict[str, JointFriction]:
    """By name, the joints of a URDF (path, text or bytes) that have ``<dynamics>``.

    Raises:
        RobotDescriptionError: naming ``file:line`` and joint; a value that is negative or no
            finite number.
    """
    document = parse_xml(source)
    found = {}
    for joint in document.root.iterchildren("joint"):
        element = joint.find("dynamics")
        if element is None:
            continue
        name = (joint.get("name") or "").strip()
        read = Reader(document, f"joint {name!r}")
        values = {key: read.number(element, key, 0.0) for key in ("damping", "friction")}
        for key, value in values.items():
            if value < 0.0:
                read.fail(element, f"<dynamics {key}=...>: {value:g} is below zero")
        found[name] = JointFriction(**values)
    return found
