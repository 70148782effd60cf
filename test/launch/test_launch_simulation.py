# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The launch file of the simulation, started by launch out of a built workspace."""

import os

import pytest
from support.ros.launch_cases import check_refused, installed, launched

import launch_pytest  # isort: skip
from diagnostic_msgs.msg import DiagnosticStatus  # isort: skip
from support.ros.ros_graph import LATCHED  # isort: skip
from support.ros.simulation_cell import trajectory  # isort: skip
from trajectory_msgs.msg import JointTrajectory  # isort: skip
from support.robots.two_slides import JOINTS, URDF  # isort: skip


@pytest.fixture
def source(workspace, monkeypatch):
    """The installed launch file."""
    return installed(workspace, monkeypatch, "simulation.launch.py")


@launch_pytest.fixture
def all_of_it(source, graph, exits, tmp_path):
    """Two balls on slides in a namespace: the simulation, the monitor, the node in front."""
    (tmp_path / "slides.urdf").write_text(URDF.replace('effort="1"', 'effort="1000"'))
    (tmp_path / "slides.srdf").write_text(
        '<robot name="slides"><group name="r"><chain base_link="base" tip_link="r_ball"/></group>'
        '<group name="l"><chain base_link="base" tip_link="l_ball"/></group></robot>'
    )
    return launched(
        source, exits, namespace="cell", robot_description=os.fspath(tmp_path / "slides.urdf"),
        robot_description_semantic=os.fspath(tmp_path / "slides.srdf"), scene="",
        real_time_factor="2.0", self_collision="true", start_positions="r_y=0.1",
    )  # fmt: skip


@pytest.mark.parametrize("graph", ["/cell/collision_monitor"], indirect=True)
@pytest.mark.launch(fixture=all_of_it)
def test_what_is_wanted_goes_through_all_nodes_and_comes_back(graph, exits):
    graph.listen("sim", DiagnosticStatus, LATCHED, "/cell/simulation/state")
    graph.listen("front", DiagnosticStatus, LATCHED, "/cell/self_collision/state")
    wanted = graph.node.create_publisher(
        JointTrajectory, "/cell/self_collision/desired_trajectory", 10
    )

    def values(name):
        return {item.key: item.value for item in graph.heard[name][-1].values}

    graph.until(
        lambda: graph.heard["sim"]
        and graph.heard["front"]
        and values("sim")["event"] == "holding"  # the monitor is heard: else it were stopped
        and values("front").get("joint_states") == "fresh"
        and wanted.get_subscription_count()
        and graph.node.count_publishers("/cell/simulation/joint_trajectory") == 1
        and graph.heard["min_distance"]
        and graph.heard["min_distance"][-1].data > 0.0,
        90.0,
    )
    assert values("sim")["wanted_real_time_factor"] == "2"
    before = graph.heard["min_distance"][-1].data
    wanted.publish(trajectory(JOINTS, [[0.1, 0.1, -0.1, 0.0]], [1.0]))
    graph.until(lambda: graph.heard["min_distance"][-1].data < before - 0.15, 30.0)
    assert values("front")["event"] == "forwarded", graph.heard["front"][-1].message
    yield  # launch shuts down
    assert exits == [0, 0, 0]


def test_a_factor_that_is_no_number_starts_nothing(source):
    check_refused(source, "real_time_factor: 'fast' is not a number", real_time_factor="fast")
