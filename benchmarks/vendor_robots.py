# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Alarms of a monitor with defaults on unmodified vendor robots, against coal.

    python benchmarks/vendor_robots.py [--robots ur5,panda,...] [--poses 300] [--srdf] [--json]
    python benchmarks/vendor_robots.py --cycles      # time of an update along motions instead
    python benchmarks/vendor_robots.py --contacts 20000     # only contacts in random poses
    python benchmarks/vendor_robots.py --zero        # the state with all joints at zero
    python benchmarks/vendor_robots.py --learnt      # stops before and after `thresholds --motion`
    python benchmarks/vendor_robots.py --hierarchies        # axis-aligned against oriented boxes
    python benchmarks/vendor_robots.py --loss        # clearance that the leaves alone take
    python benchmarks/vendor_robots.py --number      # what the minimum distance says

The robots of example-robot-data that have an arm, legs or a hand, by their URDF alone; with
``--srdf`` by their SRDF as well, where there is one. Each robot rests in poses around zero (15 % of
the range of each joint) and in random ones: five joint states, 10 ms apart. The table says in how
many of them the last state is a stop, or a warning or stop, and in how many of all there is no
cause for it: coal finds no pair of the model within its stop (warning) distance, by pinocchio's
kinematics and the meshes. ``missed``: poses with a contact that is no stop. ``above``: poses in
which the reported distance is larger than coal's.

``--contacts``: how many of so many random poses coal finds in contact, by all pairs of the model,
and in how many of these the state is no stop.

``--zero``: level and message of a robot that rests with all joints at zero, or at the limit nearest
to it; and the level with what the command ``thresholds`` prints.

``--learnt``: in how many of the poses around zero the last state is a stop, with the file that
`thresholds` prints and with that of `thresholds --motion`: each joint of arms and head in turn
swings 0.2 rad about zero, legs stand. How many pairs have distances below what was seen, and which
are left out since their meshes meet in the motion.

``--loss``: smallest mesh distance (coal) minus smallest leaf distance in random poses without
contact in which the meshes are within 0.3 m, mean and 95 %, mm: of all pairs, and of pairs that are
not near by design; as `benchmarks/tightness.py`.

``--number``: smallest distance (of meshes) in 1,000 random poses, those without contact: median and
5 and 95 % of all pairs, and of those that are not near by design (`~/min_distance`); and in what
share of the poses one pair holds it whose distance there varies by less than 5 mm; the pair that
holds it most often.

``--cycles``: median and 99th percentile of `Monitor.update` in microseconds along random motions
at 1 kHz and at 125 Hz, and of the cycles that find a contact. "Of coal": in percent of the time
that pinocchio and coal take to compute the distances of the leaves once (`computeDistances`), which
is measured every 20 cycles at the same configuration. And the share of cycles in percent in which
the monitor neither stops nor slows the robot.

``--hierarchies``: processor time of exact distances with axis-aligned boxes over the triangles, as
a part of that with oriented ones, in turn in one run: the nearest pair along a motion at 1 kHz and
in random poses, and all pairs whose leaves are within 0.1 m; medians.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from common.command_line import arguments, own_robot
from distance import coal_query
from motions.learnt_thresholds import learnt, printed_thresholds
from support.geometry.exact_reference import ExactReference
from support.geometry.reference import Reference
from support.robots.vendor_robots import (
    VENDOR_NAMES,
    Alarms,
    at_rest,
    count_alarms,
    count_missed,
    vendor_files,
    with_reference,
)
from tightness import losses

from collision_monitor import CollisionModel, Monitor
from collision_monitor.fitting.shapes import FitSettings
from collision_monitor.model.sampled_distances import samples_around_zero


def load(
    name: str, with_srdf: bool, max_leaves: int = FitSettings.max_leaves_per_link
) -> tuple[CollisionModel, ExactReference]:
    """A robot, and coal's distances of it."""
    files = own_robot(name) or vendor_files(name)
    if files is None:
        sys.exit("the package example-robot-data is not installed (PyPI: example-robot-data)")
    return with_reference(files, with_srdf, max_leaves_per_link=max_leaves)


def motion(model: CollisionModel, rate: float, seconds: float, seed: int) -> np.ndarray:
    """Positions of joints that speed up and slow down, at most at half of their limits."""
    rng = np.random.default_rng(seed)
    fastest = 0.5 * np.minimum(model.velocity_limits, 2.0)
    times, period = np.arange(0.0, seconds, 1.0 / rate), 2.0
    speeds = rng.uniform(-1.0, 1.0, (3, len(fastest))) * fastest / 3.0
    start = np.clip(0.0, model.lower, model.upper)
    waves = [
        speed * np.sin(2.0 * np.pi * (k + 1) * times[:, None] / period) * period / 2.0 / np.pi
        for k, speed in enumerate(speeds)
    ]
    return np.clip(start + sum(waves), model.lower, model.upper)


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    result = call()
    return 1e6 * (time.perf_counter() - begin), result


def cycles(
    model: CollisionModel, seconds: float, coal: Callable[[np.ndarray], Any]
) -> dict[str, float]:
    """Times of `Monitor.update` along motions: microseconds, and percentages of ``coal``'s."""
    results: dict[str, float] = {}
    in_contact: list[float] = []
    free = []
    for name, rate in (("1 kHz", 1000.0), ("125 Hz", 125.0)):
        spent, parts, theirs = [], [], np.nan
        for seed in range(5):
            monitor = Monitor(model)
            for k, q in enumerate(motion(model, rate, seconds, seed)):
                if k % 20 == 0:
                    theirs = coal(q)
                now = 100.0 + k / rate
                one, state = _timed(partial(monitor.update, model.joint_names, q, now, now))
                spent.append(one)
                parts.append(100.0 * one / theirs)
                free.append(state.action == "none")
                if state.distance <= 0.0:
                    in_contact.append(one)
        results |= _percentiles(name, spent) | _percentiles(f"{name}, of coal", parts)
    results |= _percentiles("contact", in_contact)
    return results | {"no action": 100.0 * float(np.mean(free))}


def query_of_leaves(name: str, model: CollisionModel) -> Callable[[np.ndarray], float]:
    """Microseconds that pinocchio and coal take for the distances of a model's leaves."""
    files = own_robot(name) or vendor_files(name)
    reference = Reference(files.urdf, files.package_dirs, model)
    query = coal_query(reference)

    def microseconds_of(q: np.ndarray) -> float:
        there = reference.configuration(q)
        return _timed(partial(query, there))[0]

    return microseconds_of


def hierarchies(name: str) -> dict[str, float]:
    """Times of exact distances with axis-aligned boxes, as parts of those with oriented boxes."""
    files = own_robot(name) or vendor_files(name)
    models = {
        kind: CollisionModel.from_urdf(files.urdf, None, files.package_dirs, hierarchy=kind)
        for kind in ("aabb", "obb")
    }
    poses = models["aabb"].random_configurations(300, seed=1)
    ratios = {}
    for task, configurations in (
        ("motion", motion(models["aabb"], 1000.0, 1.0, 0)), ("random", poses), ("all", poses[:100])
    ):  # fmt: skip
        spent: dict[str, list[float]] = {kind: [] for kind in models}
        order = list(models)
        for q in configurations:
            order.reverse()  # the first one finds less in the caches of the processor
            for kind in order:
                model, begin = models[kind], time.thread_time()
                if task == "all":
                    model.distances(q, exact=True, within=0.1)
                else:
                    model.distance(q, exact=True, any_contact=True)
                spent[kind].append(time.thread_time() - begin)
        ratios[task] = float(np.median(spent["aabb"]) / np.median(spent["obb"]))
    return ratios


def leaf_losses(model: CollisionModel) -> tuple[dict, list[str]]:
    """Losses of all pairs and of those not near by design, and their cells."""
    near = Monitor(model).behaviour.structural_pairs
    others = [pair for index, pair in enumerate(model.pairs) if index not in near]
    most = max(sum(len(fit.leaves) for fit in model.fits[name]) for name in model.link_names)
    row: dict[str, float] = {"leaves": len(model.leaves), "most leaves": most}
    cells = [f"{len(model.leaves)} ({most})"]
    for name, some in (("all", model), ("others", model.twin(others) if others else None)):
        loss = np.empty(0) if some is None else 1e3 * losses(some, 400, 60.0)[0]
        found = (loss.mean(), np.percentile(loss, 95)) if len(loss) else (np.nan, np.nan)
        row |= {f"{name}, mean": found[0], f"{name}, 95 %": found[1]}
        cells += [f"{found[0]:.1f} / {found[1]:.1f}"]
    return row, cells


def number_of(model: CollisionModel) -> tuple[dict, list[str]]:
    """The smallest distance of all pairs, and of those that are not near by design."""
    configurations = model.random_configurations(1000, seed=9)
    every = [model.distance(q, exact=True, any_contact=True) for q in configurations]
    apart = [k for k, each in enumerate(every) if each.distance > 0.0]
    configurations, every = configurations[apart], [every[k] for k in apart]
    others = [
        model.distance(q, exact=True, any_contact=True, by_design=False) for q in configurations
    ]
    results: dict[str, dict] = {}
    for name, clearances in (("all pairs", every), ("not near by design", others)):
        held: dict[tuple[str, ...], list[float]] = {}
        for each in clearances:
            held.setdefault(tuple(sorted(each.links)), []).append(each.distance)
        distances = [each.distance for each in clearances] or [np.nan]
        constant = [len(some) for some in held.values() if np.ptp(some) < 0.005]
        most = max(held.items(), key=lambda item: len(item[1]), default=(("-",), []))
        results[name] = {
            "quantiles": np.quantile(distances, (0.05, 0.5, 0.95)).tolist(),
            "constant": max(constant, default=0) / max(1, len(configurations)),
            "most": " - ".join(most[0]),
        }
    cells = [str(len(configurations))]
    for each in results.values():
        low, median, high = each["quantiles"]
        cells += [f"{median:.3f} ({low:.3f} to {high:.3f})", f"{each['constant']:.0%}"]
    return results, [*cells, results["not near by design"]["most"]]


_LOSS = ["leaves (most)", "mean / 95 %, all pairs", "not near by design"]
_NUMBER = [
    "poses", "all pairs (m)", "constant", "not near by design (m)", "constant", "most often held by"
]  # fmt: skip


def _percentiles(name: str, times: list[float]) -> dict[str, float]:
    values = np.percentile(times, (50, 99)) if times else (np.nan, np.nan)
    return {f"{name} median": float(values[0]), f"{name} p99": float(values[1])}


def results_of(name: str, options: argparse.Namespace) -> tuple[dict, list[str]]:
    """Results of a robot, and the cells of its row in the table."""
    if options.hierarchies:
        ratios = hierarchies(name)
        return ratios, [f"{value:.2f}" for value in ratios.values()]
    if options.learnt:
        found, left_out = learnt(own_robot(name) or vendor_files(name), options.poses)
        shares = [f"{found[f'stop {which}']:.0%}" for which in ("before", "after")]
        return found | {"left out": left_out}, [*shares, str(found["own distances"]), left_out]
    model, coal = load(name, options.srdf, options.max_leaves)
    if options.cycles:
        times = cycles(model, 5.0, query_of_leaves(name, model))
        return times, [f"{value:.0f}" for value in times.values()]
    if options.loss:
        return leaf_losses(model)
    if options.number:
        return number_of(model)
    if options.zero:
        q = np.clip(0.0, model.lower, model.upper)
        state = at_rest(Monitor(model), q)
        with_file = Monitor(model)
        with_file.set_thresholds(printed_thresholds(own_robot(name) or vendor_files(name)))
        row = {
            "level": state.level.name, "with thresholds": at_rest(with_file, q).level.name,
            "message": state.message,
        }  # fmt: skip
        return row, list(row.values())
    if options.contacts:
        poses = model.random_configurations(options.contacts, seed=2)
        contacts, missed = count_missed(model, coal, poses)
        counts = {"poses": len(poses), "contacts": contacts, "missed": len(missed)}
        return counts, [str(value) for value in counts.values()]
    rows = {
        "around zero": samples_around_zero(model, options.poses, seed=1),
        "random": model.random_configurations(options.poses, seed=1),
    }
    shares = {key: _shares(count_alarms(model, coal, some)) for key, some in rows.items()}
    cells = [
        f"{each['stop']:.0%} ({each['false_stop']:.1%}) | "
        f"{each['warn']:.0%} ({each['false_warn']:.1%})"
        for each in shares.values()
    ]
    near = len(Monitor(model).behaviour.structural_pairs)
    cells += [str(sum(each[key] for each in shares.values())) for key in ("missed", "above")]
    return shares, [*cells, f"{len(model.pairs)}, {near} near by design"]


def main() -> int:
    """Print the table."""
    parser = arguments(__doc__)
    parser.add_argument(
        "--robots",
        default=",".join(VENDOR_NAMES),
        help="comma-separated names, or robot.urdf@folder_of_packages",
    )
    parser.add_argument("--poses", type=int, default=300)
    parser.add_argument("--srdf", action="store_true")
    parser.add_argument("--cycles", action="store_true")
    parser.add_argument("--contacts", type=int, metavar="POSES")
    parser.add_argument("--max-leaves", type=int, default=FitSettings.max_leaves_per_link)
    parser.add_argument("--zero", action="store_true")
    parser.add_argument("--hierarchies", action="store_true")
    parser.add_argument("--loss", action="store_true")
    parser.add_argument("--number", action="store_true")
    parser.add_argument("--learnt", action="store_true")
    options = parser.parse_args()
    results = {}
    for name in options.robots.split(","):
        if name not in VENDOR_NAMES and not own_robot(name):
            parser.error(f"no robot {name!r}; there are {', '.join(VENDOR_NAMES)}")
        row, cells = results_of(name, options)
        results[name] = row
        if not options.json:
            if len(results) == 1:
                others = list(row) if len(row) == len(cells) else None
                print(_head(_LOSS if options.loss else _NUMBER if options.number else others))
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
    if options.json:
        print(json.dumps(results, indent=1))
    return 0


def _shares(counts: Alarms) -> dict[str, float]:
    """Parts of the poses with alarms, and how many are wrong."""
    shares = {
        key: getattr(counts, key) / counts.poses
        for key in ("stop", "false_stop", "warn", "false_warn")
    }
    return {**shares, "missed": counts.missed, "above": counts.above}


def _head(columns: list[str] | None) -> str:
    names = columns or [
        "stop around zero (false)", "warning", "stop at random (false)", "warning",
        "missed", "above", "pairs",
    ]  # fmt: skip
    return f"| robot | {' | '.join(names)} |\n|---|{'---|' * len(names)}"


if __name__ == "__main__":
    sys.exit(main())
