# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The hybrid tree of Zhang et al. against other methods, for each cycle, on an arm of its size.

    python benchmarks/hybrid_tree.py [--cycle 0.01] [--passes 5] [--max-leaves 1] [--json]
    python benchmarks/hybrid_tree.py --fit published --plot docs/hybrid_tree.png
    python benchmarks/hybrid_tree.py --robots ur5,panda,baxter [--fit published] [--max-leaves 8]

The space arm's end moves straight at a laboratory's hull, on a double S up to 0.1 m/s, until
contact. In every cycle
all methods are called in a random order, in one run, so that other load affects all. `distance`:
the nearest pair with its points; `contacts`: the pairs nearer than 0.1 m (each volume grown by 50
mm), level by level. The peers (`space_arm_peers.py`) watch the same bodies; answers are compared
before anything is timed. Those of the paper are all pairs of leaves, the tree of AABBs whose bodies
are oriented boxes, and a tree of oriented boxes (`box_trees.py`); `--plot` draws their times over
the cycles, and below them the sensor experiment: the distance that is computed, the readings of a
noisy ultrasonic sensor at the tool (`range_sensor.py`), and the alarms of both.

At each cycle a way is asked about the last few cycles and then about this one. The last call is
what a monitor with a processor of its own sees, and what the columns say. The first call comes
after other ways have been busy, and finds their data in the caches (median under "cold").
Percentiles and the maximum hold whatever else the machine did. "Worst pose" is the slowest cycle
when each has its fastest pass: what the pose itself costs. A row "nothing" is the loop with an
empty function.

The boxes of the trees of boxes are those of shapes, however many leaves a link has.

`--robots`: real robots, each between two copies of itself that stand still (`parked_robots.py`),
in straight motions from random configurations without contact. The peers are those of the paper,
the threshold is 20 mm, and answers are compared with the package's exact distances.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass

import coal
import numba
import numpy as np
import pinocchio as pin
from common.command_line import arguments, robots
from space_arm.hybrid_tree_report import MARGIN, alarm, plot, report, report_robots, volumes
from space_arm.parked_robots import load_between_copies, motions
from space_arm.range_sensor import experiment
from space_arm.space_arm_peers import body_links
from space_arm.straight_approach import approach, load_space_arm
from space_arm.ways import ALL, BOXES, FILTERED, NOTHING, Way, coal_ways, ways
from support.robots.robots import RobotFiles

from collision_monitor import CollisionModel
from collision_monitor.errors import CollisionMonitorError, ConfigurationError
from collision_monitor.fitting.fitter import FITS

BUDGET = 50.0  # us: a tenth of what the paper allows for a cycle
LEAD = 10  # cycles before this one about which a way is asked first
NEAR = 0.02  # m: threshold of real robots
SLOW = 1e6  # ns: what takes longer is asked once a cycle


@dataclass(frozen=True)
class Times:
    """Microseconds of every call of a method: (passes, cycles) each."""

    hot: np.ndarray
    cold: np.ndarray


def compare(
    model: CollisionModel,
    methods: dict[str, Way],
    truth: Callable[[np.ndarray], tuple[float, set[tuple[str, str]]]],
    configurations: np.ndarray,
    margin: float = MARGIN,
) -> None:
    """Raise an error if methods disagree.

    ``truth``: at a configuration, the distance of the nearest shapes and the pairs of links whose
    shapes are nearer than the margin.

    Raises:
        RuntimeError: all pairs of leaves differ from the tree, or triangles are closer than leaves
            or boxes.
    """
    body_of = body_links(model)
    for q in configurations:
        ours = model.distance(q).distance
        near = {frozenset(pair) for pair in model.contacts(q, margin)}
        for name in ALL:
            theirs, their_near = methods[name].ask(q).distance, methods[f"{name}, near"].ask(q)
            if abs(ours - theirs) > 1e-12 or near != {*map(frozenset, their_near)}:
                raise RuntimeError(f"tree {ours}, {near} and {name} {theirs} differ at {q}")
        true, true_near = truth(q)
        links = {frozenset(model.leaves[k].link for k in pair) for pair in near}
        touching = {*map(frozenset, true_near)}
        for name in BOXES:
            seen = {frozenset(body_of[k] for k in pair) for pair in methods[name].ask(q)}
            if not touching <= seen:
                raise RuntimeError(f"{name} misses {touching - seen} at {q}")
        if 0.0 < true < ours - 1e-6 or not touching <= links:
            raise RuntimeError(f"triangles at {true} are nearer than leaves at {ours} at {q}")


def near_pairs(
    model: CollisionModel,
    found: dict[str, Way],
    truth: Callable[[np.ndarray], tuple[float, set[tuple[str, str]]]],
    rows: np.ndarray,
) -> dict[str, float]:
    """Mean number of near pairs of links, by each method and by their shapes."""
    leaf_links = [leaf.link for leaf in model.leaves]
    counts = {"shapes": [len(truth(q)[1]) for q in rows]}
    for name in ("hybrid tree, level-first", *BOXES):
        links = body_links(model) if name in BOXES else leaf_links
        counts[name] = [
            len({frozenset(links[k] for k in pair) for pair in found[name].ask(q)}) for q in rows
        ]
    return {name: float(np.mean(values)) for name, values in counts.items()}


def run(methods: dict[str, Way], rows: np.ndarray, passes: int) -> dict[str, Times]:
    """Call every method in every cycle, after a short pass to warm up."""
    asks = [way.ask for way in methods.values()]
    cycles = len(rows) - LEAD
    hot, cold = np.zeros((2, len(asks), passes, cycles))
    configurations = list(rows)
    rng = np.random.default_rng(0)
    clock = time.perf_counter_ns
    gc.collect()
    gc.disable()
    try:
        for turn in range(-1, passes):
            for k in range(cycles if turn >= 0 else min(cycles, 20)):
                at = max(turn, 0), k
                first, *between, q = configurations[k : k + LEAD + 1]
                for which in rng.permutation(len(asks)).tolist():
                    ask = asks[which]
                    begin = clock()
                    ask(first)
                    end = clock()
                    cold[(which, *at)] = end - begin
                    if end - begin < SLOW:
                        for row in between:
                            ask(row)
                        begin = clock()
                        ask(q)
                        end = clock()
                    hot[(which, *at)] = end - begin
    finally:
        gc.enable()
    return {name: Times(hot[m] * 1e-3, cold[m] * 1e-3) for m, name in enumerate(methods)}


def summary(methods: dict[str, Way], times: dict[str, Times]) -> dict[str, dict]:
    """Percentiles in us, and ratios to those of the tree for the same query."""
    ours = {(w.question, w.kind): times[name].hot for name, w in methods.items() if w.ours}
    result = {}
    for name, method in methods.items():
        t = times[name]
        same = ours.get((method.question, method.kind))
        result[name] = {
            "question": method.question,
            "kind": method.kind,
            "ours": method.ours,
            "median_us": float(np.median(t.hot)),
            "cold_us": float(np.median(t.cold)),
            "p99_us": float(np.percentile(t.hot, 99.0)),
            "p999_us": float(np.percentile(t.hot, 99.9)),
            "max_us": float(t.hot.max()),
            "worst_pose_us": float(t.hot.min(axis=0).max()),
            "above_budget": int((t.hot > BUDGET).sum()),
            "calls": t.hot.size,
            "ratio": None if same is None else float(np.median(t.hot / same)),
        }
    return result


def savings(summaries: dict[str, dict], times: dict[str, Times]) -> list[dict]:
    """How much less time each of ours takes than all pairs, and than the fastest of all peers.

    ``less`` is of the medians; ``least`` and ``most`` are those of single passes.
    """
    result = []
    for name, entry in summaries.items():
        if not entry["ours"]:
            continue
        peers = [
            n for n, r in summaries.items()
            if not r["ours"] and n != NOTHING and r["kind"] == entry["kind"]
        ]  # fmt: skip
        same = [n for n in peers if summaries[n]["question"] == entry["question"]]
        others = [n for n in same if n.startswith(ALL + BOXES)]
        others += [min(g, key=lambda n: summaries[n]["median_us"]) for g in (same, peers)]
        for other in dict.fromkeys(others):
            passes = 1.0 - np.median(times[name].hot, 1) / np.median(times[other].hot, 1)
            result.append(
                {
                    "way": name,
                    "other": other,
                    "less": 1.0 - entry["median_us"] / summaries[other]["median_us"],
                    "least": float(passes.min()),
                    "most": float(passes.max()),
                }
            )
    return result


def leaf_settings(parser: argparse.ArgumentParser, options: argparse.Namespace) -> dict:
    """Of `load_space_arm`: one leaf a body unless other is asked for."""
    if options.fit == FITS[0]:
        return {"max_leaves_per_link": options.max_leaves or 1}
    if options.max_leaves is not None:
        parser.error(f"--fit {options.fit} has one leaf for each shape: leave --max-leaves out")
    return {"fit": options.fit}


def measure(
    model: CollisionModel, methods: dict[str, Way], configurations: np.ndarray, passes: int
) -> tuple[dict, dict[str, Times]]:
    """The printed times of all methods, and the times."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
    times = run(methods, configurations, passes)
    preemptions = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw - before
    summed = summary(methods, times)
    counts = {n: sum(len(f.leaves) for f in model.fits[n]) for n in model.link_names}
    return {
        "leaves": len(model.leaves),
        "shapes": len(body_links(model)),
        "link_pairs": len(model.pairs),
        "leaf_pairs": sum(counts[a] * counts[b] for a, b in model.pairs),
        "rows": len(configurations),
        "passes": passes,
        "versions": {
            "pinocchio": pin.__version__, "coal": coal.__version__, "numba": numba.__version__,
        },
        "times": summed,
        "savings": savings(summed, times),
        "preemptions": preemptions,
    }, times  # fmt: skip


def space_arm(options: argparse.Namespace, settings: dict) -> dict:
    """Results of the space arm; draws its picture if requested."""
    model = load_space_arm(**settings)
    configurations = approach(model, options.cycle)
    if len(configurations) <= LEAD + 1:
        raise ConfigurationError(
            f"--cycle {options.cycle:g}: the approach has {len(configurations)} cycles, and more "
            f"than {LEAD + 1} are needed: take a shorter cycle"
        )
    coals, obb, meshes = coal_ways(model)
    methods = ways(model) | coals
    compare(
        model, methods, lambda q: (meshes.least_distance(q), obb.contacts(q)),
        configurations[:: max(1, len(configurations) // 50)],
    )  # fmt: skip
    result, times = measure(model, methods, configurations, options.passes)
    arm = [leaf for leaf in model.leaves if leaf.link.startswith("arm_")]
    result |= {
        "cycle_s": options.cycle, "moving_leaves": len(arm), "fit": options.fit,
        "alarm": alarm(model, configurations), "volumes": volumes(model),
    }  # fmt: skip
    sensor = experiment(model, configurations, options.cycle, MARGIN)
    result["sensor"] = sensor.summary()
    if options.plot:
        names = ["hybrid tree, level-first", f"{FILTERED}, near", *BOXES]
        shown = {name: np.median(times[f"{name}, compiled"].hot, axis=0) for name in names}
        plot(options.plot, shown, sensor, LEAD)
    return result


def real_robot(files: RobotFiles, options: argparse.Namespace, settings: dict) -> dict:
    """Results of a robot between copies of itself."""
    model = load_between_copies(files, **settings)
    configurations, methods = motions(model, options.cycle), ways(model, NEAR)

    def truth(q: np.ndarray) -> tuple[float, set[tuple[str, str]]]:
        exact = model.distances(q, exact=True)
        return exact.min(), {p for p, d in zip(model.pairs, exact, strict=True) if d < NEAR}

    some = configurations[:: max(1, len(configurations) // 20)]
    compare(model, methods, truth, some, NEAR)
    near = near_pairs(model, methods, truth, some)
    result, _ = measure(model, methods, configurations, options.passes)
    return result | {"cycle_s": options.cycle, "fit": options.fit, "near_pairs": near}


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__)
    parser.add_argument("--cycle", type=float, help="seconds (default 0.01; of robots 0.05)")
    parser.add_argument("--passes", type=int, default=5, help="times along the approach")
    parser.add_argument("--max-leaves", type=int, help="of each link (default 1: a leaf a body)")
    parser.add_argument("--fit", choices=FITS, default=FITS[0], help="of the leaves")
    parser.add_argument("--plot", default="", help="PNG of times, distance and alarm over time")
    parser.add_argument("--robots", type=robots, help="real robots instead of the space arm")
    options = parser.parse_args()
    if options.cycle is None:
        options.cycle = 0.05 if options.robots else 0.01
    if not (options.cycle > 0.0 and options.passes > 0):
        parser.error("--cycle and --passes: values above 0 are needed")
    if options.robots and options.plot:
        parser.error("--plot is of the space arm: leave --robots out")
    settings = leaf_settings(parser, options)
    try:
        if options.robots is None:
            result = space_arm(options, settings)
            text = report(result)
        else:
            result = {n: real_robot(f, options, settings) for n, f in options.robots.items()}
            text = report_robots(result)
    except CollisionMonitorError as error:
        parser.error(str(error))
    print(json.dumps(result, indent=2) if options.json else text)


if __name__ == "__main__":
    main()
