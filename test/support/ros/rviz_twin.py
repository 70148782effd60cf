# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What RViz would show of marker messages: it adds, deletes, forgets, and refuses as RViz does.

After rviz_default_plugins' MarkerCommon and its checks of markers.
"""

import math

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402
from visualization_msgs.msg import Marker, MarkerArray  # noqa: E402

_MULTIPLES = {
    Marker.LINE_LIST: 2, Marker.TRIANGLE_LIST: 3, Marker.SPHERE_LIST: 1, Marker.LINE_STRIP: 1,
}  # fmt: skip


def markers_of(messages) -> list:
    """All markers of messages, serialized or not, in order; copies, as they arrive."""
    found = []
    for message in messages:
        data = message if isinstance(message, bytes) else serialize_message(message)
        found += deserialize_message(data, MarkerArray).markers
    return found


def _check(marker) -> None:
    """Refuse what RViz shows as an error instead."""
    name = f"{marker.ns}/{marker.id}"
    pose, scale = marker.pose, marker.scale
    numbers = [pose.position.x, pose.position.y, pose.position.z, scale.x, scale.y, scale.z]
    numbers += [x for p in marker.points for x in (p.x, p.y, p.z)]
    assert all(map(math.isfinite, numbers)), f"{name}: a number is not finite"
    o = pose.orientation
    length = math.hypot(o.x, o.y, o.z, o.w)
    assert abs(length - 1.0) < 1e-3, f"{name}: quaternion of length {length}"
    assert marker.header.frame_id, f"{name}: no frame"
    assert marker.color.a > 0.0, f"{name}: invisible"
    if marker.type in _MULTIPLES:
        least = 2 if marker.type == Marker.LINE_STRIP else _MULTIPLES[marker.type]
        assert len(marker.points) >= least, f"{name}: {len(marker.points)} points"
        assert len(marker.points) % _MULTIPLES[marker.type] == 0, name
        assert not marker.colors or len(marker.colors) == len(marker.points), name
    elif marker.type == Marker.ARROW:
        assert len(marker.points) in (0, 2), name
    sizes = {
        Marker.LINE_LIST: [scale.x], Marker.LINE_STRIP: [scale.x],
        Marker.TEXT_VIEW_FACING: [scale.z], Marker.ARROW: [scale.x, scale.y],
    }.get(marker.type, [scale.x, scale.y, scale.z])  # fmt: skip
    assert min(sizes) > 0.0, f"{name}: scale {sizes}"
    assert marker.type != Marker.TEXT_VIEW_FACING or marker.text.strip(), f"{name}: no text"


class RvizTwin:
    """A MarkerArray display; ``now`` are seconds, advanced by hand."""

    def __init__(self) -> None:
        self.shown: dict[tuple[str, int], Marker] = {}
        self._expires: dict[tuple[str, int], float] = {}
        self.now = 0.0

    def take(self, *messages) -> None:
        """Show what messages say; each (namespace, id) may be in a message once only."""
        for message in messages:
            markers = markers_of([message])
            names = [(m.ns, m.id) for m in markers if m.action == Marker.ADD]
            assert len(set(names)) == len(names), "a marker twice in one message"
            for marker in markers:
                self._take(marker)

    def _take(self, marker) -> None:
        key = (marker.ns, marker.id)
        if marker.action == Marker.DELETEALL:
            for other in [k for k in self.shown if not marker.ns or k[0] == marker.ns]:
                del self.shown[other]
        elif marker.action == Marker.DELETE:
            self.shown.pop(key, None)
        else:
            _check(marker)
            self.shown[key] = marker
            lifetime = marker.lifetime.sec + 1e-9 * marker.lifetime.nanosec
            self._expires[key] = self.now + lifetime if lifetime else math.inf

    def wait(self, seconds: float) -> None:
        """Let time pass; markers whose lifetime is over vanish."""
        self.now += seconds
        for key in [k for k in self.shown if self._expires[k] < self.now]:
            del self.shown[key]

    @property
    def namespaces(self) -> set[str]:
        """Those that RViz would list."""
        return {namespace for namespace, _ in self.shown}
