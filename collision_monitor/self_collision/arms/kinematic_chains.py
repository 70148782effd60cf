# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Chains of joints in the tree of a robot, and those that have a mirror image."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from collision_monitor.robot.description import Joint, Robot

# -- right and left in the names of links, joints and groups --


_SIDE = re.compile(
    r"(?<![^\W_])(?:right|left|RIGHT|LEFT)"  # right_arm, but not upright
    r"|Right|Left"  # armRight
    r"|(?<![^\W_])[rlRL](?![^\W_])"  # r_wrist, joint_1_l
    r"|(?<![^\W_])[RL](?=[A-Z][a-z]|ARM)"  # RWristYaw, LARM
)
_OTHER = {"right": "left", "left": "right", "r": "l", "l": "r"}


def side(name: str) -> str | None:
    """``right``, ``left`` or None: what the first mark of a side in a name says."""
    found = _SIDE.search(name)
    if found is None:
        return None
    return "right" if found[0].lower() in ("right", "r") else "left"


def mirrored(name: str) -> tuple[str, ...]:
    """Names that the same thing may have on the other side, () where none says a side.

    ``r_gripper_l_finger`` may be ``l_gripper_l_finger`` or ``l_gripper_r_finger``.
    """
    if not _SIDE.search(name):
        return ()
    return tuple(dict.fromkeys((_SIDE.sub(_swap, name, count=1), _SIDE.sub(_swap, name))))


def _swap(found: re.Match) -> str:
    other = _OTHER[found[0].lower()]
    if found[0].isupper():
        return other.upper()
    return other.capitalize() if found[0][0].isupper() else other


class Tree:
    """Who carries whom in a robot; ``moving`` is what has an entry of q of its own."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.parent_joint = {joint.child: joint for joint in robot.joints}
        self.children: dict[str, list[Joint]] = defaultdict(list)
        for joint in robot.joints:
            self.children[joint.parent].append(joint)

    def path(self, link: str) -> list[Joint]:
        """Joints from the root down to a link."""
        joints = []
        while (joint := self.parent_joint.get(link)) is not None:
            joints.append(joint)
            link = joint.parent
        return joints[::-1]

    def links_below(self, joint: Joint) -> tuple[str, ...]:
        """Links that a joint moves, depth first."""
        below = {joint.child}
        for other in self.robot.joints:  # parents come before their children
            if other.parent in below:
                below.add(other.child)
        return tuple(other.child for other in self.robot.joints if other.child in below)

    def next_moving(self, joint: Joint) -> list[Joint]:
        """The next joints below one that move, mimics included."""
        found = []
        waiting = [joint.child]
        while waiting:
            for child in self.children[waiting.pop()]:
                if child.moves:
                    found.append(child)
                else:
                    waiting.append(child.child)
        return found

    def stem(self, first: Joint) -> list[Joint]:
        """Joints from ``first`` outwards until the moving tree branches or ends.

        A branch that only follows (mimics) joints of the stem is none: a parallel linkage.
        A hand with several fingers ends an arm; so does a gripper by its name.
        """
        stem = [first]
        while True:
            names = {joint.name for joint in stem}
            branches = [
                joint
                for joint in self.next_moving(stem[-1])
                if joint.mimic is None or joint.mimic.joint not in names
            ]
            if len(branches) != 1 or branches[0].mimic is not None or is_hand(branches[0]):
                return stem
            stem.append(branches[0])

    def tip_of(self, joint: Joint) -> str:
        """The link at the end of the rigid part that a joint carries, until that branches."""
        link = joint.child
        while len(self.children[link]) == 1 and not self.children[link][0].moves:
            link = self.children[link][0].child
        return link


def independent(joints: Iterable[Joint]) -> list[Joint]:
    """Those with an entry of q of their own."""
    return [joint for joint in joints if joint.moves and joint.mimic is None]


def _says(names: Iterable[str], words: tuple[str, ...]) -> bool:
    return any(word in name.lower() for name in names for word in words)


def is_hand(joint: Joint) -> bool:
    """Whether the name of a joint says that it opens a hand, and not that it turns one."""
    hand = ("gripper", "finger", "thumb", "jaw", "knuckle")
    return _says([joint.name], hand) and not _says([joint.name], ("yaw", "pitch", "roll"))


def is_arm(names: Iterable[str]) -> bool:
    """Whether names of joints, links or groups say that they belong to an arm."""
    return _says(names, ("arm", "shoulder", "elbow", "wrist"))


def is_something_else(names: Iterable[str]) -> bool:
    """Whether names say that a chain is no arm, though it may come in pairs."""
    words = ("leg", "hip", "knee", "ankle", "foot", "wheel", "caster", "suspension", "eye")
    return _says(names, (*words, "head", "neck", "gripper", "finger", "hand", "ear_", "track"))


def mirrored_limbs(tree: Tree) -> list[tuple[list[Joint], list[Joint]]]:
    """Stems (right, left) of at least two joints whose first joints are named alike.

    By the names of the joints or of the links that they carry; only the joint nearest
    the base of each limb.
    """
    by_name = {}
    for joint in independent(tree.robot.joints):
        by_name[joint.name] = joint
        by_name.setdefault(joint.child, joint)
    pairs, taken = [], set()
    for joint in independent(tree.robot.joints):
        if joint.child in taken:
            continue
        other = next(
            (
                by_name[name]
                for own in (joint.name, joint.child)
                for name in mirrored(own)
                if side(own) == "right" and name in by_name
            ),
            None,
        )
        if other is None or other is joint:
            continue
        right, left = tree.stem(joint), tree.stem(other)
        taken.update(tree.links_below(joint))
        taken.update(tree.links_below(other))
        if min(len(right), len(left)) >= 2:
            pairs.append((right, left))
    return pairs
