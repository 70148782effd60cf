# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What each node does alike: it repeats its state, and no error of the middleware ends it."""

import time

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import SetParameters
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String
from support.robots.two_slides import JOINTS, URDF, apart
from support.ros.ros_graph import ERROR, LATCHED, OK, STALE

NAMES = (*JOINTS, "mast_joint")


def send(graph):
    graph.send(NAMES, (*apart(0.5), 0.3))


def ask(graph, kind, name, **fields):
    """Send a request to which no answer is expected."""
    client = graph.node.create_client(kind, name)
    graph.until(client.service_is_ready)
    client.call_async(kind.Request(**fields))


def strange_parameter():
    """A value of a type that does not exist."""
    return [Parameter(name="warn_distance", value=ParameterValue(type=77))]


def test_a_monitor_reports_what_the_middleware_cannot_handle_and_goes_on(graph):
    """The managed node, whose description comes after it was activated."""
    topic = graph.node.create_publisher(String, "robot_description", LATCHED)
    process = graph.start(node="collision_monitor_lifecycle")
    change = "/collision_monitor/change_state"
    for number in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
        assert graph.call(ChangeState, change, transition=Transition(id=number)).success
    graph.until(lambda: graph.heard["state"] and "waiting" in graph.state.message)
    topic.publish(String(data=URDF))
    graph.until_distance(lambda: send(graph))
    graph.until_level(OK, lambda: send(graph))
    parameters = {"parameters": strange_parameter()}
    again = {"transition": Transition(id=Transition.TRANSITION_ACTIVATE)}
    for count, (kind, name, fields, says) in enumerate([
        (SetParameters, "/collision_monitor/set_parameters", parameters, "77 is not"),
        (ChangeState, change, again, "transition"),
    ], 1):  # fmt: skip
        ask(graph, kind, name, **fields)
        graph.until_level(ERROR, lambda: send(graph))
        graph.until_safe(False, lambda: send(graph))
        assert says in graph.state.message
        assert graph.values["callback_errors"] == str(count)
        graph.until_level(OK, lambda: send(graph))
        graph.until_safe(True, lambda: send(graph))
    code, output = graph.stop(process)
    assert code == 0, output
    assert "the node goes on" in output


@pytest.mark.parametrize("node", ["self_collision", "simulation"])
def test_a_state_is_repeated_at_its_rate_and_a_clock_before_1970_is_an_error(graph, node):
    graph.listen("its_state", DiagnosticStatus, LATCHED, f"/{node}/state")
    heard = graph.heard["its_state"]
    process = graph.start("-p", "use_sim_time:=true", "-p", "state_rate:=1.0", node=node)
    graph.until(lambda: heard, 60.0)
    assert graph.set_parameters(f"/{node}", state_rate=100.0).successful
    begin, first = time.monotonic(), len(heard)
    graph.until(lambda: len(heard) >= first + 100)
    assert time.monotonic() - begin < 4.0  # less than at 20 Hz
    clock = Clock()
    clock.clock.sec = -5
    publisher = graph.node.create_publisher(Clock, "/clock", 10)
    graph.until(
        lambda: heard[-1].level == ERROR, sending=lambda: publisher.publish(clock), period=0.1
    )
    assert "must not be negative" in heard[-1].message
    graph.until(lambda: heard[-1].level == STALE)
    code, output = graph.stop(process)
    assert code == 0, output
