# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The launch file for Gazebo, started with stand-ins for all that is not of this package."""

import os
import shlex
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from support.ros.launch_cases import check_refused, installed, launched, stand_in, told

import launch_pytest  # isort: skip

from support.robots.two_slides import URDF  # isort: skip

CONTROLLERS = """
controller_manager:
  ros__parameters:
    slides_controller: {type: joint_trajectory_controller/JointTrajectoryController}
    states: {type: joint_state_broadcaster/JointStateBroadcaster}
"""
EXECUTABLES = {
    "ros_gz_sim": ["create"],
    "ros_gz_bridge": ["parameter_bridge"],
    "controller_manager": ["spawner"],
    "robot_state_publisher": ["robot_state_publisher"],
}
# As the real one declares its arguments.
GZ_SIM = """
import os
from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration


def write(context):
    folder = Path(os.environ["TOLD"])
    (folder / "gz_args").write_text(LaunchConfiguration("gz_args").perform(context))
    path = context.environment["GZ_SIM_RESOURCE_PATH"]
    (folder / "GZ_SIM_RESOURCE_PATH").write_text(path)


def generate_launch_description():
    names = ("gz_args", "on_exit_shutdown")
    arguments = [DeclareLaunchArgument(name, default_value="") for name in names]
    return LaunchDescription([*arguments, OpaqueFunction(function=write)])
"""


@pytest.fixture
def source(workspace, monkeypatch, tmp_path):
    """The installed launch file; stand-ins go before what is installed."""
    source = installed(workspace, monkeypatch, "gazebo.launch.py")
    prefix = tmp_path / "a prefix"
    for package, executables in EXECUTABLES.items():
        stand_in(prefix, package, executables)
    folder = prefix / "share/ros_gz_sim/launch"
    folder.mkdir()
    (folder / "gz_sim.launch.py").write_text(GZ_SIM)
    paths = [str(prefix), os.environ["AMENT_PREFIX_PATH"]]
    monkeypatch.setenv("AMENT_PREFIX_PATH", os.pathsep.join(paths))
    return source


@launch_pytest.fixture
def everything(source, graph, exits, tmp_path, monkeypatch):
    """All of it, with stand-ins that write down what they are told."""
    (tmp_path / "told").mkdir()
    monkeypatch.setenv("TOLD", str(tmp_path / "told"))
    return launched(source, exits, headless="true")


@pytest.mark.launch(fixture=everything)
def test_everything_is_started_and_told_what_it_needs(everything, graph, exits, tmp_path):
    folder = tmp_path / "told"
    # The spawner is started after create has ended; the others at any time.
    started = ("spawner", "create", "parameter_bridge", "robot_state_publisher")
    graph.until(lambda: all(told(folder, name) for name in started), 60.0)
    assert told(folder, "create")[:4] == ["-topic", "robot_description", "-name", "dual_arm"]
    spawner = told(folder, "spawner")
    assert spawner[:3] == ["joint_state_broadcaster", "arms_controller", "--param-file"]
    assert os.path.isfile(spawner[3])
    bridged = "/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock"
    assert told(folder, "parameter_bridge")[0] == bridged
    words = shlex.split(told(folder, "gz_args")[0])
    assert words[:2] == ["-r", "-s"]
    assert "table_slat_1" in Path(words[2]).read_text()
    share = told(folder, "GZ_SIM_RESOURCE_PATH")[0].split(os.pathsep)[-1]
    assert os.path.isfile(os.path.join(share, "collision_monitor/urdf/meshes/base.stl"))
    published = (folder / "robot_state_publisher.parameters").read_text()
    assert "gz_ros2_control/GazeboSimSystem" in published
    # The package's own nodes are there, on Gazebo's clock, and wait for joint states.
    graph.until(lambda: graph.heard["state"] and graph.state.hardware_id == "dual_arm", 90.0)
    graph.until(lambda: "/self_collision" in map(full_name, names(graph)), 30.0)
    yield  # launch shuts down
    assert exits.count(0) == len(exits) == 6


def names(graph):
    return graph.node.get_node_names_and_namespaces()


def full_name(item):
    name, namespace = item
    return f"{namespace.rstrip('/')}/{name}"


def with_masses(urdf):
    """The URDF with an inertial in each link: Gazebo ignores links without mass."""
    root = ElementTree.fromstring(urdf)
    for link in root.iter("link"):
        inertial = ElementTree.SubElement(link, "inertial")
        ElementTree.SubElement(inertial, "mass", value="1")
        inertia = {"ixx": "1", "iyy": "1", "izz": "1", "ixy": "0", "ixz": "0", "iyz": "0"}
        ElementTree.SubElement(inertial, "inertia", inertia)
    return ElementTree.tostring(root, encoding="unicode")


@launch_pytest.fixture
def another(source, graph, exits, tmp_path, monkeypatch):
    """Another robot, with controllers of its own."""
    (tmp_path / "told").mkdir()
    monkeypatch.setenv("TOLD", str(tmp_path / "told"))
    (tmp_path / "slides.urdf").write_text(with_masses(URDF))
    (tmp_path / "slides.srdf").write_text('<robot name="slides"/>')
    (tmp_path / "controllers.yaml").write_text(CONTROLLERS)
    return launched(
        source, exits, urdf=str(tmp_path / "slides.urdf"), self_collision="false",
        robot_description_semantic=str(tmp_path / "slides.srdf"),
        controllers=str(tmp_path / "controllers.yaml"),
    )  # fmt: skip


@pytest.mark.launch(fixture=another)
def test_name_semantics_and_controllers_follow_from_the_arguments(another, graph, exits, tmp_path):
    folder = tmp_path / "told"
    graph.until(lambda: told(folder, "spawner"), 60.0)
    assert told(folder, "create")[2:4] == ["-name", "slides"]
    assert told(folder, "spawner")[:3] == ["states", "slides_controller", "--param-file"]
    world = Path(shlex.split(told(folder, "gz_args")[0])[1]).read_text()
    assert "table_slat_1" not in world
    graph.until(lambda: graph.heard["state"] and graph.state.hardware_id == "slides", 90.0)
    yield  # launch shuts down
    assert exits.count(0) == len(exits) == 5


def test_semantics_of_another_robot_start_nothing(source, tmp_path):
    path = tmp_path / "slides.srdf"
    path.write_text('<robot name="slides"/>')
    says = r"describes the robot 'slides', the URDF is of 'dual_arm'"
    check_refused(source, says, robot_description_semantic=str(path))


def test_without_one_trajectory_controller_the_topic_is_needed(source, tmp_path):
    path = tmp_path / "controllers.yaml"
    path.write_text(CONTROLLERS.replace("joint_trajectory_controller/J", "other/J"))
    check_refused(source, "controller_topic is empty", controllers=str(path))
