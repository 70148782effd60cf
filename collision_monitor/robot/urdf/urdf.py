# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A robot description (URDF) as plain data.

The description is parsed by urdf_parser_py, after elements that are not needed are removed (see
`elements`), and checked: anything that cannot be monitored as written is an error that names the
link or joint and the line. Visual geometry is used only on request, and only for links without
collision geometry.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter

import numpy as np
from lxml import etree
from urdf_parser_py import urdf as parser
from urdf_parser_py.xml_reflection import core as parser_core

from collision_monitor.common.limits import (
    add_triangles,
    check_count,
    check_time,
    is_limited,
    too_small,
)
from collision_monitor.common.safe_files import ReceivedText, XmlDocument, parse_xml
from collision_monitor.common.text import shortened
from collision_monitor.errors import RobotDescriptionError
from collision_monitor.geometry.meshes import MeshLoader
from collision_monitor.robot.description import Link, Robot, Shape
from collision_monitor.robot.packages import FileFinder
from collision_monitor.robot.poses import pose_from_xyz_rpy
from collision_monitor.robot.urdf.elements import Elements, prune
from collision_monitor.robot.urdf.joints import convert_joints

# -- the tree of links and joints, and its depth-first order --


def check_names(urdf: parser.Robot, elements: Elements) -> None:
    """Raise RobotDescriptionError on no links, a name used twice or an unknown link."""
    if not urdf.links:
        raise RobotDescriptionError(f"{elements.document.name}: robot {urdf.name!r} has no links")
    for what, items, places in (
        ("link", urdf.links, elements.links),
        ("joint", urdf.joints, elements.joints),
    ):
        first: dict[str, str] = {}
        for item, place in zip(items, places, strict=True):
            if item.name in first:
                raise RobotDescriptionError(
                    f"{place}: a second {what} is named {item.name!r}; the first is at "
                    f"{first[item.name]}"
                )
            first[item.name] = place
    known = {link.name for link in urdf.links}
    for joint, place in zip(urdf.joints, elements.joints, strict=True):
        for end, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in known:
                raise RobotDescriptionError(
                    f"{place}: joint {joint.name!r}: its {end} link {link!r} does not exist"
                )


def depth_first(urdf: parser.Robot, elements: Elements) -> tuple[str, list[int]]:
    """Return the root link, and joint numbers depth first, children in file order.

    Raises RobotDescriptionError on two parents, two roots or a cycle.
    """
    parent_joint: dict[str, int] = {}
    for number, joint in enumerate(urdf.joints):
        if joint.child in parent_joint:
            other = urdf.joints[parent_joint[joint.child]]
            raise RobotDescriptionError(
                f"{elements.joints[number]}: link {joint.child!r} has two parents: "
                f"{other.parent!r} by joint {other.name!r} and {joint.parent!r} by joint "
                f"{joint.name!r}"
            )
        parent_joint[joint.child] = number
    roots = [link.name for link in urdf.links if link.name not in parent_joint]
    if len(roots) > 1:
        raise RobotDescriptionError(
            f"{elements.document.name}: {len(roots)} root links, a robot has one: "
            + ", ".join(map(repr, roots))
        )
    try:
        TopologicalSorter({joint.child: (joint.parent,) for joint in urdf.joints}).prepare()
    except CycleError as error:
        cycle = error.args[1]
        raise RobotDescriptionError(
            f"{elements.joints[parent_joint[cycle[1]]]}: the links form a cycle: "
            + " -> ".join(map(repr, cycle))
        ) from None
    return roots[0], _walk(roots[0], urdf)


def _walk(root: str, urdf: parser.Robot) -> list[int]:
    children: dict[str, list[int]] = {}
    for number, joint in enumerate(urdf.joints):
        children.setdefault(joint.parent, []).append(number)
    order: list[int] = []
    waiting = children.get(root, [])[::-1]
    while waiting:
        number = waiting.pop()
        order.append(number)
        waiting += reversed(children.get(urdf.joints[number].child, []))
    return order


def load_robot(
    source: str | bytes | os.PathLike | ReceivedText,
    package_dirs: Sequence[str | os.PathLike] = (),
    visual_meshes: bool = False,
) -> Robot:
    """Load a URDF from a path, or from XML as text or bytes; what a topic sent is `ReceivedText`.

    ``package_dirs`` are looked at first for ``package://`` files, see
    `packages.FileFinder`. With ``visual_meshes``, a link that has no collision element takes
    the shapes of its visual elements, meshes or not; one that has both keeps its collision shapes.

    Raises RobotDescriptionError, and MeshError (one of its kind) for meshes.
    """
    document = parse_xml(source)
    _check_size(document)
    elements = prune(document, visual_meshes)
    check_time("reading the robot description")
    urdf = _parse(elements)
    check_names(urdf, elements)
    root, order = depth_first(urdf, elements)
    joints, warnings = convert_joints(urdf, elements, order)
    if not (document.root.get("name") or "").strip():
        warnings.insert(0, f"{document.name}: the robot has no name, it is called 'robot'")
    finder = FileFinder(package_dirs, document.path, document.is_received)
    meshes = MeshLoader()
    links = {}
    for number, link in enumerate(urdf.links):
        shapes = tuple(
            _shape(collision, link.name, elements, (number, i), finder, meshes)
            for i, collision in enumerate(link.collisions)
        )
        links[link.name] = Link(link.name, shapes)
    if not any(link.shapes for link in links.values()):
        raise RobotDescriptionError(
            f"{document.name}: robot {urdf.name!r} has no collision geometry: nothing to monitor"
            + _visual_hint(elements.only_visual)
        )
    if elements.only_visual and not visual_meshes:
        warnings.append(
            f"{_named(elements.only_visual)}: not monitored, for want of collision geometry; "
            "visual_meshes=True takes their visual geometry"
        )
    return Robot(urdf.name, root, links, joints, tuple(warnings))


def _check_size(document: XmlDocument) -> None:
    """Refuse what is too large for a model before it is parsed: 2000 links take a second."""
    if not is_limited():
        return
    shapes = [
        len(found) for link in document.root.iterchildren("link")
        if (found := link.findall("collision"))
    ]  # fmt: skip
    check_count("max_links", len(shapes), document.name)
    moving = sum(
        joint.get("type", "").strip() != "fixed" for joint in document.root.iterchildren("joint")
    )
    check_count("max_links", moving, document.name, "joints that move")
    check_count("max_shapes", sum(shapes), document.name)


def _named(links: Sequence[str]) -> str:
    return f"link{'s' if len(links) > 1 else ''} {shortened(map(repr, links), 8)}"


def _visual_hint(only_visual: Sequence[str]) -> str:
    if not only_visual:
        return ""
    return (
        f"; pass visual_meshes=True (commands: --visual-meshes; nodes: the parameter "
        f"visual_meshes) to take the visual geometry of {_named(only_visual)}"
    )


def _parse(elements: Elements) -> parser.Robot:
    # As text: releases of the parser accept different kinds of trees.
    text = etree.tostring(elements.robot, encoding="unicode")
    with _silent_parser():
        try:
            return parser.URDF.from_xml_string(text)
        except Exception as problem:  # it raises everything from AssertionError to KeyError
            raise RobotDescriptionError(f"{elements.document.name}: {problem}") from problem


@contextlib.contextmanager
def _silent_parser() -> Iterator[None]:
    """Keep the parser from writing to stderr; its hook is a global, so put it back."""
    hook = parser_core.on_error
    parser_core.on_error = lambda message: None
    try:
        yield
    finally:
        parser_core.on_error = hook


def _shape(
    collision: parser.Collision,
    link: str,
    elements: Elements,
    number: tuple[int, int],
    finder: FileFinder,
    meshes: MeshLoader,
) -> Shape:
    where = elements.collisions[number[0]][number[1]]
    user = f"{where}: link {link!r}"
    geometry = collision.geometry
    pose = np.eye(4)
    if collision.origin is not None:
        pose = pose_from_xyz_rpy(collision.origin.xyz, collision.origin.rpy)
    if isinstance(geometry, parser.Mesh):
        path = finder.find(geometry.filename, user)
        check_time("reading meshes")
        vertices, triangles = meshes.load(path, user, geometry.scale or (1.0, 1.0, 1.0))
        add_triangles(len(triangles), f"{user}: {path}")
        return Shape("mesh", pose, (), vertices, triangles, str(path))
    if isinstance(geometry, parser.Box):
        kind, size = "box", tuple(geometry.size)
    elif isinstance(geometry, parser.Sphere):
        kind, size = "sphere", (geometry.radius,)
    else:
        kind = "capsule" if number in elements.capsules else "cylinder"
        size = (geometry.radius, geometry.length)
    # A capsule without a straight part is a sphere, and harmless.
    may_be_zero = kind == "capsule" and size[0] > 0.0
    if any(value < 0.0 or (value == 0.0 and not may_be_zero) for value in size):
        raise RobotDescriptionError(f"{user}: the size of a {kind} should be positive, not {size}")
    if problem := too_small(kind, size):
        raise RobotDescriptionError(f"{user}: {problem}")
    return Shape(kind, pose, size, source=f"{kind} of link {link!r}")
