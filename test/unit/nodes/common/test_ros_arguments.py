# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""ROS arguments that rcl refuses are said in a sentence that names them."""

import pytest

rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed")

from collision_monitor.errors import RosArgumentsError  # noqa: E402
from collision_monitor.nodes.common.executor import (  # noqa: E402
    init,
    own_arguments,
    split_arguments,  # noqa: E402
)
from collision_monitor.nodes.self_collision import main  # noqa: E402

BAD = [
    ["--log-level", "loud"],
    ["--params-file", "/nowhere/parameters.yaml"],
    ["-r", "bad::=rule"],
    ["-p", "no_value"],
]


def arguments(bad):
    """A command line with these among the ROS arguments."""
    return ["program", "--ros-args", *bad]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad[1])
@pytest.mark.parametrize("ask", [init, own_arguments])
def test_the_sentence_names_the_argument_and_no_place_in_the_sources_of_rcl(ask, bad):
    with pytest.raises(RosArgumentsError) as caught:
        ask(arguments(bad))
    assert " ".join(bad) in str(caught.value)
    assert ".c:" not in str(caught.value)
    assert not rclpy.ok()


def test_own_arguments_are_those_that_are_not_for_ros():
    line = ["program", "--record", "a.mcap", "--ros-args", "-p", "a:=1", "--", "-x"]
    assert own_arguments(line) == ["--record", "a.mcap", "-x"]


@pytest.mark.parametrize("program", [split_arguments, main])
def test_programs_end_with_code_1_and_the_sentence(program, capsys):
    with pytest.raises(SystemExit) as caught:
        program(arguments(BAD[1]))
    # sys.exit(text) prints the text and ends with code 1.
    said = str(caught.value.code) + capsys.readouterr().err
    assert caught.value.code == 1 or isinstance(caught.value.code, str)
    assert "error: " in said and "/nowhere/parameters.yaml" in said
