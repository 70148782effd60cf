# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The URDF with Gazebo's tags, and what sdformat's own tool makes of it."""

import os
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support.paths import ROOT
from support.robots import toys

from collision_monitor.errors import RobotDescriptionError, SceneError, SimulationError
from collision_monitor.robot.poses import pose_from_xyz_rpy
from collision_monitor.robot.scene import load_scene
from collision_monitor.robot.urdf import load_robot
from collision_monitor.simulation.gazebo import (
    controllers_text,
    gazebo_description,
    pose_text,
    read_controllers,
    world_sdf,
)

URDF = ROOT / "urdf/dual_arm.urdf"
# What Debian's tool says of itself, whatever it is asked.
ABOUT_ITSELF = "libignition-tools-backward.so"


def sdf_tool():
    """The command that converts to SDF; skips where there is none."""
    for name in ("gz", "ign"):
        path = shutil.which(name)
        if path is None:
            continue
        asked = subprocess.run([path, "sdf", "--help"], capture_output=True, check=False)
        if asked.returncode == 0:
            return [path, "sdf"]
    pytest.skip("neither gz sdf nor ign sdf is there (Debian: libsdformat-dev, ignition-tools)")


def run(tool, *arguments):
    """What the tool prints; it must have nothing to warn of."""
    home = os.path.dirname(arguments[-1])  # it keeps a log there
    done = subprocess.run([*tool, *arguments], capture_output=True, text=True, check=False,
                          env={**os.environ, "HOME": home})  # fmt: skip
    said = [line for line in done.stderr.splitlines() if line and ABOUT_ITSELF not in line]
    assert done.returncode == 0 and said == [], done.stderr
    return done.stdout


def test_it_converts_to_sdf_without_warnings(written):
    path = written("robot.urdf", gazebo_description(URDF, "/a folder/controllers.yaml"))
    sdf = ElementTree.fromstring(run(sdf_tool(), "-p", str(path)))
    model = sdf.find("model")
    robot = load_robot(URDF)
    moving = {joint.name for joint in robot.joints if joint.moves}
    kinds = {joint.get("name"): joint.get("type") for joint in model.findall("joint")}
    assert {name for name, kind in kinds.items() if kind == "revolute"} == moving
    assert kinds["world_joint"] == "fixed"
    assert model.find("joint[@name='world_joint']/parent").text == "world"
    plugin = model.find("plugin")
    assert plugin.get("name") == "gz_ros2_control::GazeboSimROS2ControlPlugin"
    assert plugin.find("parameters").text == "/a folder/controllers.yaml"
    masses = [float(mass.text) for mass in model.findall("link/inertial/mass")]
    assert sum(masses) == pytest.approx(130.3, abs=0.1)
    uris = {uri.text for uri in model.iter("uri")}
    assert all(uri.startswith("model://collision_monitor/urdf/meshes/") for uri in uris)
    assert all((ROOT / uri.removeprefix("model://collision_monitor/")).is_file() for uri in uris)


def test_every_joint_has_its_interfaces():
    root = ElementTree.fromstring(gazebo_description(URDF, "c.yaml"))
    control = root.find("ros2_control")
    assert control.find("hardware/plugin").text == "gz_ros2_control/GazeboSimSystem"
    robot = load_robot(URDF)
    joints = {joint.get("name"): joint for joint in control.findall("joint")}
    assert list(joints) == [joint.name for joint in robot.joints if joint.moves]
    command = joints["left_joint_2"].find("command_interface[@name='position']")
    limits = {param.get("name"): float(param.text) for param in command}
    assert limits == {"min": pytest.approx(-1.745329), "max": pytest.approx(1.745329)}
    for joint in joints.values():
        states = [state.get("name") for state in joint.findall("state_interface")]
        assert states == ["position", "velocity", "effort"]
        assert float(joint.find("state_interface/param[@name='initial_value']").text) == 0.0


def test_the_robot_is_the_same_to_us():
    robot, again = load_robot(URDF), load_robot(gazebo_description(URDF, "c.yaml"), [ROOT])
    assert set(again.links) == {*robot.links, "world"} and again.root == "world"


HEAVY = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>'
MIMIC = toys.robot(
    toys.link("world", ""), toys.link("b").replace("</link>", HEAVY),
    toys.link("c").replace("</link>", HEAVY),
    toys.joint("turn", "world", "b", "continuous"),
    toys.joint("follow", "b", "c", extra='<mimic joint="turn"/>'),
)  # fmt: skip


def test_mimic_joints_take_no_commands_and_a_world_is_not_fixed_twice():
    root = ElementTree.fromstring(gazebo_description(MIMIC, "c.yaml"))
    turn, follow = root.findall("ros2_control/joint")
    assert turn.find("command_interface") is not None
    assert turn.find("command_interface/param") is None  # it goes round
    assert follow.find("command_interface") is None
    assert len(follow.findall("state_interface")) == 3
    assert root.find("joint[@name='world_joint']") is None


def test_what_cannot_be_is_refused():
    with pytest.raises(RobotDescriptionError, match="link 'b' has no mass: Gazebo would ignore it"):
        gazebo_description(MIMIC.replace(HEAVY, "</link>", 1), "c.yaml")
    twice = MIMIC.replace("</robot>", '<ros2_control name="x" type="system"/></robot>')
    with pytest.raises(RobotDescriptionError, match="has a <ros2_control> already"):
        gazebo_description(twice, "c.yaml")


ANGLE = st.floats(-3.1, 3.1)


def world(robot, scene):
    return ElementTree.fromstring(world_sdf(robot, load_scene(scene, robot))).find("world")


def test_controllers_move_all_independent_joints(written):
    robot = load_robot(toys.robot(
        toys.link("base"), toys.link("a"), toys.link("b"),
        toys.joint("leader", "base", "a", "revolute", "0 0 0"),
        toys.joint("follower", "a", "b", "revolute", "0 0 0", extra='<mimic joint="leader"/>'),
    ))  # fmt: skip
    path = written("controllers.yaml", controllers_text(robot))
    controllers = read_controllers(path)
    assert controllers.names == ("joint_state_broadcaster", "arms_controller")
    assert controllers.trajectory == "arms_controller"
    parameters = yaml.safe_load(path.read_text())["arms_controller"]["ros__parameters"]
    assert parameters["joints"] == ["leader"]
    assert parameters["command_interfaces"] == ["position"]


@pytest.mark.parametrize("text", ["", "[1, 2]", "controller_manager: {ros__parameters: {a: 1}}"])
def test_a_file_without_controllers_is_refused(text, written):
    path = written("controllers.yaml", text)
    with pytest.raises(SimulationError, match="controllers.yaml: no controllers"):
        read_controllers(path)


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
