# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Time of a distance query against pinocchio + coal on the same leaves.

    python benchmarks/distance.py [--robots ur5,panda,...] [--configurations 1000] [--json]

Both answer "how far are the nearest two leaves of all checked pairs" for the same random
configurations, kinematics included, called from Python: `model.distance(q)` with its
nearest points here, `computeDistances` and the smallest `min_distance` there. Blocks of
calls alternate between the two, so that a noisy machine is noisy to both; figures are
medians over blocks. Answers are compared before anything is timed. Load times are those
of a fresh process, first with an empty cache of compiled kernels (cold), then again (warm).
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable

import numpy as np
from command_line import ROOT, arguments, microseconds
from reference import Reference, pin
from robots import RobotFiles

from collision_monitor import CollisionModel

NAMES = ("ur5", "panda", "pr2", "baxter", "tiago_dual")
BLOCKS = 30


def coal_query(reference: Reference) -> Callable[[np.ndarray], float]:
    """Smallest distance by coal at a configuration in pinocchio's form.

    The smallest over the pairs is not asked for: reading a few hundred results
    into Python would cost more than computing them.
    """
    geometry, _ = reference.leaf_geometry()
    data = pin.GeometryData(geometry)
    model, model_data = reference.pin_model, reference.pin_data

    def query(q: np.ndarray) -> None:
        pin.computeDistances(model, model_data, geometry, data, q)

    query.data = data
    return query


def compare(model: CollisionModel, reference: Reference, rows: np.ndarray) -> float:
    """Largest difference to coal where the leaves do not overlap, metres."""
    geometry, _ = reference.leaf_geometry()
    worst = 0.0
    for q in rows:
        theirs, ours = reference.distances(geometry, q).min(), model.distance(q).distance
        if theirs > 0.0:
            worst = max(worst, abs(theirs - ours))
        elif ours > 1e-9:
            raise AssertionError(f"coal finds contact where we find {ours} m at {q.tolist()}")
    return worst


def measure(files: RobotFiles, count: int) -> dict:
    """All figures of one robot."""
    model = CollisionModel.from_urdf(files.urdf, files.srdf, files.package_dirs)
    reference = Reference(files.urdf, files.package_dirs, model)
    rows = model.random_configurations(count, seed=1)
    difference = compare(model, reference, rows[:200])
    coal = coal_query(reference)
    theirs = [reference.configuration(q) for q in rows]
    ours = list(rows)
    calls, batches, coals = [], [], []
    for _ in range(BLOCKS):
        calls.append(microseconds(lambda: [model.distance(q) for q in ours], count))
        coals.append(microseconds(lambda: [coal(q) for q in theirs], count))
        batches.append(microseconds(lambda: model.min_distances(rows), count))
    call, batch, peer = map(statistics.median, (calls, batches, coals))
    return {
        "joints": len(model.joint_names),
        "leaves": len(model.leaves),
        "pairs": len(model.pairs),
        "call_us": call,
        "batch_us": batch,
        "coal_us": peer,
        "call_ratio": statistics.median(c / o for c, o in zip(coals, calls, strict=True)),
        "batch_ratio": statistics.median(c / o for c, o in zip(coals, batches, strict=True)),
        "largest_difference_m": difference,
        **load_times(files),
    }


def load_times(files: RobotFiles) -> dict:
    """Seconds to load in a fresh process, without and with compiled kernels on disk."""
    script = (
        "import sys, time; t = time.perf_counter()\n"
        "from collision_monitor import CollisionModel\n"
        "CollisionModel.from_urdf(sys.argv[1], sys.argv[2] or None, sys.argv[3:])\n"
        "print(time.perf_counter() - t)"
    )
    command = [sys.executable, "-c", script, str(files.urdf), str(files.srdf or "")]
    command += [str(folder) for folder in files.package_dirs]
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONPATH": str(ROOT)}

        def seconds() -> float:
            done = subprocess.run(
                command, env=environment, cwd=cache, check=True, capture_output=True, text=True
            )
            return float(done.stdout.split()[-1])

        cold = seconds()
        return {"load_cold_s": cold, "load_warm_s": statistics.median(seconds() for _ in "123")}


def main() -> None:
    """Measure and print a table."""
    options = arguments(__doc__, NAMES, 1000).parse_args()
    results = {}
    if not options.json:
        print(f"pinocchio {pin.__version__}, medians of {BLOCKS} interleaved blocks")
        print(
            "| robot | joints | leaves | pairs | coal (us) | call (us) | ratio | batch (us) "
            "| ratio | largest difference (m) | load cold (s) | warm (s) |\n"
            + "|---" * 12 + "|"
        )
    for name, files in options.robots.items():
        r = results[name] = measure(files, options.configurations)
        if not options.json:
            print(
                f"| {name} | {r['joints']} | {r['leaves']} | {r['pairs']} | {r['coal_us']:.2f} "
                f"| {r['call_us']:.2f} | {r['call_ratio']:.1f} | {r['batch_us']:.2f} "
                f"| {r['batch_ratio']:.1f} | {r['largest_difference_m']:.1e} "
                f"| {r['load_cold_s']:.1f} | {r['load_warm_s']:.2f} |",
                flush=True,
            )
    if options.json:
        print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
