# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A robot description (URDF) as plain data.

The description is parsed by urdf_parser_py, after elements that are not needed are removed (see
`urdf_elements`), and checked: anything that cannot be monitored as written is an error that names
the link or joint and the line. Visual geometry is used only on request, and only for links without
collision geometry.

A joint whose position is never known (floating, planar) is held at zero, and its
mimic joints at their offsets: they become fixed joints. Warnings name these joints.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

import numpy as np
from lxml import etree
from urdf_parser_py import urdf as parser
from urdf_parser_py.xml_reflection import core as parser_core

from collision_monitor.common.limits import (
    LARGEST_LIMIT,
    LARGEST_OF_JOINT,
    SMALLEST,
    add_triangles,
    check_count,
    check_time,
    is_limited,
)
from collision_monitor.common.safe_files import ReceivedText, XmlDocument, parse_xml
from collision_monitor.common.text import MOST_NAMED, closest, shortened, six_digits
from collision_monitor.errors import RobotDescriptionError
from collision_monitor.geometry.meshes import MeshLoader
from collision_monitor.geometry.segments import ROUNDING
from collision_monitor.robot.description import MOVING_JOINT_KINDS, Joint, Link, Mimic, Robot, Shape
from collision_monitor.robot.packages import FileFinder
from collision_monitor.robot.poses import joint_motion, pose_from_xyz_rpy
from collision_monitor.robot.urdf_elements import Elements, prune

_LONG_MESH = 20.0  # metres; a link of 2 cm in millimetres, longer than links of robots are

_OF_SRDF = ("group", "group_state", "disable_collisions")

# -- joints of a URDF that follow other joints --



def find_mimics(urdf: parser.Robot, elements: Elements) -> tuple[dict[str, Mimic], list[str]]:
    """Return the mimic of every moving joint that has one, and names of others that have one.

    Raises RobotDescriptionError where a joint mimics an unknown or fixed joint, or itself.
    """
    ignored: list[str] = []
    by_name = {joint.name: joint for joint in urdf.joints}
    mimics: dict[str, Mimic] = {}
    for number, joint in enumerate(urdf.joints):
        if joint.mimic is None:
            continue
        label = f"{elements.joints[number]}: joint {joint.name!r}"
        leader = by_name.get(joint.mimic.joint)
        if joint.type not in MOVING_JOINT_KINDS:
            ignored.append(joint.name)
        elif leader is None:
            raise RobotDescriptionError(
                f"{label} mimics {joint.mimic.joint!r}, which does not exist"
            )
        elif leader is joint:
            raise RobotDescriptionError(f"{label} mimics itself")
        elif leader.type == "fixed":
            raise RobotDescriptionError(f"{label} mimics {leader.name!r}, which is fixed")
        else:
            multiplier, offset = joint.mimic.multiplier, joint.mimic.offset
            mimics[joint.name] = Mimic(
                leader.name,
                1.0 if multiplier is None else multiplier,
                0.0 if offset is None else offset,
            )
    return mimics, ignored


def _leaders_first(mimics: dict[str, Mimic], elements: Elements) -> list[str]:
    """Names of mimic joints and their leaders, each leader before those that mimic it."""
    try:
        order = TopologicalSorter({name: (mimic.joint,) for name, mimic in mimics.items()})
        return list(order.static_order())
    except CycleError as error:
        cycle = error.args[1][::-1]  # the first name is also the last
        names = " -> ".join(map(repr, [*cycle[:-1][:MOST_NAMED], cycle[-1]]))
        more = f" ({len(cycle) - 1} joints)" if len(cycle) > MOST_NAMED + 1 else ""
        where = elements.joints[elements.joint_numbers[cycle[0]]]
        raise RobotDescriptionError(
            f"{where}: joints mimic each other in a cycle: {names}{more}"
        ) from None


def held_positions(
    urdf: parser.Robot, mimics: dict[str, Mimic], elements: Elements
) -> dict[str, float]:
    """Return the constant position of every joint that mimics a held one, directly or not.

    Raises RobotDescriptionError where joints mimic each other in a cycle.
    """
    held = {joint.name: 0.0 for joint in urdf.joints if joint.type in ("floating", "planar")}
    for name in _leaders_first(mimics, elements):
        if name in mimics and (mimic := mimics[name]).joint in held:
            held[name] = mimic.multiplier * held[mimic.joint] + mimic.offset
    return held




def convert_joints(
    urdf: parser.Robot, elements: Elements, order: list[int]
) -> tuple[tuple[Joint, ...], list[str]]:
    """Return the joints in the given order, and warnings.

    Raises RobotDescriptionError naming the joint and ``file:line``.
    """
    assumptions: dict[str, list[str]] = {}  # joints by the assumption made for them
    mimics, ignored = find_mimics(urdf, elements)
    held = held_positions(urdf, mimics, elements)
    joints = tuple(_convert(urdf.joints[n], elements, mimics, held, assumptions) for n in order)
    if ignored:
        assumptions["their <mimic> is ignored, since they have no axis to follow on"] = ignored
    return joints, [f"joints {', '.join(map(repr, a))}: {what}" for what, a in assumptions.items()]


def _convert(
    joint: parser.Joint,
    elements: Elements,
    mimics: dict[str, Mimic],
    held: dict[str, float],
    assumptions: dict[str, list[str]],
) -> Joint:
    where = elements.joints[elements.joint_numbers[joint.name]]
    origin = np.eye(4)
    if joint.origin is not None:
        origin = pose_from_xyz_rpy(joint.origin.xyz, joint.origin.rpy)
    if joint.type not in MOVING_JOINT_KINDS:
        axis = np.array([1.0, 0.0, 0.0])
        if joint.type != "fixed":
            assumptions.setdefault(f"{joint.type}, held at zero", []).append(joint.name)
        return Joint(joint.name, joint.type, joint.parent, joint.child, origin, axis)
    axis = np.array(joint.axis if joint.axis is not None else (1.0, 0.0, 0.0))
    norm = math.hypot(*axis)
    if not (ROUNDING < norm < math.inf):
        raise RobotDescriptionError(
            f"{where}: joint {joint.name!r}: the axis {six_digits(axis)} has no direction; it "
            "should be a unit vector"
        )
    axis = axis / norm
    lower, upper = _limits(joint, elements, where, assumptions)
    if joint.name in held:
        position = held[joint.name]
        if not math.isfinite(position):
            raise RobotDescriptionError(f"{where}: joint {joint.name!r}: its mimic overflows")
        what = f"held at {position:g}, since {mimics[joint.name].joint!r} is held"
        assumptions.setdefault(what, []).append(joint.name)
        origin = origin @ joint_motion(joint.type == "prismatic", axis, position)
        return Joint(joint.name, "fixed", joint.parent, joint.child, origin, axis)
    velocity = effort = math.inf
    if joint.limit is not None:
        # Many CAD exports write 0 for want of a number. Faster joint states are refused anyway.
        if 0.0 < joint.limit.velocity <= LARGEST_OF_JOINT:
            velocity = joint.limit.velocity
        if joint.limit.effort > 0.0:
            effort = joint.limit.effort
    return Joint(
        joint.name, joint.type, joint.parent, joint.child, origin, axis,
        lower, upper, velocity, effort, mimics.get(joint.name),
        elements.soft_limits.get(joint.name, (-math.inf, math.inf)),
        has_limits=not elements.missing_limits[joint.name] and not lower == upper == 0.0,
    )  # fmt: skip


def _limits(
    joint: parser.Joint, elements: Elements, where: str, assumptions: dict[str, list[str]]
) -> tuple[float, float]:
    """Return lower and upper limit; a missing one is half a turn, or zero along a line."""
    if joint.type == "continuous":
        return -math.pi, math.pi
    missing = elements.missing_limits[joint.name]
    reach = math.pi if joint.type == "revolute" else 0.0
    lower, upper = 0.0 - reach, reach
    if "lower" not in missing:
        lower = joint.limit.lower
        upper = max(upper, lower)
    if "upper" not in missing:
        upper = joint.limit.upper
        lower = min(lower, upper) if "lower" in missing else lower
    # A joint that turns may have limits far away, meaning none.
    if joint.type == "prismatic" and max(abs(lower), abs(upper)) > LARGEST_LIMIT:
        raise RobotDescriptionError(
            f"{where}: joint {joint.name!r}: limits {lower:g} and {upper:g} exceed the "
            f"maximum of {LARGEST_LIMIT:g}; write the range in which it moves, metres"
        )
    lower, upper = max(lower, -LARGEST_OF_JOINT), min(upper, LARGEST_OF_JOINT)
    if lower > upper:
        raise RobotDescriptionError(
            f"{where}: joint {joint.name!r}: the lower limit {lower:g} is above the upper limit "
            f'{upper:g}; if they are swapped, write lower="{upper:g}" upper="{lower:g}"'
        )
    if missing:
        only = f", so it is sampled at {lower:g} only" if lower == upper else ""
        what = f"no {' and no '.join(missing)} limit, {lower:.6g} to {upper:.6g} is assumed{only}"
        assumptions.setdefault(what, []).append(joint.name)
    elif lower == upper == 0.0 and joint.mimic is None:  # some CAD exports mean no limits by this
        what = (
            "limits 0 to 0, so it is sampled at 0 only; write its limits if it moves, else "
            "type=\"fixed\""
        )
        assumptions.setdefault(what, []).append(joint.name)
    return lower, upper


# -- the tree of links and joints, and its depth-first order --


def check_names(urdf: parser.Robot, elements: Elements) -> None:
    """Raise RobotDescriptionError on no links, a name used twice or an unknown link."""
    if not urdf.links:
        is_srdf = any(True for _ in elements.document.root.iter(*_OF_SRDF))
        hint = "; this is an SRDF, a URDF is expected" if is_srdf else ""
        raise RobotDescriptionError(
            f"{elements.document.name}: robot {urdf.name!r} has no links{hint}"
        )
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
    known = dict.fromkeys(link.name for link in urdf.links)
    for joint, place in zip(urdf.joints, elements.joints, strict=True):
        for end, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in known:
                raise RobotDescriptionError(
                    f"{place}: joint {joint.name!r}: its {end} link {link!r} does not exist; add "
                    f'<link name="{link}"/>, or name one of the links: {closest(link, known)}'
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
    """Load a URDF from a path, or from XML as text or bytes; text from a topic is a `ReceivedText`.

    ``package_dirs`` are searched first for ``package://`` files, see
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
            f"{_named(elements.only_visual)}: not monitored: no collision geometry; "
            "visual_meshes=True uses their visual geometry"
        )
    return Robot(urdf.name, root, links, joints, (*warnings, *_long_meshes(links)))


def _check_size(document: XmlDocument) -> None:
    """Reject a description that is too large before it is parsed: 2000 links take a second."""
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
    return f"link{'s' if len(links) > 1 else ''} {shortened(map(repr, links), MOST_NAMED)}"


def _visual_hint(only_visual: Sequence[str]) -> str:
    if not only_visual:
        return ""
    return (
        f"; pass visual_meshes=True (commands: --visual-meshes; nodes: the parameter "
        f"visual_meshes) to use the visual geometry of {_named(only_visual)}"
    )


def _parse(elements: Elements) -> parser.Robot:
    # As text: releases of the parser accept different kinds of trees.
    text = etree.tostring(elements.robot, encoding="unicode")
    with _silent_parser():
        try:
            return parser.URDF.from_xml_string(text)
        except Exception as problem:  # it raises many types, from AssertionError to KeyError
            raise RobotDescriptionError(f"{elements.document.name}: {problem}") from problem


def _long_meshes(links: Mapping[str, Link]) -> Iterator[str]:
    """Yield a warning of each mesh that is probably in millimetres."""
    for link in links.values():
        for shape in link.shapes:
            length = float(np.ptp(shape.vertices, axis=0).max()) if shape.kind == "mesh" else 0.0
            if length > _LONG_MESH:
                yield (
                    f"link {link.name!r}: {shape.source} is {length:.3g} m long; if the file is in "
                    'millimetres, write scale="0.001 0.001 0.001" in its <mesh>'
                )


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
    if min(size) < 0.0:
        raise RobotDescriptionError(f"{user}: the size of a {kind} is negative: {size}")
    # Points, segments and plates become as thin as a solid can be.
    if kind == "cylinder" and size[0] == 0.0:
        kind, size = "box", (0.0, 0.0, size[1])
    if kind != "capsule":
        size = tuple(max(value, SMALLEST) for value in size)
    elif size[0] == 0.0:  # without a straight part it is a sphere
        size = (SMALLEST, size[1])
    return Shape(kind, pose, size, source=f"{kind} of link {link!r}")
