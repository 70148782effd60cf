# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Continuous check of a trajectory of a minute at 500 Hz, against checking each sample.

    python benchmarks/continuous_check.py [--robots baxter,ur5] [--blocks N]
    python benchmarks/continuous_check.py random    # motions/random_motions.py

`check_clearance` with leaves: all pairs, self and scene, with their envelopes, on all processors
and on one. Against pinocchio + coal on the robot's own collision geometry and the same obstacles,
one thread, sample by sample: ``computeCollisions``, which stops at the first, and
``computeDistances``. These are timed on some samples and scaled. Blocks alternate; medians.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable

import numpy as np
from common.command_line import TITLES, choose, table_head, table_row
from scipy.interpolate import CubicSpline
from support.geometry.reference import Reference, coal, pin
from support.robots.robots import ROBOTS

from collision_monitor import CollisionModel
from collision_monitor.model.thresholds import Thresholds
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.verification.clearance.clearance_check import (
    CollisionVerdict,
    check_clearance,
)

SCENE = {
    "obstacles": [
        {"name": "table", "type": "box", "size": [0.8, 1.6, 0.05], "position": [0.9, 0.0, -0.2]},
        {"name": "wall", "type": "box", "size": [0.1, 3.0, 2.0], "position": [-0.9, 0.0, 0.0]},
        {"name": "ball", "type": "sphere", "radius": 0.15, "position": [0.8, 0.5, 0.6]},
        {"name": "post", "type": "cylinder", "radius": 0.05, "length": 1.5,
         "position": [0.6, -0.8, 0.3]},
    ]
}  # fmt: skip
DURATION, RATE, POINTS = 60.0, 500, 13
SAMPLES = 60


def motion_of(model: CollisionModel, spread: float) -> Trajectory:
    """A spline through random points about a pose, as a controller gets it: 500 points a second.

    ``spread``: part of the ranges of the joints; small ones stay clear of everything.
    """
    rng = np.random.default_rng(3)
    poses = model.random_configurations(20_000, 4)
    clear = poses[model.min_distances(poses, threads=0).argmax()]
    reach = 0.5 * spread * (model.upper - model.lower)
    points = clear + rng.uniform(-reach, reach, (POINTS, len(clear)))
    times = np.linspace(0.0, DURATION, POINTS)
    spline = CubicSpline(times, np.clip(points, model.lower, model.upper), bc_type="clamped")
    samples = np.arange(int(DURATION * RATE) + 1) / RATE
    return Trajectory.through(model.joint_names, samples, spline(samples))


def peer(model: CollisionModel, name: str) -> dict[str, Callable[[np.ndarray], object]]:
    """The two queries of pinocchio and coal for one configuration."""
    files = ROBOTS[name]
    reference = Reference(files.urdf, files.package_dirs, model)
    geometry = pin.buildGeomFromUrdf(
        reference.pin_model, str(files.urdf), pin.GeometryType.COLLISION,
        package_dirs=[str(folder) for folder in files.package_dirs],
    )  # fmt: skip
    objects: dict[str, list[int]] = {}
    for k, item in enumerate(geometry.geometryObjects):
        link = reference.pin_model.frames[item.parentFrame].name
        objects.setdefault(link, []).append(k)
    for obstacle in SCENE["obstacles"]:
        sizes = obstacle.get("size") or [obstacle[k] for k in ("radius", "length") if k in obstacle]
        shape = getattr(coal, obstacle["type"].capitalize())(*sizes)
        pose = pin.SE3(np.eye(3), np.array(obstacle["position"], dtype=float))
        item = pin.GeometryObject(obstacle["name"], 0, pose, shape)
        objects[obstacle["name"]] = [geometry.addGeometryObject(item)]
    for a, b in model.pairs:
        for i in objects[a]:
            for j in objects[b]:
                geometry.addCollisionPair(pin.CollisionPair(i, j))
    data = pin.GeometryData(geometry)
    robot, robot_data = reference.pin_model, reference.pin_data

    def collisions(q: np.ndarray) -> bool:
        q = reference.configuration(q)
        return pin.computeCollisions(robot, robot_data, geometry, data, q, True)

    def distances(q: np.ndarray) -> None:
        pin.computeDistances(robot, robot_data, geometry, data, reference.configuration(q))

    return {"collisions": collisions, "distances": distances}


def seconds(call: Callable[[], object]) -> float:
    """Time of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measure(name: str, spread: float, blocks: int) -> str:
    """Time one motion of one robot; the line of the table."""
    files = ROBOTS[name]
    model = CollisionModel.from_urdf(files.urdf, files.srdf, files.package_dirs, scene=SCENE)
    motion = motion_of(model, spread)
    thresholds = Thresholds(0.05, 0.01)
    checked = check_clearance(model, motion, thresholds)
    samples = motion.positions(np.linspace(0.0, DURATION, SAMPLES))
    ways = peer(model, name)
    times: dict[str, list[float]] = {}
    for _ in range(blocks):
        for threads in (1, 0):
            value = seconds(lambda: check_clearance(model, motion, thresholds, threads=threads))  # noqa: B023
            times.setdefault("one thread" if threads else "all threads", []).append(value)
        for key, ask in ways.items():
            value = seconds(lambda: [ask(q) for q in samples])  # noqa: B023
            times.setdefault(key, []).append(value / SAMPLES * (DURATION * RATE + 1))
    medians = {key: statistics.median(values) for key, values in times.items()}
    ours = medians["one thread"]
    coals = medians["collisions"], medians["distances"]
    what = "colliding" if checked.verdict is CollisionVerdict.COLLIDES else "clear"
    return table_row(
        f"{TITLES.get(name, name)}, {what}", len(model.pairs), f"{ours:.3f}",
        f"{medians['all threads']:.3f}",
        *(f"{coal:.3g} ({coal / ours:,.0f} times)" for coal in coals),
    )  # fmt: skip


def main() -> None:
    """Measure each robot on a motion without and one with a collision."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robots", default="baxter,ur5")
    parser.add_argument("--blocks", type=int, default=9)
    options = parser.parse_args()
    print(
        table_head(
            "robot, motion", "pairs", "ours, one thread", f"{os.cpu_count()} threads",
            "coal, collides?", "coal, distances",
        )
    )  # fmt: skip
    for name in options.robots.split(","):
        for spread in (0.02, 0.8):
            print(measure(name, spread, options.blocks), flush=True)


if __name__ == "__main__":
    choose(main, random="motions.random_motions")
