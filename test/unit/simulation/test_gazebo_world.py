# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A scene as a world for Gazebo, and what sdformat's own tool says to it."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.robots import toys

from collision_monitor.errors import SceneError
from collision_monitor.robot.poses import pose_from_xyz_rpy
from collision_monitor.robot.scene import load_scene
from collision_monitor.robot.urdf.urdf import load_robot
from collision_monitor.simulation.gazebo_world import pose_text, world_sdf
from unit.simulation.test_gazebo_robot import ROOT, URDF, run, sdf_tool

ANGLE = st.floats(-3.1, 3.1)


def world(robot, scene):
    return ElementTree.fromstring(world_sdf(robot, load_scene(scene, robot))).find("world")


def test_the_cell_of_the_dual_arm_is_good_sdf(tmp_path):
    robot = load_robot(URDF)
    path = tmp_path / "cell.sdf"
    path.write_text(world_sdf(robot, load_scene(ROOT / "urdf/dual_arm_scene.yaml", robot)))
    tool = sdf_tool()
    assert "Valid" in run(tool, "-k", str(path))
    printed = ElementTree.fromstring(run(tool, "-p", str(path))).find("world")
    models = {model.get("name"): model for model in printed.findall("model")}
    scene = load_scene(ROOT / "urdf/dual_arm_scene.yaml", robot)
    assert models.keys() == {"floor", *(obstacle.name for obstacle in scene.obstacles)}
    size = models["part"].find("link/collision/geometry/box/size").text
    assert [float(word) for word in size.split()] == [0.12, 0.18, 0.1]


@given(st.tuples(ANGLE, st.floats(-1.5, 1.5), ANGLE))
def test_poses_read_back(rpy):
    pose = pose_from_xyz_rpy((1.0, -2.0, 0.5), rpy)
    words = [float(word) for word in pose_text(pose).split()]
    assert np.allclose(pose_from_xyz_rpy(words[:3], words[3:]), pose, atol=1e-7)


SHAPES = [
    {"name": "a", "type": "sphere", "radius": 0.1},
    {"name": "b", "type": "cylinder", "radius": 0.1, "length": 0.5, "position": [1, 2, 3]},
    {"name": "c", "type": "capsule", "radius": 0.1, "length": 0.5, "link": "top"},
]
FIXED = toys.robot(
    toys.link("base"), toys.link("top"), toys.link("arm"),
    toys.joint("f", "base", "top", "fixed", "0 0 1"), toys.joint("j", "top", "arm"),
)  # fmt: skip


def test_obstacles_stand_where_their_links_put_them():
    found = world(load_robot(FIXED), {"obstacles": SHAPES})
    a, b, c = (found.find(f"model[@name='{name}']") for name in "abc")
    assert a.find("static").text == "true"
    assert a.find("link/collision/geometry/sphere/radius").text == "0.1"
    assert b.find("pose").text == "1 2 3 0 0 0"
    assert b.find("link/visual/geometry/cylinder/length").text == "0.5"
    assert c.find("pose").text == "0 0 1 0 0 0"
    assert c.find("link/collision/geometry/capsule/length").text == "0.5"


def test_what_moves_and_what_is_a_mesh_is_refused():
    robot = load_robot(FIXED)
    with pytest.raises(SceneError, match="'a' is fixed to link 'arm', which moves"):
        world(robot, {"obstacles": [{**SHAPES[0], "link": "arm"}]})
    mesh = {"name": "m", "type": "mesh", "file": str(ROOT / "urdf/meshes/base.stl")}
    door = {"name": "door", "type": "continuous", "axis": [0, 0, 1]}
    with pytest.raises(SceneError, match="'b' is fixed to link 'door', which moves"):
        world(robot, {"joints": [door], "obstacles": [{**SHAPES[0], "name": "b", "joint": "door"}]})
    with pytest.raises(SceneError, match="'m' is a mesh"):
        world(robot, {"obstacles": [mesh]})
