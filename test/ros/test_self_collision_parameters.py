# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the self_collision node: declared, described, documented, checked together."""

import re

import pytest
import yaml
from support.paths import ROOT
from support.ros.ros_graph import Graph

from rclpy.node import Node  # isort: skip

from collision_monitor.nodes.parameters.parameters import declare_parameters  # isort: skip
from collision_monitor.nodes.parameters.self_collision_parameters import (
    PARAMETERS,
    arm_names,
    refusal,
)

DEFAULTS = {p.name: p.default for p in PARAMETERS}
LINKS = {
    "right_base_link": "torso", "right_tip_link": "right_hand",
    "left_base_link": "chest", "left_tip_link": "left_hand",
}  # fmt: skip


def test_all_are_declared_with_text_and_range():
    graph = Graph()
    node = Node("bare", context=graph.context)
    try:
        assert declare_parameters(node, PARAMETERS) == DEFAULTS
        for parameter in PARAMETERS:
            described = node.describe_parameter(parameter.name)
            assert len(described.description) > 10
            assert described.read_only == parameter.read_only
            number = type(parameter.default) in (int, float)
            assert number == bool(described.floating_point_range or described.integer_range)
    finally:
        node.destroy_node()
        graph.close()


def test_names_are_given_once_and_the_defaults_stand():
    assert len(DEFAULTS) == len(PARAMETERS)
    assert refusal(DEFAULTS) == ""


def test_the_file_has_every_parameter_with_its_default():
    text = (ROOT / "config/self_collision.yaml").read_text(encoding="utf-8")
    assert yaml.safe_load(text) == {"/**": {"ros__parameters": DEFAULTS}}


def test_the_page_has_every_parameter_with_its_default():
    text = (ROOT / "docs/self_collision.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| `([^`]*)` \|", text, re.MULTILINE))
    assert {name: yaml.safe_load(value) for name, value in rows.items()} == DEFAULTS
    for parameter in PARAMETERS:
        row = re.search(rf"^\| `{parameter.name}` \|[^|]*\|([^|]*)\|", text, re.MULTILINE)
        assert ("fixed" in row[1]) == parameter.read_only, parameter.name


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"danger_distance": 0.1}, ""),
        ({"danger_distance": 0.11}, "danger_distance 0.11 is above safe_distance 0.1"),
        ({"safe_distance": 0.0, "danger_distance": 0.0}, "safe_distance 0 is not above 0"),
        ({"method": "quick"}, "method 'quick' is not one of robust, published"),
        ({"yielding": "nobody"}, "yielding 'nobody' is not one of both, left, right"),
        ({"guard": "never"}, "guard 'never' is not one of running, always"),
        ({"joint_state_timeout": 0.0}, "joint_state_timeout 0 is not above 0"),
        ({"stream_horizon": 0.0}, "stream_horizon 0 is not above 0"),
        ({"stream_timeout": 0.0}, "stream_timeout 0 is not above 0"),
        ({"state_rate": 0.5}, "state_rate 0.5 is below 1 Hz"),
        ({"arms": ["a", "b"]}, ""),
        ({"arms": ["a"]}, "expected two groups"),
        ({"arms": ["a", "b", "c"]}, "expected two groups"),
        (LINKS, ""),
        ({**LINKS, "left_tip_link": ""}, "but not left_tip_link: all four are needed"),
        ({**LINKS, "arms": ["a", "b"]}, "give only one of them"),
    ],
)
def test_values_that_contradict_each_other_are_refused_by_name(values, says):
    reason = refusal({**DEFAULTS, **values})
    assert (says in reason) if says else reason == ""


def test_arms_are_named_as_the_library_takes_them():
    assert arm_names(DEFAULTS) is None
    assert arm_names({**DEFAULTS, "arms": ["r", "l"]}) == ["r", "l"]
    assert arm_names({**DEFAULTS, **LINKS}) == ["torso:right_hand", "chest:left_hand"]
