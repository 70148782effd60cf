# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Obstacles on topics: ``~/scene``, ``~/attach`` for attached objects, ``~/planning_scene``."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from rclpy.node import Node
from visualization_msgs.msg import Marker, MarkerArray

from collision_monitor.common.compiled import LOG_SECONDS
from collision_monitor.errors import CollisionMonitorError, LiveSceneError
from collision_monitor.model.live.desired_scene import DesiredScene, ObjectRequest
from collision_monitor.model.live.live_scene import CLOUD
from collision_monitor.model.live.object_geometry import ObjectGeometry
from collision_monitor.monitoring.faults import FaultRegister, Level
from collision_monitor.nodes.common.messages import seconds_of
from collision_monitor.nodes.obstacles.message_shapes import (
    marker_name,
    marker_shape,
    plain_name,
    pose_of,
    process_object,
)
from collision_monitor.nodes.obstacles.planning_scene import (
    PREFIX,
    PlanningSceneTopic,
    message_type,
    service_and_request,
)
from collision_monitor.nodes.obstacles.scene_objects import SceneObjects
from collision_monitor.nodes.obstacles.waiting_messages import (
    WORK_SECONDS,
    ReliableSubscription,
    WaitingMessages,
)
from collision_monitor.nodes.obstacles.whole_scene import WholeScene
from collision_monitor.nodes.recorder import Recorder


def all_of(namespace: str) -> Callable[[str], bool]:
    """A test whether DELETEALL removes a name: those of a namespace, or all if it is empty.

    Objects of a planning scene are kept: its publisher would not learn that they are gone.
    """
    if not namespace:
        return lambda name: not name.startswith(PREFIX)
    first = plain_name(f"{namespace}/")
    # Another namespace may begin with the same words: "cell" and "cell/left".
    return lambda name: name.startswith(first) and "/" not in name[len(first) :]


def _check_action(marker: Marker) -> None:
    if marker.action != Marker.ADD:
        raise LiveSceneError(f"its action {marker.action} is not one of ADD, DELETE, DELETEALL")


class SceneTopics:
    """Updates the live scene of the monitored robot from messages.

    Why the scene is not fully monitored is the fault "objects". What was received and is not
    applied yet is the remark "scene_waiting".

    Attributes:
        objects: the requested objects.
        waiting: messages that are not applied yet.
    """

    def __init__(
        self, node: Node, values: Mapping[str, Any], changed: Callable[[], None],
        faults: FaultRegister, keeper: DesiredScene | None = None, recorder: Recorder | None = None,
        work: Callable[[Callable[..., None]], Callable[..., None]] = lambda callback: callback,
    ) -> None:  # fmt: skip
        """Subscribe.

        Args:
            node: the node.
            values: its parameters.
            changed: called when the state may have changed.
            faults: the register of the node.
            keeper: objects requested earlier.
            recorder: records the messages.
            work: wraps a callback so that its duration is measured.
        """
        self._node, self._values, self._changed, self._faults = node, values, changed, faults
        self.objects = SceneObjects(node, values, keeper)
        self._keeper = self.objects.keeper
        self._most = values["scene_leaves_per_object"]
        self._received = time.monotonic()  # on ~/scene
        self._logged = -math.inf
        self.waiting = WaitingMessages(self._ask_again)
        self._is_recorded = recorder is not None
        self._planning = PlanningSceneTopic(
            self.objects, self._most, self._faults, partial(self.waiting.clear, "planning_scene")
        )
        topics = {
            "scene": (MarkerArray, self._on_scene),
            "attach": (MarkerArray, self._on_attach),
            "planning_scene": (message_type(), self._planning.steps),
        }
        # An obstacle whose message is lost would not be monitored.
        self._subscriptions = {
            topic: ReliableSubscription(
                node, kind, f"~/{topic}", callback,
                partial(self._receive, topic), partial(self._on_lost, topic),
                recorder and recorder.recorded_subscription(f"~/{topic}", kind),
                work(self.process_waiting),
            )
            for topic, (kind, callback) in topics.items() if kind is not None
        }  # fmt: skip
        self._whole: WholeScene | None = None
        if (found := service_and_request()) is not None:
            self._whole = WholeScene(
                node, "~/planning_scene", *found, self._planning.expect_answer, self._on_answer,
                self._faults,
            )  # fmt: skip
        if recorder is not None:
            recorder.follow(self._keeper)
        self._keeper.changed = self._raise_fault
        self._raise_fault()

    def destroy(self) -> None:
        """Unsubscribe and stop; `SceneObjects.keeper` still holds the requested objects."""
        for subscription in self._subscriptions.values():
            subscription.destroy()
        if self._whole is not None:
            self._whole.close()
        if self.waiting:
            self.process_pending(math.inf)
        self.objects.close()
        self._faults.clear("objects", "planning_scene", "scene_waiting")

    def process_waiting(self) -> None:
        """Receive messages that wait in the middleware, and apply what was received as one change.

        Both for some CPU time.
        """
        with self._publishing_changes():
            for subscription in self._subscriptions.values():
                subscription.process_waiting()
            self._apply_received(WORK_SECONDS)

    def watch(self, simulated: float | None = None) -> None:
        """Process results of threads, waiting messages and lifetimes; a few times a second.

        ``simulated``: simulated time; lifetimes pass no faster than that.
        """
        self.objects.jobs.done(self._on_geometry)
        counts = {topic: each.check_publishers() for topic, each in self._subscriptions.items()}
        self._planning.watch(counts.get("planning_scene", 0))
        # An answer that waits comes first: it takes the changes that are kept for the newest one.
        if self._whole is not None and not self.waiting:
            self._whole.update(time.monotonic())
        self.process_waiting()
        # A lifetime ends only if no message that waits may extend it.
        if not self._late(time.monotonic())[0]:
            self._keeper.clock.advance(simulated)
            self._keeper.expire(self._keeper.clock.now)
        self._keeper.retry(self.objects.q)
        self._raise_fault()

    def _raise_fault(self) -> str:
        """Raise or clear the fault: at each change, and in each `watch` for what time changes."""
        text = self.fault(time.monotonic())
        self._faults.put("objects", Level.ERROR, "scene", text)
        self._faults.put("scene_waiting", Level.WARN, "scene", self.waiting.remark())
        return text

    def fault(self, now: float) -> str:
        """Why the scene is not fully monitored, one sentence; empty if it is."""
        timeout = self._values["scene_timeout"]
        if 0.0 < timeout < now - self._received:
            silence = now - self._received
            return f"no message on ~/scene for {silence:.1f} s; {timeout:g} s are allowed"
        late = self.waiting.fault(*self._late(now))
        return late or self._keeper.fault(self._keeper.clock.now)

    def _late(self, now: float) -> tuple[float, str]:
        """How long the oldest message has waited, seconds, and its topic."""
        late = [(s.late, topic) for topic, s in self._subscriptions.items()]
        return max(self.waiting.waited(now), *late)

    def values(self) -> dict[str, str]:
        """Key-values of the state."""
        live = self._keeper.live
        if live is None or not (live.objects or self._keeper.refused):
            return {}
        values = {"scene_objects": str(len(live.objects))}
        if carried := self._keeper.carried():
            values["scene_carried"] = " ".join(sorted(carried))
        if by_leaves := live.measured_by_leaves:
            values["scene_by_leaves"] = " ".join(sorted(by_leaves))
        if fault := self._keeper.fault(self._keeper.clock.now):
            values["scene_refused"] = fault.removeprefix("scene refused: ")
        return values

    # -- messages --

    def _receive(self, topic: str, size: int, decode: Callable[[], None]) -> None:
        if not self.waiting.receive(topic, size, decode):
            self._on_lost(topic, 1)

    def _on_lost(self, topic: str, count: int) -> None:
        """Report lost messages as a fault until the scene is started again."""
        with self._publishing_changes():
            self.waiting.lose(topic, count)

    def _ask_again(self, topic: str) -> None:
        if topic == "planning_scene" and self._whole is not None:
            self._whole.ask_again(time.monotonic())

    def process_pending(self, seconds: float = WORK_SECONDS) -> None:
        """Apply messages that were received, for this CPU time."""
        with self._publishing_changes():
            self._apply_received(seconds)

    def _apply_received(self, seconds: float) -> None:
        self.waiting.apply(seconds, self.objects.has_room, self._apply, self.objects.drop)
        # Attachments that were requested before their object.
        self._keeper.retry(self.objects.q)

    @contextmanager
    def _publishing_changes(self) -> Iterator[None]:
        """Publish and log at once if the work changes the fault, or leaves messages for later."""
        before = self.fault(time.monotonic()), "scene_waiting" not in self._faults.raised
        yield
        fault = self._raise_fault()
        if (fault, not self.waiting) != before:
            self._changed()
            if fault not in ("", before[0]) and time.monotonic() - self._logged >= LOG_SECONDS:
                self._logged = time.monotonic()
                self._node.get_logger().error(fault)

    def _on_geometry(self, name: str, made: ObjectGeometry | CollisionMonitorError) -> None:
        with self._publishing_changes():
            self.objects.finish(name, made)

    def _on_answer(self, response: Any) -> None:
        """Process the whole planning scene after the messages that wait."""
        steps = partial(self._planning.answer_steps, response.scene)
        self._receive("planning_scene", 0, steps)
        self.process_pending()

    # -- markers --

    def _on_scene(self, message: MarkerArray) -> None:
        self._received = time.monotonic()
        now, pending = self._received, self.waiting.markers
        for marker in message.markers:
            if marker.action == Marker.DELETEALL:
                if not marker.ns:
                    self.waiting.clear("scene", "attach")
                known = {*self._keeper.requests, *self._keeper.refused, *pending.names()} - {CLOUD}
                for name in filter(all_of(marker.ns), known):
                    pending.change(name, None, now)
            else:
                is_deleted = marker.action == Marker.DELETE
                pending.change(marker_name(marker), None if is_deleted else marker, now)

    def _on_attach(self, message: MarkerArray) -> None:
        for each in message.markers:
            refuse, expires = self._keeper.refuse_attaching, self._expiry(each)
            process_object(refuse, marker_name(each), self._on_attached, each, expires)

    def _apply(self, marker: Marker) -> None:
        refuse, expires = self._keeper.refuse, self._expiry(marker)
        process_object(refuse, marker_name(marker), self._request, marker, expires)

    def _on_attached(self, marker: Marker) -> None:
        name, q = marker_name(marker), self.objects.q
        if marker.action == Marker.DELETEALL:
            self._keeper.detach_all(q)
        elif marker.action == Marker.DELETE:
            if self._keeper.is_attached(name):
                self._keeper.detach(name, q)
        else:
            _check_action(marker)
            link, touch = marker.header.frame_id.removeprefix("/"), marker.text.split()
            self.objects.require_link(link)
            size = (marker.scale.x, marker.scale.y, marker.scale.z)
            if size == (0.0, 0.0, 0.0) and not marker.points:
                self._keeper.attach(name, link, q, touch)
            else:
                self._request(marker, touch, is_attached=True)

    def _request(
        self, marker: Marker, touch: Sequence[str] = (), is_attached: bool = False
    ) -> None:
        _check_action(marker)
        shape = marker_shape(marker, self._most)
        if not marker.header.frame_id:
            raise LiveSceneError("header.frame_id is empty")
        source = marker if self._is_recorded else None
        request = ObjectRequest(
            marker_name(marker), None, marker.header.frame_id, pose_of(marker.pose),
            frozenset(touch), self._expiry(marker), source, is_attached,
        )  # fmt: skip
        self.objects.request(request, shape)

    def _expiry(self, marker: Marker) -> float:
        seconds = seconds_of(marker.lifetime)
        return self._keeper.clock.expiry(seconds) if seconds > 0.0 else math.inf
