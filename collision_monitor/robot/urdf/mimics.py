# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Joints of a URDF that follow other joints."""

from __future__ import annotations

from urdf_parser_py import urdf as parser

from collision_monitor.errors import RobotDescriptionError
from collision_monitor.robot.description import MOVING_JOINT_KINDS, Mimic
from collision_monitor.robot.urdf.elements import Elements

_MOST_NAMED = 8


def find_mimics(urdf: parser.Robot, elements: Elements) -> tuple[dict[str, Mimic], list[str]]:
    """Return the mimic of every moving joint that has one, and names of others that have one.

    Raises RobotDescriptionError where a joint mimics an unknown or fixed joint,
    itself, or others in a cycle.
    """
    ignored: list[str] = []
    by_name = {joint.name: joint for joint in urdf.joints}
    found: dict[str, Mimic] = {}
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
            found[joint.name] = Mimic(
                leader.name,
                1.0 if multiplier is None else multiplier,
                0.0 if offset is None else offset,
            )
    _refuse_cycle(found, elements)
    return found, ignored


def _refuse_cycle(mimics: dict[str, Mimic], elements: Elements) -> None:
    fine: set[str] = set()
    for start in mimics:
        chain = {start: None}
        last = start
        while last in mimics and last not in fine:
            last = mimics[last].joint
            if last in chain:
                cycle = [*chain][[*chain].index(last) :]
                names = " -> ".join(map(repr, [*cycle[:_MOST_NAMED], last]))
                more = f" ({len(cycle)} joints)" if len(cycle) > _MOST_NAMED else ""
                where = elements.joints[elements.joint_numbers[last]]
                raise RobotDescriptionError(
                    f"{where}: joints mimic each other in a cycle: {names}{more}"
                )
            chain[last] = None
        fine.update(chain)


def held_positions(urdf: parser.Robot, mimics: dict[str, Mimic]) -> dict[str, float]:
    """Return the constant position of every joint that mimics a held one, also at second hand."""
    held = {joint.name: 0.0 for joint in urdf.joints if joint.type in ("floating", "planar")}
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
