# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Whether links and joints form one tree, and the order in which to walk it."""

from __future__ import annotations

from urdf_parser_py import urdf as parser

from collision_monitor.errors import RobotDescriptionError
from collision_monitor.robot.urdf.elements import Elements


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
    order = _walk(roots, urdf)
    if len(order) < len(urdf.joints):
        _raise_cycle(urdf, elements, parent_joint, set(order))
    return roots[0], order


def _walk(roots: list[str], urdf: parser.Robot) -> list[int]:
    children: dict[str, list[int]] = {}
    for number, joint in enumerate(urdf.joints):
        children.setdefault(joint.parent, []).append(number)
    order: list[int] = []
    waiting = [number for root in roots for number in reversed(children.get(root, []))]
    while waiting:
        number = waiting.pop()
        order.append(number)
        waiting += reversed(children.get(urdf.joints[number].child, []))
    return order


def _raise_cycle(
    urdf: parser.Robot, elements: Elements, parent_joint: dict[str, int], reached: set[int]
) -> None:
    # Whoever is not reached from the root has ancestors that end in a cycle.
    number = next(n for n in range(len(urdf.joints)) if n not in reached)
    path: list[int] = []
    while number not in path:
        path.append(number)
        number = parent_joint[urdf.joints[number].parent]
    cycle = path[path.index(number) :][::-1]
    names = [urdf.joints[n].parent for n in cycle]
    raise RobotDescriptionError(
        f"{elements.joints[cycle[0]]}: the links form a cycle: "
        + " -> ".join(repr(name) for name in [*names, names[0]])
    )
