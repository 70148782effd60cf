# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Time of a distance query against pinocchio + coal on the same leaves.

    python benchmarks/distance.py [--robots ur5,panda,...] [--configurations 1000] [--json]
    python benchmarks/distance.py --write     # the tables of README.md and of the report
    python benchmarks/distance.py --load      # load times instead

Both compute the minimum leaf distance of all checked pairs at the same random configurations,
including kinematics, called from Python: `model.distance(q)` with nearest points here,
`computeDistances` and the smallest `min_distance` there. Blocks of calls alternate between the two,
so that other load affects both. Figures are processor time of one thread, medians over blocks;
ratios are those within one block, with 10 and 90 % of the blocks. Results are compared before
timing. Load times are seconds of processor time of a fresh process, imports included, first with an
empty cache (cold: kernels are compiled and leaves fitted), then again (warm).
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable

import coal
import numba
import numpy as np
from common.command_line import ROOT, TITLES, arguments, day_and_commit, microseconds
from common.distance_tables import HEADER, row, write
from support.geometry.reference import Reference, pin
from support.robots.robots import RobotFiles

from collision_monitor import CollisionModel

NAMES = ("ur5", "panda", "pr2", "baxter")
BLOCKS = 30


def coal_query(reference: Reference) -> Callable[[np.ndarray], float]:
    """Smallest distance by coal at a configuration in pinocchio's form.

    The minimum over the pairs is not computed: reading a few hundred results into Python would take
    longer than computing them.
    """
    geometry, _ = reference.leaf_geometry()
    data = pin.GeometryData(geometry)
    model, model_data = reference.pin_model, reference.pin_data

    def query(q: np.ndarray) -> None:
        pin.computeDistances(model, model_data, geometry, data, q)

    query.data = data
    return query


def compare(model: CollisionModel, reference: Reference, rows: np.ndarray) -> float:
    """Largest difference from coal without overlapping leaves, metres."""
    geometry, _ = reference.leaf_geometry()
    worst = 0.0
    for q in rows:
        theirs, ours = reference.distances(geometry, q).min(), model.distance(q).distance
        if theirs > 0.0:
            worst = max(worst, abs(theirs - ours))
        elif ours > 1e-9:
            raise AssertionError(f"coal finds contact where we find {ours} m at {q.tolist()}")
    return worst


def measure(files: RobotFiles, count: int, settings: dict) -> dict:
    """All figures of one robot, loaded with ``settings``."""
    model = CollisionModel.from_urdf(files.urdf, files.srdf, files.package_dirs, **settings)
    reference = Reference(files.urdf, files.package_dirs, model)
    configurations = model.random_configurations(count, seed=1)
    difference = compare(model, reference, configurations[:200])
    peer_query = coal_query(reference)
    theirs = [reference.configuration(q) for q in configurations]
    ours = list(configurations)
    calls, batches, coals = [], [], []
    for _ in range(BLOCKS):
        calls.append(microseconds(lambda: [model.distance(q) for q in ours], count))
        coals.append(microseconds(lambda: [peer_query(q) for q in theirs], count))
        batches.append(microseconds(lambda: model.min_distances(configurations), count))
    call, batch, peer = map(statistics.median, (calls, batches, coals))
    call_ratios, batch_ratios = np.array(coals) / calls, np.array(coals) / batches
    return {
        "joints": len(model.joint_names),
        "leaves": len(model.leaves),
        "pairs": len(model.pairs),
        "call_us": call,
        "batch_us": batch,
        "coal_us": peer,
        "call_ratio": statistics.median(call_ratios),
        "call_ratio_spread": np.percentile(call_ratios, (10, 90)).tolist(),
        "batch_ratio": statistics.median(batch_ratios),
        "batch_ratio_spread": np.percentile(batch_ratios, (10, 90)).tolist(),
        "largest_difference_m": difference,
    }


def load_times(files: RobotFiles) -> dict:
    """Processor time in seconds to load in a new process, without and with a cache."""
    script = (
        "import os, sys; t = sum(os.times()[:4])\n"
        "from collision_monitor import CollisionModel\n"
        "CollisionModel.from_urdf(sys.argv[1], sys.argv[2] or None, sys.argv[3:])\n"
        "print(sum(os.times()[:4]) - t)"
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


def print_load_times(robots: dict[str, RobotFiles], as_json: bool) -> None:
    """The table of `--load`."""
    if as_json:
        print(json.dumps({name: load_times(files) for name, files in robots.items()}, indent=2))
        return
    print("| robot | cold load (s) | warm load (s) |\n|---|---|---|")
    for name, files in robots.items():
        r = load_times(files)
        cells = TITLES.get(name, name), f"{r['load_cold_s']:.0f}", f"{r['load_warm_s']:.1f}"
        print(f"| {' | '.join(cells)} |", flush=True)


def processor() -> str:
    """Name of the processor and how many there are."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores"


def main() -> None:
    """Measure, print a table, and write it if requested."""
    parser = arguments(__doc__, NAMES, 1000)
    parser.add_argument(
        "--write", action="store_true",
        help="to README.md and docs/reports/performance.md, in their tables",
    )
    parser.add_argument("--load", action="store_true", help="measure load times instead")
    parser.add_argument("--max-leaves", type=int, help="of each link; not with --write")
    options = parser.parse_args()
    if options.write and options.max_leaves is not None:
        parser.error("--write is for the default number of leaves: leave --max-leaves out")
    settings = {} if options.max_leaves is None else {"max_leaves_per_link": options.max_leaves}
    results: dict[str, dict] = {}
    if options.load:
        print_load_times(options.robots, options.json)
        return
    block = (
        f"Microseconds of processor time, medians of {BLOCKS} interleaved blocks of "
        f"{options.configurations} configurations;\n"
        f"ratios in the median (10 to 90 % of the blocks). {processor()}; "
        f"pinocchio {pin.__version__}, coal {coal.__version__}, numba {numba.__version__}; "
        f"{day_and_commit()}.\n\n"
        f"{HEADER}"
    )
    if not options.json:
        print(block, end="", flush=True)
    for name, files in options.robots.items():
        results[name] = measure(files, options.configurations, settings)
        line = row(name, results[name])
        block += line
        if not options.json:
            print(line, end="", flush=True)
    if options.json:
        print(json.dumps(results, indent=2))
    if options.write:
        write(block)


if __name__ == "__main__":
    main()
