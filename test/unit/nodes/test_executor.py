# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""ROS arguments of the programs, and the library's log in the log of a node."""

import logging

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from collision_monitor.errors import RosArgumentsError  # noqa: E402
from collision_monitor.monitoring.monitor import Level  # noqa: E402
from collision_monitor.nodes.common.arguments import (  # noqa: E402
    init,
    own_arguments,
    split_arguments,
)
from collision_monitor.nodes.common.executor import LogBridge, StateLog, bridge_logs  # noqa: E402
from collision_monitor.nodes.self_collision import main  # noqa: E402

# -- rOS arguments that rcl refuses are said in a sentence that names them --


rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed")


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


# -- the library's log in the log of a node --


class FakeNode:
    """Remembers what its logger is told."""

    def __init__(self):
        self.said = []

    def get_logger(self):
        return self

    def error(self, text):
        self.said.append(("error", text))

    def warning(self, text):
        self.said.append(("warning", text))

    def info(self, text):
        self.said.append(("info", text))


@pytest.fixture(autouse=True)
def library():
    """The library's logger, as it was afterwards."""
    logger = logging.getLogger("collision_monitor")
    before = logger.level, logger.propagate, list(logger.handlers)
    yield logger
    logger.setLevel(before[0])
    logger.propagate = before[1]
    logger.handlers[:] = before[2]


def test_every_level_arrives_as_itself_and_only_once():
    old, node = FakeNode(), FakeNode()
    bridge_logs(old)
    bridge_logs(node)
    log = logging.getLogger("collision_monitor.fitting.fitter")
    log.debug("unheard")
    log.info("fitting %d of %d", 1, 2)
    log.warning("careful")
    log.error("wrong")
    expected = [("info", "fitting 1 of 2"), ("warning", "careful"), ("error", "wrong")]
    assert (node.said, old.said) == (expected, [])


def test_other_loggers_are_left_alone(library):
    bridge_logs(FakeNode())
    assert not any(isinstance(h, LogBridge) for h in logging.getLogger().handlers)
    assert not library.propagate


# -- the log of states ---------------------------------------------------------------------


def test_waiting_and_the_end_of_a_node_are_no_faults_in_the_log():
    logger = FakeNode()
    log = StateLog(logger)
    for kind in ("waiting", "ended", "refused"):
        log.add(Level.STALE, kind, kind)
    assert logger.said == [("info", "waiting"), ("info", "ended"), ("error", "refused")]
