# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What the simulation node has to say, as messages."""

from __future__ import annotations

from collections.abc import Mapping

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

from collision_monitor.monitoring.monitor import Level
from collision_monitor.simulation.contacts import Contact, Pair, Touch


def status(
    level: Level, name: str, message: str, robot: str, values: Mapping[str, str]
) -> DiagnosticStatus:
    """A DiagnosticStatus with key-values."""
    return DiagnosticStatus(
        level=bytes([level]),
        name=name,
        message=message,
        hardware_id=robot,
        values=[KeyValue(key=key, value=value) for key, value in values.items()],
    )


def contacts_status(
    contacts: Mapping[Pair, Contact], touches: Mapping[Pair, Touch], name: str, robot: str
) -> DiagnosticStatus:
    """What touches now, pair by pair, and what ever has; ERROR while anything touches.

    Keys are ``a b`` for a pair that touches and ``touched a b`` for one that has since the start.
    """
    values = {
        f"{a} {b}": f"depth {contact.depth:.6f} force {contact.force:.1f}"
        for (a, b), contact in contacts.items()
    }
    values |= {
        f"touched {a} {b}": f"first {touch.first:.3f} last {touch.last:.3f} depth "
        f"{touch.depth:.6f} force {touch.force:.1f}"
        for (a, b), touch in touches.items()
    }
    if contacts:
        deepest = max(contacts, key=lambda pair: contacts[pair].depth)
        text = f"{len(contacts)} pairs touch, deepest {deepest[0]} and {deepest[1]}"
        return status(Level.ERROR, name, text, robot, values)
    text = "nothing touches" + (f"; {len(touches)} pairs have" if touches else ", nor has")
    return status(Level.OK, name, text, robot, values)
