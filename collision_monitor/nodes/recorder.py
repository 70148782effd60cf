# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Recordings of the messages of a collision_monitor node around each stop."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import LivelinessPolicy
from rclpy.serialization import serialize_message
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from visualization_msgs.msg import Marker, MarkerArray

from collision_monitor.common.safe_files import ReceivedText
from collision_monitor.common.settings import values_of
from collision_monitor.errors import RecordingError
from collision_monitor.model.live.desired_scene import DesiredScene, ObjectRequest
from collision_monitor.model.scene_file import as_scene, objects_now
from collision_monitor.motion.trajectory import NANO
from collision_monitor.nodes.common.messages import LATCHED, duration_message, type_name
from collision_monitor.recording.stop_recorder import Channel, RecordingSettings, StopRecorder
from collision_monitor.robot.packages import FileFinder

# -- message definitions with those of their fields, as in mcap files (ros2msg) --

_SEPARATOR = "\n" + "=" * 80 + "\nMSG: {}\n"
# A field: type, with bounds of strings and arrays, and name; constants have plain types.
_FIELD = re.compile(r"^\s*([A-Za-z]\w*(?:/[A-Za-z]\w*)?)(?:<=\d+)?(?:\[[^\]]*\])?\s+[A-Za-z]\w*")
_PLAIN = {
    "bool", "byte", "char", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32",
    "uint32", "int64", "uint64", "string", "wstring",
}  # fmt: skip


def message_definition(kind: str) -> str:
    """Definition of a type such as ``sensor_msgs/msg/JointState``, from the .msg files.

    Raises:
        RecordingError: a file is missing or cannot be read.
    """
    package, _, name = kind.partition("/msg/")
    own = _text(package, name)
    parts, seen = [own], {(package, name)}
    waiting = _parts_of(own, package)
    while waiting:
        part = waiting.pop(0)
        if part in seen:
            continue
        seen.add(part)
        text = _text(*part)
        parts.append(_SEPARATOR.format("/".join(part)) + text)
        waiting += _parts_of(text, part[0])
    return "".join(parts)


def _parts_of(text: str, package: str) -> list[tuple[str, str]]:
    """(package, name) of the message types of the fields of a definition."""
    parts = []
    for line in text.splitlines():
        field = _FIELD.match(line.partition("#")[0])
        if field and field[1] not in _PLAIN:
            there, _, name = field[1].rpartition("/")
            parts.append((there or package, name))
    return parts


def _text(package: str, name: str) -> str:
    uri = f"package://{package}/msg/{name}.msg"
    path = FileFinder().find(uri, "record: the definition of a message", RecordingError)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise RecordingError(f"record: {path}: cannot be read: {error}") from None


# -- the scene at the start of a file --

_MARKERS = 20  # maximum number in a message: serializing more at a time would delay joint states
_REQUEST_BYTES, _POINT_BYTES = 4000, 150  # approximate memory of a new request, and of a point


class SceneMessages:
    """A `stop_recorder.SceneSource` of the requested objects.

    It stores requests, which are immutable: storing them again costs almost nothing.
    """

    def __init__(self, keeper: DesiredScene, scene: int, attach: int) -> None:
        """``scene`` and ``attach``: numbers of the channels of these topics."""
        self._keeper, self._scene, self._attach = keeper, scene, attach
        self._last: frozenset[int] = frozenset()

    def held(self) -> tuple[Callable[[], list[tuple[int, bytes]]], int]:
        """`messages` of all requested objects, and the approximate number of new bytes."""
        requests = tuple(self._keeper.requests.values())
        last, self._last = self._last, frozenset(map(id, requests))
        new = [request for request in requests if id(request) not in last]
        points = sum(len(request.source.points) for request in new if request.source is not None)
        size = 8 * len(requests) + _REQUEST_BYTES * len(new) + _POINT_BYTES * points
        return partial(self.messages, self._keeper.clock.now, requests), size

    def messages(self, now: float, requests: Iterable[ObjectRequest]) -> list[tuple[int, bytes]]:
        """Messages that add objects except those of planning scenes, a few at a time.

        ``now``: time of lifetimes, seconds.
        """
        markers: dict[int, list[Marker]] = {self._scene: [], self._attach: []}
        for request in requests:
            if request.source is not None and request.expires > now:
                channel = self._attach if request.touch else self._scene
                markers[channel].append(marker_again(request, request.expires - now))
        return [
            (channel, serialize_message(MarkerArray(markers=some[k : k + _MARKERS])))
            for channel, some in markers.items()
            for k in range(0, len(some), _MARKERS)
        ]

    def at_stop(self) -> Callable[[], dict[str, Any]]:
        """What gives the objects that are monitored now, as content of a scene file."""
        objects = () if self._keeper.live is None else objects_now(self._keeper.live)
        return partial(as_scene, objects)


def marker_again(request: ObjectRequest, seconds: float) -> Marker:
    """The marker of an object at its current pose; it expires in ``seconds``, or never."""
    source = request.source
    marker = Marker(
        ns=source.ns, id=source.id, type=source.type, action=Marker.ADD, scale=source.scale,
        color=source.color, points=source.points, mesh_resource=source.mesh_resource,
        text=" ".join(sorted(request.touch)),
    )  # fmt: skip
    marker.header.frame_id = request.link
    if math.isfinite(seconds):
        marker.lifetime = duration_message(max(seconds, 1e-9))  # 0 would mean forever
    p, o = marker.pose.position, marker.pose.orientation
    p.x, p.y, p.z = request.pose[:3, 3].tolist()
    o.x, o.y, o.z, o.w = Rotation.from_matrix(request.pose[:3, :3]).as_quat().tolist()
    return marker


# -- recorded topics --

_FOREVER = dict(
    zip(("sec", "nsec"), divmod(int(np.iinfo(np.int64).max), NANO), strict=True)
)  # fmt: skip
# With numbers of rmw, which every version of rosbag2 reads.
_LATCHED = json.dumps(
    [
        {
            "history": LATCHED.history, "depth": LATCHED.depth,
            "reliability": LATCHED.reliability, "durability": LATCHED.durability,
            "deadline": _FOREVER, "lifespan": _FOREVER, "liveliness": LivelinessPolicy.AUTOMATIC,
            "liveliness_lease_duration": _FOREVER, "avoid_ros_namespace_conventions": False,
        }
    ]
)  # fmt: skip


class RecordedPublisher:
    """A publisher with recording, which counts as a subscriber."""

    def __init__(self, publisher: Publisher, recorder: StopRecorder, number: int) -> None:
        """``number``: that of the channel."""
        self._publisher, self._recorder, self._number = publisher, recorder, number

    def publish(self, message: Any) -> None:
        """Publish and record a message."""
        data = message if isinstance(message, bytes) else serialize_message(message)
        self._publisher.publish(data)
        self._recorder.add(self._number, data)

    def get_subscription_count(self) -> int:
        """Number of subscribers, including the recording."""
        return 1 + self._publisher.get_subscription_count()


class Recorder:
    """The recording of a node."""

    def __init__(self, node: Node, values: Mapping[str, Any]) -> None:
        """Start recording; ``values``: the parameters.

        Raises:
            RecordingError: the file cannot be written, or values are invalid.
            MissingDependencyError: mcap is not installed.
        """
        self._node = node
        settings = RecordingSettings(**values_of(RecordingSettings, values))
        self._recorder = StopRecorder(values["record"], settings)
        self._channels: dict[str, int] = {}  # by topic
        self._is_stopped = self._has_result = False

    def _channel(self, topic: str, kind: type, latched: bool = False, qos: str = _LATCHED) -> int:
        """Number of the channel of a topic, which is made at its first use."""
        if topic not in self._channels:
            name = type_name(kind)
            self._channels[topic] = self._recorder.channel(
                Channel(
                    self._node.resolve_topic_name(topic), name, message_definition(name), latched,
                    qos if latched else "",
                )
            )  # fmt: skip
        return self._channels[topic]

    def recorded(
        self, publisher: Publisher, topic: str, kind: type, latched: bool = False
    ) -> RecordedPublisher:
        """The publisher with recording."""
        number = self._channel(topic, kind, latched)
        return RecordedPublisher(publisher, self._recorder, number)

    def recorded_subscription(
        self, topic: str, kind: type, are_large: bool = False
    ) -> Callable[[bytes], None]:
        """Return a function that records serialized messages received on a topic.

        If they ``are_large``, some may be left out; a file contains the last one before its start.
        """
        add = self._recorder.add_if_affordable if are_large else self._recorder.add
        return partial(add, self._channel(topic, kind, are_large, ""))

    def follow(self, keeper: DesiredScene) -> None:
        """Start every file with the scene at that time.

        Call `recorded_subscription` for its topics first.
        """
        topics = self._channels["~/scene"], self._channels["~/attach"]
        self._recorder.follow(SceneMessages(keeper, *topics))

    def joint_state(self, data: bytes, topic: str = "joint_states") -> None:
        """Record a serialized joint state."""
        self._recorder.add(self._channel(topic, JointState), data)

    def description(self, source: str | ReceivedText, topic: str = "robot_description") -> None:
        """Record a description: text, or the path of a file."""
        text = source.text if isinstance(source, ReceivedText) else source
        if text is source and not source.lstrip("\ufeff \t\r\n").startswith("<"):
            try:
                text = Path(source).read_text(encoding="utf-8")
            except (OSError, ValueError):
                return  # loading it reports the error
        try:
            data = serialize_message(String(data=text))
        except Exception:  # not Unicode: loading it also fails
            return
        self._recorder.add(self._channel(topic, String, latched=True), data)

    def state(self, is_stop: bool, message: str) -> None:
        """Process a published state; it may be the start of a stop."""
        if is_stop and not self._is_stopped:
            self._recorder.stopped(message)
        self._is_stopped = is_stop

    def update(self) -> None:
        """Write files that are due; call it from a timer."""
        self._log_result(self._recorder.update())

    @property
    def text(self) -> str:
        """Status, for the state message."""
        return self._recorder.text

    def close(self) -> None:
        """Write pending files, within some seconds; log if there never was one."""
        self._log_result(self._recorder.close())
        if not self._has_result:
            self._node.get_logger().info("record: nothing was written, since there was no stop")

    def _log_result(self, result: tuple[str, str] | None) -> None:
        if result is None:
            return
        self._has_result = True
        path, error = result
        if error:
            self._node.get_logger().error(f"record: nothing was written: {error}")
        else:
            self._node.get_logger().info(f"record: {path} has the last stop")
