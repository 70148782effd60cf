# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The launch file of both nodes beside a driver, started by launch out of a built workspace."""

import pytest
from support.ros.launch_cases import installed, launched

import launch_pytest  # isort: skip
from diagnostic_msgs.msg import DiagnosticStatus  # isort: skip
from std_msgs.msg import String  # isort: skip
from support.ros.ros_graph import LATCHED  # isort: skip
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # isort: skip
from support.robots.two_slides import JOINTS, URDF, apart  # isort: skip

PARAMETERS = """
/**/collision_monitor:
  ros__parameters: {warn_distance: 0.07}
/**/self_collision:
  ros__parameters:
    safe_distance: 0.2
    right_base_link: base
    right_tip_link: r_ball
    left_base_link: base
    left_tip_link: l_ball
"""


@pytest.fixture
def source(workspace, monkeypatch):
    """The installed launch file."""
    return installed(workspace, monkeypatch, "bringup.launch.py")


@launch_pytest.fixture
def beside_a_driver(source, graph, exits, tmp_path):
    """Both nodes in a namespace; one file has the parameters of both."""
    path = tmp_path / "parameters.yaml"
    path.write_text(PARAMETERS)
    return launched(
        source, exits, namespace="cell", params_file=str(path), joint_states="driver/states",
        controller_topic="controller/joint_trajectory", method="field",
    )  # fmt: skip


@pytest.mark.parametrize("graph", ["/cell/collision_monitor"], indirect=True)
@pytest.mark.launch(fixture=beside_a_driver)
def test_both_nodes_take_one_description_and_the_driver_s_topics(graph, exits):
    graph.listen("sent", JointTrajectory, 10, "/cell/controller/joint_trajectory")
    graph.listen("front", DiagnosticStatus, LATCHED, "/cell/self_collision/state")
    description = graph.node.create_publisher(String, "/cell/robot_description", LATCHED)
    description.publish(String(data=URDF))
    wanted = graph.node.create_publisher(
        JointTrajectory, "/cell/self_collision/desired_trajectory", 10
    )

    def front():
        messages = graph.heard["front"]
        return {item.key: item.value for item in messages[-1].values} if messages else {}

    def beat():
        graph.send((*JOINTS, "mast_joint"), [*apart(0.6), 0.0], topic="/cell/driver/states")

    graph.until(
        lambda: front().get("joint_states") == "fresh"
        and graph.heard["min_distance"]
        and graph.heard["min_distance"][-1].data > 0.0
        and wanted.get_subscription_count()
        # The monitor reads the commands, beside this test.
        and graph.node.count_subscribers("/cell/controller/joint_trajectory") == 2,
        240.0,
        beat,
    )
    assert (front()["method"], front()["safe_distance"]) == ("field", "0.2")
    graph.until(lambda: graph.values.get("warn_distance") == "0.07", 10.0, beat)
    message = JointTrajectory(joint_names=JOINTS)
    message.points = [JointTrajectoryPoint(positions=apart(gap)) for gap in (0.6, 0.5)]
    message.points[1].time_from_start.sec = 2
    wanted.publish(message)
    graph.until(lambda: graph.heard["sent"], 60.0, beat)
    yield  # launch shuts down
    assert exits == [0, 0]
