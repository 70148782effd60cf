# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The launch file of the self_collision node, started by launch out of a built workspace."""

import os

import pytest
from support.ros.launch_cases import installed, launched

import launch_pytest  # isort: skip
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # isort: skip
from support.robots.two_slides import JOINTS, URDF, apart  # isort: skip


@pytest.fixture
def source(workspace, monkeypatch):
    """The installed launch file."""
    return installed(workspace, monkeypatch, "self_collision.launch.py")


@launch_pytest.fixture
def with_files(source, graph, exits, tmp_path):
    """The node for a robot out of files, in a namespace, its output on a controller's topic."""
    (tmp_path / "slides.urdf").write_text(URDF)
    (tmp_path / "parameters.yaml").write_text(
        "/**:\n  ros__parameters:\n    safe_distance: 0.2\n    right_base_link: base\n"
        "    right_tip_link: r_ball\n    left_base_link: base\n    left_tip_link: l_ball\n"
    )
    return launched(
        source, exits, namespace="cell", params_file=os.fspath(tmp_path / "parameters.yaml"),
        robot_description=os.fspath(tmp_path / "slides.urdf"),
        controller_topic="controller/joint_trajectory", joint_states="driver/states",
        method="field",
    )  # fmt: skip


@pytest.mark.parametrize("graph", ["/cell/self_collision"], indirect=True)
@pytest.mark.launch(fixture=with_files)
def test_a_trajectory_goes_through_to_the_controllers_topic(graph, exits):
    graph.listen("sent", JointTrajectory, 10, "/cell/controller/joint_trajectory")
    wanted = graph.node.create_publisher(
        JointTrajectory, "/cell/self_collision/desired_trajectory", 10
    )

    def beat():
        graph.send((*JOINTS, "mast_joint"), [*apart(0.6), 0.0], topic="/cell/driver/states")

    graph.until(
        lambda: graph.heard["state"]
        and graph.values.get("joint_states") == "fresh"
        and wanted.get_subscription_count()
        and graph.node.count_publishers("/cell/controller/joint_trajectory"),
        60.0,
        beat,
    )
    assert graph.values["safe_distance"] == "0.2"
    assert graph.values["method"] == "field"
    message = JointTrajectory(joint_names=JOINTS)
    message.points = [JointTrajectoryPoint(positions=apart(gap)) for gap in (0.6, 0.5)]
    message.points[1].time_from_start.sec = 2
    wanted.publish(message)
    graph.until(lambda: graph.heard["sent"], 60.0, beat)
    assert list(graph.heard["sent"][0].points[-1].positions) == pytest.approx(apart(0.5))
    yield  # launch shuts down
    assert exits == [0]
