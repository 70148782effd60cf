# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""An SRDF with pairs exempted, all else of a given one kept."""

from __future__ import annotations

import os
from collections.abc import Sequence

from lxml import etree

from collision_monitor.acm.exemptions import Exemption
from collision_monitor.common.safe_xml import parse_xml
from collision_monitor.errors import SemanticDescriptionError

_RULES = ("disable_collisions", "disable_default_collisions", "enable_collisions")


def srdf_text(
    robot: str,
    exempted: Sequence[Exemption],
    given: str | os.PathLike | None = None,
    renew: bool = False,
) -> str:
    """The text of an SRDF that exempts pairs, each followed by a comment that says why.

    Args:
        robot: name of the robot, as in its URDF.
        exempted: the pairs; those that ``given`` has stay as they stand there.
        given: path or text of an SRDF. Its groups, states, end effectors and so on are kept.
        renew: drop what ``given`` exempts.

    Raises:
        SemanticDescriptionError: ``given`` cannot be read.
    """
    if given is None:
        root = etree.Element("robot", name=robot)
    else:
        root = parse_xml(given, SemanticDescriptionError, "semantic robot description").root
    if renew:
        for element in [child for child in root if child.tag in _RULES]:
            root.remove(element)
    children = list(root)
    root.text = "\n    "
    for child in children:
        child.tail = "\n    "
    for exemption in exempted:
        if exemption.given and not renew:
            continue
        a, b = exemption.links
        element = etree.SubElement(
            root, "disable_collisions", link1=a, link2=b, reason=exemption.reason
        )
        element.tail = "  "
        note = etree.Comment(f" {exemption.detail.replace('--', '- -')} ")
        note.tail = "\n    "
        root.append(note)
    if len(root):
        root[-1].tail = "\n"
    text = etree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'
