# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Cost of an update of markers for the node, in milliseconds of processor time.

    python benchmarks/node.py markers

Models are loaded first; the time includes serialisation.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

import numpy as np
from builtin_interfaces.msg import Time
from common.command_line import ROOT
from rclpy.serialization import serialize_message
from support.robots.robots import ROBOTS

from collision_monitor import CollisionModel
from collision_monitor.model.live.live_objects import Bounds
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.model.proximity import Nearness
from collision_monitor.monitoring.monitor import Level, MonitorState
from collision_monitor.nodes.markers.markers import MarkerBuilder
from collision_monitor.nodes.parameters.parameter import ALL
from collision_monitor.robot.description import Shape

WARN, STOP, TIMES = 0.1, 0.02, 60


def boxes(count: int) -> dict:
    """A scene of small boxes above a robot."""
    places = np.random.default_rng(0).uniform(-3.0, 3.0, (count, 3)) + [0.0, 0.0, 4.0]
    return {
        "obstacles": [
            {"name": f"box{k}", "type": "box", "size": [0.05] * 3, "position": place}
            for k, place in enumerate(places.tolist())
        ]
    }


def live_scene(model: CollisionModel, count: int) -> LiveScene:
    """As many live boxes as `boxes` has."""
    live = LiveScene(model, Bounds(objects=count))
    for box in boxes(count)["obstacles"]:
        pose = np.eye(4)
        pose[:3, 3] = box["position"]
        live.add(box["name"], Shape("box", pose, tuple(box["size"])))
    return live


def models() -> Iterator[tuple[str, CollisionModel]]:
    """The package's robot, and real ones where they are installed."""
    yield "dual arm", CollisionModel.from_urdf(
        ROOT / "urdf/dual_arm.urdf",
        srdf=ROOT / "urdf/dual_arm.srdf",
        scene=ROOT / "urdf/dual_arm_scene.yaml",
    )
    for name, count in (("baxter", 0), ("ur5", 0), ("ur5", 1000)):
        if name in ROBOTS:
            files = ROBOTS[name]
            yield f"{name}, {count} boxes" if count else name, CollisionModel.from_urdf(
                files.urdf, srdf=files.srdf, package_dirs=files.package_dirs,
                scene=boxes(count) if count else None,
            )  # fmt: skip


def measure(
    model: CollisionModel, levels: frozenset[int] | range, live: LiveScene | None = None
) -> tuple[int, float, float]:
    """(bytes, longest of the first times, median later), ms.

    Of live objects 20 move each time.
    """
    q = np.clip(np.zeros(len(model.joint_names)), model.lower, model.upper)
    pairs = model.pairs if live is None else live.pair_rows
    thresholds = np.tile([STOP, WARN], (len(pairs), 1))
    state = MonitorState(Level.OK, clearance=model.distance(q))
    nearness = Nearness(model, live)
    nearness.of_leaves(q, thresholds)  # compiled when a robot is loaded
    spent, builder = [], None
    for step in range(TIMES):
        if live is not None:
            things = list(live.objects.values())
            for thing in things[step % 5 :: len(things) // 20]:
                live.move(thing.name, thing.pose)
        begin = time.process_time()
        builder = MarkerBuilder(model, 1.0, live, levels) if builder is None else builder
        stamp = Time(sec=step // 10, nanosec=step % 10 * 10**8)
        found = builder.build(q, state, stamp, nearness.of_leaves(q, thresholds))
        size = sum(len(m if isinstance(m, bytes) else serialize_message(m)) for m in found)
        spent.append(1e3 * (time.process_time() - begin))
    return size, max(spent), float(np.median(spent[TIMES // 2 :]))


def main() -> None:
    """Print a table."""
    logging.disable(logging.WARNING)
    print(f"{'robot':18} {'leaves':>6} {'pairs':>6} {'levels':>6} {'kB':>6} ", end="")
    print(f"{'longest':>8} {'later':>7}")
    for name, model in models():
        runs = [("none", frozenset(), None), ("all", ALL, None)]
        if name == "ur5":
            runs += [("none", frozenset(), live_scene(model, count)) for count in (100, 1000)]
        for shown, levels, live in runs:
            size, longest, later = measure(model, levels, live)
            title = name if live is None else f"{name}, {len(live.objects)} live"
            print(
                f"{title:18} {len(model.leaves):6} {len(model.pairs):6} "
                f"{shown:>6} {size / 1000:6.0f} {longest:8.1f} {later:7.2f}"
            )
