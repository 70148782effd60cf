# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Friction of joints, out of a URDF."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

from lxml import etree

from collision_monitor.common.safe_xml import XmlDocument, parse_xml
from collision_monitor.errors import RobotDescriptionError


@dataclass(frozen=True)
class JointFriction:
    """Of a joint: ``damping`` in N m s/rad (N s/m), ``friction`` in N m (N)."""

    damping: float = 0.0
    friction: float = 0.0


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
        if element is not None:
            name = (joint.get("name") or "").strip()
            values = (_value(element, key, name, document) for key in ("damping", "friction"))
            found[name] = JointFriction(*values)
    return found


def _value(element: etree._Element, key: str, joint: str, document: XmlDocument) -> float:
    text = element.get(key, "0")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0.0):
        raise RobotDescriptionError(
            f"{document.where(element)}: joint {joint!r}: <dynamics {key}=...>: expected a finite "
            f"number that is not below zero, got {text!r:.80}"
        )
    return value
