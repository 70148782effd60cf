# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The launch file, started by launch out of a built workspace."""

import os

import pytest

launch_pytest = pytest.importorskip("launch_pytest", reason="ROS 2's launch is not installed")
pytest.importorskip("launch_ros", reason="ROS 2's launch_ros is not installed")

from launch import LaunchContext, LaunchDescription  # noqa: E402
from launch.actions import IncludeLaunchDescription, RegisterEventHandler  # noqa: E402
from launch.event_handlers import OnProcessExit  # noqa: E402
from launch.launch_description_sources import PythonLaunchDescriptionSource  # noqa: E402
from launch_ros.actions import Node  # noqa: E402
from ros_graph import LATCHED, Graph  # noqa: E402
from std_msgs.msg import String  # noqa: E402
from toys import chain  # noqa: E402

ARGUMENTS = {
    "namespace": "",
    "params_file": None,
    "use_sim_time": "false",
    "rviz": "false",
    "robot_description": "",
    "robot_description_semantic": "",
    "scene": "",
    "visual_meshes": "",
    "log_level": "info",
}
JOINTS = ("j1", "j2", "j3")


@pytest.fixture
def sourced(workspace, monkeypatch):
    """The built workspace, in the environment of this process too."""
    for name, value in workspace.environment.items():
        monkeypatch.setenv(name, value)
    return workspace


@pytest.fixture
def source(sourced):
    """The installed launch file."""
    path = sourced.share / "launch/collision_monitor.launch.py"
    return PythonLaunchDescriptionSource(os.fspath(path))


@pytest.fixture(params=["/collision_monitor"])
def graph(request, sourced, monkeypatch):
    """A ROS graph of its own, which launched processes join."""
    graph = Graph(request.param)
    monkeypatch.setenv("ROS_DOMAIN_ID", str(graph.domain))
    yield graph
    graph.close()


@pytest.fixture
def exits():
    """(Name, exit code) of the processes that have ended."""
    return []


def launched(source, exits, **arguments):
    """The launch file with these arguments."""
    return LaunchDescription(
        [
            RegisterEventHandler(
                OnProcessExit(
                    on_exit=lambda event, _: exits.append((event.process_name, event.returncode))
                )
            ),
            IncludeLaunchDescription(source, launch_arguments=arguments.items()),
        ]
    )


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
    assert [code for _, code in exits] == [0]


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
    assert [code for _, code in exits] == [0]


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
