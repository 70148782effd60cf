# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Signals before a node can handle them, and the end that waits for nothing."""

import os
import signal

import pytest
from support.processes import is_alive, run_python

from collision_monitor.common.end_of_process import is_program_of_a_node


@pytest.mark.parametrize(
    ("arguments", "is_node"),
    [
        (["python", "-m", "collision_monitor.nodes.self_collision", "--ros-args"], True),
        (["python", "-X", "-m", "collision_monitor.nodes.simulation"], True),
        (["python", "-m", "collision_monitor", "fit"], False),
        (["python", "-m", "pytest", "collision_monitor"], False),
        (["/usr/bin/python3", "/opt/lib/collision_monitor/collision_monitor", "--x"], True),
        (["/usr/bin/python3", "/opt/bin/somebody"], False),
        (["python", "-c", "import collision_monitor"], False),
        (["python"], False),
    ],
)
def test_only_programs_of_nodes_end_early(arguments, is_node):
    assert is_program_of_a_node(arguments) == is_node


def test_the_library_leaves_signals_alone_and_the_end_takes_children_along():
    code = (
        "import signal, subprocess, collision_monitor\n"
        "from collision_monitor.common.end_of_process import end_now\n"
        "child = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        "print(signal.getsignal(signal.SIGTERM).name, child.pid, flush=True)\n"
        "end_now()\n"
    )
    handler, number = run_python(code).stdout.split()
    child = int(number)
    assert handler == "SIG_DFL"
    if is_alive(child):
        os.kill(child, signal.SIGKILL)
        pytest.fail("the child is alive")
