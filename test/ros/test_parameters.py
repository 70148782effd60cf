# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the nodes: how they describe themselves, where they are documented, refusals."""

import math
import re

import pytest
import yaml
from support.paths import ROOT
from support.robots.toys import chain, joint, link
from unit.model.test_left_out_pairs import hand_urdf

pytest.importorskip("rclpy", reason="rclpy is not installed")
from rclpy.exceptions import ParameterException  # isort: skip
from rclpy.parameter import Parameter as RosParameter  # isort: skip

from collision_monitor.errors import (
    CollisionMonitorError,
    ConfigurationError,
    RobotDescriptionError,
    ThresholdsError,
)
from collision_monitor.model.loading import RobotSource
from collision_monitor.nodes.parameters import (
    monitor_parameters,
    self_collision_parameters,
    simulation_parameters,
)
from collision_monitor.nodes.parameters.monitor_parameters import (
    PARAMETERS,
    check_for_model,
    declare_robots,
    parameters_of,
    recipe_of,
)
from collision_monitor.nodes.parameters.parameter import changed_values, declare_parameters
from collision_monitor.nodes.parameters.self_collision_parameters import arm_names, settings_of
from collision_monitor.nodes.robot_loader import build_monitor
from collision_monitor.self_collision.trajectory_filter import FilterSettings

NODES = {
    "collision_monitor": monitor_parameters,
    "self_collision": self_collision_parameters,
    "simulation": simulation_parameters,
}
EVERY_NODE = pytest.mark.parametrize("tables", NODES.values(), ids=NODES)


def defaults(tables):
    return {p.name: p.default for p in tables.PARAMETERS}


DEFAULTS = defaults(monitor_parameters)
LINKS = {
    "right_base_link": "torso", "right_tip_link": "right_hand",
    "left_base_link": "chest", "left_tip_link": "left_hand",
}  # fmt: skip


@EVERY_NODE
def test_everything_declared_has_its_default_and_range_and_describes_itself(make_node, tables):
    node = make_node()
    assert declare_parameters(node, tables.PARAMETERS) == defaults(tables)
    assert len(defaults(tables)) == len(tables.PARAMETERS)  # each name is given once
    tables.check(defaults(tables))
    for parameter in tables.PARAMETERS:
        described = node.describe_parameter(parameter.name)
        assert described.description == parameter.text
        assert len(described.description) > 10
        assert described.read_only == parameter.read_only
        assert node.get_parameter(parameter.name).value == parameter.default
        if type(parameter.default) not in (int, float):
            continue
        whole = isinstance(parameter.default, int)
        ranges = described.integer_range if whole else described.floating_point_range
        other = described.floating_point_range if whole else described.integer_range
        assert len(ranges) == 1 and len(other) == 0, parameter.name
        assert ranges[0].from_value == (
            1 if whole else 0.0 if parameter.or_zero else parameter.least
        )
        assert ranges[0].from_value <= parameter.default <= ranges[0].to_value <= 1e6
        assert ranges[0].to_value == parameter.most
        is_said = described.additional_constraints == "above 0"
        assert is_said == (parameter.problem(0.0) == "0 is not allowed")


@pytest.mark.parametrize("node", ["self_collision", "simulation"])
def test_the_file_has_every_parameter_with_its_default(node):
    text = (ROOT / f"config/{node}.yaml").read_text(encoding="utf-8")
    assert yaml.safe_load(text) == {"/**": {"ros__parameters": defaults(NODES[node])}}


def test_values_from_outside_are_what_the_node_works_with(make_node):
    given = {"warn_distance": 0.25, "max_leaves_per_link": 3, "package_dirs": ["a", "b"]}
    given["visual_meshes"] = True
    values = declare_parameters(make_node(**given), PARAMETERS)
    assert values == {**DEFAULTS, **given}


WRONG = [
    ("warn_distance", 10.001),
    ("stop_distance", math.inf),
    ("joint_state_timeout", math.nan),
    ("warn_distance", "near"),
    ("max_leaves_per_link", 0),
    ("max_leaves_per_link", 8.0),
    ("scene", 3.5),
]


@pytest.mark.parametrize(
    ("tables", "name", "value"),
    [
        *((monitor_parameters, name, value) for name, value in WRONG),
        (monitor_parameters, "warn_distance", 11),  # an integer counts as a number
        *((tables, "state_rate", 0.5) for tables in NODES.values()),
        (simulation_parameters, "real_time_factor", 0.0),
        (simulation_parameters, "joint_state_rate", 1e-300),
    ],
)
def test_a_wrong_value_from_outside_is_refused_by_name(make_node, tables, name, value):
    with pytest.raises(ParameterException) as caught:
        declare_parameters(make_node(**{name: value}), tables.PARAMETERS)
    assert name in str(caught.value) and str(value) in str(caught.value)


NO_NAMES = ["not a valid name!", "/driver/stop/", "{nope}/stop"]


@pytest.mark.parametrize(
    ("tables", "name", "value", "says"),
    [
        *((monitor_parameters, "stop_service", name, "is not a name in the ROS graph")
          for name in NO_NAMES),
        (self_collision_parameters, "controller_action", "a//b", "is not a name in the ROS graph"),
        (monitor_parameters, "distances_rate", 1e-300, "1e-300 is not 0, or a finite number"),
        (monitor_parameters, "marker_rate", 1e-10, "1e-10 is not 0, or a finite number"),
        (self_collision_parameters, "marker_rate", 1e-10, "1e-10 is not 0, or a finite number"),
        (monitor_parameters, "pair_thresholds", ["* * warn=1"] * 1001, "1001 entries; at most"),
        (monitor_parameters, "braking_decelerations", ["*=1"] * 1001, "1001 entries; at most"),
        (self_collision_parameters, "arms", ["a:b"] * 1001, "1001 entries; at most"),
    ],
)  # fmt: skip
def test_what_ros_lets_pass_is_refused_at_the_start_and_at_run_time(
    make_node, tables, name, value, says
):
    with pytest.raises(CollisionMonitorError, match=f"{name}: .*{re.escape(says)}") as refused:
        declare_parameters(make_node(**{name: value}), tables.PARAMETERS)
    assert ".c:" not in str(refused.value)  # no place in the source of ROS
    with pytest.raises(CollisionMonitorError, match=f"{name}: .*{re.escape(says)}"):
        given = [RosParameter(name, value=value)]
        changed_values(defaults(tables), given, tables.PARAMETERS, tables.check)


@pytest.mark.parametrize("name", ["", "stop", "~/stop", "{node}/stop"])
def test_names_of_a_stop_service_may_be_relative_or_private(make_node, name):
    assert declare_parameters(make_node(stop_service=name), PARAMETERS)["stop_service"] == name


SETTABLE = {p.name for p in PARAMETERS if not p.read_only}


@pytest.mark.parametrize(("name", "value"), [case for case in WRONG if case[0] in SETTABLE])
def test_a_wrong_value_is_refused_by_name_while_the_node_runs(make_node, name, value):
    node = make_node()
    declare_parameters(node, PARAMETERS)
    (result,) = node.set_parameters([RosParameter(name, value=value)])
    assert not result.successful
    of_its_type = type(value) is type(DEFAULTS[name])  # else rclpy's reason is the types alone
    assert (name if of_its_type else "type") in result.reason
    assert node.get_parameter(name).value == DEFAULTS[name]


@pytest.mark.parametrize(
    ("node", "values", "says"),
    [
        ("collision_monitor", {"stop_distance": 0.1}, ""),
        ("collision_monitor", {"stop_distance": 0.3},
         "stop_distance 0.3 is above warn_distance 0.1"),
        ("collision_monitor", {"warn_distance": 0.0},
         "stop_distance 0.02 is above warn_distance 0"),
        ("collision_monitor", {"cycle_deadline": 0.0}, "cycle_deadline: 0 is not allowed"),
        ("self_collision", {"fit": "best"}, "'best' is not one of optimised, published"),
        ("collision_monitor", {"fit": "optimised", "max_leaves_per_link": 3}, ""),
        ("collision_monitor", {"fit": "published", "max_leaves_per_link": 3},
         "max_leaves_per_link: 3 has no effect with fit 'published'"),
        ("self_collision", {"fit": "published", "leaves": "a.yaml"}, "both given"),
        ("collision_monitor", {"show_mesh_level": "1-0"}, "show_mesh_level: '1-0'"),
        ("collision_monitor", {"pair_thresholds": ["a warn=1"]}, "a warn=1"),
        ("collision_monitor", {"release_cycles": 0}, "release_cycles"),
        ("collision_monitor", {"stop_service": "/s", "stop_service_timeout": 0.0},
         "stop_service_timeout 0: must be above 0"),
        ("self_collision", {"danger_distance": 0.1}, ""),
        ("self_collision", {"danger_distance": 0.11},
         "danger_distance: 0.11 m is above safe_distance, 0.1 m"),
        ("self_collision", {"safe_distance": 0.0, "danger_distance": 0.0},
         "safe_distance: 0 is not allowed"),
        ("self_collision", {"method": "quick"}, "method: 'quick' is not one of robust, published"),
        ("self_collision", {"yielding": "nobody"},
         "yielding: 'nobody' is not one of both, left, right"),
        ("self_collision", {"guard": "never"}, "guard: 'never' is not one of running, always"),
        ("self_collision", {"joint_state_timeout": 0.0}, "joint_state_timeout: 0 is not allowed"),
        ("self_collision", {"arms": ["a"]}, ""),
        ("self_collision", {"arms": ["a", "b", "c"]}, ""),
        ("self_collision", LINKS, ""),
        ("self_collision", {**LINKS, "left_tip_link": ""},
         "but not left_tip_link: all four are needed"),
        ("self_collision", {**LINKS, "arms": ["a", "b"]}, "give only one of them"),
        ("simulation", {"speed_scale_timeout": 0.0}, "speed_scale_timeout: 0 is not allowed"),
        ("simulation", {"timestep": 0.01},
         "joint_state_rate 200 Hz is more than one message per timestep"),
    ],
)  # fmt: skip
def test_values_that_contradict_each_other_are_refused_by_name(node, values, says):
    tables = NODES[node]
    given = [RosParameter(name, value=value) for name, value in values.items()]
    rules = tables.PARAMETERS, tables.check
    if not says:
        assert changed_values(defaults(tables), given, *rules) == values
        return
    with pytest.raises(CollisionMonitorError, match=re.escape(says)):
        changed_values(defaults(tables), given, *rules)


def test_arms_are_named_as_the_library_takes_them():
    given = defaults(self_collision_parameters)
    assert arm_names(given) is None
    assert arm_names({**given, "arms": ["r", "l"]}) == ["r", "l"]
    assert arm_names({**given, **LINKS}) == ["torso:right_hand", "chest:left_hand"]


def test_settings_of_the_filter_have_the_defaults_of_the_library_and_no_limits_of_zero():
    given = defaults(self_collision_parameters)
    assert settings_of(given) == FilterSettings()
    limits = {"acceleration_limit": 4.0, "jerk_limit": 90.0}
    found = settings_of({**given, **limits, "yielding": "left", "max_points": 7})
    assert found == FilterSettings(
        acceleration_limits=4.0, jerk_limits=90.0, yielding="left", max_points=7
    )


# -- robots of a cell --


@pytest.fixture
def declared(make_node):
    """Declares the parameters of a node, given these from outside; (values, ports, node)."""

    def declare(given):
        node = make_node(**given)
        values = declare_parameters(node, PARAMETERS)
        return values, declare_robots(node, values), node

    return declare


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


def test_a_rule_has_a_left_out_pair_checked_if_it_is_there_at_the_start(declared):
    urdf = hand_urdf((0.0, 0.04), (0.0, 0.04)).replace(
        "</robot>", link("tip") + joint("turn", "left", "tip") + "</robot>"
    )
    late = {"pair_thresholds": ["left right warn=0.03 stop=0.01"]}
    given, (port,), _ = declared({"robot_description": urdf, "narrow_phase": "leaf"})
    without = recipe_of(given, (port.source,), False).load()
    with pytest.raises(CollisionMonitorError, match=r"pair_thresholds\[0\].*left out.*starts"):
        check_for_model({**given, **late}, (), without.model, {})
    values = {**given, **late}
    monitor, _ = build_monitor(values, (), recipe_of(values, (port.source,), False).load())
    row = [set(pair) for pair in monitor.model.pairs].index({"left", "right"})
    assert monitor.behaviour.thresholds[row].tolist() == [0.01, 0.03]


def test_a_rule_leaves_a_pair_out_from_start_to_end(declared):
    rule = {"pair_thresholds": ["l0 l2 check=false"]}
    given, (port,), _ = declared({"robot_description": chain(4), "narrow_phase": "leaf"})
    values = {**given, **rule}
    loaded = recipe_of(values, (port.source,), False).load()
    monitor, _ = build_monitor(values, (), loaded)
    assert {"l0", "l2"} not in [set(pair) for pair in monitor.model.pairs]
    check_for_model(values, (), monitor.model, {})
    # Without the rule the pair would be left out for no reason.
    for attempt in (
        lambda: check_for_model(given, (), monitor.model, {}),
        lambda: build_monitor(given, (), loaded),
    ):
        with pytest.raises(ThresholdsError, match="no rule with check: false for l.*restart"):
            attempt()


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
        ({**TWO, "left.joint_states": "a b"}, "left.joint_states: 'a b' is not a name"),
        ({**TWO, "left.robot_description_topic": ""}, "left.robot_description_topic: '' is not"),
        ({**TWO, "left.joint_states": "all", "right.joint_states": "all"},
         "right.joint_states is that of left, 'all', but their prefixes are 'left/' and 'right/'"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_by_name(declared, given, says):
    with pytest.raises((RobotDescriptionError, ConfigurationError), match=says):
        declared(given)


def test_a_topic_for_all_needs_names_that_tell_robots_apart(declared):
    given = {f"{name}.{key}": value for name in TWO["robots"]
             for key, value in (("joint_states", "joint_states"), ("prefix", ""))}  # fmt: skip
    _, ports, _ = declared(TWO | given)
    assert {port.joint_states for port in ports} == {"joint_states"}
