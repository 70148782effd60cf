# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters given to a node: those without effect are named, types that YAML mixes count."""

import pytest
import yaml
from support.paths import ROOT
from support.ros.ros_graph import rclpy

from rclpy.parameter import Parameter as RosParameter  # isort: skip

from collision_monitor.nodes.common.arguments import unused_parameters
from collision_monitor.nodes.parameters import monitor_parameters, self_collision_parameters
from collision_monitor.nodes.parameters.monitor_parameters import (
    PARAMETERS,
    declare_robots,
    parameters_of,
)
from collision_monitor.nodes.parameters.parameter import declare_parameters


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


def test_an_integer_counts_as_a_text_and_a_text_as_a_list_of_it(make_node):
    """``ros2 param set /collision_monitor show_mesh_level 2`` sends an integer."""
    rule = "a b warn=1"
    values = declare_parameters(make_node(show_aabb_levels=0, package_dirs="/src"), PARAMETERS)
    assert values["show_aabb_levels"] == "0" and list(values["package_dirs"]) == ["/src"]
    node = make_node()
    declare_parameters(node, PARAMETERS)
    for name, value, means in (("show_mesh_level", 2, "2"), ("pair_thresholds", rule, [rule])):
        (done,) = node.set_parameters([RosParameter(name, value=value)])
        assert done.successful, done.reason
        assert node.get_parameter(name).value == means
    (done,) = node.set_parameters([RosParameter("show_mesh_level", value=2.0)])
    assert not done.successful


@pytest.mark.parametrize("given", ["of YAML", "of a client"])
def test_an_empty_list_counts_as_one_of_any_type(context, make_node, given):
    """In YAML it has none, and ROS no value for it; ``ros2 param set`` sends one of booleans."""
    lists = ["pair_thresholds", "braking_decelerations", "package_dirs", "robots"]
    if given == "of YAML":
        words = [word for name in lists for word in ("-p", f"{name}:=[]")]
        node = rclpy.create_node("monitor", context=context, cli_args=["--ros-args", *words])
    else:
        node = make_node(**dict.fromkeys(lists, []))
    values = declare_parameters(node, PARAMETERS)
    assert [list(values[name]) for name in lists] == [[""]] * 4  # the default
    assert [port.source.name for port in declare_robots(node, values)] == [""]
    for kind in (RosParameter.Type.BOOL_ARRAY, RosParameter.Type.BYTE_ARRAY):
        (done,) = node.set_parameters([RosParameter("pair_thresholds", value=["a b warn=1"])])
        assert done.successful
        (done,) = node.set_parameters([RosParameter("pair_thresholds", kind, [])])
        assert done.successful, done.reason
        assert list(node.get_parameter("pair_thresholds").value) == [""]
    (done,) = node.set_parameters([RosParameter("pair_thresholds", value=[True])])
    assert not done.successful
    if given == "of YAML":
        node.destroy_node()


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
        ("cell: {monitor: {ros__parameters: {stop_distance: 0.1}}}", ""),
        ("/**/monitor: {ros__parameters: {stop_distance: 0.1}}", ""),
        ("monitor: {ros__parameters: {}}\n/**: {ros__parameters: {stop_distance: 0.1}}", ""),
        ("monitor_node: {ros__parameters: {stop_distance: 0.1}}",
         "has no parameters for /cell/monitor, only for /monitor_node"),
        ("/**: {ros__parameters: {arm: {speed: 0.1}}}", "parameter 'arm.speed' of"),
        ("/**: [", ""),
    ],
)  # fmt: skip
def test_a_file_without_effect_is_named(make_node, written, text, says):
    path = written("given.yaml", text)
    node = make_node()
    declare_parameters(node, PARAMETERS)
    found = unused_parameters(node, ["node", "--ros-args", "--params-file", str(path)])
    assert len(found) == bool(says) and says in "".join(found)


# -- parameter files for the launch file beside a driver: both nodes accept all of them


NODES = {"collision_monitor": monitor_parameters, "self_collision": self_collision_parameters}
FILES = [ROOT / "config" / "bringup.yaml", *sorted((ROOT / "config" / "drivers").glob("*.yaml"))]


def given(path, name):
    """What the file gives a node: the part for all nodes, then its own."""
    tree = yaml.safe_load(path.read_text())
    parts = [tree.get(key, {}) for key in ("/**", f"/**/{name}")]
    return {k: v for part in parts for k, v in part.get("ros__parameters", {}).items()}


@pytest.mark.parametrize("name", NODES)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_node_takes_every_parameter_of_the_file(path, name, context):
    tables = NODES[name]
    wanted = given(path, name)
    assert wanted.keys() <= {parameter.name for parameter in tables.PARAMETERS}
    arguments = ["--ros-args", "--params-file", str(path)]
    node = rclpy.node.Node(name, context=context, cli_args=arguments, use_global_arguments=False)
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
