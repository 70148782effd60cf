# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Several robots as one: the robot that a URDF of all of them would describe."""

from dataclasses import replace
from functools import cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np
import pytest
from lxml import etree
from support.robots.robots import require
from support.robots.toy_models import toy_robot
from support.robots.toys import chain, joint, link
from support.robots.toys import robot as toy

from collision_monitor import CollisionModel
from collision_monitor.errors import RobotDescriptionError
from collision_monitor.fitting.shapes import FitSettings
from collision_monitor.robot.composed import Mounted, compose, compose_semantics
from collision_monitor.robot.description import Robot
from collision_monitor.robot.poses import pose_from_xyz_rpy
from collision_monitor.robot.scene import load_scene
from collision_monitor.robot.srdf import Semantics, load_srdf
from collision_monitor.robot.urdf import load_robot
from collision_monitor.self_collision.arms import find_chains

ONE_LEAF = FitSettings(max_leaves_per_link=1)
PLACES = {
    "left_": ((0.0, 0.45, 0.0), (0.0, 0.0, 0.3)),
    "right_": ((0.1, -0.5, 0.2), (0.0, 0.1, -1.2)),
}


def written_as_one(path: Path, places: dict, name: str) -> str:
    """A URDF of one robot several times, with prefixes, on a common root called world."""
    whole = etree.Element("robot", name=name)
    etree.SubElement(whole, "link", name="world")
    for prefix, (xyz, rpy) in places.items():
        root = etree.parse(str(path)).getroot()
        children = {child.get("link") for child in root.iterfind("joint/child")}
        (base,) = [e.get("name") for e in root.findall("link") if e.get("name") not in children]
        mount = etree.SubElement(whole, "joint", name=f"world_to_{prefix}{base}", type="fixed")
        etree.SubElement(mount, "parent", link="world")
        etree.SubElement(mount, "child", link=prefix + base)
        etree.SubElement(
            mount, "origin", xyz=" ".join(map(repr, xyz)), rpy=" ".join(map(repr, rpy))
        )
        for element in root:
            if element.tag not in ("link", "joint"):
                continue
            element.set("name", prefix + element.get("name"))
            for tag, attribute in (("parent", "link"), ("child", "link"), ("mimic", "joint")):
                for inner in element.findall(tag):
                    inner.set(attribute, prefix + inner.get(attribute))
            whole.append(element)
    return etree.tostring(whole, encoding="unicode")


def mounted(robot: Robot, semantics: Semantics | None = None) -> list[Mounted]:
    return [
        Mounted(robot, prefix, pose_from_xyz_rpy(*place), semantics=semantics)
        for prefix, place in PLACES.items()
    ]


@cache
def two_ur5() -> tuple[CollisionModel, CollisionModel, CollisionModel]:
    """(one UR5, two of them composed, two of them out of one URDF), with the same leaves."""
    files = require("ur5")
    single = CollisionModel.from_urdf(files.urdf, files.srdf, files.package_dirs)
    parts = mounted(load_robot(files.urdf, files.package_dirs), single.semantics)
    leaves = {}
    for prefix in PLACES:
        for leaf in single.leaves:
            name = prefix + leaf.link
            leaves.setdefault(name, []).append(replace(leaf, link=name))
    composed = CollisionModel(compose(parts, "pair"), compose_semantics(parts), leaves=leaves)
    robot = load_robot(written_as_one(files.urdf, PLACES, "pair"), files.package_dirs)
    disabled = {
        frozenset(prefix + name for name in pair): reason
        for prefix in PLACES
        for pair, reason in single.semantics.disabled.items()
    }
    return single, composed, CollisionModel(robot, Semantics(disabled), leaves=leaves)


def test_two_ur5_are_the_robot_that_one_urdf_describes():
    single, composed, one = two_ur5()
    assert composed.joint_names == one.joint_names
    assert composed.joint_names == tuple(
        prefix + name for prefix in PLACES for name in single.joint_names
    )
    assert composed.root == "world" and composed.link_names == one.link_names
    np.testing.assert_array_equal(composed.lower, one.lower)
    np.testing.assert_array_equal(composed.velocity_limits, one.velocity_limits)
    assert composed.pairs == one.pairs
    rows = composed.random_configurations(300)
    for q in rows[:50]:
        np.testing.assert_allclose(composed.distances(q), one.distances(q), atol=1e-12)
        assert composed.distance(q).links == one.distance(q).links
    np.testing.assert_allclose(composed.min_distances(rows), one.min_distances(rows), atol=1e-12)
    np.testing.assert_array_equal(composed.is_clear(rows, 0.05), one.is_clear(rows, 0.05))


TORSO = toy(
    link("floor", '<box size="1 1 0.1"/>'),
    link("chest", '<box size="0.2 0.4 0.5"/>'),
    '<link name="left_shoulder"/>',
    '<link name="right_shoulder"/>',
    joint("lift", "floor", "chest", "prismatic", "0 0 0.6", "0 0 1"),
    joint("l", "chest", "left_shoulder", "fixed", "0 0.4 0.2"),
    joint("r", "chest", "right_shoulder", "fixed", "0 -0.4 0.2"),
    name="torso",
)


def test_a_dual_arm_robot_out_of_two_single_arms_on_a_torso():
    files = require("panda")
    panda = load_robot(files.urdf, files.package_dirs)
    srdf = load_srdf(files.srdf, panda)
    parts = [
        Mounted(load_robot(TORSO)),
        Mounted(panda, "left_", parent="left_shoulder", semantics=srdf),
        Mounted(panda, "right_", parent="right_shoulder", semantics=srdf),
    ]
    robot, semantics = compose(parts, "dual"), compose_semantics(parts)
    arm = sum(j.moves and j.mimic is None for j in panda.joints)
    model = CollisionModel(robot, semantics, settings=ONE_LEAF)
    assert len(model.joint_names) == 1 + 2 * arm and model.joint_names[0] == "lift"
    mimics = [j.mimic.joint for j in robot.joints if j.mimic]
    assert len(mimics) == 2 * sum(j.mimic is not None for j in panda.joints)
    assert all(name.startswith(("left_", "right_")) for name in mimics)
    low = np.clip(0.0, model.lower, model.upper)
    high = low + np.eye(len(low))[0] * 0.3  # the lift carries both arms
    for side in ("left_", "right_"):
        tips = [model.link_poses(q)[f"{side}panda_link7"] for q in (low, high)]
        expected = np.eye(4)
        expected[2, 3] = 0.3
        np.testing.assert_allclose(tips[1], expected @ tips[0], atol=1e-12)
    pairs = {frozenset(pair) for pair in model.pairs}
    assert frozenset(("left_panda_link5", "right_panda_link5")) in pairs
    assert frozenset(("left_panda_link5", "chest")) in pairs
    assert not any(frozenset(pair) in semantics.disabled for pair in model.pairs)
    assert len(semantics.disabled) == 2 * len(srdf.disabled)
    assert set(semantics.groups) == {p + g for p in ("left_", "right_") for g in srdf.groups}
    right, left = find_chains(model.robot, semantics, ["right_arm", "left_arm"])
    assert all(name.startswith("right_") for name in right.joint_names)
    assert all(name.startswith("left_") for name in left.joint_names)
    assert len(right.joint_names) == len(left.joint_names) == 7


def arm(base_shape: str = "", name: str = "arm") -> Robot:
    """Base (bare, or with a shape), then two links of spheres, 1 m apart each."""
    return toy_robot(
        link("base", base_shape), link("upper"), link("hand"),
        joint("j1", "base", "upper"), joint("j2", "upper", "hand"), name=name,
    )  # fmt: skip


def test_what_stands_on_the_same_bare_root_is_no_neighbour():
    sphere = '<sphere radius="0.1"/>'
    parts = [Mounted(arm(), "a_"), Mounted(arm(sphere), "b_", pose_from_xyz_rpy((0, 3, 0)))]
    model = CollisionModel(compose(parts))
    pairs = {frozenset(pair) for pair in model.pairs}
    assert frozenset(("a_upper", "b_base")) in pairs
    assert frozenset(("b_upper", "b_base")) not in pairs
    tool = [Mounted(arm(sphere), "a_"), Mounted(arm(), "g_", parent="a_hand")]
    with_tool = {frozenset(pair) for pair in CollisionModel(compose(tool)).pairs}
    assert frozenset(("g_upper", "a_hand")) not in with_tool  # the hand carries it, over a frame
    assert frozenset(("g_upper", "a_upper")) in with_tool


def test_a_robot_of_robots_can_be_a_part():
    pair = compose([Mounted(arm(), "a_"), Mounted(arm(), "b_")], root="stand")
    whole = compose([Mounted(pair, "one_"), Mounted(pair, "two_", pose_from_xyz_rpy((0, 9, 0)))])
    assert whole.mounts == {
        "world_to_one_stand", "world_to_two_stand",
        *(f"{n}_stand_to_{k}_base" for n in ("one", "two") for k in "ab"),
    }  # fmt: skip
    names = [(whole.parts[name], name) for name in whole.links if name.endswith(("base", "hand"))]
    robots = [[name[:5] for _, name in some] for _, some in groupby(names, itemgetter(0))]
    assert robots == [["one_a"] * 2, ["one_b"] * 2, ["two_a"] * 2, ["two_b"] * 2]
    assert [j.name for j in whole.joints if j.moves] == [
        f"{n}_{k}_{j}" for n in ("one", "two") for k in "ab" for j in ("j1", "j2")
    ]


def test_a_scene_around_robots_and_what_they_are_warned_of():
    text = chain(3).replace(
        "</robot>",
        '<link name="cover"><visual><geometry><box size="1 1 1"/></geometry></visual></link>'
        + joint("c", "l0", "cover", "fixed") + "</robot>",
    )  # fmt: skip
    robot = load_robot(text)
    parts = [Mounted(robot, "a_"), Mounted(robot, "b_", pose_from_xyz_rpy((0, 4, 0)))]
    whole = compose(parts)
    assert len(whole.warnings) == 2
    assert whole.warnings[1].startswith("part 2 ('toy', prefix 'b_'): link 'cover'")
    ball = {"name": "ball", "type": "sphere", "radius": 0.2, "link": "b_l2"}
    ignored = [["a_l2", "b_l0"]]
    model = CollisionModel(whole, scene=load_scene({"obstacles": [ball], "ignore": ignored}, whole))
    pairs = {frozenset(pair) for pair in model.pairs}
    assert frozenset(("ball", "a_l2")) in pairs and frozenset(("a_l2", "b_l0")) not in pairs


WRONG = {
    "nothing": ([], "has no parts"),
    "same links": (
        [Mounted(arm()), Mounted(arm())],
        "part 2 ('arm', prefix ''): link 'base' is already one of part 1 ('arm', prefix '')",
    ),
    "the root's name": (
        [Mounted(toy_robot(link("world")))],
        "link 'world' is already one of the common root",
    ),
    "same joints": (
        [Mounted(arm()), Mounted(toy_robot(link("x"), link("y"), joint("j1", "x", "y"), name="b"))],
        "part 2 ('b', prefix ''): joint 'j1' is already one of part 1",
    ),
    "no such parent": (
        [Mounted(arm(), "a_"), Mounted(arm(), "b_", parent="hand")],
        "part 2 ('arm', prefix 'b_'): there is no link 'hand'",
    ),
    "parent that comes later": (
        [Mounted(arm(), "a_", parent="b_hand"), Mounted(arm(), "b_")],
        "part 1 ('arm', prefix 'a_'): there is no link 'b_hand'",
    ),
    "own link as parent": ([Mounted(arm(), "a_", parent="a_hand")], "there is no link 'a_hand'"),
    "shape": ([Mounted(arm(), pose=np.eye(3))], "its pose has shape (3, 3)"),
    "not finite": ([Mounted(arm(), pose=np.full((4, 4), np.nan))], "its pose is not finite"),
    "text": ([Mounted(arm(), pose="here")], "its pose is no matrix"),
    "scale": ([Mounted(arm(), pose=np.diag([2.0, 2.0, 2.0, 1.0]))], "it scales, shears or mirr"),
    "last row": ([Mounted(arm(), pose=np.diag([1.0, 1.0, 1.0, 2.0]))], "it scales, shears or mi"),
}


@pytest.mark.parametrize(("parts", "says"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_names_the_part(parts, says):
    with pytest.raises(RobotDescriptionError) as caught:
        compose(parts)
    assert says in str(caught.value)


def test_groups_of_one_name_are_refused():
    semantics = Semantics(groups={"arm": ("hand",)}, group_joints={"arm": ("j2",)})
    parts = [Mounted(arm(), "", semantics=semantics), Mounted(arm(), "", semantics=semantics)]
    with pytest.raises(RobotDescriptionError, match="part 2 .*: group 'arm' is already one of"):
        compose_semantics(parts)
    assert compose_semantics([Mounted(arm()), Mounted(arm())]).disabled == {}


def test_named_states_get_the_prefixes():
    semantics = Semantics(states={"home": {"j2": 0.5}})
    parts = [Mounted(arm(), prefix, semantics=semantics) for prefix in ("x_", "y_")]
    assert compose_semantics(parts).states == {"x_home": {"x_j2": 0.5}, "y_home": {"y_j2": 0.5}}


def test_parts_are_left_as_they_were():
    part = arm()
    before = [(j.name, j.parent, j.child) for j in part.joints], list(part.links)
    compose([Mounted(part, "x_"), Mounted(part, "y_")])
    assert ([(j.name, j.parent, j.child) for j in part.joints], list(part.links)) == before
