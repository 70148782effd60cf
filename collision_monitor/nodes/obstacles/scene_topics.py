# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Obstacles on topics: ``~/scene``, ``~/attach`` for attached objects, ``~/planning_scene``.

The last one is that of MoveIt, if moveit_msgs is installed.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from rclpy.node import Node
from visualization_msgs.msg import Marker, MarkerArray

from collision_monitor.errors import CollisionMonitorError, LiveSceneError
from collision_monitor.model.live.desired_scene import DesiredScene, ObjectRequest
from collision_monitor.model.live.live_objects import Bounds
from collision_monitor.model.live.live_scene import CLOUD, LiveScene
from collision_monitor.model.live.object_geometry import ObjectGeometry
from collision_monitor.monitoring.faults import FaultRegister, Level
from collision_monitor.monitoring.monitor import Monitor
from collision_monitor.nodes.common.messages import seconds_of
from collision_monitor.nodes.common.steady_timer import steady_timer
from collision_monitor.nodes.obstacles.mesh_worker import MeshWorker
from collision_monitor.nodes.obstacles.message_shapes import (
    Frames,
    ManyTriangles,
    MeshFile,
    geometry_of,
    listen_to_tf,
    marker_name,
    marker_shape,
    object_shape,
    plain_name,
    pose_of,
    process_object,
)
from collision_monitor.nodes.obstacles.pending_markers import PendingMarkers
from collision_monitor.nodes.obstacles.reliable_subscription import (
    WORK_SECONDS,
    ReliableSubscription,
)
from collision_monitor.nodes.parameters.parameter import package_dirs_of
from collision_monitor.nodes.recorder import Recorder
from collision_monitor.robot.description import Shape

# -- planning scene of MoveIt --

PREFIX = "planning_scene/"  # prefix of the names of its objects

ADD, REMOVE, APPEND, MOVE = range(4)  # of moveit_msgs/CollisionObject
_OPERATIONS = ("ADD", "REMOVE", "APPEND", "MOVE")


def message_type() -> Any:
    """moveit_msgs/PlanningScene; None if it is not installed."""
    try:
        from moveit_msgs.msg import PlanningScene
    except ImportError:
        return None
    return PlanningScene


def _operation(message: Any) -> int:
    value = message.operation
    return value[0] if isinstance(value, (bytes, bytearray)) else int(value)


class PlanningSceneTopic:
    """Applies planning scenes, complete ones and differences.

    Objects are named ``planning_scene/<id>``. Its allowed collision matrix is not used: only the
    SRDF and touch links exclude pairs.
    """

    def __init__(self, scene: Any, most: int) -> None:
        """``scene``: a `SceneTopics`; ``most``: maximum number of leaves of a shape."""
        self._scene, self._most = scene, most

    def process(self, message: Any) -> None:
        """Apply a moveit_msgs/PlanningScene."""
        keeper = self._scene.keeper
        attached = message.robot_state.attached_collision_objects
        if not message.is_diff:
            named = {self._name(each) for each in message.world.collision_objects}
            named |= {self._name(each.object) for each in attached}
            keeper.drop_all(lambda name: name.startswith(PREFIX) and name not in named)
        for each in message.world.collision_objects:
            process_object(keeper.refuse, self._name(each), self._on_object, each)
        for each in attached:
            name = self._name(each.object)
            process_object(keeper.refuse_attaching, name, self._on_attached, each)
        name = f"{PREFIX}octomap"
        if len(message.world.octomap.octomap.data):
            keeper.refuse(name, "octomaps are not supported; publish their points on ~/cloud")
        elif not message.is_diff:
            keeper.clear_refusal(name)

    @staticmethod
    def _name(message: Any) -> str:
        return PREFIX + plain_name(message.id)

    def _on_object(self, message: Any, touch: Sequence[str] = ()) -> None:
        name, keeper = self._name(message), self._scene.keeper
        operation = _operation(message)
        if operation == REMOVE:
            self._scene.drop(name)
            return
        if operation not in (ADD, APPEND, MOVE):
            raise LiveSceneError(
                f"its operation {operation} is not one of {', '.join(_OPERATIONS)}"
            )
        known = keeper.requests.get(name)
        shape = object_shape(message, self._most)
        is_move = operation == MOVE or shape is None
        if is_move and (known is None or known.shape is None):
            raise LiveSceneError("it cannot be moved: there is no such object")
        if not message.header.frame_id:
            raise LiveSceneError("header.frame_id is empty")
        request = ObjectRequest(
            name, None, message.header.frame_id, pose_of(message.pose), frozenset(touch)
        )
        unmade = self._scene.unmade(name)
        if is_move and unmade is None:
            keeper.request(replace(request, shape=known.shape))
            return
        if is_move:
            shape = unmade
        elif operation == APPEND and known is not None and known.shape is not None:
            before = known.shape if unmade is None else unmade
            parts = [
                part
                for each in (before, shape)
                for part in (each.parts if isinstance(each, ManyTriangles) else [each])
            ]
            shape = geometry_of(parts, self._most)
        self._scene.request(request, shape)

    def _on_attached(self, message: Any) -> None:
        name, keeper = self._name(message.object), self._scene.keeper
        if _operation(message.object) == REMOVE:
            if keeper.is_carried(name):
                keeper.detach(name, self._scene.q)
            return
        touch = [*message.touch_links]
        if message.object.primitives or message.object.meshes or message.object.planes:
            self._on_object(message.object, touch)
        keeper.attach(name, message.link_name, self._scene.q, touch)


# -- topics --

_REST_SECONDS = 1e-3  # between two callbacks for pending markers: joint states that wait come first
_LOG_SECONDS = 1.0  # between two log lines about refused objects
_LATE_SECONDS = 0.5  # maximum age of unprocessed messages: obstacles may have moved


# Messages that wait may take this much memory, bytes: minutes of more than can be processed.
_MOST_BYTES = 64 << 20


class _Message(NamedTuple):
    topic: str
    received: float
    size: int
    decode: Callable[[], None]  # and process it


def bounds_of(values: Mapping[str, Any]) -> Bounds:
    """Capacity of the live scene, from the parameters."""
    return Bounds(
        objects=values["scene_max_objects"],
        leaves_per_object=values["scene_leaves_per_object"],
        voxels=values["cloud_max_voxels"],
        triangles=values["scene_max_triangles"],
    )


def all_of(namespace: str) -> Callable[[str], bool]:
    """A test whether DELETEALL removes a name: those of a namespace, or all if it is empty.

    Objects of a planning scene are kept: its publisher would not learn that they are gone.
    """
    if not namespace:
        return lambda name: not name.startswith(PREFIX)
    first = plain_name(f"{namespace}/")
    # Another namespace may begin with the same words: "cell" and "cell/left".
    return lambda name: name.startswith(first) and "/" not in name[len(first) :]


class SceneTopics:
    """Updates the live scene of the monitored robot from messages.

    Why the scene is not fully monitored is the fault "objects".

    Attributes:
        keeper: the requested objects, and those of them that are not monitored.
    """

    def __init__(
        self,
        node: Node,
        values: Mapping[str, Any],
        changed: Callable[[], None],
        keeper: DesiredScene | None = None,
        recorder: Recorder | None = None,
        work: Callable[[Callable[..., None]], Callable[..., None]] = lambda callback: callback,
        faults: FaultRegister | None = None,
    ) -> None:
        """Subscribe.

        Args:
            node: the node.
            values: its parameters.
            changed: called when the state may have changed.
            keeper: objects requested earlier.
            recorder: records the messages.
            work: wraps a callback so that its duration is measured.
            faults: the register of the node.
        """
        self._node, self._values, self._changed = node, values, changed
        self._faults = FaultRegister() if faults is None else faults
        self._frames = Frames(listen_to_tf(node))
        self.keeper = DesiredScene() if keeper is None else keeper
        self.keeper.find = self.find
        self._monitor: Monitor | None = None
        self._most = values["scene_leaves_per_object"]
        self._jobs = MeshWorker(package_dirs_of(values), self._most, values["hierarchy"])
        self._received = time.monotonic()
        self._logged = -math.inf
        self._lost: dict[str, int] = {}  # messages, by topic
        self._lost_before: dict[str, int] = {}  # a DELETEALL that is not applied yet
        self._pending = PendingMarkers()
        self._messages: deque[_Message] = deque()  # which are not decoded yet
        self._process_soon = work(self.process_pending)
        self._rest_until = -math.inf
        self._timer = steady_timer(node, _REST_SECONDS, self._process_soon)
        self._timer.cancel()
        self._is_recorded = recorder is not None
        self._planning = PlanningSceneTopic(self, self._most)
        topics = [("scene", MarkerArray, self._on_scene), ("attach", MarkerArray, self._on_attach)]
        if (kind := message_type()) is not None:
            topics.append(("planning_scene", kind, self._on_planning_scene))

        def subscribe(
            topic: str, kind: type, callback: Callable[[Any], None]
        ) -> ReliableSubscription:
            keep = None if recorder is None else recorder.recorded_subscription(f"~/{topic}", kind)
            lost = partial(self._on_lost, topic)
            later = partial(self._receive, topic)
            return ReliableSubscription(node, kind, f"~/{topic}", callback, lost, keep, later)

        # An obstacle whose message is lost would not be monitored.
        self._subscriptions = {topic[0]: subscribe(*topic) for topic in topics}
        if recorder is not None:
            recorder.follow(self.keeper)
        self.keeper.changed = self._raise_fault
        self._raise_fault()

    def destroy(self) -> None:
        """Unsubscribe and stop; `keeper` still holds the requested objects."""
        for subscription in self._subscriptions.values():
            subscription.destroy()
        self.process_pending(math.inf)
        self._node.destroy_timer(self._timer)
        for name in self._jobs.names:
            self.keeper.refuse(name, "the node was cleaned up while its mesh was being loaded")
        self.keeper.use_scene(None)
        self._jobs.close()
        self._frames.close()
        self._faults.clear("objects")

    def use_robot(self, monitor: Monitor) -> None:
        """Update the scene of this monitor from now on."""
        self._monitor = monitor
        self.keeper.use_scene(monitor.live)

    def process_waiting(self) -> None:
        """Process some of the waiting messages, so that joint states are checked against them."""
        for subscription in self._subscriptions.values():
            subscription.process_waiting()
        if self.has_pending:
            self.process_pending()
        else:
            self._raise_fault()

    def watch(self, simulated: float | None = None) -> None:
        """Process results of threads, waiting messages and lifetimes; a few times a second.

        ``simulated``: simulated time; lifetimes pass no faster than that.
        """
        self._jobs.done(self._on_geometry)
        for subscription in self._subscriptions.values():
            subscription.check_publishers()
        self.process_waiting()
        # A lifetime ends only if no message that waits may extend it.
        if not self._late(time.monotonic())[0]:
            self.keeper.clock.advance(simulated)
            self.keeper.expire(self.keeper.clock.now)
        self._jobs.keep_results(self.keeper.requests.keys())
        self.keeper.retry(self.q)
        self._raise_fault()

    def _raise_fault(self) -> None:
        """Raise or clear the fault: at each change, and in each `watch` for what time changes."""
        text = self.fault(time.monotonic())
        self._faults.put("objects", Level.ERROR, "scene", text)

    def fault(self, now: float) -> str:
        """Why the scene is not fully monitored, one sentence; empty if it is."""
        timeout = self._values["scene_timeout"]
        if 0.0 < timeout < now - self._received:
            silence = now - self._received
            return f"no message on ~/scene for {silence:.1f} s; {timeout:g} s are allowed"
        if lost := self._lost_before | self._lost:
            counts = " and ".join(f"{count} on ~/{topic}" for topic, count in lost.items())
            return (
                f"messages were lost, {counts}: the scene is unknown until a DELETEALL of "
                "everything"
            )
        late, topic = self._late(now)
        if late > _LATE_SECONDS:
            return (
                f"messages on ~/{topic} have waited for {late:.1f} s: more arrive than can be "
                f"processed; {_LATE_SECONDS:g} s are allowed"
            )
        if self._pending.is_partial:
            return f"{len(self._pending)} objects on ~/scene are being replaced"
        return self.keeper.fault(self.keeper.clock.now)

    def _late(self, now: float) -> tuple[float, str]:
        """How long the oldest message has waited, seconds, and its topic."""
        late = [(s.late, topic) for topic, s in self._subscriptions.items()]
        if self._messages:
            late.append((now - self._messages[0].received, self._messages[0].topic))
        return max((self._pending.waited(now), "scene"), *late)

    def values(self) -> dict[str, str]:
        """Key-values of the state."""
        live = self.keeper.live
        if live is None or not (live.objects or self.keeper.refused):
            return {}
        values = {"scene_objects": str(len(live.objects))}
        if carried := self.keeper.carried():
            values["scene_carried"] = " ".join(sorted(carried))
        if by_leaves := live.measured_by_leaves:
            values["scene_by_leaves"] = " ".join(sorted(by_leaves))
        if fault := self.keeper.fault(self.keeper.clock.now):
            values["scene_refused"] = fault.removeprefix("scene refused: ")
        return values

    # -- markers --

    def _on_scene(self, message: MarkerArray) -> None:
        self._received = time.monotonic()
        now, pending = self._received, self._pending
        for marker in message.markers:
            name = marker_name(marker)
            if marker.action == Marker.DELETEALL:
                if not marker.ns:
                    self._lost_before |= self._lost
                    self._lost.clear()
                known = {*self.keeper.requests, *self.keeper.refused, *pending.names()} - {CLOUD}
                pending.delete(filter(all_of(marker.ns), known), now)
            elif marker.action == Marker.DELETE:
                pending.delete([name], now)
            else:
                pending.change(name, marker, now)

    def _on_attach(self, message: MarkerArray) -> None:
        for marker in message.markers:
            self._process(self._on_attached, marker, self.keeper.refuse_attaching)

    def _on_planning_scene(self, message: Any) -> None:
        self._received = time.monotonic()
        with self._publishing_changes():
            self._planning.process(message)

    def _receive(self, topic: str, size: int, decode: Callable[[], None]) -> None:
        """Process a message after all before it: now, unless joint states may have to wait."""
        if self._messages and sum(each.size for each in self._messages) + size > _MOST_BYTES:
            self._on_lost(topic, 1)
            return
        now = time.monotonic()
        self._messages.append(_Message(topic, now, size, decode))
        if now >= self._rest_until:
            self._process_soon()
        else:
            self._continue_later()

    def _continue_later(self) -> None:
        if self._timer.is_canceled():
            self._timer.reset()

    @property
    def has_pending(self) -> bool:
        """Whether messages were received that are not applied yet."""
        return bool(self._messages or self._pending)

    def process_pending(self, seconds: float = WORK_SECONDS) -> None:
        """Process messages that were received, for this CPU time; continue soon if more remain."""
        begin, end = time.monotonic(), time.thread_time() + seconds
        with self._publishing_changes():
            while self.has_pending:
                # Markers of several messages are merged; other messages wait for those before.
                if self._messages and (not self._pending or self._messages[0].topic == "scene"):
                    self._messages.popleft().decode()
                else:
                    self._pending.apply_one(self._has_room, self._apply, self.drop)
                if not time.thread_time() < end:
                    break
            if not self._pending:
                self._lost_before.clear()
            self.keeper.retry(self.q)  # attachments that were requested before their object
        # Messages that an executor has queued one after the other would be one long callback.
        self._rest_until = 2.0 * time.monotonic() - begin
        if self.has_pending:
            self._continue_later()
        else:
            self._timer.cancel()

    def _has_room(self, name: str) -> bool:
        live = self.keeper.live
        return live is None or live.has_free_slot or name in live.objects

    def _apply(self, marker: Marker) -> None:
        self._process(self._on_marker, marker, self.keeper.refuse)

    def _on_lost(self, topic: str, count: int) -> None:
        """Report lost messages as a fault until the scene is cleared."""
        with self._publishing_changes():
            self._lost[topic] = self._lost.get(topic, 0) + count

    def _process(
        self,
        process: Callable[[Marker], None],
        marker: Marker,
        refuse: Callable[[str, str, float], None],
    ) -> None:
        process_object(refuse, marker_name(marker), process, marker, self._expiry(marker))

    @contextmanager
    def _publishing_changes(self) -> Iterator[None]:
        """Publish and log at once if the work changes the fault."""
        before = self.fault(time.monotonic())
        yield
        now = time.monotonic()
        fault = self.fault(now)
        self._faults.put("objects", Level.ERROR, "scene", fault)
        if fault != before:
            self._changed()
            if fault and now - self._logged >= _LOG_SECONDS:
                self._logged = now
                self._node.get_logger().error(fault)

    def _expiry(self, marker: Marker) -> float:
        seconds = seconds_of(marker.lifetime)
        return self.keeper.clock.expiry(seconds) if seconds > 0.0 else math.inf

    def find(self, frame: str) -> tuple[str, np.ndarray]:
        """As `Frames.find`, for the monitored robot."""
        return self._frames.find(frame, self.keeper.live.model)

    def _on_marker(self, marker: Marker) -> None:
        if marker.action == Marker.ADD:
            self._request(marker, marker_shape(marker, self._most), ())
        else:
            raise LiveSceneError(f"its action {marker.action} is not one of ADD, DELETE, DELETEALL")

    def drop(self, name: str) -> None:
        """Remove an object."""
        self._jobs.cancel(name)
        self.keeper.drop(name)

    def _request(
        self,
        marker: Marker,
        shape: Shape | ObjectGeometry | MeshFile | ManyTriangles,
        touch: Any,
    ) -> None:
        if not marker.header.frame_id:
            raise LiveSceneError("header.frame_id is empty")
        source = marker if self._is_recorded else None
        request = ObjectRequest(
            marker_name(marker), None, marker.header.frame_id, pose_of(marker.pose),
            frozenset(touch), self._expiry(marker), source,
        )  # fmt: skip
        self.request(request, shape)

    def request(
        self, request: ObjectRequest, shape: Shape | ObjectGeometry | MeshFile | ManyTriangles
    ) -> None:
        """Add an object, now or when its mesh is processed."""
        name, jobs = request.name, self._jobs
        is_made_later = isinstance(shape, (MeshFile, ManyTriangles))
        if is_made_later and (known := jobs.known(name, shape)) is not None:
            if isinstance(shape, MeshFile):
                jobs.cancel(name)  # of another mesh
            self.keeper.request(replace(request, shape=known))
        elif isinstance(shape, ManyTriangles):
            is_there = self.keeper.request(replace(request, shape=shape.coarse))
            if not is_there:
                jobs.cancel(name)
            elif not jobs.is_making(name, shape):
                jobs.start(name, shape)
        elif isinstance(shape, MeshFile):
            self.keeper.request(request)
            jobs.start(name, shape)
        else:
            jobs.cancel(name)
            self.keeper.request(replace(request, shape=shape))

    def unmade(self, name: str) -> ManyTriangles | None:
        """Triangles of an object whose geometry is being made, or could not be made."""
        return self._jobs.unmade(name)

    def _on_geometry(self, name: str, made: ObjectGeometry | CollisionMonitorError) -> None:
        request = self.keeper.requests.get(name)
        if request is None:
            return
        with self._publishing_changes():
            if isinstance(made, CollisionMonitorError):
                self.keeper.refuse(name, str(made), request.expires)
            else:
                self.keeper.fill(name, made)

    # -- attached objects --

    def _on_attached(self, marker: Marker) -> None:
        name = marker_name(marker)
        if marker.action == Marker.DELETEALL:
            self.keeper.detach_all(self.q)
        elif marker.action == Marker.DELETE:
            if self.keeper.is_carried(name):
                self.keeper.detach(name, self.q)
        elif marker.action == Marker.ADD:
            touch = marker.text.split()
            size = (marker.scale.x, marker.scale.y, marker.scale.z)
            if size == (0.0, 0.0, 0.0) and not marker.points:
                self.keeper.attach(name, self._link(marker), self.q, touch)
            else:
                self._link(marker)
                self._request(marker, marker_shape(marker, self._most), touch)
        else:
            raise LiveSceneError(f"its action {marker.action} is not one of ADD, DELETE, DELETEALL")

    def _link(self, marker: Marker) -> str:
        """Frame of a marker, which must be a link of the robot."""
        link = marker.header.frame_id.removeprefix("/")
        live = self.keeper.live
        if live is not None and link not in live.model.robot.links:
            raise LiveSceneError(f"{link!r} is not a link of '{live.model.name}'")
        return link

    @property
    def q(self) -> np.ndarray | None:
        """Current configuration; None while it is unknown."""
        monitor = self._monitor
        if monitor is None or monitor.buffer.missing():
            return None
        timeout = monitor.joint_state_timeout
        # The last received position is not the current one.
        if 0.0 < timeout < monitor.buffer.age(time.monotonic()):
            return None
        return monitor.buffer.q

    def q_at(self, stamp: float) -> np.ndarray | None:
        """Configuration at ``stamp``, seconds; None if that is no longer known.

        If joint states have no stamps, it is the current one.
        """
        if self._monitor is None or self._monitor.history.is_empty:
            return self.q
        return self._monitor.history.at(stamp)

    @property
    def live(self) -> LiveScene | None:
        """The scene of the monitored robot."""
        return self.keeper.live
