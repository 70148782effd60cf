# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The demo as a user runs it: a real graph, the arms meet, the state says so."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from ros_graph import Graph  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def environment():
    """Of a process in a ROS domain of its own."""
    graph = Graph()
    graph.close()
    return {
        **os.environ,
        "ROS_DOMAIN_ID": str(graph.domain),
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }


def run(*arguments, environment, seconds=240):
    """(exit code, output) of the command demo; whatever it started is gone afterwards."""
    process = subprocess.Popen(
        [sys.executable, "-m", "collision_monitor", "demo", *arguments],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=seconds)
    finally:
        left = True
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            left = False
    assert not left, "the demo has left a process behind"
    return process.returncode, output


def test_the_arms_meet_and_the_monitor_says_so(environment):
    code, output = run("--seconds", "6", "--rate", "50", environment=environment)
    assert code == 0, output
    states = re.search(r"state: (.*)", output)[1].split(" -> ")
    assert {"OK", "WARN", "ERROR"} <= set(states), output
    nearest = float(re.search(r"nearest: (\S+) m", output)[1])
    assert -0.14 < nearest < -0.05
    assert re.search(r"nearest: .*right_link_\d - left_link_\d", output)
    assert int(re.search(r"(\d+) distances received", output)[1]) > 100
    assert "Traceback" not in output


@pytest.mark.parametrize("wrong", [("--seconds", "0"), ("--seconds", "x"), ("--rate", "1e6")])
def test_wrong_options_are_refused_by_name(environment, wrong):
    code, output = run(*wrong, environment=environment)
    assert code == 2
    assert wrong[0] in output and "Traceback" not in output
