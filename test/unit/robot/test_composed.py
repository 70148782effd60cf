# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Several robots as one: the robot that a URDF of all of them would describe."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from lxml import etree
from support.robots.robots import require
from support.robots.toys import chain, joint, link
from support.robots.toys import robot as toy

from collision_monitor import CollisionModel
from collision_monitor.errors import RobotDescriptionError
from collision_monitor.robot.composed import Mounted, compose, compose_semantics
from collision_monitor.robot.description import Robot
from collision_monitor.robot.poses import pose_from_xyz_rpy
from collision_monitor.robot.scene import load_scene
from collision_monitor.robot.srdf import Semantics
from collision_monitor.robot.urdf import load_robot

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
        mount = etree.SubElement(
            whole, "joint", name=f"world_to_{prefix}{base}", type="fixed"
        )
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
    composed = CollisionModel(
        compose(parts, "pair"), compose_semantics(parts), leaves=leaves
    )
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


def test_mimics_and_groups_have_the_prefix_of_their_part():
    part = load_robot(
        toy(
            link("base"), link("a"), link("b"), joint("lead", "base", "a"),
            joint("follow", "a", "b", extra='<mimic joint="lead" multiplier="2"/>'),
        )
    )  # fmt: skip
    semantics = Semantics(groups={"arm": ("a", "b")}, group_joints={"arm": ("lead",)})
    parts = mounted(part, semantics)
    mimics = {j.name: j.mimic for j in compose(parts).joints if j.mimic}
    assert {name: mimic.joint for name, mimic in mimics.items()} == {
        prefix + "follow": prefix + "lead" for prefix in PLACES
    }
    assert {mimic.multiplier for mimic in mimics.values()} == {2.0}
    found = compose_semantics(parts)
    assert found.groups == {p + "arm": (p + "a", p + "b") for p in PLACES}
    assert found.group_joints == {p + "arm": (p + "lead",) for p in PLACES}


def arm(base_shape: str = "", name: str = "arm") -> Robot:
    """Base (bare, or with a shape), then two links of spheres, 1 m apart each."""
    return load_robot(
        toy(
            link("base", base_shape), link("upper"), link("hand"),
            joint("j1", "base", "upper"), joint("j2", "upper", "hand"), name=name,
        )
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
    model = CollisionModel(
        whole, scene=load_scene({"obstacles": [ball], "ignore": ignored}, whole)
    )
    pairs = {frozenset(pair) for pair in model.pairs}
    assert frozenset(("ball", "a_l2")) in pairs and frozenset(("a_l2", "b_l0")) not in pairs
WRONG = {
    "nothing": ([], "has no parts"),
    "same links": (
        [Mounted(arm()), Mounted(arm())],
        "part 2 ('arm', prefix ''): link 'base' is already one of part 1 ('arm', prefix '')",
    ),
    "the root's name": (
        [Mounted(load_robot(toy(link("world"))))],
        "link 'world' is already one of the common root",
    ),
    "same joints": (
        [
            Mounted(arm()),
            Mounted(load_robot(toy(link("x"), link("y"), joint("j1", "x", "y"), name="b"))),
        ],
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
    "shape": ([Mounted(arm(), pose=np.eye(3))], "got shape (3, 3)"),
    "not finite": ([Mounted(arm(), pose=np.full((4, 4), np.nan))], "should be a finite matrix"),
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
