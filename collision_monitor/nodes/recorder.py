# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Recordings of the messages of a collision_monitor node around each stop."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from collision_monitor.model.live.desired_scene import SceneKeeper
from collision_monitor.nodes.obstacles.scene_messages import SceneMessages
from collision_monitor.nodes.parameters.parameter import Parameter
from collision_monitor.recording.message_definition import message_definition
from collision_monitor.recording.stop_recorder import Channel, StopRecorder

PARAMETERS = (
    Parameter(
        "record", "",
        "mcap file for the last minutes before every stop; further recordings are numbered; "
        "empty: no recording", read_only=True,
    ),
    Parameter(
        "record_seconds", 120.0, "recorded time before a stop, seconds", most=3600.0,
        read_only=True,
    ),
    Parameter(
        "record_after", 5.0,
        "recorded time after the start of a stop, seconds; then the file is written", most=600.0,
        read_only=True,
    ),
    Parameter(
        "record_megabytes", 256,
        "maximum memory, megabytes; if it is too small for record_seconds, the oldest messages "
        "are dropped",
        most=4096, read_only=True,
    ),
    Parameter(
        "record_files", 20,
        "maximum number of recordings per run; the oldest ones are removed", most=10000,
        read_only=True,
    ),
)  # fmt: skip

_FOREVER = {"sec": 9223372036, "nsec": 854775807}
# In the numbers of rmw, which every version of rosbag2 reads.
_LATCHED = json.dumps(
    [
        {
            "history": 1, "depth": 1, "reliability": 1, "durability": 1, "deadline": _FOREVER,
            "lifespan": _FOREVER, "liveliness": 1, "liveliness_lease_duration": _FOREVER,
            "avoid_ros_namespace_conventions": False,
        }
    ]
)  # fmt: skip


class RecordedPublisher:
    """A publisher whose messages are kept; the recording listens like any subscriber."""

    def __init__(self, publisher: Publisher, recorder: StopRecorder, number: int) -> None:
        """``number`` of the channel."""
        self.publisher, self._recorder, self._number = publisher, recorder, number

    def publish(self, message: Any) -> None:
        """Send it, and keep it."""
        data = message if isinstance(message, bytes) else serialize_message(message)
        self.publisher.publish(data)
        self._recorder.add(self._number, data)

    def get_subscription_count(self) -> int:
        """Who listens, the recording included."""
        return 1 + self.publisher.get_subscription_count()


class Recorder:
    """The recording of a node."""

    def __init__(self, node: Node, values: Mapping[str, Any]) -> None:
        """Begin; ``values`` of the parameters.

        Raises:
            RecordingError: it cannot be written, or values mean nothing.
            MissingDependencyError: mcap is not installed.
        """
        self._node = node
        self._recorder = StopRecorder(
            values["record"],
            seconds=values["record_seconds"],
            after=values["record_after"],
            megabytes=values["record_megabytes"],
            most_files=values["record_files"],
        )
        self._channels: dict[str, int] = {}  # of what is heard, by topic
        self._is_stopped = False

    def _channel(
        self, topic: str, kind: type, latched: bool = False, qos: str = _LATCHED
    ) -> int:
        name = f"{kind.__module__.split('.')[0]}/msg/{kind.__name__}"
        return self._recorder.channel(
            Channel(
                self._node.resolve_topic_name(topic), name, message_definition(name), latched,
                qos if latched else "",
            )
        )  # fmt: skip

    def recorded(
        self, publisher: Publisher, topic: str, kind: type, latched: bool = False
    ) -> RecordedPublisher:
        """The same publisher, recorded."""
        number = self._channel(topic, kind, latched)
        return RecordedPublisher(publisher, self._recorder, number)

    def hearing(
        self, topic: str, kind: type, are_large: bool = False
    ) -> Callable[[bytes], None]:
        """What keeps the serialized messages of a topic that the node listens to.

        Of those that ``are_large`` not all are kept; the last one before a file begins is in it.
        """
        number = self._channels[topic] = self._channel(topic, kind, are_large, "")
        add = self._recorder.add_if_affordable if are_large else self._recorder.add
        return partial(add, number)

    def follow(self, keeper: SceneKeeper) -> None:
        """Every file begins with what a scene held then; after `hearing` of its topics."""
        topics = self._channels["~/scene"], self._channels["~/attach"]
        self._recorder.follow(SceneMessages(keeper, *topics))

    def _heard(self, topic: str, kind: type, latched: bool = False) -> int:
        """The channel of a topic that the node listens to."""
        if topic not in self._channels:
            self._channels[topic] = self._channel(topic, kind, latched)
        return self._channels[topic]

    def joint_state(self, data: bytes, topic: str = "joint_states") -> None:
        """Keep a joint state as it came."""
        self._recorder.add(self._heard(topic, JointState), data)

    def description(self, source: str, topic: str = "robot_description") -> None:
        """Keep a description, text or the path of a file."""
        text = source
        if not source.lstrip("\ufeff \t\r\n").startswith("<"):
            try:
                text = Path(source).read_text(encoding="utf-8")
            except (OSError, ValueError):
                return  # whoever loads it says what is wrong with it
        try:
            data = serialize_message(String(data=text))
        except Exception:  # text that is no Unicode: it cannot be loaded either
            return
        self._recorder.add(self._heard(topic, String, latched=True), data)

    def state(self, is_stop: bool, message: str) -> None:
        """Take note of what is published."""
        if is_stop and not self._is_stopped:
            self._recorder.stopped(message)
        self._is_stopped = is_stop

    def update(self) -> None:
        """Write what is due; from a timer."""
        self._tell(self._recorder.update())

    @property
    def text(self) -> str:
        """What it is doing, for the state."""
        return self._recorder.text

    def close(self) -> None:
        """Write what is still to be written; waits for it for some seconds."""
        self._tell(self._recorder.close())

    def _tell(self, result: tuple[str, str] | None) -> None:
        if result is None:
            return
        path, error = result
        if error:
            self._node.get_logger().error(f"record: nothing was written: {error}")
        else:
            self._node.get_logger().info(f"record: {path} has the last stop")
