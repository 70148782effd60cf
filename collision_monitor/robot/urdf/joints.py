# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Joints of a URDF as plain data: the tree that they form, poses, axes and limits.

A joint whose position is never known (floating, planar) is held at zero, and what mimics it is
held at its offset: it becomes a fixed joint. Warnings name the joints and what is assumed of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from lxml import etree

from collision_monitor.common.magnitudes import LARGEST
from collision_monitor.common.safe_xml import XmlDocument
from collision_monitor.errors import RobotDescriptionError
from collision_monitor.robot.description import MOVING_JOINT_KINDS, Joint, Mimic
from collision_monitor.robot.poses import joint_motion
from collision_monitor.robot.urdf.elements import Reader, name_of

JOINT_KINDS = ("fixed", "revolute", "continuous", "prismatic", "floating", "planar")
_MOST_NAMED = 8
_SHORTEST_AXIS = 1e-9
_FARTHEST_TURN = 1e300  # radians
_LIMITS = {"lower": (), "upper": (), "velocity": (math.inf,), "effort": (math.inf,)}


@dataclass(frozen=True, eq=False)
class WrittenJoint:
    """A joint as it is written in the file.

    ``where`` is its ``file:line``; ``lower`` and ``upper`` are () where they are missing.
    """

    where: str
    name: str
    kind: str
    parent: str
    child: str
    origin: np.ndarray
    axis: tuple[float, ...]
    mimic: Mimic | None
    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()
    velocity: tuple[float, ...] = (math.inf,)
    effort: tuple[float, ...] = (math.inf,)

    def error(self, problem: str) -> RobotDescriptionError:
        """An error about the joint."""
        return RobotDescriptionError(f"{self.where}: joint {self.name!r}{problem}")


def read_joint(element: etree._Element, document: XmlDocument) -> WrittenJoint:
    """Read a <joint>; RobotDescriptionError names ``file:line`` and joint."""
    name = name_of(element, document)
    read = Reader(document, f"joint {name!r}")
    kind = (element.get("type") or "").strip()
    if kind not in JOINT_KINDS:
        problem = f"unknown type {kind!r}" if kind else "it has no type"
        read.fail(element, f"{problem}; use one of {', '.join(JOINT_KINDS)}")
    parts = read.children(element, ("origin", "parent", "child", "axis", "limit", "mimic"))
    for tag in ("parent", "child"):
        if parts[tag] is None:
            read.fail(element, f"no <{tag} link=...>")
    axis, limit, mimic = parts["axis"], parts["limit"], parts["mimic"]
    limits = {} if limit is None else {
        key: read.numbers(limit, key, 1, default, any_size=True, infinite=default != ())
        for key, default in _LIMITS.items()
    }  # fmt: skip
    return WrittenJoint(
        document.where(element), name, kind,
        read.text(parts["parent"], "link"), read.text(parts["child"], "link"),
        read.origin(parts["origin"]),
        (1.0, 0.0, 0.0) if axis is None else read.numbers(axis, "xyz", 3, any_size=True),
        None if mimic is None else Mimic(
            read.text(mimic, "joint"),
            *read.numbers(mimic, "multiplier", 1, (1.0,)),
            *read.numbers(mimic, "offset", 1, (0.0,)),
        ),
        **limits,
    )  # fmt: skip


def tree(
    links: Iterable[str], joints: Sequence[WrittenJoint], name: str
) -> tuple[str, list[WrittenJoint]]:
    """The root link, and the joints depth first, children in file order.

    Raises RobotDescriptionError on an unknown link, two parents, two roots or a cycle; ``name`` is
    that of the file.
    """
    carriers: dict[str, WrittenJoint] = {}
    children: dict[str, list[WrittenJoint]] = {link: [] for link in links}
    for joint in joints:
        for end, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in children:
                raise joint.error(f": its {end} link {link!r} does not exist")
        if other := carriers.get(joint.child):
            raise RobotDescriptionError(
                f"{joint.where}: link {joint.child!r} has two parents: {other.parent!r} by joint "
                f"{other.name!r} and {joint.parent!r} by joint {joint.name!r}"
            )
        carriers[joint.child] = joint
        children[joint.parent].append(joint)
    roots = [link for link in children if link not in carriers]
    if len(roots) > 1:
        names = ", ".join(map(repr, roots))
        raise RobotDescriptionError(f"{name}: {len(roots)} root links, a robot has one: {names}")
    order: list[WrittenJoint] = []
    waiting = [joint for root in roots for joint in reversed(children[root])]
    while waiting:
        order.append(waiting.pop())
        waiting += reversed(children[order[-1].child])
    if len(order) < len(joints):
        # A joint that is not reached from the root has ancestors that end in a cycle.
        joint = next(joint for joint in joints if joint not in order)
        path: list[WrittenJoint] = []
        while joint not in path:
            path.append(joint)
            joint = carriers[joint.parent]
        cycle = path[path.index(joint) :][::-1]
        names = " -> ".join(repr(joint.parent) for joint in [*cycle, cycle[0]])
        raise RobotDescriptionError(f"{cycle[0].where}: the links form a cycle: {names}")
    return roots[0], order


def convert_joints(written: Sequence[WrittenJoint]) -> tuple[tuple[Joint, ...], list[str]]:
    """The joints in the same order, and warnings.

    Raises RobotDescriptionError naming the joint and ``file:line``.
    """
    assumptions: dict[str, list[str]] = {}  # joints by what is assumed of them
    mimics = _mimics(written)
    held = _held_positions(written, mimics)
    joints = tuple(_convert(joint, mimics, held, assumptions) for joint in written)
    ignored = [j.name for j in written if j.mimic and j.kind not in MOVING_JOINT_KINDS]
    if ignored:
        assumptions["their <mimic> is ignored, since they have no axis to follow on"] = ignored
    return joints, [f"joints {', '.join(map(repr, a))}: {what}" for what, a in assumptions.items()]


def _mimics(joints: Sequence[WrittenJoint]) -> dict[str, Mimic]:
    """The mimic of each moving joint that has one: of a joint that exists and can move."""
    by_name = {joint.name: joint for joint in joints}
    mimics: dict[str, Mimic] = {}
    for joint in joints:
        if joint.mimic is None or joint.kind not in MOVING_JOINT_KINDS:
            continue
        leader = by_name.get(joint.mimic.joint)
        if leader is None:
            raise joint.error(f" mimics {joint.mimic.joint!r}, which does not exist")
        if leader is joint:
            raise joint.error(" mimics itself")
        if leader.kind == "fixed":
            raise joint.error(f" mimics {leader.name!r}, which is fixed")
        mimics[joint.name] = joint.mimic
    fine: set[str] = set()
    for start in mimics:
        chain = [start]
        seen = {start}
        while chain[-1] in mimics and chain[-1] not in fine:
            last = mimics[chain[-1]].joint
            if last in seen:
                cycle = chain[chain.index(last) :]
                names = " -> ".join(map(repr, [*cycle[:_MOST_NAMED], last]))
                more = f" ({len(cycle)} joints)" if len(cycle) > _MOST_NAMED else ""
                raise RobotDescriptionError(
                    f"{by_name[last].where}: joints mimic each other in a cycle: {names}{more}"
                )
            chain.append(last)
            seen.add(last)
        fine |= seen
    return mimics


def _held_positions(
    joints: Sequence[WrittenJoint], mimics: dict[str, Mimic]
) -> dict[str, float]:
    """The constant position of each joint that mimics a held one, also at second hand."""
    held = {joint.name: 0.0 for joint in joints if joint.kind in ("floating", "planar")}
    free: set[str] = set()  # known to follow none that is held
    for start in mimics:
        chain = [start]
        while chain[-1] in mimics and chain[-1] not in held and chain[-1] not in free:
            chain.append(mimics[chain[-1]].joint)
        if chain[-1] not in held:
            free.update(chain)
        else:
            for name in reversed(chain[:-1]):
                mimic = mimics[name]
                held[name] = mimic.multiplier * held[mimic.joint] + mimic.offset
    return held


def _convert(
    joint: WrittenJoint,
    mimics: dict[str, Mimic],
    held: dict[str, float],
    assumptions: dict[str, list[str]],
) -> Joint:
    ends = joint.parent, joint.child
    if joint.kind not in MOVING_JOINT_KINDS:
        if joint.kind != "fixed":
            assumptions.setdefault(f"{joint.kind}, held at zero", []).append(joint.name)
        return Joint(joint.name, joint.kind, *ends, joint.origin, np.array([1.0, 0.0, 0.0]))
    norm = math.hypot(*joint.axis)
    if not (_SHORTEST_AXIS < norm < math.inf):
        raise joint.error(f": the axis {joint.axis} has no direction; it should be a unit vector")
    axis = np.array(joint.axis) / norm
    lower, upper = _limits(joint, assumptions)
    if joint.name in held:
        position = held[joint.name]
        if not math.isfinite(position):
            raise joint.error(": its mimic overflows")
        what = f"held at {position:g}, since {mimics[joint.name].joint!r} is held"
        assumptions.setdefault(what, []).append(joint.name)
        origin = joint.origin @ joint_motion(joint.kind == "prismatic", axis, position)
        return Joint(joint.name, "fixed", *ends, origin, axis)
    return Joint(
        joint.name, joint.kind, *ends, joint.origin, axis,
        lower, upper, *joint.velocity, *joint.effort, mimics.get(joint.name),
    )  # fmt: skip


def _limits(joint: WrittenJoint, assumptions: dict[str, list[str]]) -> tuple[float, float]:
    """Lower and upper limit; a missing one is half a turn, or zero along a line."""
    if joint.kind == "continuous":
        return -math.pi, math.pi
    reach = math.pi if joint.kind == "revolute" else 0.0
    lower, upper = 0.0 - reach, reach
    if joint.lower:
        (lower,) = joint.lower
        upper = max(upper, lower)
    if joint.upper:
        (upper,) = joint.upper
        lower = lower if joint.lower else min(lower, upper)
    # A joint that turns may have limits far away, meaning none; samples are taken between them.
    most = LARGEST if joint.kind == "prismatic" else _FARTHEST_TURN
    if max(abs(lower), abs(upper)) > most:
        raise joint.error(
            f": limits {lower:g} and {upper:g} are beyond reason, {most:g} is the most"
        )
    if lower > upper:
        raise joint.error(f": the lower limit {lower:g} is above the upper limit {upper:g}")
    missing = [end for end in ("lower", "upper") if not getattr(joint, end)]
    if missing:
        only = f", so it is sampled at {lower:g} only" if lower == upper else ""
        what = f"no {' and no '.join(missing)} limit, {lower:.6g} to {upper:.6g} is assumed{only}"
        assumptions.setdefault(what, []).append(joint.name)
    return lower, upper
