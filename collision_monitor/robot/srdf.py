# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The semantic description (SRDF) of a robot: pairs not to check, and groups.

``<disable_collisions link1 link2 reason>`` disables a pair. ``<disable_default_collisions link>``
disables every pair of that link, except those that an ``<enable_collisions link1 link2>`` enables;
this has precedence over pairs disabled by default only, as in MoveIt. An enabled pair is checked
even if it would be left out without the SRDF, because its shapes overlap by design or one joint
connects its links. A ``<group_state>`` is a pose in which the robot may rest, unless it is
beyond a joint limit. Other elements (end effectors, virtual joints) are ignored.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from lxml import etree

from collision_monitor.common.limits import LARGEST_OF_JOINT
from collision_monitor.common.safe_files import DEEPEST, XmlDocument, parse_xml
from collision_monitor.common.text import MOST_LOGGED, shortened
from collision_monitor.errors import SemanticDescriptionError
from collision_monitor.robot.description import Joint, Robot
from collision_monitor.robot.urdf_elements import check_root

_ROUNDED = 1e-3  # rad or m that a position may be beyond a limit, since files round
_OF_PAIRS = ("disable_collisions", "enable_collisions", "disable_default_collisions")


class Groups:
    """Resolves the groups of one document; ``unknown`` lists names the robot lacks.

    A ``<joint>`` adds the joint and its child link, a ``<link>`` the link and the
    joint that carries it, a ``<chain>`` the joints between base and tip and their
    child links, a ``<group>`` all of another group.
    """

    def __init__(self, document: XmlDocument, robot: Robot):
        self._document = document
        self._robot = robot
        self._virtual_joints = {
            element.get("name") for element in document.root.findall("virtual_joint")
        }
        self._elements: dict[str, etree._Element] = {}
        self._resolved: dict[str, tuple[set[str], set[str]]] = {}
        self.unknown: dict[str, None] = {}

    def resolve(self) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
        """Return links and moving joints by group, in the order of the robot."""
        for element in self._document.root.findall("group"):
            name = _attribute(element, "name", self._document)
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
        if len(above) > DEEPEST:
            self._fail(element, f"more than {DEEPEST} groups inside each other")
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
        name = _attribute(child, "name", self._document)
        if child.tag == "group" and name in self._elements:
            return self._members(name, above)
        if child.tag == "joint" and name in self._robot.joint_named:
            return _of([self._robot.joint_named[name]])
        if child.tag == "joint" and name in self._virtual_joints:
            return set(), set()
        if child.tag == "link" and name in self._robot.links:
            return {name}, {joint.name for joint in self._robot.joints_above(name)[:1]}
        self.unknown[f"{child.tag} {name!r}"] = None
        return set(), set()

    def _chain(self, element: etree._Element) -> tuple[set[str], set[str]]:
        base, tip = (_attribute(element, key, self._document) for key in ("base_link", "tip_link"))
        missing = [link for link in (base, tip) if link not in self._robot.links]
        if missing:
            self.unknown.update({f"link {link!r}": None for link in missing})
            return set(), set()
        # As in MoveIt: where the base is not above the tip, over the link that is above both.
        up, down = self._robot.joints_above(base), self._robot.joints_above(tip)
        while up and down and up[-1] is down[-1]:
            up.pop()
            down.pop()
        return _of(up + down)

    def _fail(self, element: etree._Element, problem: str) -> None:
        raise SemanticDescriptionError(f"{self._document.where(element)}: {problem}")


def _of(joints: list[Joint]) -> tuple[set[str], set[str]]:
    return {joint.child for joint in joints}, {joint.name for joint in joints}


@dataclass(frozen=True, eq=False)
class Semantics:
    """Content of an SRDF.

    ``disabled`` gives the reason by pair, a frozenset of two link names ("" where
    the file gives none). ``groups`` gives the links that each group moves or names,
    ``group_joints`` its moving joints, both in the order of the robot. ``enabled``: pairs
    that the file enables and does not disable. ``other_robot``: what is wrong if the file is of a
    robot with another name, whose disabled pairs may not be those of this one; empty otherwise.
    ``states`` gives positions by joint (radians or metres) of each named state; states of one name
    of several groups are one.
    """

    disabled: Mapping[frozenset[str], str] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    group_joints: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    enabled: frozenset[frozenset[str]] = frozenset()
    other_robot: str = ""
    states: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def load_srdf(source: str | bytes | os.PathLike, robot: Robot) -> Semantics:
    """Load an SRDF from a path, or from XML as text or bytes, for a robot.

    Names that the robot does not have are left out with one warning that lists
    them. Raises SemanticDescriptionError naming ``file:line``.
    """
    document = parse_xml(source, SemanticDescriptionError, "semantic robot description")
    check_root(document, SemanticDescriptionError)
    if (link := document.root.find("link")) is not None:
        raise SemanticDescriptionError(
            f"{document.where(link)}: <link> in <robot>: this is a URDF, an SRDF is expected"
        )
    warnings = _unread_pairs(document)
    name = (document.root.get("name") or "").strip()
    other_robot = ""
    if name != robot.name:
        other_robot = (
            f"{document.name} describes the robot {name!r}, the URDF is of {robot.name!r}; pairs "
            "that it disables are not checked"
        )
        warnings.append(other_robot)
    unknown: dict[str, None] = {}  # a set that keeps the order of the file
    disabled, enabled = _decided_pairs(document, robot, unknown)
    if unknown:
        names = shortened(unknown, MOST_LOGGED)
        warnings.append(f"{document.name}: unknown links are ignored: {names}")
    groups = Groups(document, robot)
    links, joints = groups.resolve()
    if groups.unknown:
        warnings.append(
            f"{document.name}: unknown names in groups are ignored: "
            f"{shortened(groups.unknown, MOST_LOGGED)}"
        )
    states, problems = _states(document, robot)
    if problems:
        listed = shortened(problems, MOST_LOGGED)
        warnings.append(f"{document.name}: ignored in group states: {listed}")
    if beyond := _beyond_limits(states, robot):
        warnings.append(
            f"{document.name}: named states beyond joint limits of the URDF are ignored: "
            f"{shortened(beyond.values(), separator='; ')}"
        )
        states = {name: state for name, state in states.items() if name not in beyond}
    return Semantics(disabled, links, joints, tuple(warnings), enabled, other_robot, states)


def _unread_pairs(document: XmlDocument) -> list[str]:
    """A warning of elements that look as if they decide on pairs, and are not read."""
    places = [
        f"<{element.tag}> ({document.where(element)})"
        for element in document.root.iter(etree.Element)
        if "collision" in element.tag.lower()
        and (element.tag not in _OF_PAIRS or element.getparent() is not document.root)
    ]
    if not places:
        return []
    return [f"ignored: {shortened(places)}; directly in <robot>, {', '.join(_OF_PAIRS)} are read"]


def _states(document: XmlDocument, robot: Robot) -> tuple[dict[str, dict[str, float]], list[str]]:
    """Return the positions of named states by joint, and what is ignored.

    Nothing here is an error: states are evidence of where a robot rests, not more.
    """
    states: dict[str, dict[str, float]] = {}
    problems: dict[str, None] = {}  # a set that keeps the order of the file
    known = {joint.name for joint in robot.joints}
    known |= {element.get("name") for element in document.root.findall("virtual_joint")}
    for element in document.root.findall("group_state"):
        state = states.setdefault(element.get("name", ""), {})
        for child in element.findall("joint"):
            joint, text = child.get("name", ""), child.get("value", "")
            if joint not in known:
                problems[f"joint {joint!r}"] = None
                continue
            try:
                position = float(text)
            except ValueError:
                position = math.nan
            if abs(position) <= LARGEST_OF_JOINT:
                state.setdefault(joint, position)
            elif len(text.split()) < 2:  # several are of a floating or planar joint
                problems[f"position {text!r} of joint {joint!r}"] = None
    return states, list(problems)


def _beyond_limits(states: Mapping[str, Mapping[str, float]], robot: Robot) -> dict[str, str]:
    """States that the robot cannot take, as of angles in degrees, each with a joint."""
    limited = [
        joint
        for joint in robot.joints
        if joint.moves and joint.has_limits and joint.kind != "continuous" and joint.mimic is None
    ]
    return {
        name: f"{name!r} ({joint.name} = {state[joint.name]:g}, not in "
        f"[{joint.lower:g}, {joint.upper:g}])"
        for name, state in states.items()
        for joint in limited
        if joint.name in state
        and not joint.lower - _ROUNDED <= state[joint.name] <= joint.upper + _ROUNDED
    }


def _decided_pairs(
    document: XmlDocument, robot: Robot, unknown: dict[str, None]
) -> tuple[dict[frozenset[str], str], frozenset[frozenset[str]]]:
    """Return the disabled pairs with their reasons, and the enabled pairs."""
    by_default: dict[frozenset[str], str] = {}
    for element in document.root.findall("disable_default_collisions"):
        link = _attribute(element, "link", document)
        if link not in robot.links:
            unknown[repr(link)] = None
            continue
        for other in robot.links:
            if other != link:
                by_default[frozenset((link, other))] = f"off by default for {link!r}"
    enabled = set()
    for element in document.root.findall("enable_collisions"):
        pair = _pair(element, document, robot, unknown)
        by_default.pop(pair, None)
        if len(pair) == 2:
            enabled.add(pair)
    disabled = dict(by_default)
    for element in document.root.findall("disable_collisions"):
        pair = _pair(element, document, robot, unknown)
        if len(pair) == 2:
            disabled[pair] = element.get("reason", "")
    return disabled, frozenset(enabled - disabled.keys())


def _pair(
    element: etree._Element, document: XmlDocument, robot: Robot, unknown: dict[str, None]
) -> frozenset[str]:
    """Return the two links of an element, fewer where they are unknown."""
    links = [_attribute(element, key, document) for key in ("link1", "link2")]
    if links[0] == links[1]:
        raise SemanticDescriptionError(
            f"{document.where(element)}: <{element.tag}>: link1 and link2 are both {links[0]!r}"
        )
    for link in links:
        if link not in robot.links:
            unknown[repr(link)] = None
    return frozenset(link for link in links if link in robot.links)


def _attribute(element: etree._Element, name: str, document: XmlDocument) -> str:
    value = (element.get(name) or "").strip()
    if not value:
        raise SemanticDescriptionError(
            f"{document.where(element)}: <{element.tag}> without {name}="
        )
    return value
