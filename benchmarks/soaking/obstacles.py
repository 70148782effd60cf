# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Obstacles of the soak test: markers are added, moved, removed, attached and detached.

Most are valid. Some must be refused, and are removed or expire soon: a permanent error would hide
missed alarms.
"""

from __future__ import annotations

import math
import random

from geometry_msgs.msg import Point
from visualization_msgs.msg import Marker

_FAR, _NEAR, _BRIEF, _TOOLS = 10, 5, 4, 3  # number of names of each kind
_LINKS = tuple(f"{side}_arm_{k}" for side in ("left", "right") for k in (2, 3, 4))


class Obstacles:
    """Generates random changes."""

    def __init__(self, dice: random.Random) -> None:
        """Start without obstacles."""
        self._dice = dice
        self._bad: list[tuple[float, str, int]] = []  # time of removal, and marker
        self._there: dict[tuple[str, int], None] = {}  # without a lifetime
        self._carried: dict[tuple[str, int], float] = {}  # attached objects, and their expiry

    def change(self, now: float) -> tuple[str, list[Marker]]:
        """(``scene`` or ``attach``, markers) for seconds ``now`` of a steady clock."""
        if self._bad and now > self._bad[0][0]:
            _, ns, number = self._bad.pop(0)
            self._there.pop((ns, number), None)
            return "scene", [_marker(ns, number, Marker.DELETE)]
        choice = self._dice.random()
        if choice < 0.004:
            return self._something_bad(now)
        if choice < 0.03:
            return self._attach_or_detach(now)
        if choice < 0.045:
            # An object removed on one topic may have been requested on the other after that.
            ns = self._dice.choice(["brief", "bad", "gone", "gone"])
            return "scene", [_marker(ns, 0, Marker.DELETEALL)]
        if choice < 0.3:
            return "scene", [self._brief()]
        if choice < 0.6:
            return "scene", [self._standing("near", _NEAR, 0.4)]
        if choice < 0.65:  # several in one message
            return "scene", [self._standing("far", _FAR, 0.2) for _ in range(3)]
        return "scene", [self._standing("far", _FAR, 0.2)]

    def _standing(self, ns: str, count: int, gone: float) -> Marker:
        number = self._dice.randrange(count)
        self._carried.pop((ns, number), None)
        if self._dice.random() < gone:
            self._there.pop((ns, number), None)
            return _marker(ns, number, Marker.DELETE)
        self._there[ns, number] = None
        marker = _marker(ns, number, self._dice.choice([Marker.ADD, Marker.MODIFY]))
        self._shape(marker)
        self._place(marker, (1.9, 4.0) if ns == "far" else (0.3, 1.6))
        return marker

    def _brief(self) -> Marker:
        marker = _marker("brief", self._dice.randrange(_BRIEF), Marker.ADD)
        self._shape(marker)
        self._place(marker, (0.3, 2.5))
        marker.lifetime.nanosec = self._dice.randrange(50_000_000, 900_000_000)
        return marker

    def _shape(self, marker: Marker) -> None:
        dice, size = self._dice, marker.scale
        kinds = (Marker.CUBE, Marker.SPHERE, Marker.CYLINDER, Marker.SPHERE_LIST,
                 Marker.TRIANGLE_LIST)  # fmt: skip
        marker.type = dice.choices(kinds, (4, 3, 3, 1, 1))[0]
        if marker.type == Marker.CUBE:
            size.x, size.y, size.z = (dice.uniform(0.02, 0.25) for _ in range(3))
        elif marker.type == Marker.CYLINDER:
            size.x = size.y = dice.uniform(0.02, 0.2)
            size.z = dice.uniform(0.02, 0.4)
        elif marker.type == Marker.TRIANGLE_LIST:
            size.x = size.y = size.z = 1.0
            marker.points = [self._point(0.2) for _ in range(6)]
        else:
            size.x = size.y = size.z = dice.uniform(0.02, 0.2)
            if marker.type == Marker.SPHERE_LIST:
                marker.points = [self._point(0.2) for _ in range(3)]

    def _point(self, reach: float) -> Point:
        x, y, z = (self._dice.uniform(-reach, reach) for _ in range(3))
        return Point(x=x, y=y, z=z)

    def _place(self, marker: Marker, away: tuple[float, float]) -> None:
        """Random position at a distance from a shoulder."""
        dice, place, turn = self._dice, marker.pose.position, marker.pose.orientation
        across, up = dice.uniform(-math.pi, math.pi), dice.uniform(-1.0, 1.0)
        distance = dice.uniform(*away)
        flat = distance * math.sqrt(1.0 - up * up)
        place.x, place.y = flat * math.cos(across), flat * math.sin(across)
        place.y += dice.choice([-0.35, 0.35])
        place.z = 0.2 + distance * up
        numbers = [dice.gauss(0.0, 1.0) for _ in range(4)]
        length = math.sqrt(sum(x * x for x in numbers))
        turn.x, turn.y, turn.z, turn.w = (x / length for x in numbers)

    def _attach_or_detach(self, now: float) -> tuple[str, list[Marker]]:
        old = [key for key, end in self._carried.items() if now > end]
        if old:
            key = self._dice.choice(old)
            del self._carried[key]
            if key[0] == "tool":  # attached tools are no longer obstacles
                return "scene", [_marker(*key, Marker.DELETE)]
            return "attach", [_marker(*key, Marker.DELETE)]
        if len(self._carried) >= 4:
            return "attach", [_marker("near", 0, Marker.DELETE)]  # possibly nothing is attached
        link = self._dice.choice(_LINKS)
        touch = self._dice.sample([*_LINKS, "near/0", "far/1", "base"], self._dice.randrange(4))
        choice = self._dice.random()
        if choice < 0.5 or not self._there:
            marker = _marker("tool", self._dice.randrange(_TOOLS), Marker.ADD)
            self._shape(marker)
            place = marker.pose.position
            place.x, place.y, place.z = (self._dice.uniform(-0.3, 0.3) for _ in range(3))
            place.z += 0.2
        elif choice < 0.95:  # an existing object, at its pose
            marker = _marker(*self._dice.choice(list(self._there)), Marker.ADD)
        else:
            marker = _marker("gone", 0, Marker.ADD)
            self._bad.append((now + 0.05, marker.ns, marker.id))
        marker.header.frame_id, marker.text = link, " ".join(touch)
        self._carried[marker.ns, marker.id] = now + self._dice.uniform(0.2, 3.0)
        return "attach", [marker]

    def _something_bad(self, now: float) -> tuple[str, list[Marker]]:
        """A marker that must be refused, with its own name or that of a valid object."""
        dice = self._dice
        what = dice.randrange(7)
        ns = "bad" if what in (3, 4) else dice.choice(["bad", "far"])
        marker = _marker(ns, dice.randrange(_FAR), Marker.ADD)
        self._shape(marker)
        self._place(marker, (1.9, 4.0))
        if what == 0:
            marker.scale.x = dice.choice([0.0, -0.1, math.nan])
            marker.type = Marker.CUBE
        elif what == 1:
            marker.pose.position.y = dice.choice([math.nan, math.inf])
        elif what == 2:
            marker.type = dice.choice([Marker.ARROW, Marker.TEXT_VIEW_FACING, 99])
        elif what == 3:
            marker.header.frame_id = dice.choice(["", "nowhere"])
        elif what == 4:  # exists only on every other robot
            marker.header.frame_id = "left_tool"
        elif what == 5:
            marker.pose.orientation.w += 3.0
        else:
            marker.action = 17
        if dice.random() < 0.5:
            marker.lifetime.nanosec = 60_000_000
        else:
            self._bad.append((now + 0.05, marker.ns, marker.id))
        return "scene", [marker]


def _marker(ns: str, number: int, action: int) -> Marker:
    marker = Marker(ns=ns, id=number, action=action)
    marker.header.frame_id = "base"
    marker.pose.orientation.w = 1.0
    return marker
