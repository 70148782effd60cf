# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Contacts as a message."""

from support.ros.ros_graph import rclpy  # noqa: F401  skips where there is no rclpy

from collision_monitor.nodes.simulation import contacts_status  # isort: skip
from collision_monitor.simulation.contacts import Contact, Touch  # isort: skip


def values(message):
    return {item.key: item.value for item in message.values}


def test_nothing_touches():
    message = contacts_status({}, {}, "simulation", "robot")
    assert message.level == b"\x00" and message.message == "no contact now or earlier"
    assert (message.name, message.hardware_id, values(message)) == ("simulation", "robot", {})


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
