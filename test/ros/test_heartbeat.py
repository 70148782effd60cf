# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Every node repeats its state at its rate, also one that is set while it runs."""

import time

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from support.ros.ros_graph import LATCHED

COUNT = 100
SLOW = 4.0  # seconds: four times as long as these take at 100 Hz, and less than at 20 Hz


@pytest.mark.parametrize("node", ["collision_monitor", "self_collision", "simulation"])
def test_a_rate_that_is_set_while_the_node_runs_is_kept(graph, node):
    graph.listen("its_state", DiagnosticStatus, LATCHED, f"/{node}/state")
    heard = graph.heard["its_state"]
    graph.start("-p", "state_rate:=1.0", node=node)
    graph.until(lambda: heard)
    assert graph.set_parameters(f"/{node}", state_rate=100.0).successful
    begin, first = time.monotonic(), len(heard)
    graph.until(lambda: len(heard) >= first + COUNT)
    assert time.monotonic() - begin < SLOW
