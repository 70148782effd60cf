# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the node: how they describe themselves, and what they refuse."""

import math
import subprocess
import sys

import pytest
from support.ros.ros_graph import Graph

from rclpy.exceptions import ParameterException  # isort: skip
from rclpy.node import Node  # isort: skip
from rclpy.parameter import Parameter as RosParameter  # isort: skip

from collision_monitor.nodes.parameters.parameters import (
    PARAMETERS,
    Parameter,
    declare_parameters,
    refusal,
)

DEFAULTS = {p.name: p.default for p in PARAMETERS}


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
        made.append(Node("bare", context=graph.context, parameter_overrides=overrides))
        return made[-1]

    yield make
    for node in made:
        node.destroy_node()


def test_everything_declared_has_its_default_and_describes_itself(make_node):
    node = make_node()
    assert declare_parameters(node) == DEFAULTS
    for parameter in PARAMETERS:
        described = node.describe_parameter(parameter.name)
        assert described.description == parameter.text
        assert len(described.description) > 10
        assert described.read_only == parameter.read_only
        assert node.get_parameter(parameter.name).value == parameter.default


def test_names_are_given_once():
    assert len(DEFAULTS) == len(PARAMETERS)


def test_every_number_has_a_range_that_its_default_lies_in(make_node):
    node = make_node()
    declare_parameters(node)
    numbers = [p for p in PARAMETERS if type(p.default) in (int, float)]
    assert len(numbers) >= 9
    for parameter in numbers:
        described = node.describe_parameter(parameter.name)
        whole = isinstance(parameter.default, int)
        ranges = described.integer_range if whole else described.floating_point_range
        other = described.floating_point_range if whole else described.integer_range
        assert len(ranges) == 1 and len(other) == 0, parameter.name
        assert ranges[0].from_value == (1 if whole else 0.0)
        assert ranges[0].from_value <= parameter.default <= ranges[0].to_value < 1e6
        assert ranges[0].to_value == parameter.most


def test_a_text_has_no_range():
    described = Parameter("name", "", "some text").descriptor()
    assert len(described.integer_range) == len(described.floating_point_range) == 0


def test_values_from_outside_are_what_the_node_works_with(make_node):
    given = {"warn_distance": 0.25, "max_leaves_per_link": 3, "package_dirs": ["a", "b"]}
    given["visual_meshes"] = True
    values = declare_parameters(make_node(**given))
    assert values == {**DEFAULTS, **given}


WRONG = [
    ("warn_distance", -0.001),
    ("warn_distance", 10.001),
    ("warn_distance", math.nan),
    ("stop_distance", math.inf),
    ("joint_state_timeout", -1.0),
    ("joint_state_timeout", math.nan),
    ("warn_distance", 1),
    ("warn_distance", "near"),
    ("max_leaves_per_link", 0),
    ("max_leaves_per_link", 65),
    ("max_leaves_per_link", 8.0),
    ("package_dirs", "folder"),
    ("scene", 3),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_value_from_outside_is_refused_by_name(make_node, name, value):
    with pytest.raises(ParameterException) as caught:
        declare_parameters(make_node(**{name: value}))
    assert name in str(caught.value)
    assert str(value) in str(caught.value)


SETTABLE = {p.name for p in PARAMETERS if not p.read_only}


@pytest.mark.parametrize(("name", "value"), [case for case in WRONG if case[0] in SETTABLE])
def test_a_wrong_value_is_refused_by_name_while_the_node_runs(make_node, name, value):
    node = make_node()
    declare_parameters(node)
    (result,) = node.set_parameters([RosParameter(name, value=value)])
    assert not result.successful
    of_its_type = type(value) is type(DEFAULTS[name])  # else rclpy's reason is the types alone
    assert (name if of_its_type else "type") in result.reason
    assert node.get_parameter(name).value == DEFAULTS[name]


@pytest.mark.parametrize("name", sorted(set(DEFAULTS) - SETTABLE))
def test_what_is_read_only_stays(make_node, name):
    node = make_node()
    declare_parameters(node)
    (result,) = node.set_parameters([RosParameter(name, value=DEFAULTS[name])])
    assert not result.successful and name in result.reason


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({}, ""),
        ({"stop_distance": 0.1}, ""),
        ({"state_rate": 1.0}, ""),
        ({"stop_distance": 0.3}, "stop_distance 0.3 is above warn_distance 0.1"),
        ({"warn_distance": 0.0}, "stop_distance 0.02 is above warn_distance 0"),
        ({"state_rate": 0.99}, "state_rate 0.99 is below 1 Hz"),
        ({"cycle_deadline": 0.0}, "cycle_deadline 0: must be above 0"),
    ],
)
def test_values_that_contradict_each_other_are_refused_by_name(values, says):
    reason = refusal({**DEFAULTS, **values})
    assert (says in reason) if says else reason == ""


@pytest.mark.parametrize(
    "given", ["warn_distance:=-0.5", "warn_distance:=1", "max_leaves_per_link:=0"]
)
def test_who_starts_the_node_with_a_wrong_value_reads_one_message(graph, given):
    command = [sys.executable, "-m", "collision_monitor.nodes.collision_monitor"]
    done = subprocess.run(
        [*command, "--ros-args", "-p", given],
        env=graph.environment, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    name, value = given.split(":=")
    assert done.returncode == 1
    assert name in done.stderr and value in done.stderr
    assert "Traceback" not in done.stderr
