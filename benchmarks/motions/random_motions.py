# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Random motions: the continuous check against dense sampling, leaves and shapes.

    python benchmarks/continuous_check.py random [--robots ur5,baxter] [--motions 1000]
        [--samples 10000]

Motions are drawn until dense sampling finds a collision in so many: straight, cubic and quintic
pieces through random configurations, short and long. Of every motion both verdicts are compared:
no motion in which a sample collides may be called free, with leaves as with shapes. The shapes are
asked at the samples at which leaves overlap, since nowhere else they can meet.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
from common import command_line  # noqa: F401  # finds the tests' helpers
from support.robots.robots import ROBOTS

from collision_monitor import CollisionModel
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.verification.clearance.clearance_check import (
    CollisionVerdict,
    check_clearance,
)

SCENE = {
    "obstacles": [
        {"name": "table", "type": "box", "size": [0.8, 1.6, 0.05], "position": [0.9, 0.0, -0.2]},
        {"name": "post", "type": "cylinder", "radius": 0.02, "length": 1.5,
         "position": [0.6, -0.7, 0.3]},
    ]
}  # fmt: skip


@dataclass
class Tally:
    """What came of the motions, for one level.

    Attributes:
        collide: motions in which a sample collides.
        missed: those of them that the check calls free: none may be.
        free: motions that the check calls free.
        found: motions that the check alone found to collide: between the samples.
        undecided: those that it leaves so.
    """

    collide: int = 0
    missed: int = 0
    free: int = 0
    found: int = 0
    undecided: int = 0

    def add(self, collides: bool, verdict: CollisionVerdict) -> None:
        """Count a motion."""
        self.collide += collides
        self.free += verdict is CollisionVerdict.FREE
        self.missed += collides and verdict is CollisionVerdict.FREE
        self.found += not collides and verdict is CollisionVerdict.COLLIDES
        self.undecided += verdict is CollisionVerdict.UNDECIDED


def random_motion(model: CollisionModel, rng: np.random.Generator) -> Trajectory:
    """Two to five points from near to far apart, straight, cubic or quintic."""
    count, kind = rng.integers(2, 6), rng.integers(1, 4)
    start = rng.uniform(model.lower, model.upper)
    step = 10.0 ** rng.uniform(-1.5, 0.3)
    rows = start + np.cumsum(rng.uniform(-step, step, (count, len(start))), axis=0)
    rows = np.clip(rows, model.lower, model.upper)
    rates = [rng.uniform(-step, step, rows.shape) for _ in range(kind - 1)]
    return Trajectory.through(model.joint_names, np.arange(float(count)), rows, *rates)


def shapes_meet(model: CollisionModel, rows: np.ndarray, least: np.ndarray) -> bool:
    """Whether shapes meet at a row; ``least`` are its leaf distances. The deepest rows first."""
    for k in np.argsort(least):
        if least[k] >= 0.0:
            return False
        if model.distance(rows[k], exact=True).distance <= 0.0:
            return True
    return False


def compare(
    model: CollisionModel, wanted: int, samples: int, seed: int, exact: bool = True
) -> tuple[Tally, Tally, int]:
    """(by leaves, by shapes, motions): motions until ``wanted`` collide at both levels."""
    rng = np.random.default_rng(seed)
    leaves, shapes, motions = Tally(), Tally(), 0
    while min(leaves.collide, shapes.collide if exact else wanted) < wanted:
        motion = random_motion(model, rng)
        motions += 1
        configurations = motion.positions(np.linspace(0.0, motion.duration, samples))
        least = model.min_distances(configurations)
        by_leaves = check_clearance(model, motion, bins=20, threads=1)
        leaves.add(bool(least.min() < 0.0), by_leaves.verdict)
        if exact:
            by_shapes = check_clearance(model, motion, exact=True, bins=20, threads=1)
            shapes.add(shapes_meet(model, configurations, least), by_shapes.verdict)
    return leaves, shapes, motions


def main() -> None:
    """Run it for each robot."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robots", default="ur5,baxter")
    parser.add_argument("--motions", type=int, default=1000)
    parser.add_argument("--samples", type=int, default=10_000)
    options = parser.parse_args()
    for name in options.robots.split(","):
        files = ROBOTS[name]
        model = CollisionModel.from_urdf(files.urdf, files.srdf, files.package_dirs, scene=SCENE)
        start = time.perf_counter()
        leaves, shapes, motions = compare(model, options.motions, options.samples, 1)
        print(f"{name}: {motions} motions, {time.perf_counter() - start:.0f} s")
        for level, tally in (("leaves", leaves), ("shapes", shapes)):
            print(
                f"  {level}: in {tally.collide} a sample collides, of these {tally.missed} are "
                f"called free; {tally.free} are called free; {tally.found} more collide between "
                f"samples; {tally.undecided} undecided",
                flush=True,
            )
