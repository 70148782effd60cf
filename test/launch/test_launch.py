# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The launch file of the monitor, started by launch out of a built workspace."""

import os

import pytest
from support.ros.launch_cases import installed, launched

import launch_pytest  # isort: skip
from support.ros.ros_graph import LATCHED  # isort: skip
from std_msgs.msg import String  # isort: skip
from support.robots.toys import chain  # isort: skip

JOINTS = ("j1", "j2", "j3")


@pytest.fixture
def source(workspace, monkeypatch):
    """The installed launch file."""
    return installed(workspace, monkeypatch, "collision_monitor.launch.py")


@launch_pytest.fixture
def with_files(source, graph, exits, tmp_path):
    """The monitor of a robot out of files, in a namespace."""
    folder = tmp_path / "a cell: 1"
    folder.mkdir()
    (folder / "chain.urdf").write_text(chain(4))
    (folder / "scene.yaml").write_text(
        "obstacles: [{name: ball, type: sphere, radius: 0.2, position: [0.0, 2.0, 0.0]}]"
    )
    (folder / "parameters.yaml").write_text(
        "/**:\n  ros__parameters:\n    warn_distance: 0.07\n    scene: /not/this/one.yaml\n"
    )
    return launched(
        source, exits, namespace="cell", params_file=os.fspath(folder / "parameters.yaml"),
        robot_description=os.fspath(folder / "chain.urdf"),
        scene=os.fspath(folder / "scene.yaml"), log_level="warn",
    )  # fmt: skip


@pytest.mark.parametrize("graph", ["/cell/collision_monitor"], indirect=True)
@pytest.mark.launch(fixture=with_files)
def test_arguments_go_before_the_parameter_file(graph, exits):
    graph.until_distance(lambda: graph.send(JOINTS, [0.1, 0.1, 0.1], topic="/cell/joint_states"))
    assert any("ball" in message.data for message in graph.heard["pair_names"])
    graph.until(lambda: graph.heard["state"])
    assert graph.values["warn_distance"] == "0.07"
    yield  # launch shuts down
    assert exits == [0]


@launch_pytest.fixture
def by_topic(source, graph, exits):
    """The monitor with the parameters of the package, and the robot out of its topic."""
    return launched(source, exits)


@pytest.mark.launch(fixture=by_topic)
def test_without_arguments_the_robot_comes_out_of_the_latched_topic(graph, exits):
    publisher = graph.node.create_publisher(String, "/robot_description", LATCHED)
    publisher.publish(String(data=chain(4)))
    graph.until_distance(lambda: graph.send(JOINTS, [0.1, 0.1, 0.1]))
    assert graph.values["warn_distance"] == "0.1"
    yield
    assert exits == [0]
