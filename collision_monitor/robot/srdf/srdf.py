# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The semantic description (SRDF) of a robot: pairs not to check, and groups.

``<disable_collisions link1 link2 reason>`` takes a pair out.
``<disable_default_collisions link>`` takes out every pair of that link, except
those that an ``<enable_collisions link1 link2>`` puts back; putting back wins
over taking out only for pairs that went out by default, as in MoveIt.
Other elements (states, end effectors, virtual joints) are not used.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from lxml import etree

from collision_monitor.common.safe_xml import XmlDocument, parse_xml
from collision_monitor.errors import SemanticDescriptionError
from collision_monitor.robot.description import Robot
from collision_monitor.robot.srdf.groups import Groups


@dataclass(frozen=True, eq=False)
class Semantics:
    """What an SRDF says about a robot.

    ``disabled`` gives the reason by pair, a frozenset of two link names ("" where
    the file gives none). ``groups`` gives the links that each group moves or names,
    ``group_joints`` its moving joints, both in the order of the robot.
    """

    disabled: Mapping[frozenset[str], str] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    group_joints: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def load_srdf(source: str | bytes | os.PathLike, robot: Robot) -> Semantics:
    """Load an SRDF from a path, or from XML as text or bytes, for a robot.

    Names that the robot does not have are left out with one warning that lists
    them. Raises SemanticDescriptionError naming ``file:line``.
    """
    document = parse_xml(source, SemanticDescriptionError, "semantic robot description")
    root = document.root
    if root.tag != "robot":
        raise SemanticDescriptionError(
            f"{document.where(root)}: the root element is <{root.tag}>, expected <robot>"
        )
    for element in root.iter(etree.Element):
        if element.tag.startswith("{") and "xacro" in element.tag:
            raise SemanticDescriptionError(
                f"{document.where(element)}: xacro is not expanded; run xacro first"
            )
    warnings = []
    name = (root.get("name") or "").strip()
    if name != robot.name:
        warnings.append(
            f"{document.name} describes the robot {name!r}, the URDF is of {robot.name!r}"
        )
    unknown: dict[str, None] = {}  # a set that keeps the order of the file
    disabled = _disabled_pairs(document, robot, unknown)
    if unknown:
        warnings.append(f"{document.name}: unknown links are ignored: {', '.join(unknown)}")
    groups = Groups(document, robot)
    links, joints = groups.resolve()
    if groups.unknown:
        warnings.append(
            f"{document.name}: unknown names in groups are ignored: {', '.join(groups.unknown)}"
        )
    return Semantics(disabled, links, joints, tuple(warnings))


def _disabled_pairs(
    document: XmlDocument, robot: Robot, unknown: dict[str, None]
) -> dict[frozenset[str], str]:
    by_default: dict[frozenset[str], str] = {}
    for element in document.root.findall("disable_default_collisions"):
        (link,) = _attributes(element, ("link",), document)
        if link not in robot.links:
            unknown[repr(link)] = None
            continue
        for other in robot.links:
            if other != link:
                by_default[frozenset((link, other))] = f"off by default for {link!r}"
    for element in document.root.findall("enable_collisions"):
        by_default.pop(_pair(element, document, robot, unknown), None)
    disabled = dict(by_default)
    for element in document.root.findall("disable_collisions"):
        pair = _pair(element, document, robot, unknown)
        if len(pair) == 2:
            disabled[pair] = element.get("reason", "")
    return disabled


def _pair(
    element: etree._Element, document: XmlDocument, robot: Robot, unknown: dict[str, None]
) -> frozenset[str]:
    """Return the two links of an element, fewer where they are unknown."""
    links = _attributes(element, ("link1", "link2"), document)
    if links[0] == links[1]:
        raise SemanticDescriptionError(
            f"{document.where(element)}: <{element.tag}>: link1 and link2 are both {links[0]!r}"
        )
    for link in links:
        if link not in robot.links:
            unknown[repr(link)] = None
    return frozenset(link for link in links if link in robot.links)


def _attributes(
    element: etree._Element, names: tuple[str, ...], document: XmlDocument
) -> tuple[str, ...]:
    values = tuple((element.get(name) or "").strip() for name in names)
    for name, value in zip(names, values, strict=True):
        if not value:
            raise SemanticDescriptionError(
                f"{document.where(element)}: <{element.tag}> without {name}="
            )
    return values
