# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the simulation node: declared, described, documented, checked together."""

import re

import pytest
import yaml
from support.paths import ROOT
from support.ros.ros_graph import Graph

from rclpy.node import Node  # isort: skip

from collision_monitor.errors import ConfigurationError  # isort: skip
from collision_monitor.nodes.parameters.parameters import declare_parameters  # isort: skip
from collision_monitor.nodes.parameters.simulation_parameters import (
    PARAMETERS,
    refusal,
    start_positions,
)

DEFAULTS = {p.name: p.default for p in PARAMETERS}


def test_all_are_declared_with_text_and_range():
    graph = Graph()
    node = Node("bare", context=graph.context)
    try:
        assert declare_parameters(node, PARAMETERS) == DEFAULTS
        for parameter in PARAMETERS:
            described = node.describe_parameter(parameter.name)
            assert len(described.description) > 10
            assert described.read_only == parameter.read_only
            assert bool(described.floating_point_range) == isinstance(parameter.default, float)
    finally:
        node.destroy_node()
        graph.close()


def test_names_are_given_once_and_the_defaults_stand():
    assert len(DEFAULTS) == len(PARAMETERS)
    assert refusal(DEFAULTS) == ""


def test_the_file_has_every_parameter_with_its_default():
    text = (ROOT / "config/simulation.yaml").read_text(encoding="utf-8")
    assert yaml.safe_load(text) == {"/**": {"ros__parameters": DEFAULTS}}


def test_the_page_has_every_parameter_with_its_default():
    text = (ROOT / "docs/simulation.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| `([^`]*)` \|", text, re.MULTILINE))
    assert {name: yaml.safe_load(value) for name, value in rows.items()} == DEFAULTS
    for parameter in PARAMETERS:
        row = re.search(rf"^\| `{parameter.name}` \|[^|]*\|([^|]*)\|", text, re.MULTILINE)
        assert ("fixed" in row[1]) == parameter.read_only, parameter.name


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"real_time_factor": 0.0}, "real_time_factor 0 is not above 0"),
        ({"speed_scale_timeout": 0.0}, "speed_scale_timeout 0 is not above 0"),
        ({"timestep": 0.0}, "timestep 0 is not above 0"),
        ({"timestep": 0.01}, "joint_state_rate 200 Hz is more than one message per timestep"),
        ({"state_rate": 0.5}, "state_rate 0.5 is below 1 Hz"),
    ],
)
def test_what_cannot_stand_is_refused(changes, reason):
    assert refusal({**DEFAULTS, **changes}).startswith(reason)


def test_start_positions_are_read():
    assert start_positions("") == {}
    assert start_positions(" elbow = 1.5, wrist=-0.25,") == {"elbow": 1.5, "wrist": -0.25}


@pytest.mark.parametrize("text", ["elbow", "elbow=", "=1", "elbow=x", "elbow=nan", "a=1,a=2"])
def test_start_positions_that_mean_nothing_are_refused(text):
    with pytest.raises(ConfigurationError, match="start_positions: "):
        start_positions(text)
