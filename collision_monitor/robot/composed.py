# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Several robots combined into one: two arms in a cell, a gripper on an arm, a moving object.

Each part keeps its links and joints, under names with a prefix, and is fixed to a common root
or to a link of a part before it. The result is an ordinary robot: its q consists of those of the
parts, one after another, and every pair of links of different parts is checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from collision_monitor.errors import RobotDescriptionError
from collision_monitor.robot.description import Joint, Link, Robot
from collision_monitor.robot.poses import pose_problem
from collision_monitor.robot.srdf import Semantics


@dataclass(frozen=True, eq=False)
class Mounted:
    """A robot as a part of a combined robot.

    Attributes:
        robot: the part.
        prefix: put before the names of its links, joints and groups; may be empty.
        pose: (4, 4) of its root link in the frame of ``parent``, metres.
        parent: the link that it is fixed to, by its name in the combined robot, of a part before
            this one; None for the common root.
        semantics: of its own SRDF.
    """

    robot: Robot
    prefix: str = ""
    pose: np.ndarray = field(default_factory=lambda: np.eye(4))
    parent: str | None = None
    semantics: Semantics | None = None


def compose(parts: Sequence[Mounted], name: str = "cell", root: str = "world") -> Robot:
    """Combine several robots into one.

    Args:
        parts: those that others are fixed to come first.
        name: of the combined robot.
        root: a new link without a shape, to which parts without a parent are fixed; distances
            are in its frame.

    Raises:
        RobotDescriptionError: no parts, two links or joints of one name, an unknown parent, or
            a pose that is none; it names the part.
    """
    if not parts:
        raise RobotDescriptionError(f"robot {name!r} has no parts: at least one is needed")
    links: dict[str, Link] = {root: Link(root)}
    joints: list[Joint] = []
    owners: dict[str, dict[str, str]] = {"link": {root: "the common root"}, "joint": {}}
    mounts: set[str] = set()
    warnings: list[str] = []
    for number, part in enumerate(parts, 1):
        who = f"part {number} ({part.robot.name!r}, prefix {part.prefix!r})"
        parent = root if part.parent is None else part.parent
        if parent not in links:
            raise RobotDescriptionError(
                f"{who}: there is no link {parent!r} to fix it to; it should be the common root "
                f"{root!r} or a link of a part before it, with its prefix"
            )
        whole = _prefixed(part.robot, part.prefix)
        mount = Joint(
            f"{parent}_to_{whole.root}", "fixed", parent, whole.root,
            _checked_pose(part.pose, who), np.array([1.0, 0.0, 0.0]),
        )  # fmt: skip
        for link in whole.links:
            _claim(owners["link"], "link", link, who)
        for joint in (mount, *whole.joints):
            _claim(owners["joint"], "joint", joint.name, who)
        links |= whole.links
        joints += [mount, *whole.joints]
        mounts |= {mount.name, *whole.mounts}
        warnings += [f"{who}: {text}" for text in whole.warnings]
    return Robot(name, root, links, tuple(joints), tuple(warnings), frozenset(mounts))


def compose_semantics(parts: Sequence[Mounted]) -> Semantics:
    """The SRDFs of the parts as one: pairs, groups and named states, with the prefixes.

    Nothing is disabled across parts; pairs that touch on purpose belong under ``ignore`` in the
    scene.

    Raises:
        RobotDescriptionError: two groups of one name; it names the part.
    """
    disabled: dict[frozenset[str], str] = {}
    enabled: set[frozenset[str]] = set()
    groups: dict[str, tuple[str, ...]] = {}
    group_joints: dict[str, tuple[str, ...]] = {}
    states: dict[str, dict[str, float]] = {}
    warnings: list[str] = []
    owners: dict[str, str] = {}
    for number, part in enumerate(parts, 1):
        who = f"part {number} ({part.robot.name!r}, prefix {part.prefix!r})"
        if part.semantics is None:
            continue
        for pair, reason in part.semantics.disabled.items():
            disabled[frozenset(part.prefix + link for link in pair)] = reason
        for pair in part.semantics.enabled:
            enabled.add(frozenset(part.prefix + link for link in pair))
        for ours, theirs in (
            (groups, part.semantics.groups),
            (group_joints, part.semantics.group_joints),
        ):
            for group, members in theirs.items():
                ours[part.prefix + group] = tuple(part.prefix + member for member in members)
        for state, positions in part.semantics.states.items():
            both = states.setdefault(part.prefix + state, {})
            both |= {part.prefix + joint: position for joint, position in positions.items()}
        for group in part.semantics.groups:
            _claim(owners, "group", part.prefix + group, who)
        warnings += [f"{who}: {text}" for text in part.semantics.warnings]
    return Semantics(
        disabled, groups, group_joints, tuple(warnings), frozenset(enabled), states=states
    )


def _claim(owners: dict[str, str], what: str, name: str, who: str) -> None:
    if name in owners:
        raise RobotDescriptionError(
            f"{who}: {what} {name!r} is already one of {owners[name]}; give the parts different "
            "prefixes" + (", or the root another name" if what == "link" else "")
        )
    owners[name] = who


def _prefixed(robot: Robot, prefix: str) -> Robot:
    """The robot with ``prefix`` before all names."""
    return Robot(
        robot.name,
        prefix + robot.root,
        {prefix + name: Link(prefix + name, link.shapes) for name, link in robot.links.items()},
        tuple(
            replace(
                joint,
                name=prefix + joint.name,
                parent=prefix + joint.parent,
                child=prefix + joint.child,
                mimic=joint.mimic and replace(joint.mimic, joint=prefix + joint.mimic.joint),
            )
            for joint in robot.joints
        ),
        robot.warnings,
        frozenset(prefix + name for name in robot.mounts),
    )


def _checked_pose(pose: np.ndarray, who: str) -> np.ndarray:
    try:
        pose = np.array(pose, dtype=float)
    except (TypeError, ValueError) as problem:
        raise RobotDescriptionError(f"{who}: its pose is no matrix: {problem}") from None
    if problem := pose_problem(pose):
        raise RobotDescriptionError(f"{who}: its {problem}")
    return pose
