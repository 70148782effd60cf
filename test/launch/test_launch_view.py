# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""RViz shows the robot, whichever launch file it is started by: with stand-ins for all programs."""

import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import yaml
from support.paths import ROOT
from support.ros.launch_cases import check_refused, stand_in, told

from collision_monitor.robot.packages import publishable
from collision_monitor.robot.urdf import load_robot

from launch import LaunchDescription, LaunchService  # isort: skip
from launch.actions import IncludeLaunchDescription  # isort: skip
from launch.launch_description_sources import PythonLaunchDescriptionSource  # isort: skip
from launch.logging import get_logger  # isort: skip


DUAL_ARM = ROOT / "urdf/dual_arm.urdf"
FILES = ("collision_monitor", "self_collision", "simulation", "gazebo")
PROGRAMS = {
    "collision_monitor": ["collision_monitor", "self_collision", "simulation"],
    "robot_state_publisher": ["robot_state_publisher"],
    "rviz2": ["rviz2"],
    "ros_gz_sim": ["create"],
    "ros_gz_bridge": ["parameter_bridge"],
    "controller_manager": ["spawner"],
}
ARM = (
    '<robot name="arm"><link name="pedestal"><visual><geometry>'
    '<mesh filename="meshes/a.stl"/></geometry></visual></link></robot>'
)
GZ_SIM = "from launch import LaunchDescription\ngenerate_launch_description = LaunchDescription\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where stand-ins for all programs write what they were told; a robot is in it too."""
    prefix = tmp_path / "prefix"
    for package, programs in PROGRAMS.items():
        stand_in(prefix, package, programs)
    share = prefix / "share/collision_monitor"
    for name in ("config", "urdf", "rviz"):
        (share / name).symlink_to(ROOT / name)
    (prefix / "share/ros_gz_sim/launch").mkdir()
    (prefix / "share/ros_gz_sim/launch/gz_sim.launch.py").write_text(GZ_SIM)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(prefix))
    folder = tmp_path / "told"
    (folder / "meshes").mkdir(parents=True)
    (folder / "meshes/a.stl").touch()
    (folder / "arm.urdf").write_text(ARM)
    monkeypatch.setenv("TOLD", str(folder))
    return folder


def source_of(name):
    return PythonLaunchDescriptionSource(os.fspath(ROOT / "launch" / f"{name}.launch.py"))


def launched(name, folder, **arguments):
    """Start a launch file, and wait for all that it starts."""
    values = {key: str(value) for key, value in arguments.items()}
    included = IncludeLaunchDescription(source_of(name), launch_arguments=values.items())
    service = LaunchService(noninteractive=True)
    service.include_launch_description(LaunchDescription([included]))
    assert service.run() == 0  # all programs have ended, so the launch does
    return {name for names in PROGRAMS.values() for name in names if (folder / name).exists()}


def published(folder):
    """The parameters of robot_state_publisher."""
    text = (folder / "robot_state_publisher.parameters").read_text()
    (values,) = [node["ros__parameters"] for node in yaml.safe_load(text).values()]
    return values


def root_of(text):
    """The link of a URDF that is no joint's child."""
    robot = ElementTree.fromstring(text)
    children = {child.get("link") for child in robot.iterfind("joint/child")}
    (root,) = {link.get("name") for link in robot.iterfind("link")} - children
    return root


def given(name, folder):
    """The argument that names the URDF; Gazebo's robot must have masses."""
    return {"urdf": DUAL_ARM} if name == "gazebo" else {"robot_description": folder / "arm.urdf"}


@pytest.mark.parametrize("name", FILES)
def test_rviz_is_started_with_all_that_the_robot_needs(name, folder):
    started = launched(name, folder, rviz="true", namespace="cell", **given(name, folder))
    assert {"rviz2", "robot_state_publisher"} <= started
    rviz, publisher = told(folder, "rviz2"), told(folder, "robot_state_publisher")
    values = published(folder)
    text = values["robot_description"]
    frame = rviz[rviz.index("-f") + 1]
    links = {link.get("name") for link in ElementTree.fromstring(text).iter("link")}
    assert frame in links
    simulated = name in ("simulation", "gazebo")
    assert values["use_sim_time"] is simulated
    assert f"use_sim_time: {str(simulated).lower()}" in (folder / "rviz2.parameters").read_text()
    # Markers are in the root link of the URDF that the nodes load.
    if name == "gazebo":
        assert frame == load_robot(DUAL_ARM).root
        assert root_of(text) == "world"  # its robot is fixed to the world
    else:
        assert frame == root_of(text) == "pedestal"
        assert (folder / "meshes/a.stl").as_uri() in text
    # What RViz listens to is what the programs publish, in their namespaces.
    config = yaml.safe_load(Path(rviz[rviz.index("-d") + 1]).read_text())
    displays = config["Visualization Manager"]["Displays"]
    topics = [display.get("Topic", {}).get("Value") for display in displays]
    assert "__ns:=/cell" in rviz
    for node in {"collision_monitor", "self_collision"} & started:
        assert {f"__node:={node}", "__ns:=/cell"} <= set(told(folder, node))
        assert f"{node}/markers" in topics
    (described,) = [d["Description Topic"]["Value"] for d in displays if "Description Topic" in d]
    assert described == "robot_description"
    if name == "gazebo":  # the robot is in no namespace
        assert not [word for word in publisher if word.startswith("__ns:=") and word != "__ns:=/"]
        assert "robot_description:=/robot_description" in rviz
        for node in ("collision_monitor", "self_collision"):
            assert "joint_states:=/joint_states" in told(folder, node)
    else:
        assert "__ns:=/cell" in publisher
        assert not [word for word in rviz if word.startswith("robot_description:=")]
        assert "joint_states:=/joint_states" not in told(folder, name)


@pytest.mark.parametrize("name", FILES)
def test_robot_state_publisher_is_started_where_it_is_needed_or_asked_for(name, folder):
    def started(**arguments):
        for path in folder.iterdir():
            if path.is_file() and path.suffix != ".urdf":
                path.unlink()
        programs = launched(name, folder, **arguments, **given(name, folder))
        return "rviz2" in programs, "robot_state_publisher" in programs

    assert started() == (False, name == "gazebo")  # which needs it
    assert started(robot_state_publisher="true") == (False, True)
    assert started(rviz="true", robot_state_publisher="false") == (True, False)
    rviz = told(folder, "rviz2")
    assert rviz[rviz.index("-f") + 1] == ("base_link" if name == "gazebo" else "pedestal")


@pytest.mark.parametrize("name", ["collision_monitor", "self_collision", "simulation"])
def test_a_robot_from_its_topic_is_left_to_whoever_publishes_it(name, folder, caplog):
    get_logger("launch.user").addHandler(caplog.handler)
    started = launched(name, folder, rviz="true", robot_description="")
    get_logger("launch.user").removeHandler(caplog.handler)
    assert "rviz2" in started and "robot_state_publisher" not in started
    rviz = told(folder, "rviz2")
    assert rviz[rviz.index("-f") + 1] == "base_link"
    assert "robot_state_publisher is not started" in caplog.text
    check_refused(
        source_of(name), "robot_state_publisher: true, but there is no URDF",
        robot_state_publisher="true", robot_description="",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "key"),
    [*(("collision_monitor", key) for key in ("/**", "NODE", "/cell/NODE", "/**/NODE")),
     ("self_collision", "NODE")],
)  # fmt: skip
def test_a_robot_of_the_file_of_parameters_is_shown(name, folder, key):
    values = {"robot_description": str(folder / "arm.urdf"), "package_dirs": [""]}
    tree = {"/**": {"ros__parameters": {"robot_description": ""}}}
    tree[key.replace("NODE", name)] = {"ros__parameters": values}
    tree["other"] = {"ros__parameters": {"robot_description": "/nowhere.urdf"}}
    path = folder / "parameters.yaml"
    path.write_text(yaml.safe_dump(tree, sort_keys=False))
    launched(name, folder, rviz="true", params_file=path)
    assert root_of(published(folder)["robot_description"]) == "pedestal"


def test_several_robots_are_shown_by_their_leaves_in_their_world(folder):
    path = folder / "parameters.yaml"
    path.write_text("/**: {ros__parameters: {robots: [a, b], world_frame: hall}}")
    assert "robot_state_publisher" not in launched(
        "collision_monitor", folder, rviz="true", params_file=path
    )
    rviz = told(folder, "rviz2")
    assert rviz[rviz.index("-f") + 1] == "hall"


def test_a_fixed_frame_that_is_given_is_taken(folder):
    launched("simulation", folder, rviz="true", fixed_frame="hall")
    rviz = told(folder, "rviz2")
    assert rviz[rviz.index("-f") + 1] == "hall"
    assert published(folder)["robot_description"] == publishable(DUAL_ARM)[0]


@pytest.mark.parametrize("text", ["", "a: [", "a: {ros__parameters: 3}"])
def test_a_file_of_parameters_that_is_none_is_left_to_the_node(folder, text):
    path = folder / "parameters.yaml"
    path.write_text(text)
    assert "collision_monitor" in launched(
        "collision_monitor", folder, rviz="true", params_file=path
    )


@pytest.mark.parametrize("name", ["collision_monitor", "self_collision", "simulation"])
def test_a_urdf_that_cannot_be_shown_starts_nothing(name, folder):
    (folder / "bad.urdf").write_text("<robot")
    for file, says in (("nowhere.urdf", "nowhere.urdf"), ("bad.urdf", "bad.urdf:1: not XML")):
        check_refused(source_of(name), says, rviz="true", robot_description=str(folder / file))
