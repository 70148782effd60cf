# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What a live scene held when a recording begins, as messages that make it so again."""

from __future__ import annotations

import math
from typing import Any

from rclpy.serialization import serialize_message
from scipy.spatial.transform import Rotation
from visualization_msgs.msg import Marker, MarkerArray

from collision_monitor.model.live.desired_scene import SceneKeeper, Wish
from collision_monitor.model.live.scene_file import ObjectNow, as_scene, objects_now

_MARKERS = 20  # in a message: to serialize more at a time would hold up joint states
_WISH_BYTES, _POINT_BYTES = 4000, 150  # of one that nobody else holds, about


class SceneMessages:
    """A `stop_recorder.SceneSource` of what was asked for.

    What it holds are wishes, which never change: as long as none is new, to remember them costs
    next to nothing.
    """

    def __init__(self, keeper: SceneKeeper, scene: int, attach: int) -> None:
        """``scene`` and ``attach``: numbers of the channels of these topics."""
        self._keeper, self._scene, self._attach = keeper, scene, attach
        self._last: frozenset[int] = frozenset()

    def held(self) -> tuple[tuple[Wish, ...], int]:
        """All that is wanted now, and about how many bytes are new."""
        wishes = tuple(self._keeper.wishes.values())
        last, self._last = self._last, frozenset(map(id, wishes))
        new = [wish for wish in wishes if id(wish) not in last]
        points = sum(len(wish.source.points) for wish in new if wish.source is not None)
        return wishes, 8 * len(wishes) + _WISH_BYTES * len(new) + _POINT_BYTES * points

    def messages(self, held: tuple[Wish, ...], since: float) -> list[tuple[int, bytes]]:
        """ADDs of all objects that did not come from a planning scene, a few at a time."""
        markers: dict[int, list[Marker]] = {self._scene: [], self._attach: []}
        for wish in held:
            if wish.source is not None and wish.expires > since:
                channel = self._attach if wish.touch else self._scene
                markers[channel].append(marker_again(wish, wish.expires - since))
        return [
            (channel, serialize_message(MarkerArray(markers=some[k : k + _MARKERS])))
            for channel, some in markers.items()
            for k in range(0, len(some), _MARKERS)
        ]

    def at_stop(self) -> tuple[ObjectNow, ...]:
        """What is watched now."""
        return () if self._keeper.live is None else objects_now(self._keeper.live)

    def described(self, at_stop: tuple[ObjectNow, ...]) -> dict[str, Any]:
        """The same as a scene file has it."""
        return as_scene(at_stop)


def marker_again(wish: Wish, seconds: float) -> Marker:
    """The marker that an object came as, where it is now; it expires in ``seconds``, or never."""
    source = wish.source
    marker = Marker(
        ns=source.ns, id=source.id, type=source.type, action=Marker.ADD, scale=source.scale,
        color=source.color, points=source.points, mesh_resource=source.mesh_resource,
        text=" ".join(sorted(wish.touch)),
    )  # fmt: skip
    marker.header.frame_id = wish.link
    if math.isfinite(seconds):
        whole, rest = divmod(max(round(1e9 * seconds), 1), 10**9)
        marker.lifetime.sec, marker.lifetime.nanosec = whole, rest
    p, o = marker.pose.position, marker.pose.orientation
    p.x, p.y, p.z = wish.pose[:3, 3].tolist()
    o.x, o.y, o.z, o.w = Rotation.from_matrix(wish.pose[:3, :3]).as_quat().tolist()
    return marker
