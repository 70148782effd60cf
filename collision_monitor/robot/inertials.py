# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Masses and inertias of links, and friction of joints, out of a URDF."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from lxml import etree

from collision_monitor.common.limits import SIX_DIGITS
from collision_monitor.common.safe_files import ReceivedText, XmlDocument, parse_xml
from collision_monitor.errors import RobotDescriptionError
from collision_monitor.robot.poses import pose_from_xyz_rpy
from collision_monitor.robot.urdf_elements import attribute_numbers, only_child

_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


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
        """Whether it is possible: no moment is negative or above the sum of the others."""
        low, middle, high = np.linalg.eigvalsh(self.inertia)
        return low >= -SIX_DIGITS * high and high <= (low + middle) * (1.0 + SIX_DIGITS) + 1e-12


def read_inertials(source: str | bytes | os.PathLike | ReceivedText) -> dict[str, Inertial]:
    """Inertials by link name, out of a URDF as path, text or bytes; not of links without mass.

    Raises:
        RobotDescriptionError: naming ``file:line``, link and attribute; not XML, numbers that are
            missing or not finite, a mass below zero, two inertials in a link.
    """
    document = parse_xml(source)
    inertials = {}
    for link in document.root.iterchildren("link"):
        user = f"link {link.get('name')!r}"
        element = only_child(link, "inertial", user, document)
        if element is not None:
            inertial = _inertial(element, user, document)
            if inertial.mass > 0.0:
                inertials[(link.get("name") or "").strip()] = inertial
    return inertials


def _inertial(element: etree._Element, user: str, document: XmlDocument) -> Inertial:
    origin, mass, inertia = (
        only_child(element, tag, user, document) for tag in ("origin", "mass", "inertia")
    )
    if mass is None:
        raise RobotDescriptionError(f"{document.where(element)}: {user}: <inertial> has no <mass>")
    pose = np.eye(4)
    if origin is not None:
        values = [_numbers(origin, key, 3, user, document, "0 0 0") for key in ("xyz", "rpy")]
        pose = pose_from_xyz_rpy(*values)
    (kilograms,) = _numbers(mass, "value", 1, user, document)
    if kilograms < 0.0:
        raise RobotDescriptionError(
            f"{document.where(mass)}: {user}: a mass of {kilograms:g} kg is below zero"
        )
    moments = np.zeros((3, 3))
    if inertia is not None:
        upper = [_numbers(inertia, key, 1, user, document, "0")[0] for key in _MOMENTS]
        moments[np.triu_indices(3)] = upper
        moments = moments + np.triu(moments, 1).T
    turn = pose[:3, :3]
    return Inertial(kilograms, pose[:3, 3], turn @ moments @ turn.T)


def _numbers(
    element: etree._Element,
    attribute: str,
    count: int,
    user: str,
    document: XmlDocument,
    default: str | None = None,
) -> list[float]:
    text = element.get(attribute, default)
    label = f"{document.where(element)}: {user}: <{element.tag} {attribute}=...>"
    if text is None:
        raise RobotDescriptionError(f"{label} is missing")
    return attribute_numbers(text, count, label)


# -- friction of joints --


@dataclass(frozen=True)
class JointFriction:
    """Friction of a joint: ``damping`` in N m s/rad (N s/m), ``friction`` in N m (N)."""

    damping: float = 0.0
    friction: float = 0.0


def read_friction(source: str | bytes | os.PathLike | ReceivedText) -> dict[str, JointFriction]:
    """By name, the joints of a URDF (path, text or bytes) that have ``<dynamics>``.

    Raises:
        RobotDescriptionError: naming ``file:line`` and joint; a value that is negative or no
            finite number.
    """
    document = parse_xml(source)
    frictions = {}
    for joint in document.root.iterchildren("joint"):
        name = (joint.get("name") or "").strip()
        element = only_child(joint, "dynamics", f"joint {name!r}", document)
        if element is not None:
            frictions[name] = JointFriction(
                _friction_value(element, "damping", name, document),
                _friction_value(element, "friction", name, document),
            )
    return frictions


def _friction_value(element: etree._Element, key: str, joint: str, document: XmlDocument) -> float:
    user = f"joint {joint!r}"
    (value,) = _numbers(element, key, 1, user, document, "0")
    if value < 0.0:
        raise RobotDescriptionError(
            f"{document.where(element)}: {user}: <dynamics {key}=...>: {value:g} is below zero"
        )
    return value
