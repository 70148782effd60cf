# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Chains in the tree of a robot: where an arm ends."""

import pytest
from support.robots.toys import joint, link, robot

from collision_monitor.robot.urdf.urdf import load_robot
from collision_monitor.self_collision.arms import Tree, is_hand, mirrored_limbs

FOLLOWS_J1 = '<mimic joint="j1"/>'


def tree(*joints):
    """A tree with a link for every name that the joints (name, parent, child, kind, extra) say."""
    names = dict.fromkeys(name for item in joints for name in item[1:3])
    parts = [
        joint(name, parent, child, kind=more[0] if more else "revolute",
              extra=more[1] if len(more) > 1 else "")
        for name, parent, child, *more in joints
    ]  # fmt: skip
    return Tree(load_robot(robot(*map(link, names), *parts)))


def names(joints):
    """Names of joints."""
    return [item.name for item in joints]


ARM = [("j1", "base", "a"), ("j2", "a", "b"), ("f", "b", "flange", "fixed")]


def test_an_arm_ends_where_fingers_part():
    found = tree(*ARM, ("p1", "flange", "f1", "prismatic"), ("p2", "flange", "f2", "prismatic"))
    assert names(found.stem(found.robot.joints[0])) == ["j1", "j2"]


def test_an_arm_ends_at_a_joint_that_opens_a_gripper():
    found = tree(*ARM, ("gripper_joint", "flange", "jaw", "prismatic"))
    assert names(found.stem(found.robot.joints[0])) == ["j1", "j2"]
    assert is_hand(found.robot.joints[-1])


def test_a_linkage_that_follows_the_arm_does_not_end_it():
    found = tree(
        ("j1", "base", "a"), ("rod", "a", "r", "revolute", FOLLOWS_J1), ("j2", "a", "b"),
        ("j3", "b", "c"),
    )  # fmt: skip
    assert names(found.stem(found.robot.joints[0])) == ["j1", "j2", "j3"]


def test_the_tip_is_the_end_of_the_rigid_part():
    found = tree(*ARM, ("t", "flange", "tool", "fixed"))
    assert found.tip_of(found.robot.joints[1]) == "tool"
    forked = tree(*ARM, ("t", "flange", "tool", "fixed"), ("c", "flange", "camera", "fixed"))
    assert forked.tip_of(forked.robot.joints[1]) == "flange"


def test_links_below_are_all_that_a_joint_moves():
    found = tree(*ARM, ("head", "base", "eyes"), ("p", "flange", "finger", "prismatic"))
    assert found.links_below(found.robot.joints[0]) == ("a", "b", "flange", "finger")
    assert names(found.path("finger")) == ["j1", "j2", "f", "p"]


@pytest.mark.parametrize(
    ("right", "left"), [("right_{}", "left_{}"), ("{}_r", "{}_l"), ("R{}", "L{}")]
)
def test_mirrored_limbs_are_found_once_by_their_first_joints(right, left):
    limbs = [
        joint
        for side in (left, right)
        for joint in (
            (side.format("One"), "base", side.format("A")),
            (side.format("Two"), side.format("A"), side.format("B")),
        )
    ]
    (pair,) = mirrored_limbs(tree(*limbs))
    assert names(pair[0]) == [right.format("One"), right.format("Two")]
    assert names(pair[1]) == [left.format("One"), left.format("Two")]


def test_a_limb_without_a_mirror_image_and_pairs_of_single_joints_are_none():
    assert mirrored_limbs(tree(("right_1", "base", "a"), ("right_2", "a", "b"))) == []
    assert mirrored_limbs(tree(("right_1", "base", "a"), ("left_1", "base", "b"))) == []
