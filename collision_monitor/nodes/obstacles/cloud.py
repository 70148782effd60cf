# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A point cloud as obstacles: ``~/cloud``, converted to voxels in a thread."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import PointCloud2, PointField

from collision_monitor.errors import CollisionMonitorError, LiveSceneError, reason_of
from collision_monitor.model.live.live_scene import CLOUD, LiveScene
from collision_monitor.model.live.point_cloud import Voxels, voxels_of
from collision_monitor.monitoring.faults import FaultRegister, Level
from collision_monitor.monitoring.joint_history import CLOCK_SECONDS
from collision_monitor.nodes.common.messages import seconds_of
from collision_monitor.nodes.obstacles.scene_objects import SceneObjects
from collision_monitor.nodes.recorder import Recorder

# -- points of a sensor_msgs/PointCloud2 --


_KINDS = {PointField.FLOAT32: "f4", PointField.FLOAT64: "f8"}


def read_points(message: PointCloud2) -> np.ndarray:
    """Coordinates of all points, (n, 3) float64; including NaN and infinity.

    Raises:
        LiveSceneError: x, y or z is missing, there twice or no float, or the bytes are not those of
            height x width points.
    """
    order = ">" if message.is_bigendian else "<"
    formats, offsets = [], []
    for name in "xyz":
        fields = [field for field in message.fields if field.name == name]
        if len(fields) > 1:
            raise LiveSceneError(f"cloud: it has {len(fields)} fields {name!r}")
        if not fields or fields[0].datatype not in _KINDS:
            raise LiveSceneError(f"cloud: it has no field {name!r} of float32 or float64")
        field = fields[0]
        kind = np.dtype(order + _KINDS[field.datatype])
        if field.offset + kind.itemsize > message.point_step:
            raise LiveSceneError(f"cloud: its field {name!r} exceeds the point step")
        formats.append(kind)
        offsets.append(field.offset)
    width, height, step = message.width, message.height, message.point_step
    if message.row_step < width * step or len(message.data) < message.row_step * height:
        raise LiveSceneError(
            f"cloud: {len(message.data)} bytes in rows of {message.row_step} are not "
            f"{height} x {width} points of {step}"
        )
    if not width * height:
        if len(message.data):
            raise LiveSceneError(
                f"cloud: it has {len(message.data)} bytes of data, but {height} x {width} points"
            )
        return np.empty((0, 3))
    kind = np.dtype(
        {"names": list("xyz"), "formats": formats, "offsets": offsets, "itemsize": step}
    )
    points = np.ndarray(
        (height, width), kind, memoryview(message.data), 0, (message.row_step, step)
    )
    return np.stack([points[name].astype(np.float64) for name in "xyz"], axis=-1).reshape(-1, 3)


_FIRST_CLOUD = 5.0  # seconds that a publisher may take to its first cloud
# Of the seconds between two looks at the publishers, at most so many count as waiting: a node that
# was inactive, or loaded a robot, has received nothing.
_LISTENED = 0.5


class _Job(NamedTuple):
    message: PointCloud2
    measured: float  # time of the steady clock, by its stamp
    arguments: tuple  # of `voxels_of`, after the points


class Cloud:
    """Keeps the newest cloud in the live scene; reports if it is old or unusable.

    That several publishers replace each other's clouds, or one sends none, is the fault "clouds".

    Attributes:
        is_ready: whether `apply_result` may have a result to apply; read at every joint state.
    """

    def __init__(
        self, node: Node, values: Mapping[str, Any], objects: SceneObjects,
        changed: Callable[[], None], lag: Callable[[float], float], faults: FaultRegister,
        recorder: Recorder | None = None,
        work: Callable[[Callable[..., None]], Callable[..., None]] = lambda callback: callback,
    ) -> None:  # fmt: skip
        """Arguments as of `SceneTopics`. A cloud that is too old is the fault "cloud".

        ``objects``: those that are requested for the robot. ``lag`` returns the age of a message
        with this stamp by the clock of the node, as `ClockWatch.lag`, seconds.
        """
        self._values, self._objects, self._changed = values, objects, changed
        self._node, self._lag, self._faults = node, lag, faults
        self._measured = self._watched_at = time.monotonic()
        self._waited = 0.0  # seconds, for the first cloud of a publisher; -inf after it
        self._has_stamp = False  # the last cloud
        self._last: Voxels | None = None
        self._root = ""  # of the model that has the cloud
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="cloud")
        self._next_job: _Job | None = None
        self._running: tuple[_Job, Future[Voxels]] | None = None
        # Cloud received while the position of the robot was unknown, and when it was measured.
        self._waiting: tuple[PointCloud2, float] | None = None
        self.is_ready = False
        self._keep: Callable[[bytes], None] | None = None
        if recorder is not None:
            self._keep = recorder.recorded_subscription("~/cloud", PointCloud2, are_large=True)
        # Only the newest cloud is used. Most sensors publish with best effort.
        self._subscribe = lambda reliability: node.create_subscription(
            PointCloud2, "~/cloud", work(self._receive),
            QoSProfile(depth=1, reliability=reliability), raw=True,
        )  # fmt: skip
        self._reliability = ReliabilityPolicy.BEST_EFFORT
        self._subscription = self._subscribe(self._reliability)

    def destroy(self) -> None:
        """Unsubscribe, and end the thread after its current cloud."""
        self._node.destroy_subscription(self._subscription)
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._faults.clear("cloud", "clouds")

    def use_robot(self) -> None:
        """Report a change of the robot: the last cloud is kept until a new one is received."""
        running = None if self._running is None else self._running[0]
        if (job := self._next_job or running) is not None and self._waiting is None:
            self._waiting = job.message, job.measured
        self._next_job = self._running = None
        live, last = self._objects.live, self._last
        if last is None or live is None:
            return
        try:
            if live.model.root != self._root:
                raise LiveSceneError(f"{CLOUD}: it refers to the previous root link '{self._root}'")
            live.set_cloud(last.balls)
        except CollisionMonitorError as error:
            self._refuse(error)

    def watch(self) -> None:
        """Use what is ready, and raise or clear the fault; a few times a second."""
        self.apply_result()
        self.retry()
        self._raise_fault()
        # A message does not tell its publisher, so those that have not sent count as well.
        count = self._node.count_publishers(self._subscription.topic_name)
        if count > 0:
            self._match_publishers()
        since, self._watched_at = self._watched_at, time.monotonic()
        waited = self._waited + min(self._watched_at - since, _LISTENED)
        self._waited = waited if count > 0 else 0.0
        text = ""
        if count > 1:
            text = (
                f"{count} publishers on ~/cloud, whose clouds replace each other: what only one of "
                "them sees is missing in turns; merge them into one, and end those that never send"
            )
        elif self._waited > max(_FIRST_CLOUD, self._values["cloud_timeout"]):
            text = (
                "a publisher on ~/cloud, but no cloud has arrived: it sends none, or the "
                "middleware loses large messages in best effort; let it publish reliably"
            )
        self._faults.put("clouds", Level.WARN, "", text)

    def _match_publishers(self) -> None:
        """Subscribe as reliably as all publishers publish.

        In best effort the middleware loses most messages of a megabyte or more.
        """
        topic = self._subscription.topic_name
        publishers = self._node.get_publishers_info_by_topic(topic)
        offered = {each.qos_profile.reliability for each in publishers} or {self._reliability}
        reliable, best_effort = ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT
        wanted = reliable if offered == {reliable} else best_effort
        if wanted != self._reliability:
            self._node.destroy_subscription(self._subscription)
            self._reliability, self._subscription = wanted, self._subscribe(wanted)

    def _raise_fault(self) -> None:
        self._faults.put("cloud", Level.ERROR, "scene", self.fault(time.monotonic()))

    def fault(self, now: float) -> str:
        """A fault of the cloud's age, one sentence; empty if there is none."""
        timeout = self._values["cloud_timeout"]
        age = now - self._measured
        if not 0.0 < timeout < age:
            return ""
        what = "no cloud received" if self._last is None else "no usable cloud"
        by = ", by the stamp of the last one" if self._has_stamp else ""
        return f"{what} for {age:.1f} s{by}; {timeout:g} s are allowed"

    def values(self) -> dict[str, str]:
        """Key-values of the state."""
        if self._last is None:
            return {}
        v = self._last
        return {
            "cloud": f"{len(v.balls)} voxels of {v.size:g} m, {v.points} points, {v.own} of the "
            f"robot, {time.monotonic() - self._measured:.2f} s old"
        }

    def _receive(self, data: bytes) -> None:
        self._waited = -math.inf
        if self._keep is not None:
            self._keep(data)
        try:
            message = deserialize_message(data, PointCloud2)
        except Exception as problem:  # the middleware raises any error for invalid bytes
            self._refuse(LiveSceneError(f"{CLOUD}: a message that cannot be read: {problem}"))
        else:
            self._on_cloud(message)

    def _on_cloud(self, message: PointCloud2) -> None:
        lag = self._lag(seconds_of(message.header.stamp))
        if lag < -CLOCK_SECONDS:
            text = f"its stamp is {-lag:.1f} s in the future; check the clock of its sensor"
            self._refuse(LiveSceneError(f"{CLOUD}: {text}"))
            return
        self._waiting = message, time.monotonic() - max(lag, 0.0)
        self.retry(is_new=True)

    def retry(self, is_new: bool = False) -> None:
        """Process a cloud that waited until the position of the robot is known."""
        live, q = self._objects.live, self._objects.q
        if self._waiting is None or live is None or q is None:
            return  # no robot is monitored yet; the state reports it
        (message, measured), self._waiting = self._waiting, None
        try:
            header = message.header
            link, frame = self._objects.find(header.frame_id, header.stamp)
            stamp = seconds_of(header.stamp)
            then = self._objects.q_at(stamp) if stamp > 0.0 else None
            if then is None and live.is_moving(link) and (stamp > 0.0 or not is_new):
                age = time.monotonic() - measured
                raise LiveSceneError(
                    f"{CLOUD}: where its sensor link '{link}' was when it was measured, {age:.1f} "
                    "s ago, is not known: joint states began later, or are kept no longer"
                )
            if then is not None:
                q = then  # the configuration at the time of the cloud
            pose = live.model.link_poses(q)[link] @ frame
            leaves = robot_leaves(live, q)
        except CollisionMonitorError as error:
            self._refuse(error)
            return
        v = self._values
        sizes = v["cloud_padding"], v["cloud_voxel_size"], v["cloud_max_voxels"]
        # Replaces an older waiting one.
        self._next_job = _Job(message, measured, (pose, *leaves, *sizes))
        self._start()

    def _start(self) -> None:
        """Convert the newest cloud, unless an earlier one is being converted."""
        if self._running is None and (job := self._next_job) is not None:
            self._next_job = None
            work = self._pool.submit(lambda: voxels_of(read_points(job.message), *job.arguments))
            self._running = job, work
            work.add_done_callback(self._on_done)

    def _on_done(self, future: Future[Voxels]) -> None:
        """Called in the thread, possibly with a cloud for a robot that was replaced."""
        self.is_ready = True

    def apply_result(self) -> None:
        """Put the result of the thread, if it is done, into the scene instead of the last cloud."""
        self.is_ready = False
        if self._running is None or not self._running[1].done():
            return
        (job, future), self._running = self._running, None
        self._start()
        live = self._objects.live
        if live is None:
            return
        try:
            made = future.result()
            live.set_cloud(made.balls)
        except CollisionMonitorError as error:
            self._refuse(error)
            return
        except Exception as error:  # monitoring continues, and the state reports any error
            self._refuse(LiveSceneError(f"cloud: {reason_of(error)}"))
            return
        self._last, self._measured, self._root = made, job.measured, live.model.root
        self._has_stamp = seconds_of(job.message.header.stamp) > 0.0
        self._raise_fault()
        if CLOUD in self._objects.keeper.refused:
            self._objects.keeper.withdraw_refusal(CLOUD)
            self._changed()

    def _refuse(self, error: CollisionMonitorError) -> None:
        """Keep the last cloud, and report why this one is not used."""
        is_new = CLOUD not in self._objects.keeper.refused
        self._objects.keeper.refuse(CLOUD, str(error).removeprefix(f"{CLOUD}: "))
        if is_new:
            self._changed()


def robot_leaves(live: LiveScene, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """End points (k, 6) and radii (k,) of leaves of links and attached objects at q (nq,).

    In the base frame, metres. An obstacle of the scene file counts as attached if its link moves.
    """
    model = live.model
    links = model.robot.links
    obstacles = model.scene.obstacles
    carried = {each.name for each in obstacles if each.link in links and live.is_moving(each.link)}
    own = [k for k, leaf in enumerate(model.leaves) if leaf.link in links or leaf.link in carried]
    ends = [model.leaf_segments(q).reshape(-1, 6)[own]]
    radii = [np.array([model.leaves[k].radius for k in own])]
    segments = live.segments(q) if any(each.body for each in live.objects.values()) else {}
    for name, (each, around) in segments.items():
        if live.objects[name].body > 0:
            ends.append(each.reshape(-1, 6))
            radii.append(around)
    return np.vstack(ends), np.concatenate(radii)
