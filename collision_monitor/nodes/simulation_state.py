# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""State and contact messages of the simulation node."""

from __future__ import annotations

from collections.abc import Mapping

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

from collision_monitor.monitoring.monitor import Level
from collision_monitor.simulation.simulation import Contact, Pair, Touch

# -- how far a simulation should have come by now --


_SLIP = 0.2  # s on the wall: what is behind by more is given up, not caught up with
_SPAN = 0.5  # s on the wall over which the pace is measured, at least


class Pacer:
    """Ties simulated time to a steady clock by a factor; what cannot be kept is let go."""

    def __init__(self, factor: float) -> None:
        """``factor``: simulated seconds for each on the wall."""
        self._factor = factor
        self._anchor: tuple[float, float] | None = None
        self._mark: tuple[float, float] | None = None
        self.achieved = 0.0

    @property
    def factor(self) -> float:
        """Simulated seconds for each on the wall."""
        return self._factor

    @factor.setter
    def factor(self, value: float) -> None:
        self._factor, self._anchor = value, None

    def due(self, simulated: float, wall: float) -> float:
        """Up to which simulated time to go at ``wall`` s on a steady clock."""
        if self._anchor is None:
            self._anchor = simulated, wall
        if self._mark is None:
            self._mark = simulated, wall
        target = self._anchor[0] + (wall - self._anchor[1]) * self._factor
        if target - simulated > _SLIP * self._factor:
            self._anchor = simulated, wall
            target = simulated
        if wall - self._mark[1] >= _SPAN:
            self.achieved = (simulated - self._mark[0]) / (wall - self._mark[1])
            self._mark = simulated, wall
        return target


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
    text = "no contact now" + (f"; {len(touches)} pairs earlier" if touches else " or earlier")
    return status(Level.OK, name, text, robot, values)
