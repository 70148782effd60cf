# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters given to a node that have no effect are named, and integers count as numbers."""

import pytest
from support.ros.ros_graph import Graph

from rclpy.exceptions import ParameterException  # isort: skip
from rclpy.node import Node  # isort: skip
from rclpy.parameter import Parameter as RosParameter  # isort: skip

from collision_monitor.nodes.parameters.given import unused_parameters
from collision_monitor.nodes.parameters.monitor_parameters import PARAMETERS, parameters_of
from collision_monitor.nodes.parameters.parameter import declare_parameters


@pytest.fixture(scope="module")
def graph():
    """A context to make nodes in."""
    graph = Graph()
    yield graph
    graph.close()


@pytest.fixture
def make_node(graph):
    """Makes a node with these parameters given from outside; destroyed afterwards."""
    made = []

    def make(**given):
        overrides = [RosParameter(name, value=value) for name, value in given.items()]
        made.append(Node(
            "monitor", namespace="/cell", context=graph.context, parameter_overrides=overrides
        ))  # fmt: skip
        return made[-1]

    yield make
    for node in made:
        node.destroy_node()


def test_an_integer_counts_where_a_number_is_declared(make_node):
    node = make_node(warn_distance=1, **{"left.mount": [1, 2, 3, 0, 0, 0]})
    values = declare_parameters(node, PARAMETERS)
    assert values["warn_distance"] == 1.0 and isinstance(values["warn_distance"], float)
    mount = declare_parameters(node, parameters_of("left"))["left.mount"]
    assert list(mount) == [1.0, 2.0, 3.0, 0.0, 0.0, 0.0]
    (done,) = node.set_parameters([RosParameter("warn_distance", value=2)])
    assert done.successful
    assert isinstance(node.get_parameter("warn_distance").value, float)
    (done,) = node.set_parameters([RosParameter("warn_distance", value=11)])
    assert not done.successful and "warn_distance" in done.reason
    (done,) = node.set_parameters([RosParameter("release_cycles", value=2.0)])
    assert not done.successful


def test_an_integer_out_of_range_is_refused_at_the_start(make_node):
    with pytest.raises(ParameterException, match="warn_distance"):
        declare_parameters(make_node(warn_distance=11), PARAMETERS)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-p", "stop_distance:=0.25"], ""),
        (["-p", "stop_distnace:=0.25"],
         "parameter 'stop_distnace' of -p stop_distnace:=0.25 does not exist and has no effect; "
         "did you mean 'stop_distance'?"),
        (["-p", "/cell/monitor:stop_distance:=0.25"], ""),
        (["-p", "other:stop_distance:=0.25"],
         "-p other:stop_distance:=0.25 has no parameters for /cell/monitor, only for other"),
        (["-p", "use_sim_time:=true", "-p", "qos_overrides./tf.subscription.depth:=5"], ""),
        (["-r", "__node:=monitor", "--log-level", "info"], ""),
    ],
)  # fmt: skip
def test_an_option_without_effect_is_named(make_node, arguments, says):
    node = make_node()
    declare_parameters(node, PARAMETERS)
    found = unused_parameters(node, ["node", "-p", "no:=1", "--ros-args", *arguments])
    assert len(found) == bool(says) and says in "".join(found)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("/**: {ros__parameters: {stop_distance: 0.1}}", ""),
        ("/cell/monitor: {ros__parameters: {stop_distance: 0.1}}", ""),
        ("cell: {monitor: {ros__parameters: {stop_distance: 0.1}}}", ""),
        ("/cell/*: {ros__parameters: {stop_distance: 0.1}}", ""),
        ("/**/monitor: {ros__parameters: {stop_distance: 0.1}}", ""),
        ("monitor: {ros__parameters: {}}\n/**: {ros__parameters: {stop_distance: 0.1}}", ""),
        ("monitor_node: {ros__parameters: {stop_distance: 0.1}}",
         "has no parameters for /cell/monitor, only for /monitor_node"),
        ("/**: {ros__parameters: {arm: {speed: 0.1}}}", "parameter 'arm.speed' of"),
        ("/**: [", ""),
    ],
)  # fmt: skip
def test_a_file_without_effect_is_named(make_node, tmp_path, text, says):
    path = tmp_path / "given.yaml"
    path.write_text(text)
    node = make_node()
    declare_parameters(node, PARAMETERS)
    found = unused_parameters(node, ["node", "--ros-args", "--params-file", str(path)])
    assert len(found) == bool(says) and says in "".join(found)
