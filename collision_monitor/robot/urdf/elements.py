# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Checked access to elements and attributes of a URDF; errors name ``file:line`` and element."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from lxml import etree

from collision_monitor.common.magnitudes import beyond_reason
from collision_monitor.common.safe_xml import XmlDocument
from collision_monitor.errors import CollisionMonitorError, RobotDescriptionError
from collision_monitor.robot.poses import pose_from_xyz_rpy

GEOMETRIES = ("box", "cylinder", "sphere", "capsule", "mesh")
_READ = {
    "link", "joint", "collision", "geometry", "origin", "axis", "limit", "mimic", "parent", "child",
    *GEOMETRIES,
}  # fmt: skip


def check_root(
    document: XmlDocument, error: type[CollisionMonitorError] = RobotDescriptionError
) -> None:
    """Raise ``error`` unless the root is <robot> and xacro has been run."""
    root = document.root
    if root.tag != "robot":
        hint = "; run xacro on it first" if "xacro" in str(root.tag) else ""
        raise error(
            f"{document.where(root)}: the root element is <{root.tag}>, expected <robot>{hint}"
        )
    for element in root.iter(etree.Element):
        if element.tag.startswith("{") and "xacro" in element.tag:
            name = etree.QName(element).localname
            raise error(
                f"{document.where(element)}: <xacro:{name}> is not expanded; run xacro first"
            )


def refuse_misspelt(
    element: etree._Element, document: XmlDocument, also: tuple[str, ...] = ()
) -> None:
    """Raise RobotDescriptionError for <Collision> and the like: ignored, it leaves out a shape."""
    tag = element.tag
    if tag.lower() != tag and tag.lower() in (*_READ, *also):
        raise RobotDescriptionError(f"{document.where(element)}: <{tag}>: write <{tag.lower()}>")


def name_of(element: etree._Element, document: XmlDocument) -> str:
    """The name of a link or joint; RobotDescriptionError without one."""
    name = (element.get("name") or "").strip()
    if not name:
        raise RobotDescriptionError(f"{document.where(element)}: a <{element.tag}> without a name")
    return name


@dataclass(frozen=True)
class Reader:
    """Reads parts of one link or joint; ``user`` names it in errors, such as ``link 'a'``."""

    document: XmlDocument
    user: str

    def fail(self, element: etree._Element, problem: str) -> NoReturn:
        """Raise RobotDescriptionError about an element."""
        raise RobotDescriptionError(f"{self.document.where(element)}: {self.user}: {problem}")

    def children(
        self, element: etree._Element, tags: Iterable[str]
    ) -> dict[str, etree._Element | None]:
        """The children with these tags, each at most once; None where there is none."""
        found: dict[str, etree._Element | None] = dict.fromkeys(tags)
        for child in element.iterchildren(etree.Element):
            refuse_misspelt(child, self.document)
            if child.tag in found:
                if found[child.tag] is not None:
                    self.fail(child, f"a second <{child.tag}>; only one is allowed")
                found[child.tag] = child
        return found

    def text(self, element: etree._Element, attribute: str) -> str:
        """An attribute that is needed, without blanks around it."""
        text = element.get(attribute)
        if text is None or not text.strip():
            problem = "is missing" if text is None else "is empty"
            self.fail(element, f"<{element.tag} {attribute}=...> {problem}")
        return text.strip()

    def numbers(
        self,
        element: etree._Element,
        attribute: str,
        count: int = 1,
        default: tuple[float, ...] | None = None,
        any_size: bool = False,
        infinite: bool = False,
        is_size: bool = False,
    ) -> tuple[float, ...]:
        """The numbers of an attribute.

        Args:
            element: that has the attribute.
            attribute: its name.
            count: how many numbers.
            default: taken where there is no such attribute; None: it is needed.
            any_size: whether numbers beyond reason for a length are fine.
            infinite: whether ``inf`` is fine.
            is_size: whether they are edge lengths or radii.
        """
        text = element.get(attribute)
        label = f"<{element.tag} {attribute}=...>"
        if text is None:
            if default is None:
                self.fail(element, f"{label} is missing")
            return default
        try:
            # Python alone would take 1_000 for a number.
            values = tuple(float(word.replace("_", "?")) for word in text.split())
        except ValueError:
            values = ()
        if len(values) != count:
            expected = "a number" if count == 1 else f"{count} numbers"
            self.fail(element, f"{label}: expected {expected}, got {text!r:.80}")
        if any(math.isnan(value) or math.isinf(value) and not infinite for value in values):
            self.fail(element, f"{label}: expected finite numbers, got {text!r:.80}")
        for value in () if any_size else values:
            if problem := beyond_reason(value, is_size):
                self.fail(element, f"{label}: {problem}")
        return values

    def number(self, element: etree._Element, attribute: str, default: float) -> float:
        """One number of any size, or ``default``."""
        return self.numbers(element, attribute, 1, (default,), any_size=True)[0]

    def origin(self, element: etree._Element | None) -> np.ndarray:
        """The pose (4, 4) of an <origin>; identity without one."""
        if element is None:
            return np.eye(4)
        zero = (0.0, 0.0, 0.0)
        return pose_from_xyz_rpy(*(self.numbers(element, key, 3, zero) for key in ("xyz", "rpy")))
