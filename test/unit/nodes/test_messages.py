# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""States of the nodes as messages, and the pace of simulated time."""

import math

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from diagnostic_msgs.msg import DiagnosticStatus  # noqa: E402
from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402
from support.ros.ros_graph import rclpy  # noqa: F401  skips where there is no rclpy  # noqa: E402

from collision_monitor.hierarchy.query import Clearance  # noqa: E402
from collision_monitor.monitoring.monitor import Level, MonitorState  # noqa: E402
from collision_monitor.nodes.common.messages import status_message  # noqa: E402
from collision_monitor.nodes.simulation import (
    Pacer,  # noqa: E402
    contacts_status,  # noqa: E402
)
from collision_monitor.simulation.simulation import Contact, Touch  # noqa: E402

# -- a verdict as messages: levels, keys and numbers that can be read back --


POINTS = [[0.1, -0.2, 0.3], [1.5, 2.5, -3.123456789]]
CLEARANCE = Clearance(0.0123456, ("left_7", "right_7"), POINTS, [0.0, 0.6, -0.8])


def sent(state, extra=None, name="watch", robot="yumi"):
    """(status as it arrives, its values)."""
    message = status_message(state, name, robot, extra or {})
    arrived = deserialize_message(serialize_message(message), DiagnosticStatus)
    assert arrived == message
    keys = [item.key for item in arrived.values]
    assert len(set(keys)) == len(keys)
    return arrived, {item.key: item.value for item in arrived.values}


@pytest.mark.parametrize(
    ("level", "constant", "action"),
    [
        (Level.OK, DiagnosticStatus.OK, "none"),
        (Level.WARN, DiagnosticStatus.WARN, "slowdown"),
        (Level.ERROR, DiagnosticStatus.ERROR, "stop"),
        (Level.STALE, DiagnosticStatus.STALE, "stop"),
    ],
)
def test_levels_are_those_of_the_message_and_tell_what_to_do(level, constant, action):
    status, values = sent(MonitorState(level, "because", "fault", CLEARANCE, 0.25, 0.5))
    assert status.level == constant
    assert (status.name, status.hardware_id) == ("watch", "yumi")
    assert status.message == values["reason"] == "because"
    assert values["action"] == action


def test_what_is_known_can_be_read_back():
    status, values = sent(MonitorState(Level.ERROR, "", "", CLEARANCE, 0.03125, 0.125))
    assert status.message == "too close: 0.012 m between left_7 and right_7"
    assert float(values["distance"]) == pytest.approx(0.0123456, abs=1e-6)
    assert float(values["age"]) == pytest.approx(0.03125, abs=1e-4)
    assert float(values["speed_scale"]) == pytest.approx(0.125, abs=1e-4)
    assert (values["link_a"], values["link_b"]) == ("left_7", "right_7")
    read = [np.array(values[key].split(), float) for key in ("point_a", "point_b", "normal")]
    assert read[0] == pytest.approx(POINTS[0], abs=1e-6)
    assert read[1] == pytest.approx(POINTS[1], abs=1e-6)
    assert read[2] == pytest.approx([0.0, 0.6, -0.8], abs=1e-6)


def test_what_is_not_known_is_not_a_number_and_names_no_links():
    status, values = sent(MonitorState(Level.STALE, "waiting for joint states", "waiting"))
    assert status.message == "waiting for joint states"
    assert math.isnan(float(values["distance"]))
    assert math.isinf(float(values["age"]))
    assert float(values["speed_scale"]) == 0.0
    assert set(values) == {"action", "reason", "distance", "speed_scale", "age"}


# -- contacts as a message --


def values(message):
    return {item.key: item.value for item in message.values}


def test_what_touches_is_an_error_with_its_links():
    contacts = {("a", "b"): Contact(0.001, 5.0), ("a", "c"): Contact(0.002, 1.0)}
    touches = {pair: Touch(1.0, 2.0, c.depth, c.force) for pair, c in contacts.items()}
    message = contacts_status(contacts, touches, "simulation", "robot")
    assert message.level == b"\x02"
    assert message.message == "2 pairs touch, deepest a and c"
    assert values(message) == {
        "a b": "depth 0.001000 force 5.0",
        "a c": "depth 0.002000 force 1.0",
        "touched a b": "first 1.000 last 2.000 depth 0.001000 force 5.0",
        "touched a c": "first 1.000 last 2.000 depth 0.002000 force 1.0",
    }


def test_what_has_touched_is_not_forgotten():
    message = contacts_status({}, {("a", "b"): Touch(1.0, 2.0, 0.1, 3.0)}, "simulation", "robot")
    assert message.level == b"\x00" and message.message == "no contact now; 1 pairs earlier"
    assert list(values(message)) == ["touched a b"]


# -- simulated time tied to the clock on the wall --


def test_what_is_due_follows_the_clock_by_the_factor():
    pacer = Pacer(3.0)
    assert pacer.due(5.0, 100.0) == 5.0
    assert pacer.due(5.0, 100.1) == pytest.approx(5.3)
    assert pacer.due(5.3, 100.1) == pytest.approx(5.3)


def test_a_little_behind_is_caught_up_with_and_much_is_given_up():
    pacer = Pacer(1.0)
    pacer.due(0.0, 0.0)
    assert pacer.due(0.0, 0.15) == pytest.approx(0.15)
    assert pacer.due(0.1, 2.0) == pytest.approx(0.1)  # starts anew from here
    assert pacer.due(0.1, 2.1) == pytest.approx(0.2)


def test_the_pace_that_is_kept_is_measured():
    pacer = Pacer(10.0)
    for k in range(101):
        pacer.due(0.02 * k, 0.01 * k)  # twice as fast as the wall, where ten times is wanted
    assert pacer.achieved == pytest.approx(2.0, rel=0.05)
