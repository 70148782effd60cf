# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Arguments of the launch files: each is described and has its default."""

import os

import pytest
from support.paths import ROOT
from support.ros.launch_cases import check_refused

from launch import LaunchContext  # isort: skip
from launch.launch_description_sources import PythonLaunchDescriptionSource  # isort: skip

VIEW = {"rviz": "false", "robot_state_publisher": "auto", "fixed_frame": ""}
COMMON = {
    "namespace": "",
    "params_file": None,
    "joint_states": "joint_states",
    "use_sim_time": "false",
    **VIEW,
    "robot_description": "",
    "robot_description_semantic": "",
    "scene": "",
    "visual_meshes": "",
    "log_level": "info",
}
ADJUSTMENT = {"controller_action": "", "controller_topic": "", "method": ""}
# Of each file; None: the path of a file that is there.
ARGUMENTS = {
    "collision_monitor": COMMON,
    "self_collision": {**COMMON, **ADJUSTMENT},
    "bringup": {**COMMON, **ADJUSTMENT, "robot_state_publisher": "false"},
    "simulation": {
        "namespace": "", "params_file": None, "robot_description": None,
        "robot_description_semantic": None, "scene": None, "start_positions": "",
        "real_time_factor": "1.0", "monitor": "true", "self_collision": "false", "method": "",
        **VIEW, "log_level": "info",
    },
    "gazebo": {
        "namespace": "", "urdf": None, "robot_description_semantic": "", "scene": "",
        "controllers": "", **ADJUSTMENT, "headless": "false", "self_collision": "true",
        **VIEW, "log_level": "info",
    },
}  # fmt: skip


@pytest.fixture(params=ARGUMENTS)
def name(request, workspace, monkeypatch):
    """Of a launch file; the environment is that of the built workspace."""
    for variable, value in workspace.environment.items():
        monkeypatch.setenv(variable, value)
    return request.param


def test_each_argument_has_a_description_and_its_default_and_a_missing_file_starts_nothing(name):
    source = PythonLaunchDescriptionSource(os.fspath(ROOT / "launch" / f"{name}.launch.py"))
    context = LaunchContext()
    description = source.get_launch_description(context)
    declared = {argument.name: argument for argument in description.get_launch_arguments()}
    assert declared.keys() == ARGUMENTS[name].keys()
    for key, default in ARGUMENTS[name].items():
        assert len(declared[key].description) > 10
        text = "".join(part.perform(context) for part in declared[key].default_value)
        assert os.path.isfile(text) if default is None else text == default
    if "params_file" in declared:
        check_refused(source, "params_file: no file '/nowhere.yaml'", params_file="/nowhere.yaml")
