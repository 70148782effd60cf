# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Groups of an SRDF: which links and moving joints each of them means."""

from __future__ import annotations

from lxml import etree

from collision_monitor.common.safe_xml import XmlDocument
from collision_monitor.errors import SemanticDescriptionError
from collision_monitor.robot.description import Joint, Robot

_DEEPEST = 100  # groups inside each other


class Groups:
    """Resolves the groups of one document; ``unknown`` lists names the robot lacks.

    A ``<joint>`` adds the joint and its child link, a ``<link>`` the link and the
    joint that carries it, a ``<chain>`` the joints between base and tip and their
    child links, a ``<group>`` all of another group.
    """

    def __init__(self, document: XmlDocument, robot: Robot):
        self._document = document
        self._robot = robot
        self._joints = {joint.name: joint for joint in robot.joints}
        self._parent_joint = {joint.child: joint for joint in robot.joints}
        self._virtual_joints = {
            element.get("name") for element in document.root.findall("virtual_joint")
        }
        self._elements: dict[str, etree._Element] = {}
        self._resolved: dict[str, tuple[set[str], set[str]]] = {}
        self.unknown: dict[str, None] = {}

    def resolve(self) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
        """Return links and moving joints by group, in the order of the robot."""
        for element in self._document.root.findall("group"):
            name = self._attribute(element, "name")
            if name in self._elements:
                self._fail(element, f"a second group is named {name!r}")
            self._elements[name] = element
        links, joints = {}, {}
        order = [self._robot.root, *(joint.child for joint in self._robot.joints)]
        for name in self._elements:
            members, moving = self._members(name, ())
            links[name] = tuple(link for link in order if link in members)
            joints[name] = tuple(
                joint.name for joint in self._robot.joints if joint.name in moving and joint.moves
            )
        return links, joints

    def _members(self, name: str, above: tuple[str, ...]) -> tuple[set[str], set[str]]:
        element = self._elements[name]
        if name in above:
            cycle = " -> ".join(map(repr, [*above[above.index(name) :], name]))
            self._fail(element, f"groups contain each other: {cycle}")
        if len(above) > _DEEPEST:
            self._fail(element, f"more than {_DEEPEST} groups inside each other")
        if name not in self._resolved:
            links: set[str] = set()
            joints: set[str] = set()
            for child in element.iterchildren(etree.Element):
                more_links, more_joints = self._child(child, (*above, name))
                links |= more_links
                joints |= more_joints
            self._resolved[name] = links, joints
        return self._resolved[name]

    def _child(self, child: etree._Element, above: tuple[str, ...]) -> tuple[set[str], set[str]]:
        if child.tag == "chain":
            return self._chain(child)
        if child.tag not in ("joint", "link", "group"):
            return set(), set()
        name = self._attribute(child, "name")
        if child.tag == "group" and name in self._elements:
            return self._members(name, above)
        if child.tag == "joint" and name in self._joints:
            return _of([self._joints[name]])
        if child.tag == "joint" and name in self._virtual_joints:
            return set(), set()
        if child.tag == "link" and name in self._robot.links:
            carrier = self._parent_joint.get(name)
            return {name}, {carrier.name} if carrier else set()
        self.unknown[f"{child.tag} {name!r}"] = None
        return set(), set()

    def _chain(self, element: etree._Element) -> tuple[set[str], set[str]]:
        base, tip = (self._attribute(element, key) for key in ("base_link", "tip_link"))
        missing = [link for link in (base, tip) if link not in self._robot.links]
        if missing:
            self.unknown.update({f"link {link!r}": None for link in missing})
            return set(), set()
        chain: list[Joint] = []
        link = tip
        while link != base:
            joint = self._parent_joint.get(link)
            if joint is None:
                self._fail(element, f"no chain leads from {base!r} to {tip!r}")
            chain.append(joint)
            link = joint.parent
        return _of(chain)

    def _attribute(self, element: etree._Element, name: str) -> str:
        value = (element.get(name) or "").strip()
        if not value:
            self._fail(element, f"<{element.tag}> without {name}=")
        return value

    def _fail(self, element: etree._Element, problem: str) -> None:
        raise SemanticDescriptionError(f"{self._document.where(element)}: {problem}")


def _of(joints: list[Joint]) -> tuple[set[str], set[str]]:
    return {joint.child for joint in joints}, {joint.name for joint in joints}
