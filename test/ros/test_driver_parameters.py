# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The parameter files for the launch file beside a driver: both nodes accept all of them."""

import pytest
import yaml
from support.paths import ROOT
from support.ros.ros_graph import Graph

from rclpy.node import Node  # isort: skip

from collision_monitor.nodes.parameters import monitor_parameters, self_collision_parameters
from collision_monitor.nodes.parameters.parameter import declare_parameters

NODES = {
    "collision_monitor": monitor_parameters,
    "self_collision": self_collision_parameters,
}
FILES = [ROOT / "config" / "bringup.yaml", *sorted((ROOT / "config" / "drivers").glob("*.yaml"))]


@pytest.fixture(scope="module")
def graph():
    """A context to make nodes in."""
    graph = Graph()
    yield graph
    graph.close()


def given(path, name):
    """What the file gives a node: the part for all nodes, then its own."""
    tree = yaml.safe_load(path.read_text())
    parts = [tree.get(key, {}) for key in ("/**", f"/**/{name}")]
    return {k: v for part in parts for k, v in part.get("ros__parameters", {}).items()}


@pytest.mark.parametrize("name", NODES)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_node_takes_every_parameter_of_the_file(path, name, graph):
    tables = NODES[name]
    wanted = given(path, name)
    assert wanted.keys() <= {parameter.name for parameter in tables.PARAMETERS}
    arguments = ["--ros-args", "--params-file", str(path)]
    node = Node(name, context=graph.context, cli_args=arguments, use_global_arguments=False)
    try:
        values = declare_parameters(node, tables.PARAMETERS, tables.check)
    finally:
        node.destroy_node()
    assert {key: values[key] for key in wanted} == wanted


def test_every_file_of_a_driver_is_in_the_page_and_has_only_these_parts():
    page = (ROOT / "docs" / "drivers.md").read_text()
    for path in FILES:
        assert path.name in page or path.stem == "bringup"
        assert set(yaml.safe_load(path.read_text())) <= {"/**", *(f"/**/{name}" for name in NODES)}
