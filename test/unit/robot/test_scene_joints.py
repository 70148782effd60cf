# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Joints of a scene: obstacles that turn and slide, as if they were a part of the robot."""

import math

import numpy as np
import pytest
from support.robots.toy_models import toy_robot
from support.robots.toys import chain, joint, link
from support.robots.toys import robot as toy

from collision_monitor import CollisionModel
from collision_monitor.errors import NothingToCheckError, SceneError
from collision_monitor.robot.composed import Mounted, compose
from collision_monitor.robot.poses import pose_from_xyz_rpy
from collision_monitor.robot.scene import load_scene
from collision_monitor.robot.urdf import load_robot

CHAIN = chain(3)  # spheres of radius 0.1, a metre apart, in the plane z = 0


def hinge(**keys) -> dict:
    return {
        "name": "hinge", "type": "revolute", "axis": [0, 0, 1], "position": [0, 1, 0],
        "lower": -2.0, "upper": 2.0, **keys,
    }  # fmt: skip


def wing(**keys) -> dict:
    return {
        "name": "wing", "type": "box", "size": [1.5, 0.1, 0.1], "position": [0.75, 0, 0],
        "joint": "hinge", **keys,
    }  # fmt: skip


SCENE = {"joints": [hinge()], "obstacles": [wing()]}


def test_it_is_what_a_urdf_of_the_object_composed_with_the_robot_is():
    model = CollisionModel.from_urdf(CHAIN, scene=SCENE)
    door = toy_robot(
        '<link name="frame"/>',
        link("wing", '<box size="1.5 0.1 0.1"/>', "0.75 0 0"),
        joint("hinge", "frame", "wing", "revolute", "0 0 0"),
        name="door",
    )
    whole = compose([Mounted(load_robot(CHAIN)), Mounted(door, "", pose_from_xyz_rpy((0, 1, 0)))])
    leaves = {}
    for leaf in model.leaves:
        leaves.setdefault(leaf.link, []).append(leaf)
    # Leaves of the obstacle are in the frame of its joint, which is that of the link.
    composed = CollisionModel(whole, leaves=leaves)
    assert composed.joint_names == model.joint_names == ("j1", "j2", "hinge")
    assert (model.lower[2], model.upper[2]) == (-2.0, 2.0)
    assert {frozenset(p) for p in composed.pairs} == {frozenset(p) for p in model.pairs}
    rows = model.random_configurations(200)
    np.testing.assert_allclose(model.min_distances(rows), composed.min_distances(rows), atol=1e-12)


def test_joints_carry_joints_and_links_carry_both():
    joints = [
        {"name": "rail", "type": "prismatic", "axis": [1, 0, 0], "lower": 0, "upper": 2,
         "link": "l2", "velocity": 0.3},
        {"name": "spin", "type": "continuous", "axis": [0, 0, 1], "joint": "rail",
         "rpy": [0, 0, math.pi / 2]},
    ]  # fmt: skip
    ball = {"name": "ball", "type": "sphere", "radius": 0.1, "position": [1, 0, 0], "joint": "spin"}
    robot = load_robot(CHAIN)
    scene = load_scene({"joints": joints, "obstacles": [ball]}, robot)
    assert [(j.name, j.kind, j.parent, j.child) for j in scene.joints] == [
        ("rail", "prismatic", "l2", "rail"), ("spin", "continuous", "rail", "spin"),
    ]  # fmt: skip
    assert scene.joints[0].velocity == 0.3 and scene.joints[1].velocity == math.inf
    model = CollisionModel(robot, scene=scene)
    q = [0.4, -0.3, 0.7, 1.1]
    poses = model.link_poses(q)
    tip = pose_from_xyz_rpy((0, 0, 0), (0, 0, 0.1))  # both joints turn about z
    l2 = poses["l2"]
    np.testing.assert_allclose(l2[:3, :3], tip[:3, :3], atol=1e-12)
    expected = (
        l2 @ pose_from_xyz_rpy((0.7, 0, 0)) @ pose_from_xyz_rpy(None, (0, 0, math.pi / 2 + 1.1))
    )
    np.testing.assert_allclose(poses["spin"], expected, atol=1e-12)
    leaf = [leaf.link for leaf in model.leaves].index("ball")
    centre = (expected @ [1, 0, 0, 1])[:3]
    np.testing.assert_allclose(model.leaf_segments(q)[leaf][0], centre, atol=1e-12)


def test_what_stands_still_is_met_by_what_moves():
    post = {"name": "post", "type": "sphere", "radius": 0.1, "position": [0, 2, 0]}
    scene = {**SCENE, "obstacles": [wing(), post]}
    model = CollisionModel.from_urdf(CHAIN, scene=scene)
    k = model.pairs.index(("wing", "post"))
    assert model.distances([0, 0, math.pi / 2])[k] < 0.0 < model.distances([0, 0, 0])[k]
    ignored = CollisionModel.from_urdf(CHAIN, scene={**scene, "ignore": [["wing", "post"]]})
    assert ("wing", "post") not in ignored.pairs
    # One body: obstacles on one joint never meet.
    both = CollisionModel.from_urdf(
        CHAIN, scene={**SCENE, "obstacles": [wing(), {**post, "joint": "hinge"}]}
    )
    assert ("wing", "post") not in both.pairs


def test_a_robot_that_stands_still_may_have_something_moving_around_it():
    robot = toy(link("l0"))
    with pytest.raises(NothingToCheckError):
        CollisionModel.from_urdf(robot).distance([])
    model = CollisionModel.from_urdf(robot, scene=SCENE)
    assert model.joint_names == ("hinge",)
    assert model.distance([-math.pi / 2]).distance < 0.0


def test_fits_of_the_robot_stay_what_they_are():
    rod = '<cylinder radius="0.1" length="0.6"/>'
    text = toy(
        *(link(f"l{k}", rod) for k in range(4)),
        *(joint(f"j{k}", f"l{k - 1}", f"l{k}", axis="0 1 0") for k in range(1, 4)),
    )
    alone = CollisionModel.from_urdf(text, max_leaves_per_link=3)
    around = CollisionModel.from_urdf(text, max_leaves_per_link=3, scene=SCENE)
    theirs = [leaf for leaf in around.leaves if leaf.link != "wing"]
    assert len(theirs) == len(alone.leaves) > 4
    for a, b in zip(alone.leaves, theirs, strict=True):
        assert a.link == b.link and a.radius == b.radius
        np.testing.assert_array_equal([a.p0, a.p1], [b.p0, b.p1])


def test_a_joint_that_moves_nothing_is_warned_of(caplog):
    robot = load_robot(CHAIN)
    load_scene({"joints": [hinge(), hinge(name="other")], "obstacles": [wing()]}, robot)
    (record,) = caplog.records
    assert record.getMessage() == "scene: joints that move no obstacle: other"
    caplog.clear()
    chained = [hinge(), hinge(name="other", joint="hinge")]
    load_scene({"joints": chained, "obstacles": [wing(joint="other")]}, robot)
    assert not caplog.records


def scene_of(joint_keys: dict | None = None, obstacle: dict | None = None) -> dict:
    return {"joints": [joint_keys or hinge()], "obstacles": [obstacle or wing()]}


def without(entry: dict, key: str) -> dict:
    return {k: v for k, v in entry.items() if k != key}


BAD = {
    "no type": (scene_of(without(hinge(), "type")), "joints[0].type: is missing"),
    "fixed": (scene_of(hinge(type="fixed")), "joints[0].type: unknown value 'fixed'"),
    "no axis": (scene_of(without(hinge(), "axis")), "joints[0].axis: is missing"),
    "zero axis": (scene_of(hinge(axis=[0, 0, 0])), "has no direction; it should be a unit vector"),
    "no lower": (scene_of(without(hinge(), "lower")), "joints[0].lower: is missing"),
    "crossed": (scene_of(hinge(lower=3.0)), "joints[0].lower: 3 is above the upper limit 2"),
    "limits of none": (
        scene_of(hinge(type="continuous")), "joints[0].lower: a continuous joint has no such key",
    ),
    "velocity": (scene_of(hinge(velocity=0)), "joints[0].velocity: should be positive"),
    "link and joint": (
        {"joints": [hinge(), hinge(name="b", link="l0", joint="hinge")]},
        "joints[1].joint: give link or joint, not both",
    ),
    "later joint": (
        {"joints": [hinge(joint="b"), hinge(name="b")]},
        "joints[0].joint: the scene has no joint before it",
    ),
    "itself": (
        {"joints": [hinge(name="a"), hinge(joint="hinge")]},
        "joints[1].joint: unknown joint of the scene 'hinge'",
    ),
    "twice": ({"joints": [hinge(), hinge()]}, "joints[1].name: 'hinge' is already a joint of the"),
    "robot's joint": (scene_of(hinge(name="j1")), "'j1' is already a joint of the robot"),
    "obstacle's name": (
        scene_of(obstacle=wing(name="hinge")),
        "obstacles[0].name: 'hinge' is already a joint of the scene",
    ),
    "obstacle's joint": (
        scene_of(obstacle=wing(joint="hindge")),
        "obstacles[0].joint: unknown joint of the scene 'hindge'; did you mean 'hinge'?",
    ),
    "obstacle's both": (
        scene_of(obstacle=wing(link="l0")), "obstacles[0].joint: give link or joint, not both",
    ),
    "no joints": ({"obstacles": [wing()]}, "obstacles[0].joint: the scene has no joint"),
    "ignored": ({**SCENE, "ignore": [["hinge", "l0"]]}, "ignore[0]: 'hinge' is neither a link nor"),
}  # fmt: skip


@pytest.mark.parametrize(("scene", "says"), BAD.values(), ids=BAD)
def test_what_is_wrong_is_named_by_the_path_of_its_key(scene, says):
    with pytest.raises(SceneError) as caught:
        load_scene(scene, load_robot(CHAIN))
    assert says in str(caught.value)
