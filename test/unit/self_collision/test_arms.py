# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Which joints and links are which arm."""

import pytest
from support.paths import ROOT
from support.robots.robots import require
from support.robots.toy_models import toy_robot
from support.robots.toys import chain, joint, link

from collision_monitor.errors import ArmsError
from collision_monitor.robot.srdf import load_srdf
from collision_monitor.robot.urdf import load_robot
from collision_monitor.self_collision.arms import (
    Tree,
    find_chains,
    is_hand,
    mirrored,
    mirrored_limbs,
    side,
)

# -- the right and the left arm: of real robots, by groups, by links, by themselves ------


# (robot, joints of the right arm, its tip with its SRDF, without)
PR2 = [
    "shoulder_pan", "shoulder_lift", "upper_arm_roll", "elbow_flex", "forearm_roll", "wrist_flex",
    "wrist_roll",
]  # fmt: skip
REAL = {
    "baxter": ([f"right_{x}" for x in ("s0", "s1", "e0", "e1", "w0", "w1", "w2")],
               "right_hand_link", "right_hand_link"),
    "pr2": ([f"r_{x}_joint" for x in PR2], "r_wrist_roll_link", "r_gripper_palm_link"),
    "tiago_dual": ([f"arm_right_{k}_joint" for k in range(1, 8)],
                   "wrist_right_ft_tool_link", "wrist_right_ft_tool_link"),
    "talos": ([f"arm_right_{k}_joint" for k in range(1, 8)],
              "wrist_right_ft_tool_link", "gripper_right_base_link"),
}  # fmt: skip


def load(name):
    """A real robot, and its SRDF where there is one."""
    files = require(name)
    robot = load_robot(files.urdf, files.package_dirs)
    return robot, files.srdf and load_srdf(files.srdf, robot)


def other_side(name):
    """The name on the left; written without the code under test."""
    for a, b in (("right", "left"), ("r_", "l_")):
        if a in name:
            return name.replace(a, b, 1)
    raise AssertionError(name)


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("with_srdf", [True, False], ids=["srdf", "urdf"])
def test_the_arms_of_real_robots_are_found(name, with_srdf):
    robot, semantics = load(name)
    right, left = find_chains(robot, semantics if with_srdf else None)
    joints, *tips = REAL[name]
    assert list(right.joint_names) == joints
    assert list(left.joint_names) == [other_side(joint) for joint in joints]
    assert right.tip_link == tips[not with_srdf]
    assert left.tip_link == other_side(right.tip_link)
    assert not set(right.links) & set(left.links)
    for arm, word in ((right, "right"), (left, "left")):
        assert len(arm.links) == len(set(arm.links)) > len(joints)
        assert arm.tip_link in arm.links
        if name != "pr2":
            assert all(word in link or link[0] == word[0] for link in arm.links), arm.links


def test_the_arms_of_the_own_robot_are_its_groups():
    robot = load_robot(ROOT / "urdf/dual_arm.urdf")
    semantics = load_srdf(ROOT / "urdf/dual_arm.srdf", robot)
    right, left = find_chains(robot, semantics)
    assert (right.name, left.name) == ("right_arm", "left_arm")
    assert right.links == (*(f"right_link_{k}" for k in range(1, 8)), "right_tool")
    assert find_chains(robot, semantics, ["left_arm", "right_arm"]) == (right, left)
    by_links = find_chains(robot, None, ["torso:left_tool", " torso : right_tool"])
    assert [arm.name for arm in by_links] == ["torso..right_tool", "torso..left_tool"]
    assert [arm.joint_names for arm in by_links] == [right.joint_names, left.joint_names]


@pytest.mark.parametrize("name", ["panda", "ur5", "xarm7"])
@pytest.mark.parametrize("with_srdf", [True, False], ids=["srdf", "urdf"])
def test_the_only_arm_is_found(name, with_srdf):
    robot, semantics = load(name)
    (arm,) = find_chains(robot, semantics if with_srdf else None)
    count = {"panda": 7, "ur5": 6, "xarm7": 7}[name]
    assert arm.joint_names == tuple(j.name for j in robot.joints if j.moves)[:count]


def test_any_number_of_arms_has_names():
    robot = two_arms()
    semantics = groups(robot, first=to("a3"), second=to("b3"))
    for names in (["second"], ["first", "second"]):
        assert [arm.name for arm in find_chains(robot, semantics, names)] == names
    with pytest.raises(ArmsError, match="no arm found"):
        find_chains(load_robot(chain(1)), None)


def two_arms(torso="revolute", fingers=""):
    """A torso, and on it two arms a and b of three joints, whose names say no side."""
    parts = [link("base"), link("torso"), joint("waist", "base", "torso", kind=torso)]
    for arm in ("a", "b"):
        links = ["torso", *(f"{arm}{k}" for k in range(1, 4))]
        parts += [link(name) for name in links[1:]]
        parts += [joint(f"{arm}_joint{k}", links[k - 1], links[k]) for k in range(1, 4)]
        for k in fingers:
            parts += [link(f"{arm}_f{k}"), joint(f"{arm}_open{k}", f"{arm}3", f"{arm}_f{k}")]
    return toy_robot(*parts)


def test_two_alike_chains_of_a_urdf_are_two_arms_whatever_their_names():
    first, second = find_chains(two_arms(fingers="12"), None)  # as of Kawasaki's duAro
    assert (first.name, second.name) == ("torso..a3", "torso..b3")
    assert second.links[:3] == ("b1", "b2", "b3")
    # A longer arm beside a shorter one, or of other joints, is one arm as before.
    parts = [link(name) for name in ("base", "a1", "a2", "a3", "b1", "b2", "b3")]
    for arm, last in (("a", "revolute"), ("b", "prismatic")):
        kinds = ("revolute", "revolute", last)
        names = ["base", *(f"{arm}{k}" for k in range(1, 4))]
        parts += [joint(f"{n}_j", names[k], n, kind=kinds[k]) for k, n in enumerate(names[1:])]
    assert len(find_chains(toy_robot(*parts), None)) == 1


def groups(robot, **contents):
    """An SRDF with these groups."""
    text = "".join(f'<group name="{name}">{inner}</group>' for name, inner in contents.items())
    return load_srdf(f'<robot name="{robot.name}">{text}</robot>', robot)


def to(tip, base="torso"):
    """A chain."""
    return f'<chain base_link="{base}" tip_link="{tip}"/>'


def test_two_chains_that_say_no_side_are_taken_in_the_order_of_the_file():
    robot = two_arms()
    semantics = groups(
        robot, second=to("b3"), first=to("a3"), waist='<joint name="waist"/>',
        both='<group name="first"/><group name="second"/>',
    )  # fmt: skip
    assert [arm.name for arm in find_chains(robot, semantics)] == ["second", "first"]


def test_groups_with_the_torso_are_passed_over_and_refused_by_name():
    robot = two_arms()
    semantics = groups(
        robot, right=to("a3"), left=to("b3"), right_torso=to("a3", "base"),
        left_torso=to("b3", "base"),
    )  # fmt: skip
    assert [arm.name for arm in find_chains(robot, semantics)] == ["right", "left"]
    with pytest.raises(ArmsError, match="'right_torso' and 'left_torso' share waist"):
        find_chains(robot, semantics, ["right_torso", "left_torso"])
    with pytest.raises(ArmsError, match="'right_torso' carries arm 'left'"):
        find_chains(robot, semantics, ["right_torso", "left"])
    with pytest.raises(ArmsError, match="share waist"):
        find_chains(robot, None, ["base:a3", "base:b3"])


def test_a_hand_in_a_group_is_not_part_of_the_chain_but_of_the_links():
    robot = two_arms(fingers="12")
    hands = {
        name: f'<group name="{name}_only"/><link name="{arm}_f1"/><link name="{arm}_f2"/>'
        for name, arm in (("right_arm", "a"), ("left_arm", "b"))
    }
    semantics = groups(robot, right_arm_only=to("a3"), left_arm_only=to("b3"), **hands)
    for names in (None, ["right_arm", "left_arm"]):
        right, left = find_chains(robot, semantics, names)
        assert right.joint_names == ("a_joint1", "a_joint2", "a_joint3")
        assert right.links == ("a1", "a2", "a3", "a_f1", "a_f2")
        assert (right.tip_link, left.tip_link) == ("a3", "b3")


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["first", "third"], "no group 'third'.*groups that are chains: first, second; others"),
        (["frist", "second"], "did you mean 'first'"),
        (["first", "both"], "group 'both' is not one chain"),
        (["first", "none"], "group 'none' has no moving joints"),
        ("first,second", "at least one name is needed"),
        (["first", "first"], "share a_joint1, a_joint2, a_joint3"),
        (["torso:a3", "torso:b9"], "no link 'b9'; it has b"),
        (["torso:a3", "a1:b3"], "no chain leads from 'a1' to 'b3'"),
        (["torso:a3", "b3:b3"], "no chain leads from 'b3' to 'b3'"),
        (["torso:a3", "base:torso"], "carries arm 'torso..a3'"),
    ],
)
def test_names_that_mean_no_two_arms_are_refused(names, says):
    robot = two_arms()
    semantics = groups(
        robot, first=to("a3"), second=to("b3"), none='<link name="base"/>',
        both='<group name="first"/><group name="second"/>',
    )  # fmt: skip
    with pytest.raises(ArmsError, match=says):
        find_chains(robot, semantics, names)


def test_without_an_srdf_a_group_is_unknown_and_the_message_says_why():
    with pytest.raises(ArmsError, match="no group 'right_arm'.*no SRDF"):
        find_chains(two_arms(), None, ["right_arm", "left_arm"])
    with pytest.raises(ArmsError, match="no joint moves between 'base' and 'torso'"):
        find_chains(two_arms(torso="fixed"), None, ["base:torso", "torso:a3"])


def test_an_arm_that_follows_the_other_is_refused():
    parts = [link("base"), link("right_1"), link("right_2"), link("left_1"), link("left_2")]
    follows = '<mimic joint="right_j2"/>'
    coupled = toy_robot(
        *parts,
        joint("right_j1", "base", "right_1"), joint("right_j2", "right_1", "right_2"),
        joint("left_j1", "base", "left_1"),
        joint("left_j2", "left_1", "left_2", extra=follows),
    )  # fmt: skip
    with pytest.raises(ArmsError, match="'left_j2' of arm .* follows 'right_j2'"):
        find_chains(coupled, None, ["base:right_2", "base:left_2"])


def limbs(*names):
    """Two chains of these links, right and left."""
    parts = [link("base")]
    for which in ("right", "left"):
        links = ["base", *(f"{which}_{name}" for name in names)]
        parts += [link(name) for name in links[1:]]
        parts += [joint(f"{b}_joint", a, b) for a, b in zip(links, links[1:], strict=False)]
    return toy_robot(*parts)


def test_a_chain_that_ends_in_a_hand_is_an_arm_and_legs_are_not():
    with pytest.raises(ArmsError, match="no arm found"):
        find_chains(limbs("hip", "knee", "foot"), None)
    right, left = find_chains(limbs("1", "2", "hand"), None)
    assert right.joint_names == ("right_1_joint", "right_2_joint", "right_hand_joint")
    assert left.tip_link == "left_hand"


# -- chains in the tree of a robot: where an arm ends ------------------------------------


FOLLOWS_J1 = '<mimic joint="j1"/>'


def tree(*joints):
    """A tree with a link for every name that the joints (name, parent, child, kind, extra) say."""
    names = dict.fromkeys(name for item in joints for name in item[1:3])
    parts = [
        joint(name, parent, child, kind=more[0] if more else "revolute",
              extra=more[1] if len(more) > 1 else "")
        for name, parent, child, *more in joints
    ]  # fmt: skip
    return Tree(toy_robot(*map(link, names), *parts))


def names(joints):
    """Names of joints."""
    return [item.name for item in joints]


ARM = [("j1", "base", "a"), ("j2", "a", "b"), ("f", "b", "flange", "fixed")]


@pytest.mark.parametrize(
    ("joints", "arm"),
    [
        ([*ARM, ("p1", "flange", "f1", "prismatic"), ("p2", "flange", "f2", "prismatic")], 2),
        ([*ARM, ("gripper_joint", "flange", "jaw", "prismatic")], 2),
        ([("j1", "base", "a"), ("rod", "a", "r", "revolute", FOLLOWS_J1), *ARM[1:2],
          ("j3", "b", "c")], 3),
    ],
    ids=["fingers part", "a gripper opens", "a linkage follows"],
)  # fmt: skip
def test_an_arm_ends_at_its_hand(joints, arm):
    found = tree(*joints)
    assert names(found.stem(found.robot.joints[0])) == ["j1", "j2", "j3"][:arm]
    assert is_hand(found.robot.joints[-1]) == (joints[-1][0] == "gripper_joint")


def test_a_limb_without_a_mirror_image_and_pairs_of_single_joints_are_none():
    assert mirrored_limbs(tree(("right_1", "base", "a"), ("right_2", "a", "b"))) == []
    assert mirrored_limbs(tree(("right_1", "base", "a"), ("left_1", "base", "b"))) == []


# -- right and left in names -------------------------------------------------------------


@pytest.mark.parametrize(
    ("right", "left"),
    [
        ("right_arm", "left_arm"),
        ("r_wrist", "l_wrist"),
        ("joint_1_r", "joint_1_l"),
        ("RShoulderPitch", "LShoulderPitch"),
        ("RARM_ELBOW", "LARM_ELBOW"),
        ("cell/right_s0", "cell/left_s0"),
        ("RIGHT_ARM", "LEFT_ARM"),
        ("armRight", "armLeft"),
        ("R_arm", "L_arm"),
    ],
)
def test_names_of_a_side_have_a_mirror_image(right, left):
    assert side(right) == "right"
    assert side(left) == "left"
    assert left in mirrored(right)
    assert right in mirrored(left)


@pytest.mark.parametrize(
    "name", ["upright", "bright_light", "elbow", "Roll", "relay", "link1r", "LIDAR", "Lift", ""]
)
def test_other_names_have_none(name):
    assert side(name) is None
    assert mirrored(name) == ()


def test_a_name_with_two_sides_has_two_mirror_images():
    assert set(mirrored("r_gripper_l_finger")) == {"l_gripper_l_finger", "l_gripper_r_finger"}
    assert side("r_gripper_l_finger") == "right"
