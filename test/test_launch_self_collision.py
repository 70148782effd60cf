# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The launch file of the self_collision node, started by launch out of a built workspace."""

import os

import pytest

launch_pytest = pytest.importorskip("launch_pytest", reason="ROS 2's launch is not installed")
pytest.importorskip("launch_ros", reason="ROS 2's launch_ros is not installed")

from launch import LaunchContext, LaunchDescription  # noqa: E402
from launch.actions import IncludeLaunchDescription, RegisterEventHandler  # noqa: E402
from launch.event_handlers import OnProcessExit  # noqa: E402
from launch.launch_description_sources import PythonLaunchDescriptionSource  # noqa: E402
from launch_ros.actions import Node  # noqa: E402
from ros_graph import Graph  # noqa: E402
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # noqa: E402
from two_slides import JOINTS, URDF, apart  # noqa: E402

ARGUMENTS = {
    "namespace": "",
    "params_file": None,
    "use_sim_time": "false",
    "rviz": "false",
    "robot_description": "",
    "robot_description_semantic": "",
    "scene": "",
    "visual_meshes": "",
    "controller_action": "",
    "controller_topic": "",
    "log_level": "info",
}


@pytest.fixture
def source(workspace, monkeypatch):
    """The installed launch file; its environment is that of this process too."""
    for name, value in workspace.environment.items():
        monkeypatch.setenv(name, value)
    path = workspace.share / "launch/self_collision.launch.py"
    return PythonLaunchDescriptionSource(os.fspath(path))


@pytest.fixture
def graph(source, monkeypatch):
    """A ROS graph of its own, which launched processes join."""
    graph = Graph("/cell/self_collision")
    monkeypatch.setenv("ROS_DOMAIN_ID", str(graph.domain))
    yield graph
    graph.close()


@pytest.fixture
def exits():
    """Exit codes of the processes that have ended."""
    return []


@launch_pytest.fixture
def with_files(source, graph, exits, tmp_path):
    """The node for a robot out of files, in a namespace, its output on a controller's topic."""
    (tmp_path / "slides.urdf").write_text(URDF)
    (tmp_path / "parameters.yaml").write_text(
        "/**:\n  ros__parameters:\n    safe_distance: 0.2\n    right_base_link: base\n"
        "    right_tip_link: r_ball\n    left_base_link: base\n    left_tip_link: l_ball\n"
    )
    arguments = {
        "namespace": "cell",
        "params_file": os.fspath(tmp_path / "parameters.yaml"),
        "robot_description": os.fspath(tmp_path / "slides.urdf"),
        "controller_topic": "controller/joint_trajectory",
    }
    return LaunchDescription(
        [
            RegisterEventHandler(
                OnProcessExit(on_exit=lambda event, _: exits.append(event.returncode))
            ),
            IncludeLaunchDescription(source, launch_arguments=arguments.items()),
        ]
    )


@pytest.mark.launch(fixture=with_files)
def test_a_trajectory_goes_through_to_the_controllers_topic(graph, exits):
    graph.listen("sent", JointTrajectory, 10, "/cell/controller/joint_trajectory")
    wanted = graph.node.create_publisher(
        JointTrajectory, "/cell/self_collision/desired_trajectory", 10
    )

    def beat():
        graph.send((*JOINTS, "mast_joint"), [*apart(0.6), 0.0], topic="/cell/joint_states")

    graph.until(
        lambda: graph.heard["state"]
        and graph.values.get("joint_states") == "fresh"
        and wanted.get_subscription_count()
        and graph.node.count_publishers("/cell/controller/joint_trajectory"),
        60.0,
        beat,
    )
    assert graph.values["safe_distance"] == "0.2"
    message = JointTrajectory(joint_names=JOINTS)
    message.points = [JointTrajectoryPoint(positions=apart(gap)) for gap in (0.6, 0.5)]
    message.points[1].time_from_start.sec = 2
    wanted.publish(message)
    graph.until(lambda: graph.heard["sent"], 60.0, beat)
    assert list(graph.heard["sent"][0].points[-1].positions) == pytest.approx(apart(0.5))
    yield  # launch shuts down
    assert exits == [0]


def test_every_argument_has_a_default_and_a_description(source):
    context = LaunchContext()
    description = source.get_launch_description(context)
    declared = {argument.name: argument for argument in description.get_launch_arguments()}
    assert declared.keys() == ARGUMENTS.keys()
    for name, default in ARGUMENTS.items():
        assert len(declared[name].description) > 10
        text = "".join(part.perform(context) for part in declared[name].default_value)
        assert os.path.isfile(text) if default is None else text == default


@pytest.mark.parametrize("wanted", [False, True])
def test_rviz_starts_only_when_asked(source, wanted):
    context = LaunchContext()
    context.launch_configurations["rviz"] = str(wanted).lower()
    entities = source.get_launch_description(context).entities
    (rviz,) = [entity for entity in entities if isinstance(entity, Node)]
    assert rviz.node_package == "rviz2"
    assert rviz.condition.evaluate(context) is wanted
