# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Detection of the arms of a robot: kinematic chains, and right and left in their names."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from collision_monitor.common.text import closest, did_you_mean
from collision_monitor.errors import ArmsError
from collision_monitor.robot.bodies import leading_joint
from collision_monitor.robot.description import Joint, Robot
from collision_monitor.robot.srdf import Semantics


@dataclass(frozen=True)
class Arm:
    """One arm of a robot.

    Attributes:
        name: the SRDF group, or ``<base>..<tip>``.
        joint_names: the independent moving joints, from base to tip.
        links: all links moved by the first joint, including hand and fingers, in the order of the
            robot.
        tip_link: the last link of the chain.
    """

    name: str
    joint_names: tuple[str, ...]
    links: tuple[str, ...]
    tip_link: str


def find_chains(
    robot: Robot, semantics: Semantics | None, names: Sequence[str] | None = None
) -> tuple[Arm, ...]:
    """The one, two or more arms of a robot.

    If a group contains a hand, its arm ends where the joints branch.

    Args:
        robot: the robot.
        semantics: its SRDF, for the groups, or None.
        names: groups of the SRDF, or ``base_link:tip_link``. Of two arms, the right one comes
            first if the names state the sides. Without names: two groups that are chains without
            a common joint, and whose names differ only by right and left; otherwise the two
            longest chains of the URDF whose first joints or links are named that way; otherwise
            the longest chains of the URDF, if there are exactly two and they are alike; otherwise
            a single arm: the longest group that is a chain, or the longest chain of the URDF.

    Raises:
        ArmsError: no arm is found, or two arms share a joint. The message names the known groups.
    """
    tree = Tree(robot)
    groups = {} if semantics is None else _groups(tree, semantics)
    if names is not None:
        if isinstance(names, str) or not len(names):
            raise ArmsError(
                f"arms {names!r}: at least one name is needed, of SRDF groups or base_link:tip_link"
            )
        arms = _all_named(tree, groups, names)
    else:
        arms = (
            _from_groups(tree, groups)
            or _from_names(tree)
            or _two_alike(tree)
            or _only_one(tree, groups)
        )
    for pair in combinations(arms, 2):
        _require_apart(robot, *pair)
    return arms


def _all_named(tree: Tree, groups: dict[str, Arm | str], names: Sequence[str]) -> tuple[Arm, ...]:
    """Arms by their names. Of two, the right one is first if the names state the sides."""
    arms = tuple(_named(tree, groups, name.strip()) for name in names)
    return arms[::-1] if [side(arm.name) for arm in arms] == ["left", "right"] else arms


def _only_one(tree: Tree, groups: dict[str, Arm | str]) -> tuple[Arm]:
    """The longest chain that is not a leg, neck or gripper: of the groups, or else of the URDF."""
    joints = tree.robot.joint_named
    arms = [arm for arm in groups.values() if isinstance(arm, Arm) and not _other(tree, arm)]
    arms = [arm for arm in arms if not is_hand(joints[arm.joint_names[-1]])]
    if not (arms := arms or _chains(tree)):
        raise ArmsError(
            f"'{tree.robot.name}': no arm found: no group that is a chain, and no chain of joints; "
            f"name a group, or base_link:tip_link ({_known(groups)})"
        )
    return (max(arms, key=lambda arm: len(arm.joint_names)),)


def _chains(tree: Tree) -> list[Arm]:
    """The chains of the URDF from each joint outwards that are not a leg, neck or gripper."""
    arms = []
    for joint in independent(tree.robot.joints):
        arms.append(_arm_of(tree, tree.stem(joint)))
    return [arm for arm in arms if not _other(tree, arm)]


def _two_alike(tree: Tree) -> tuple[Arm, Arm] | None:
    """The two longest chains of the URDF, if their joints are of the same types in order."""
    chains = _chains(tree)
    most = max((len(arm.joint_names) for arm in chains), default=0)
    longest = [arm for arm in chains if len(arm.joint_names) == most >= 3]
    if len(longest) != 2 or not _apart(*longest):
        return None
    joints = tree.robot.joint_named
    one, other = ([joints[name].kind for name in arm.joint_names] for arm in longest)
    return tuple(longest) if one == other else None


def _groups(tree: Tree, semantics: Semantics) -> dict[str, Arm | str]:
    """Arm of each group, or the reason why the group is not an arm."""
    by_group: dict[str, Arm | str] = {}
    for name, joint_names in semantics.group_joints.items():
        joints = independent(tree.robot.joint_named[joint] for joint in joint_names)
        stem = _stem_within(tree, joints)
        if isinstance(stem, str):
            by_group[name] = stem
            continue
        rigid = _rigid_below(tree, stem[-1])
        on_tip = [link for link in semantics.groups[name] if link in rigid]
        above = tree.robot.joints_above
        tip = max(on_tip, key=lambda link: len(above(link)), default=stem[-1].child)
        by_group[name] = _arm(tree, name, stem, tip)
    return by_group


def _stem_within(tree: Tree, joints: list[Joint]) -> list[Joint] | str:
    """Joints of a group, base to tip, up to the first branch; or the reason why there are none."""
    if not joints:
        return "has no moving joints"
    ancestors = {
        joint.name: {above.name for above in tree.robot.joints_above(joint.parent)}
        for joint in joints
    }
    stem: list[Joint] = []
    for k, joint in enumerate(joints):  # depth first: a joint that carries all others is the first
        if any(joint.name not in ancestors[other.name] for other in joints[k + 1 :]):
            break  # a hand, or not a chain
        stem.append(joint)
    return stem or "is not one chain"


def _rigid_below(tree: Tree, joint: Joint) -> set[str]:
    links, waiting = set(), [joint.child]
    while waiting:
        link = waiting.pop()
        links.add(link)
        waiting += [child.child for child in tree.children[link] if not child.moves]
    return links


def _arm(tree: Tree, name: str, stem: list[Joint], tip: str) -> Arm:
    return Arm(name, tuple(joint.name for joint in stem), tree.links_below(stem[0]), tip)


def _arm_of(tree: Tree, stem: list[Joint]) -> Arm:
    """The arm of these joints, up to the first branch behind the last one."""
    tip = tree.tip_of(stem[-1])
    return _arm(tree, f"{stem[0].parent}..{tip}", stem, tip)


def _named(tree: Tree, groups: dict[str, Arm | str], name: str) -> Arm:
    found = groups.get(name)
    if isinstance(found, Arm):
        return found
    if found is not None:
        raise ArmsError(f"group {name!r} {found}; an arm is one chain ({_known(groups)})")
    base, colon, tip = (part.strip() for part in name.partition(":"))
    if not colon:
        hint = f"; {close}" if (close := did_you_mean(name, groups)) else ""
        raise ArmsError(f"no group {name!r}{hint} ({_known(groups)})")
    links = tree.robot.links
    for link in (base, tip):
        if link not in links:
            raise ArmsError(
                f"arm {name!r}: '{tree.robot.name}' has no link {link!r}; it has "
                f"{closest(link, links)}"
            )
    path = tree.robot.joints_above(tip)[::-1]
    parents = [joint.parent for joint in path]
    if base not in parents:
        raise ArmsError(f"arm {name!r}: no chain leads from {base!r} to {tip!r}")
    joints = independent(path[parents.index(base) :])
    if not joints:
        raise ArmsError(f"arm {name!r}: no joint moves between {base!r} and {tip!r}")
    return _arm(tree, f"{base}..{tip}", joints, tip)


def _known(groups: dict[str, Arm | str]) -> str:
    if not groups:
        return "there are no groups: no SRDF, or one without"
    chains = [name for name, found in groups.items() if isinstance(found, Arm)]
    others = [name for name, found in groups.items() if not isinstance(found, Arm)]
    text = f"groups that are chains: {', '.join(chains) or 'none'}"
    return f"{text}; others: {', '.join(others)}" if others else text


def _from_groups(tree: Tree, groups: dict[str, Arm | str]) -> tuple[Arm, Arm] | None:
    """Two groups that are arms; None if there are none, or if the choice is ambiguous."""
    arms = {
        name: arm
        for name, arm in groups.items()
        if isinstance(arm, Arm) and len(arm.joint_names) >= 2 and not _other(tree, arm)
    }
    pairs = [
        (arm, arms[other])
        for name, arm in arms.items()
        if side(name) == "right"
        for other in mirrored(name)
        if other in arms and _apart(arm, arms[other])
    ]
    if pairs:
        # Of groups with the same joints, use the one with the shorter name.
        return max(pairs, key=lambda pair: (*_rank(tree, pair), -len(pair[0].name)))
    distinct = {arm.joint_names: arm for arm in reversed(arms.values())}
    long = [arm for arm in reversed(distinct.values()) if len(arm.joint_names) >= 3]
    apart = [pair for pair in combinations(long, 2) if _apart(*pair)]
    return apart[0] if len(apart) == 1 else None


def _from_names(tree: Tree) -> tuple[Arm, Arm] | None:
    pairs = []
    for limbs in mirrored_limbs(tree):
        arms = [_arm_of(tree, stem) for stem in limbs]
        if not any(_other(tree, arm) for arm in arms):
            pairs.append(tuple(arms))
    return max(pairs, key=lambda pair: _rank(tree, pair), default=None)


def _rank(tree: Tree, pair: Iterable[Arm]) -> tuple[bool, int]:
    """Sort key: named as an arm, and length. The pair with the largest key is the most likely."""
    pair = tuple(pair)
    return all(is_arm(_names_of(tree, arm)) for arm in pair), min(len(a.joint_names) for a in pair)


def _other(tree: Tree, arm: Arm) -> bool:
    """Whether a chain starts with the name of a leg, neck or gripper, and has no name of an arm."""
    group, first, *_ = names = _names_of(tree, arm)
    child = tree.robot.joint_named[first].child
    starts = [first, child] if ".." in group else [group, first, child]
    return is_something_else(starts) and not is_arm(names)


def _names_of(tree: Tree, arm: Arm) -> list[str]:
    children = [tree.robot.joint_named[name].child for name in arm.joint_names]
    return [arm.name, *arm.joint_names, *children]


def _apart(a: Arm, b: Arm) -> bool:
    """Whether neither arm contains or moves a part of the other."""
    return not set(a.links) & set(b.links)


def _require_apart(robot: Robot, right: Arm, left: Arm) -> None:
    """Raise ArmsError if one arm moves a part of the other."""
    shared = [name for name in right.joint_names if name in left.joint_names]
    if shared:
        raise ArmsError(
            f"arms {right.name!r} and {left.name!r} share {', '.join(shared)}; two arms have no "
            "joint in common: take groups without the torso"
        )
    for arm, other in ((right, left), (left, right)):
        if set(other.links) <= set(arm.links):
            raise ArmsError(
                f"arm {arm.name!r} carries arm {other.name!r}: joint {arm.joint_names[0]!r} "
                "moves both; take groups without the torso"
            )
    for arm, other in ((right, left), (left, right)):
        for joint in robot.joints:
            if joint.child in arm.links and joint.moves and joint.mimic is not None:
                leader = leading_joint(joint, robot.joint_named)[0]
                if leader in other.joint_names:
                    raise ArmsError(
                        f"joint {joint.name!r} of arm {arm.name!r} follows {leader!r} of arm "
                        f"{other.name!r}: the arms cannot be moved apart from each other"
                    )


# -- right and left in the names of links, joints and groups --

_SIDE = re.compile(
    r"(?<![^\W_])(?:right|left|RIGHT|LEFT)"  # right_arm, but not upright
    r"|Right|Left"  # armRight
    r"|(?<![^\W_])[rlRL](?![^\W_])"  # r_wrist, joint_1_l
    r"|(?<![^\W_])[RL](?=[A-Z][a-z]|ARM)"  # RWristYaw, LARM
)
_OTHER = {"right": "left", "left": "right", "r": "l", "l": "r"}


def side(name: str) -> str | None:
    """Side in a name: ``right``, ``left`` or None. The first mark decides."""
    found = _SIDE.search(name)
    if found is None:
        return None
    return "right" if found[0].lower() in ("right", "r") else "left"


def mirrored(name: str) -> tuple[str, ...]:
    """Possible mirrored names of a joint, link or group; () if the name states no side.

    ``r_gripper_l_finger`` gives ``l_gripper_l_finger`` and ``l_gripper_r_finger``.
    """
    if not _SIDE.search(name):
        return ()
    return tuple(dict.fromkeys((_SIDE.sub(_swap, name, count=1), _SIDE.sub(_swap, name))))


def _swap(found: re.Match) -> str:
    other = _OTHER[found[0].lower()]
    if found[0].isupper():
        return other.upper()
    return other.capitalize() if found[0][0].isupper() else other


# -- kinematic chains, and mirrored pairs of them --


class Tree:
    """Kinematic tree: joints and links of a robot by parent and child."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.children: dict[str, list[Joint]] = defaultdict(list)
        for joint in robot.joints:
            self.children[joint.parent].append(joint)

    def links_below(self, joint: Joint) -> tuple[str, ...]:
        """Links that a joint moves, depth first."""
        below = {joint.child}
        for other in self.robot.joints:  # parents come before their children
            if other.parent in below:
                below.add(other.child)
        return tuple(other.child for other in self.robot.joints if other.child in below)

    def next_moving(self, joint: Joint) -> list[Joint]:
        """The next moving joints below a joint, including mimic joints."""
        moving = []
        waiting = [joint.child]
        while waiting:
            for child in self.children[waiting.pop()]:
                if child.moves:
                    moving.append(child)
                else:
                    waiting.append(child.child)
        return moving

    def stem(self, first: Joint) -> list[Joint]:
        """Joints from ``first`` outwards until the moving tree branches or ends.

        Branches whose joints mimic joints of the stem are ignored: they form a parallel linkage. An
        arm ends at a hand with several fingers, or at a gripper (by its name).
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
        """The last link of the rigid body that a joint moves, up to the first branch."""
        link = joint.child
        while len(self.children[link]) == 1 and not self.children[link][0].moves:
            link = self.children[link][0].child
        return link


def independent(joints: Iterable[Joint]) -> list[Joint]:
    """The joints that have their own entry in q."""
    return [joint for joint in joints if joint.moves and joint.mimic is None]


def _has_word(names: Iterable[str], words: tuple[str, ...]) -> bool:
    return any(word in name.lower() for name in names for word in words)


def is_hand(joint: Joint) -> bool:
    """Whether a joint opens a gripper or hand, by its name, and does not turn it."""
    hand = ("gripper", "finger", "thumb", "jaw", "knuckle")
    return _has_word([joint.name], hand) and not _has_word([joint.name], ("yaw", "pitch", "roll"))


def is_arm(names: Iterable[str]) -> bool:
    """Whether a name of a joint, link or group is that of an arm."""
    return _has_word(names, ("arm", "shoulder", "elbow", "wrist"))


def is_something_else(names: Iterable[str]) -> bool:
    """Whether a name is that of another paired chain, such as a leg."""
    words = ("leg", "hip", "knee", "ankle", "foot", "wheel", "caster", "suspension", "eye")
    return _has_word(names, (*words, "head", "neck", "gripper", "finger", "hand", "ear_", "track"))


def mirrored_limbs(tree: Tree) -> list[tuple[list[Joint], list[Joint]]]:
    """Stems (right, left) of at least two joints whose first joints are named alike.

    Compares the names of the joints, or of the links that they move, for the joint nearest to the
    base of each limb.
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
