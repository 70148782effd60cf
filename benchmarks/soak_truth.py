# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The observer of the soak: what the monitor should have said, by pinocchio and coal.

Reads recordings of a monitor. They have what it heard and what it said in the order in which it
did: the distance that follows a joint state is its answer. The robot is the one whose pairs the
monitor last published. Prints one JSON object a file.

    python benchmarks/soak_truth.py 0 stop.mcap ...

The number is a stamp in seconds: joint states up to it are left out.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import coal
import numpy as np
import pinocchio as pin
from mcap.reader import make_reader
from rosbags.typesys import Stores, get_typestore
from soak_robot import description

STOP = 0.02  # metres: no stop distance in the soak is below it
_ROUNDING = 1e-6  # metres by which coal may be off
_STORE = get_typestore(Stores.LATEST)
_CALM = (0, 1)  # levels OK and WARN


class Truth:
    """A robot as pinocchio and coal see it."""

    def __init__(self, urdf: str, pairs: Iterable[tuple[str, str]]) -> None:
        self._model = pin.buildModelFromXML(urdf)
        self._geometry = pin.buildGeomFromUrdfString(
            self._model, urdf, pin.GeometryType.COLLISION
        )
        owners: dict[str, list[int]] = {}
        for k, item in enumerate(self._geometry.geometryObjects):
            owners.setdefault(self._model.frames[item.parentFrame].name, []).append(k)
        for a, b in pairs:
            for i in owners[a]:
                for j in owners[b]:
                    self._geometry.addCollisionPair(pin.CollisionPair(i, j))
        self._data = self._model.createData()
        self._places = pin.GeometryData(self._geometry)
        self._order: dict[tuple[str, ...], list[int]] = {}

    def distance(self, names: tuple[str, ...], positions: np.ndarray) -> float:
        """Of the nearest pair, metres, negative where they cross."""
        if names not in self._order:
            joints = self._model.joints
            self._order[names] = [joints[self._model.getJointId(name)].idx_q for name in names]
        q = np.zeros(self._model.nq)
        q[self._order[names]] = positions
        pin.computeDistances(self._model, self._data, self._geometry, self._places, q)
        return min(result.min_distance for result in self._places.distanceResults)


def robot_of(pair_names: str) -> Truth:
    """The robot that has these pairs, obstacles of a live scene left out."""
    pairs = [tuple(line.split()) for line in pair_names.splitlines()]
    urdf = description(with_tool=any(name.startswith("t_") for pair in pairs for name in pair))
    links = {word.split('"')[0] for word in urdf.split('<link name="')[1:]}
    return _truth(urdf, tuple(pair for pair in pairs if links.issuperset(pair)))


@cache
def _truth(urdf: str, pairs: tuple[tuple[str, str], ...]) -> Truth:
    return Truth(urdf, pairs)


def observe(path: Path, after: float) -> dict:
    """Everything in a recording, compared; joint states stamped later than ``after``."""
    found = {"file": path.name, "joint_states": 0, "distances": 0, "below_stop": 0,
             "least_margin": math.inf, "robots": 0, "faults": []}  # fmt: skip
    kinds = {"min_distance": "std_msgs/msg/Float64", "pair_names": "std_msgs/msg/String",
             "joint_states": "sensor_msgs/msg/JointState",
             "state": "diagnostic_msgs/msg/DiagnosticStatus"}  # fmt: skip
    robot, level, last, truth = None, 3, None, math.nan

    def fault(what: str) -> None:
        found["faults"].append(f"{what} at stamp {found['last']:.4f}")

    with path.open("rb") as stream:
        # In the order of the file, which is that in which the monitor heard and spoke.
        for _, channel, message in make_reader(stream).iter_messages(log_time_order=False):
            name = channel.topic.rpartition("/")[2]
            if name not in kinds:
                continue
            content = _STORE.deserialize_cdr(message.data, kinds[name])
            if name == "pair_names":
                robot, last, truth = robot_of(content.data), None, math.nan
                found["robots"] += 1
            elif name == "state":
                level = content.level
            elif name == "joint_states":
                if truth < STOP and level in _CALM:
                    fault(f"level {level} though the truth is {truth:.4f} m")
                stamp = content.header.stamp.sec + 1e-9 * content.header.stamp.nanosec
                found.setdefault("first", stamp)
                last, truth, found["last"] = content, math.nan, stamp
                if stamp <= after:  # an earlier recording has it as well
                    last = None
                    continue
                found["joint_states"] += 1
            elif robot is not None and last is not None and not math.isnan(content.data):
                truth = robot.distance(tuple(last.name), last.position)
                found["distances"] += 1
                found["below_stop"] += truth < STOP
                # In contact it has to say so; depths of leaves are not depths of shapes.
                margin = max(truth, 0.0) - content.data
                found["least_margin"] = min(found["least_margin"], margin)
                if margin < -_ROUNDING:
                    fault(f"{content.data:.6f} m though the truth is {truth:.6f} m")
                last = None  # one answer a joint state
    return found


if __name__ == "__main__":
    assert coal.__version__  # whose distances pinocchio gives
    seen = float(sys.argv[1])
    for argument in sys.argv[2:]:
        answer = observe(Path(argument), seen)
        seen = max(seen, answer.get("last", seen))
        print(json.dumps(answer), flush=True)
