# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Time of the published operator (`field`) as a multiple of that of `robust`, on the dual arm.

    OMP_NUM_THREADS=1 python benchmarks/adjustment.py methods [--runs 7] [--json]

`adjust` on the package's motion, on which the arms meet; in turn in one process, processor times,
medians. With the default distances, and with smaller ones, at which less of the motion changes.
"""

from __future__ import annotations

import json
import time

import numpy as np
from common.command_line import arguments

from collision_monitor import CollisionModel, adjust
from collision_monitor.cli.demo import package_file
from collision_monitor.motion import read_motion

METHODS = ("robust", "field")
DISTANCES = {"defaults": {}, "0.05 and 0.02 m": {"safe_distance": 0.05, "danger_distance": 0.02}}


def main() -> int:
    """Print the table."""
    parser = arguments(__doc__)
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    model = CollisionModel.from_urdf(
        package_file("urdf/dual_arm.urdf"), package_file("urdf/dual_arm.srdf")
    )
    motion = read_motion(package_file("config/dual_arm_motion.csv"))
    results = {}
    for name, distances in DISTANCES.items():
        times: dict[str, list[float]] = {method: [] for method in METHODS}
        for run in range(options.runs + 1):  # the first compiles
            for method in METHODS:
                begin = time.process_time()
                adjust(model, motion, method=method, **distances)
                if run:
                    times[method].append(time.process_time() - begin)
        robust, field = (float(np.median(times[method])) for method in METHODS)
        results[name] = {"robust": robust, "field": field, "ratio": field / robust}
    if options.json:
        print(json.dumps(results, indent=1))
        return 0
    print("| d_saf, d_dan | `robust` (s) | `field` (s) | ratio |\n|---|---|---|---|")
    for name, row in results.items():
        print(f"| {name} | {row['robust']:.2f} | {row['field']:.2f} | {row['ratio']:.1f} |")
    return 0
