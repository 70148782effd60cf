# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The elements of a URDF that a collision monitor needs, checked one by one.

Keeps links with their collision geometry, and joints. Everything else (inertia, transmissions,
simulator plugins) is dropped without being read, since in many robots no strict parser accepts it.
The rest is checked here, where line numbers are available. Visual geometry is dropped too, or
optionally replaces the collision geometry of links that have none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from lxml import etree

from collision_monitor.common.limits import range_problem
from collision_monitor.common.safe_files import XmlDocument
from collision_monitor.errors import CollisionMonitorError, RobotDescriptionError
from collision_monitor.robot.poses import rpy_problem

JOINT_KINDS = ("fixed", "revolute", "continuous", "prismatic", "floating", "planar")
GEOMETRIES = ("box", "cylinder", "sphere", "capsule", "mesh")

# Attributes of the elements kept. "!" marks a required one.
_ATTRIBUTES = {
    "origin": ("xyz", "rpy"),
    "axis": ("xyz!",),
    "limit": ("lower", "upper", "effort", "velocity"),
    "safety_controller": ("soft_lower_limit", "soft_upper_limit"),
    "mimic": ("joint!", "multiplier", "offset"),
    "parent": ("link!",),
    "child": ("link!",),
    "box": ("size!",),
    "cylinder": ("radius!", "length!"),
    "capsule": ("radius!", "length!"),
    "sphere": ("radius!",),
    "mesh": ("filename!", "scale"),
}
# Attributes of text, and of three numbers; all others have one.
_TEXTS, _VECTORS = ("joint", "link", "filename"), ("xyz", "rpy", "size", "scale")
_MAY_BE_INFINITE = (("limit", "effort"), ("limit", "velocity"))
# Large limits mean none, an axis is only a direction, and meshes are checked after scaling.
_OF_ANY_SIZE = ("limit", "safety_controller", "axis", "mesh")
_KEPT = ("link", "joint", "collision", "geometry", *_ATTRIBUTES)
_OF_LINKS = ("robot", "link", "joint", "inertial", "visual", "collision", "geometry")


@dataclass
class Elements:
    """The pruned tree, and where in the document its elements came from, in file order."""

    robot: etree._Element
    document: XmlDocument
    links: list[str] = field(default_factory=list)  # "file:line" of each link
    joints: list[str] = field(default_factory=list)
    joint_numbers: dict[str, int] = field(default_factory=dict)  # by joint name
    collisions: list[list[str]] = field(default_factory=list)  # by link
    capsules: set[tuple[int, int]] = field(default_factory=set)  # (link, collision) numbers
    soft_limits: dict[str, tuple[float, float]] = field(default_factory=dict)  # by joint name
    missing_limits: dict[str, tuple[str, ...]] = field(default_factory=dict)  # by joint name
    only_visual: list[str] = field(default_factory=list)  # links with visual geometry alone


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
        name = _name_in_xacro(element)
        if name == "xacro:property" and not _has_expressions(root):
            continue  # vendors leave some behind
        if name:
            what = "run xacro first" if ":" in name else f"write <xacro:{name}> and run xacro"
            raise error(f"{document.where(element)}: <{name}> is not expanded; {what}")


def _name_in_xacro(element: etree._Element) -> str:
    """Tag of an element that xacro would replace, empty for others.

    xacro knows its elements by their prefix, whatever it is declared as. In old files <include> and
    <macro> have none, and xacro leaves them as they are.
    """
    tag = element.tag
    if tag.startswith("{"):
        is_of_xacro = element.prefix == "xacro" or "xacro" in tag
        return f"xacro:{etree.QName(element).localname}" if is_of_xacro else ""
    is_old = tag in ("include", "macro") and element.getparent() is element.getroottree().getroot()
    return tag if is_old or tag.startswith("xacro:") else ""


def _has_expressions(root: etree._Element) -> bool:
    """Whether xacro would replace something anywhere."""
    return any(
        "${" in text or "$(" in text
        for element in root.iter(etree.Element)
        for text in (element.text or "", *element.attrib.values())
    )


def prune(document: XmlDocument, visual_meshes: bool = False) -> Elements:
    """Return a new tree of checked links and joints.

    A capsule becomes a cylinder, since not every parser knows it, and is noted. With
    ``visual_meshes``, each visual element of a link without collision elements becomes one.
    Raises RobotDescriptionError naming the element and ``file:line``.
    """
    check_root(document)
    root = document.root
    robot = etree.Element("robot", name=(root.get("name") or "").strip() or "robot")
    result = Elements(robot, document)
    for element in root.iterchildren(etree.Element):
        _refuse_misspelt(element, document)
        if element.tag == "link":
            _add_link(element, result, visual_meshes)
        elif element.tag == "joint":
            _add_joint(element, result)
    _refuse_misplaced(document)
    return result


def _refuse_misplaced(document: XmlDocument) -> None:
    # In other elements, such as <gazebo>, a <collision> has another meaning.
    for element in document.root.iter("collision"):
        above = [ancestor.tag for ancestor in element.iterancestors()]
        if above != ["link", "robot"] and set(above) <= set(_OF_LINKS):
            place = " in ".join(f"<{tag}>" for tag in above)
            raise RobotDescriptionError(
                f"{document.where(element)}: a <collision> in {place} would not be checked; write "
                "it in a <link> in <robot>"
            )


def _refuse_misspelt(
    element: etree._Element, document: XmlDocument, also: tuple[str, ...] = ()
) -> None:
    # An ignored <Collision> would leave a part of the robot unchecked.
    kept = (*_KEPT, *also)
    if element.tag not in kept and element.tag.lower() in kept:
        raise RobotDescriptionError(
            f"{document.where(element)}: <{element.tag}>: write <{element.tag.lower()}>"
        )


def _add_link(element: etree._Element, result: Elements, visual_meshes: bool) -> None:
    name = _name(element, result.document)
    link = etree.SubElement(result.robot, "link", name=name)
    places: list[str] = []
    for child in element.iterchildren(etree.Element):
        _refuse_misspelt(child, result.document, also=("visual",) if visual_meshes else ())
    shapes = element.findall("collision")
    if not shapes and (visuals := [v for v in element.findall("visual") if _has_geometry(v)]):
        result.only_visual.append(name)
        shapes = visuals if visual_meshes else []
    for child in shapes:
        if _add_shape(child, link, f"link {name!r}", result.document):
            result.capsules.add((len(result.links), len(places)))
        places.append(result.document.where(child))
    result.links.append(result.document.where(element))
    result.collisions.append(places)


def _has_geometry(visual: etree._Element) -> bool:
    """Whether there is a geometry: some robots have empty visual elements."""
    return any(
        child.tag.lower() == "geometry" and any(True for _ in child.iterchildren(etree.Element))
        for child in visual.iterchildren(etree.Element)
    )


def _add_shape(
    element: etree._Element, link: etree._Element, user: str, document: XmlDocument
) -> bool:
    """Copy a collision or visual element as a collision; return whether it is a capsule."""
    collision = etree.SubElement(link, "collision")
    origin = only_child(element, "origin", user, document)
    if origin is not None:
        _copy(origin, collision, user, document)
    geometry = only_child(element, "geometry", user, document)
    # Names with a prefix are extensions of other tools, such as <drake:declare_convex/>.
    children = [] if geometry is None else geometry.iterchildren(etree.Element)
    shapes = [child for child in children if child.tag[0] != "{" and ":" not in child.tag]
    if len(shapes) != 1 or shapes[0].tag not in GEOMETRIES:
        found = ", ".join(f"<{shape.tag}>" for shape in shapes) or "nothing"
        raise RobotDescriptionError(
            f"{document.where(element)}: {user}: a {element.tag} element needs one geometry "
            f"({', '.join(GEOMETRIES)}), found {found}"
        )
    shape = _copy(shapes[0], etree.SubElement(collision, "geometry"), user, document)
    if shape.tag != "capsule":
        return False
    shape.tag = "cylinder"
    return True


def _add_joint(element: etree._Element, result: Elements) -> None:
    document = result.document
    name = _name(element, document)
    user = f"joint {name!r}"
    kind = (element.get("type") or "").strip()
    if kind not in JOINT_KINDS:
        problem = f"unknown type {kind!r}" if kind else "it has no type"
        raise RobotDescriptionError(
            f"{document.where(element)}: {user}: {problem}; use one of {', '.join(JOINT_KINDS)}"
        )
    joint = etree.SubElement(result.robot, "joint", name=name, type=kind)
    for child in element.iterchildren(etree.Element):
        _refuse_misspelt(child, document)
    # Vendors leave unfinished ones on joints that do not move.
    motion = ("axis", "limit", "safety_controller") if kind != "fixed" else ()
    for tag in ("origin", "parent", "child", *motion, "mimic"):
        child = only_child(element, tag, user, document)
        if child is not None:
            _copy(child, joint, user, document)
        elif tag in ("parent", "child"):
            raise RobotDescriptionError(f"{document.where(element)}: {user}: no <{tag} link=...>")
    if (safety := joint.find("safety_controller")) is not None:
        joint.remove(safety)
        low, high = (float(safety.get(f"soft_{b}_limit", "0")) for b in ("lower", "upper"))
        if (low, high) != (0.0, 0.0) and kind != "continuous":  # 0 to 0, the default: none
            result.soft_limits[name] = low, high
    limit = joint.find("limit")
    bounds = ("lower", "upper")
    result.missing_limits[name] = tuple(b for b in bounds if limit is None or not limit.get(b))
    if limit is not None:
        for attribute in ("effort", "velocity"):  # required by the parser, not by us
            limit.set(attribute, limit.get(attribute, "inf"))
    result.joint_numbers[name] = len(result.joints)
    result.joints.append(document.where(element))


def _name(element: etree._Element, document: XmlDocument) -> str:
    name = (element.get("name") or "").strip()
    if not name:
        raise RobotDescriptionError(f"{document.where(element)}: a <{element.tag}> without a name")
    return name


def only_child(
    element: etree._Element, tag: str, user: str, document: XmlDocument
) -> etree._Element | None:
    """The child of this tag, None without any; ``user``: link or joint, for messages."""
    for child in element.iterchildren(etree.Element):
        _refuse_misspelt(child, document, also=(tag,))
    children = element.findall(tag)
    if len(children) > 1:
        raise RobotDescriptionError(
            f"{document.where(children[1])}: {user}: a second <{tag}>; only one is allowed"
        )
    return children[0] if children else None


def _copy(
    element: etree._Element, parent: etree._Element, user: str, document: XmlDocument
) -> etree._Element:
    copy = etree.SubElement(parent, element.tag)
    for key in _ATTRIBUTES[element.tag]:
        attribute = key.rstrip("!")
        text = element.get(attribute)
        label = f"{document.where(element)}: {user}: <{element.tag} {attribute}=...>"
        if text is None:
            if key.endswith("!"):
                raise RobotDescriptionError(f"{label} is missing")
        elif attribute in _TEXTS:
            if not text.strip():
                raise RobotDescriptionError(f"{label} is empty")
            copy.set(attribute, text.strip())
        else:
            count = 3 if attribute in _VECTORS else 1
            what = (element.tag, attribute)
            copy.set(attribute, _checked_numbers(text, count, label, what))
    return copy


def attribute_numbers(
    text: str, count: int, label: str, may_be_infinite: bool = False
) -> list[float]:
    """Return the numbers of an attribute; RobotDescriptionError begins with ``label``."""
    expected = "a number" if count == 1 else f"{count} numbers"
    try:
        # Python alone would take 1_000 for a number.
        values = [float(word) if "_" not in word else float("") for word in text.split()]
    except ValueError:
        values = []
    if len(values) != count:
        hint = "; run xacro first" if "$" in text else ""
        raise RobotDescriptionError(f"{label}: expected {expected}, got {text!r:.80}{hint}")
    if any(math.isnan(v) or (math.isinf(v) and not may_be_infinite) for v in values):
        raise RobotDescriptionError(f"{label}: expected finite numbers, got {text!r:.80}")
    return values


def _checked_numbers(text: str, count: int, label: str, what: tuple[str, str]) -> str:
    """Return the numbers of an attribute, written so that every parser reads them."""
    values = attribute_numbers(text, count, label, what in _MAY_BE_INFINITE)
    if what[0] not in _OF_ANY_SIZE:
        for value in values:
            if problem := range_problem(value, what[1] in ("size", "radius", "length")):
                raise RobotDescriptionError(f"{label}: {problem}")
    if what[1] == "rpy" and (problem := rpy_problem(values)):
        raise RobotDescriptionError(f"{label}: {problem}")
    return " ".join(repr(value) for value in values)
