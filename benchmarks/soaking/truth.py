# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Observer of the soak test: expected results of the monitor by pinocchio and coal.

It reads recordings of a monitor, which contain its inputs (joint states, scene, accepted
description) and outputs in the order of processing. So the distance after a joint state is that of
exactly this scene and robot, unless the state says that changes of the scene are not applied yet:
then nothing is compared. Times are only needed for the ends of lifetimes (see `scene.SLACK`).

    ls stop*.mcap | (cd benchmarks && python -m soaking.truth)

Names of files are read from standard input, in their order; each file continues where the last one
ended, and a gap is a fault. A JSON object is printed when the input ends.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Set
from typing import Any

import numpy as np
import pinocchio as pin
from mcap.reader import make_reader
from rosbags.typesys import Stores, get_typestore
from soaking.scene import Robot, Scene, Thing
from soaking.shapes import Shapes

STOP = 0.02  # metres: no stop distance in the soak is below it
_ROUNDING = 1e-6  # error of coal, metres
_CALM = (0, 1)  # levels OK and WARN
# A scene message that waits longer than this is an ERROR: 0.5 s plus the time to notice it.
_LATE = 0.8
_BEHIND = "are not applied yet"  # in the state: distances are without changes that were received
_MOST_FAULTS = 20
_STORE = get_typestore(Stores.LATEST)
KINDS = {
    "joint_states": "sensor_msgs/msg/JointState",
    "robot_description": "std_msgs/msg/String",
    "pair_names": "std_msgs/msg/String",
    "scene": "visualization_msgs/msg/MarkerArray",
    "attach": "visualization_msgs/msg/MarkerArray",
    "min_distance": "std_msgs/msg/Float64",
    "state": "diagnostic_msgs/msg/DiagnosticStatus",
}


class Truth(Robot):
    """A robot with its shapes, and the objects around it."""

    def __init__(self, urdf: str, pairs: Iterable[tuple[str, ...]]) -> None:
        """``pairs``: of links."""
        super().__init__(urdf)
        geometry = pin.buildGeomFromUrdfString(self.model, urdf, pin.GeometryType.COLLISION)
        self._parts, self.owners = [], []
        for item in geometry.geometryObjects:
            self._parts.append((item.geometry, item.placement.homogeneous, item.parentJoint))
            self.owners.append(self.model.frames[item.parentFrame].name)
        places: dict[str, list[int]] = {}
        for k, owner in enumerate(self.owners):
            places.setdefault(owner, []).append(k)
        found = [(i, j, {a, b}) for a, b in pairs for i in places[a] for j in places[b]]
        self._pairs = [(i, j) for i, j, _ in found]
        self._links = [links for _, _, links in found]
        self._own = len(self._pairs)

    def partners(self, things: dict[str, Thing]) -> Iterator[tuple[str, str]]:
        """Pairs of links and objects that must be checked (docs/scene.md)."""
        items = list(things.items())
        for number, (name, thing) in enumerate(items):
            body = self.body(thing.frame)
            for link in dict.fromkeys(self.owners):
                if self.body(link) != body and link not in thing.touch:
                    yield link, name
            for other, what in items[:number]:
                is_touch = other in thing.touch or name in what.touch
                if self.body(what.frame) != body and not is_touch:
                    yield other, name

    def around(self, things: dict[str, Thing]) -> Shapes:
        """All shapes with these objects."""
        parts = list(self._parts)
        places = {owner: [] for owner in self.owners}
        for k, owner in enumerate(self.owners):
            places[owner].append(k)
        for name, thing in things.items():
            pose = self.in_body(thing.frame) @ thing.pose
            places[name] = list(range(len(parts), len(parts) + len(thing.parts)))
            parts += [(s, pose @ local, self.body(thing.frame)) for s, local in thing.parts]
        pairs = self._pairs + [
            (i, j) for a, b in self.partners(things) for i in places[a] for j in places[b]
        ]
        first, second = np.array(pairs, dtype=int).reshape(-1, 2).T
        return Shapes(parts, first, second)

    def distance(self, shapes: Shapes, without: Collection[Set[str]] = ()) -> tuple[float, bool]:
        """(minimum distance in metres, whether an object is in this pair).

        ``without``: pairs of links that do not count.
        """
        bodies = np.array([pose.homogeneous for pose in self.data.oMi])
        left_out = {k for k, links in enumerate(self._links) if links in without}
        best, place = shapes.nearest(bodies, left_out)
        return best, place >= self._own


class Observer:
    """Processes the messages of one monitor."""

    def __init__(self) -> None:
        """Start without messages."""
        self.counts: Counter[str] = Counter()
        self._not_counted: list[set[str]] = []  # pairs that the distance is not of
        self.faults: list[str] = []
        self.robots: list[tuple[str, float]] = []  # accepted robots by name, and times, seconds
        self.margins: list[float] = []  # true distance minus reported one, metres
        self.latencies: list[float] = []  # from the stamp of a joint state to its distance, seconds
        self.deliveries: list[float] = []  # of scene messages, from their stamps, seconds
        self.seen = 0  # nanoseconds of the last message
        self._take = {
            "joint_states": self._heard_joint_state,
            "robot_description": self._took_description,
            "pair_names": self._said_pairs,
            "scene": lambda message: self._heard_scene("scene", message),
            "attach": lambda message: self._heard_scene("attach", message),
            "min_distance": self._said_distance,
            "state": self._said_state,
        }
        self._known: dict[tuple, Truth] = {}
        self._robot: Truth | None = None
        self._urdf = ""
        self._scene = Scene()
        self._level, self._level_before = 3, 3
        self._calm_at = 0  # nanoseconds of the last joint state at level OK or WARN
        self._asked: Any = None  # the joint state without a distance
        self._truth = math.nan  # after the distance
        self._is_behind = False  # by the last state
        self._around: tuple[Any, Shapes] = None, None

    def take(self, topic: str, message: Any, now: int) -> None:
        """Process a message of the monitor at ``now``, nanoseconds; ``topic``: of `KINDS`."""
        self.seen = now
        self._take[topic](message)

    def _fault(self, what: str) -> None:
        self.counts["faults"] += 1
        if len(self.faults) < _MOST_FAULTS:
            self.faults.append(f"{what} at {1e-9 * self.seen:.4f}")

    def _took_description(self, message: Any) -> None:
        self._urdf = message.data

    def _said_pairs(self, message: Any) -> None:
        pairs = [tuple(line.split()) for line in message.data.splitlines()]
        if self._urdf:  # a robot was accepted just before
            links = {word.split('"')[0] for word in self._urdf.split('<link name="')[1:]}
            key = self._urdf, tuple(pair for pair in pairs if links.issuperset(pair))
            if key not in self._known:
                self._known[key] = Truth(*key)
            old, self._robot = self._robot, self._known[key]
            if old is not None:
                self._robot.move_to(old)
            self._scene.expire(self.seen)
            self._scene.attend(self._robot)
            self.robots.append((self._urdf.split('"')[1], 1e-9 * self.seen))
            self._urdf, self._truth = "", math.nan
        if self._is_behind:
            return
        said = {frozenset(pair) for pair in pairs}
        for pair in self._robot.partners(self._scene.sure(self.seen)):
            self.counts["pairs_checked"] += 1
            if frozenset(pair) not in said:
                self._fault(f"{' and '.join(pair)} are not among the pairs")

    def _heard_scene(self, topic: str, message: Any) -> None:
        self.counts[topic] += 1
        stamp = message.markers[0].header.stamp
        sent = stamp.sec * 10**9 + stamp.nanosec
        self.deliveries.append(1e-9 * (self.seen - sent))
        if self.deliveries[-1] > _LATE:
            self.counts["late_messages"] += 1
            if self._calm_at > sent + _LATE * 1e9:
                self._fault(f"OK or WARN while a message on {topic} was {_LATE} s late or more")
        self._scene.expire(self.seen)
        self._scene.take(topic, message, self.seen)
        self.counts["refused"] += bool(self._scene.refused)

    def _heard_joint_state(self, message: Any) -> None:
        if self._truth < STOP:
            if self._level in _CALM:
                self._fault(f"level {self._level} though the truth is {self._truth:.4f} m")
            self.counts["alarms"] += self._level_before in _CALM
        if self._level in _CALM:
            self._calm_at = self.seen
        self._level_before = self._level
        self._asked, self._truth = message, math.nan
        self.counts["joint_states"] += 1
        if self._robot is None:
            self._asked = None
            return
        self._robot.move(tuple(message.name), message.position)

    def _said_distance(self, message: Any) -> None:
        if self._asked is None or math.isnan(message.data):
            return
        stamp = self._asked.header.stamp
        self.latencies.append(1e-9 * (self.seen - stamp.sec * 10**9 - stamp.nanosec))
        self._asked = None  # one distance per joint state
        if self._is_behind:
            self.counts["distances_behind"] += 1
            return
        self._truth, is_of_object = self._true_distance()
        counted = self._truth
        if self._not_counted:
            shapes = self._shapes(self._scene.sure(self.seen))
            counted, _ = self._robot.distance(shapes, self._not_counted)
        counts, margin = self.counts, max(counted, 0.0) - message.data
        self.margins.append(margin)
        counts["distances"] += 1
        counts["below_stop"] += self._truth < STOP
        counts["of_objects"] += is_of_object
        counts["objects_below_stop"] += is_of_object and self._truth < STOP
        # A contact must be reported; depths of leaves differ from depths of shapes.
        if margin < -_ROUNDING:
            self._fault(f"{message.data:.6f} m though the truth is {counted:.6f} m")

    def _true_distance(self) -> tuple[float, bool]:
        """(metres, whether of an object); the largest possible one near the end of a lifetime."""
        scene = self._scene
        scene.expire(self.seen)
        sure = scene.sure(self.seen)
        nearest = self._robot.distance(self._shapes(sure))
        if len(sure) < len(scene.things):
            self.counts["lifetimes_ending"] += 1
            with_all = self._robot.distance(self._robot.around(scene.things))
            self.counts["lifetimes_that_mattered"] += with_all[0] < nearest[0] - _ROUNDING
        return nearest

    def _shapes(self, things: dict[str, Thing]) -> Shapes:
        key = id(self._robot), self._scene.changes, *things
        if self._around[0] != key:
            self._around = key, self._robot.around(things)
        return self._around[1]

    def _said_state(self, message: Any) -> None:
        self._level = message.level
        self._is_behind = _BEHIND in message.message
        self.counts["states"] += 1
        self.counts["states_behind"] += self._is_behind
        if self._is_behind and message.level == 0:
            self._fault("level 0 though changes of the scene are not applied")
        said = {each.key: each.value for each in message.values}
        names = said.get("not_in_min_distance", "")
        self._not_counted = [set(pair.split()) for pair in names.split("; ") if pair]
        self.counts["attached_later"] += self._scene.doubt_attached(said.get("scene_refused", ""))
        self.counts["calm_states"] += message.level in _CALM
        if message.level not in _CALM or self._is_behind:
            return
        if names := self._scene.surely_refused(self.seen):
            self._fault(f"level {message.level} though {', '.join(names)} cannot be watched")

    def summary(self) -> dict[str, Any]:
        """The results."""
        def spread(values: list[float]) -> dict[str, float]:
            if not values:
                return {}
            low, middle, high = np.percentile(values, (0.0, 50.0, 99.0))
            return {"least": low, "median": middle, "p99": high, "most": max(values)}

        return {
            **self.counts, "faults": self.faults, "fault_count": self.counts["faults"],
            "robots": self.robots, "truth_minus_said_m": spread(self.margins),
            "latency_s": spread(self.latencies), "delivery_s": spread(self.deliveries),
        }  # fmt: skip


def messages(path: str, after: int) -> Iterator[tuple[str, Any, int]]:
    """Yield (last name of the topic, content, nanoseconds) of a recording, later than ``after``."""
    with open(path, "rb") as stream:
        # In the order of the file, which is the order of processing.
        for _, channel, message in make_reader(stream).iter_messages(log_time_order=False):
            name = channel.topic.rpartition("/")[2]
            if name in KINDS and message.log_time > after:
                yield name, _STORE.deserialize_cdr(message.data, KINDS[name]), message.log_time


def first_time(path: str) -> int:
    """Nanoseconds of the first message of a recording."""
    with open(path, "rb") as stream:
        return make_reader(stream).get_summary().statistics.message_start_time


def main() -> None:
    """Process the files named on standard input."""
    observer = Observer()
    for line in sys.stdin:
        path = line.strip()
        if observer.seen and first_time(path) > observer.seen:
            observer.faults.append(f"{path}: a gap before it: nothing is known of the scene")
            break
        for name, content, now in messages(path, observer.seen):
            observer.take(name, content, now)
    print(json.dumps(observer.summary()), flush=True)


if __name__ == "__main__":
    main()
