# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The launch file for Gazebo, started with stand-ins for all that is not of this package."""

import os
import shlex
from pathlib import Path

import pytest
import yaml
from support.ros.launch_cases import (
    VIEW,
    check_arguments,
    installed,
    launched,
    stand_in,
    told,
)

import launch_pytest  # isort: skip

from collision_monitor.robot.urdf import load_robot  # isort: skip

ARGUMENTS = {
    "namespace": "",
    "urdf": None,
    "scene": None,
    "controllers": None,
    "controller_action": "/arms_controller/follow_joint_trajectory",
    "headless": "false",
    "self_collision": "true",
    **VIEW,
    "log_level": "info",
}
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
    # Not everybody has control_msgs.
    return launched(source, exits, headless="true", controller_action="")


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


def test_the_controllers_move_the_joints_of_the_robot(workspace):
    text = (workspace.share / "config/gazebo_controllers.yaml").read_text()
    controllers = yaml.safe_load(text)
    manager = controllers["controller_manager"]["ros__parameters"]
    assert {"joint_state_broadcaster", "arms_controller"} < manager.keys()
    robot = load_robot(workspace.share / "urdf/dual_arm.urdf")
    joints = [joint.name for joint in robot.joints if joint.moves]
    arms = controllers["arms_controller"]["ros__parameters"]
    assert arms["joints"] == joints
    assert arms["command_interfaces"] == ["position"]


def test_every_argument_has_a_default_and_a_description(source):
    check_arguments(source, ARGUMENTS)
