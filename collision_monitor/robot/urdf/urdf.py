# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""URDF files as plain data: links with their collision shapes, and joints.

Only links, their collision geometry and joints are read. Everything else (inertia, transmissions,
simulator plugins) is ignored, since many a real robot has parts there that no strict parser
accepts. What is read is checked: what cannot be monitored as it is written is an error that names
link or joint and line. Visual geometry is used only when asked for, and only for links without
collision geometry.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from lxml import etree

from collision_monitor.common.magnitudes import too_small
from collision_monitor.common.safe_xml import XmlDocument, parse_xml
from collision_monitor.errors import RobotDescriptionError
from collision_monitor.geometry.meshes import MeshLoader
from collision_monitor.robot.description import Link, Robot, Shape
from collision_monitor.robot.packages import FileFinder
from collision_monitor.robot.urdf.elements import (
    GEOMETRIES,
    Reader,
    check_root,
    name_of,
    refuse_misspelt,
)
from collision_monitor.robot.urdf.joints import WrittenJoint, convert_joints, read_joint, tree

_MOST_NAMED = 8
_SIZES = {  # attributes of each shape, and how many numbers they hold
    "box": {"size": 3},
    "sphere": {"radius": 1},
    "cylinder": {"radius": 1, "length": 1},
    "capsule": {"radius": 1, "length": 1},
}


def load_robot(
    source: str | bytes | os.PathLike,
    package_dirs: Sequence[str | os.PathLike] = (),
    visual_meshes: bool = False,
) -> Robot:
    """Load a URDF from a path, or from XML as text or bytes.

    ``package_dirs`` are looked at first for ``package://`` files, see
    `packages.FileFinder`. With ``visual_meshes``, a link that has no collision element takes
    the shapes of its visual elements, meshes or not; one that has both keeps its collision shapes.

    Raises RobotDescriptionError, and MeshError (one of its kind) for meshes.
    """
    document = parse_xml(source)
    check_root(document)
    name = (document.root.get("name") or "").strip()
    elements, written = _links_and_joints(document)
    if not elements:
        raise RobotDescriptionError(f"{document.name}: robot {name!r} has no links")
    root, order = tree(elements, written, document.name)
    joints, warnings = convert_joints(order)
    if not name:
        name = "robot"
        warnings.insert(0, f"{document.name}: the robot has no name, it is called 'robot'")
    reader = _ShapeReader(document, package_dirs, visual_meshes)
    links = {link: Link(link, reader.shapes(element, link)) for link, element in elements.items()}
    only_visual = _named(reader.only_visual)
    if not any(link.shapes for link in links.values()):
        hint = (
            "; pass visual_meshes=True (commands: --visual-meshes; nodes: the parameter "
            f"visual_meshes) to take the visual geometry of {only_visual}"
        )
        raise RobotDescriptionError(
            f"{document.name}: robot {name!r} has no collision geometry: nothing to monitor"
            + (hint if reader.only_visual else "")
        )
    if reader.only_visual and not visual_meshes:
        warnings.append(
            f"{only_visual}: not monitored, for want of collision geometry; visual_meshes=True "
            "takes their visual geometry"
        )
    return Robot(name, root, links, joints, tuple(warnings))


def _links_and_joints(
    document: XmlDocument,
) -> tuple[dict[str, etree._Element], list[WrittenJoint]]:
    """Elements of links by name, and joints, in file order; no name is used twice."""
    first: dict[tuple[str, str], str] = {}
    links, joints = {}, []
    for element in document.root.iterchildren(etree.Element):
        refuse_misspelt(element, document)
        if element.tag not in ("link", "joint"):
            continue
        name, where = name_of(element, document), document.where(element)
        if (known := first.setdefault((element.tag, name), where)) is not where:
            raise RobotDescriptionError(
                f"{where}: a second {element.tag} is named {name!r}; the first is at {known}"
            )
        if element.tag == "link":
            links[name] = element
        else:
            joints.append(read_joint(element, document))
    return links, joints


def _named(links: Sequence[str]) -> str:
    names = ", ".join(map(repr, links[:_MOST_NAMED]))
    more = f" and {len(links) - _MOST_NAMED} more" if len(links) > _MOST_NAMED else ""
    return f"link{'s' if len(links) > 1 else ''} {names}{more}"


class _ShapeReader:
    """Reads the shapes of links; ``only_visual`` lists links with visual geometry alone."""

    def __init__(
        self,
        document: XmlDocument,
        package_dirs: Sequence[str | os.PathLike],
        visual_meshes: bool,
    ) -> None:
        self._document = document
        self._finder = FileFinder(package_dirs, document.path)
        self._meshes = MeshLoader()
        self._visual_meshes = visual_meshes
        self.only_visual: list[str] = []

    def shapes(self, element: etree._Element, link: str) -> tuple[Shape, ...]:
        """The collision shapes of a link, or the visual ones where these stand in for them."""
        for child in element.iterchildren(etree.Element):
            refuse_misspelt(child, self._document, ("visual",) if self._visual_meshes else ())
        parts = element.findall("collision")
        if not parts and (visuals := [v for v in element.findall("visual") if _has_geometry(v)]):
            self.only_visual.append(link)
            parts = visuals if self._visual_meshes else []
        return tuple(self._shape(part, link) for part in parts)

    def _shape(self, part: etree._Element, link: str) -> Shape:
        """The shape of a <collision> or <visual>."""
        read = Reader(self._document, f"link {link!r}")
        children = read.children(part, ("origin", "geometry"))
        pose, geometry = read.origin(children["origin"]), children["geometry"]
        found = [] if geometry is None else list(geometry.iterchildren(etree.Element))
        if len(found) != 1 or found[0].tag not in GEOMETRIES:
            tags = ", ".join(f"<{shape.tag}>" for shape in found) or "nothing"
            read.fail(
                part,
                f"a {part.tag} element needs one geometry ({', '.join(GEOMETRIES)}), found {tags}",
            )
        element, kind = found[0], found[0].tag
        if kind == "mesh":
            user = f"{self._document.where(part)}: {read.user}"
            file = read.text(element, "filename")
            scale = read.numbers(element, "scale", 3, (1.0, 1.0, 1.0), any_size=True)
            path = self._finder.find(file, user)
            vertices, triangles = self._meshes.load(path, user, scale)
            return Shape("mesh", pose, (), vertices, triangles, str(path))
        size = tuple(
            value
            for attribute, count in _SIZES[kind].items()
            for value in read.numbers(element, attribute, count, is_size=True)
        )
        # A capsule without a straight part is a sphere, and harmless.
        may_be_zero = kind == "capsule" and size[0] > 0.0
        if any(value < 0.0 or (value == 0.0 and not may_be_zero) for value in size):
            read.fail(part, f"the size of a {kind} should be positive, not {size}")
        if problem := too_small(kind, size):
            read.fail(part, problem)
        return Shape(kind, pose, size, source=f"{kind} of link {link!r}")


def _has_geometry(visual: etree._Element) -> bool:
    """Whether there is anything to see: some robots have visual elements with nothing in them."""
    return any(
        child.tag.lower() == "geometry" and len(child) > 0
        for child in visual.iterchildren(etree.Element)
    )
