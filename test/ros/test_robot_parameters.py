# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the robots of a cell: what they mean, and which are refused."""

import pytest
from support.ros.ros_graph import Graph

from rclpy.node import Node  # isort: skip
from rclpy.parameter import Parameter as RosParameter  # isort: skip

from collision_monitor.errors import RobotDescriptionError  # isort: skip
from collision_monitor.model.loading.recipe import RobotSource  # isort: skip
from collision_monitor.nodes.parameters.parameters import declare_parameters  # isort: skip
from collision_monitor.nodes.parameters.robot_parameters import (
    declare_robots,
    parameters_of,
    recipe_of,
)


@pytest.fixture(scope="module")
def graph():
    """A context to make nodes in."""
    graph = Graph()
    yield graph
    graph.close()


@pytest.fixture
def declared(graph):
    """Declares the parameters of a node, given these from outside; (values, ports, node)."""
    made = []

    def declare(given):
        overrides = [RosParameter(name, value=value) for name, value in given.items()]
        made.append(Node("bare", context=graph.context, parameter_overrides=overrides))
        values = declare_parameters(made[-1])
        return values, declare_robots(made[-1], values), made[-1]

    yield declare
    for node in made:
        node.destroy_node()


def test_without_names_there_is_one_robot(declared):
    given = {"robot_description": "a.urdf", "robot_description_semantic": "a.srdf"}
    _, (port,), _ = declared(given)
    assert port.source == RobotSource("a.urdf", "a.srdf")
    assert (port.description_topic, port.joint_states) == ("robot_description", "joint_states")


def test_robots_of_a_cell_have_parameters_of_their_own(declared):
    mount = [1.0, 2.0, 3.0, 0.1, 0.2, 0.3]
    values, (left, right), node = declared({
        "robots": ["left", "right"], "left.robot_description": "l.urdf", "left.mount": mount,
        "left.joint_states": "arm/joint_states", "right.prefix": "r_", "right.parent": "left/hand",
        "right.robot_description_topic": "urdf", "world_frame": "cell", "package_dirs": ["a", ""],
    })  # fmt: skip
    assert left.source == RobotSource("l.urdf", "", "left", "left/", tuple(mount))
    assert (left.description_topic, left.joint_states) == (
        "left/robot_description", "arm/joint_states",
    )  # fmt: skip
    assert right.source == RobotSource("", "", "right", "r_", parent="left/hand")
    assert (right.description_topic, right.joint_states) == ("urdf", "right/joint_states")
    for name in ("left", "right"):
        for parameter in parameters_of(name):
            described = node.describe_parameter(parameter.name)
            assert described.description == parameter.text and described.read_only
    recipe = recipe_of(values, (left.source, right.source), True)
    assert (recipe.root, recipe.package_dirs, recipe.exact) == ("cell", ("a",), True)


TWO = {"robots": ["left", "right"]}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"robots": ["left", "left"]}, "'left' is named twice"),
        ({"robots": ["left arm"]}, "'left arm' is not a valid name"),
        ({"robots": ["scene"]}, "'scene' is the name of a parameter"),
        ({**TWO, "robot_description": "a.urdf"}, "set left.robot_description"),
        ({**TWO, "robot_description_semantic": "a"}, "set left.robot_description_semantic"),
        ({**TWO, "left.mount": [1.0, 2.0, 3.0]}, r"left.mount: \[1.0, 2.0, 3.0\] is not x, y"),
        ({**TWO, "left.mount": [0.0] * 5 + [float("nan")]}, "left.mount"),
        ({**TWO, "left.joint_states": "all", "right.joint_states": "all"},
         "right.joint_states is that of left, 'all', but their prefixes are 'left/' and 'right/'"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_by_name(declared, given, says):
    with pytest.raises(RobotDescriptionError, match=says):
        declared(given)


def test_a_topic_for_all_needs_names_that_tell_robots_apart(declared):
    given = {f"{name}.{key}": value for name in TWO["robots"]
             for key, value in (("joint_states", "joint_states"), ("prefix", ""))}  # fmt: skip
    _, ports, _ = declared(TWO | given)
    assert {port.joint_states for port in ports} == {"joint_states"}
