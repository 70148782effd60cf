# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Output of `hybrid_tree.py`: times, the first alarm, and the two volume tables of the paper."""

from __future__ import annotations

import math

import numpy as np
from common.command_line import TITLES, table_head, table_row
from space_arm.range_sensor import Sensor

from collision_monitor import CollisionModel
from collision_monitor.fitting.shapes import Fit

MARGIN = 0.1  # m: both volumes grown by 50 mm
PUBLISHED = 0.45  # less time than the algorithms that the paper compares


def alarm(model: CollisionModel, rows: np.ndarray) -> dict[str, float]:
    """The first pose with a leaf pair nearer than the threshold, and the one before."""
    distances = model.min_distances(rows)
    k = int(np.argmax(distances <= MARGIN))
    return {"row": k, "distance_m": distances[k], "distance_before_m": distances[k - 1]}


def plot(path: str, times: dict[str, np.ndarray], sensor: Sensor, lead: int) -> None:
    """Write a picture: microseconds of each way over the cycles; distances and the alarm."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 7.0), layout="constrained")
    cost, distance, signal = figure.subplots(
        3, 1, sharex=True, gridspec_kw={"height_ratios": [3, 3, 1]}
    )
    for name, values in times.items():
        cost.plot(sensor.times[lead:], values, linewidth=1.0, label=name)
    cost.set_ylabel("one cycle, us")
    cost.set_ylim(bottom=0.0)
    cost.legend(fontsize=8, ncols=2)
    distance.plot(sensor.times, 1e3 * sensor.computed, label="computed, tool and hull")
    distance.plot(sensor.times, 1e3 * sensor.measured, ".", markersize=2, label="ultrasonic sensor")
    distance.axhline(1e3 * MARGIN, color="0.4", linewidth=0.8, label="threshold")
    distance.set_ylabel("distance, mm")
    distance.legend(fontsize=8)
    signal.step(sensor.times, sensor.alarm, where="post", color="C0", label="computed")
    signal.step(
        sensor.times, sensor.sensor_alarm, where="post", color="C1", linestyle="--", label="sensor"
    )
    signal.set_yticks([0, 1], ["clear", "alarm"])
    signal.legend(fontsize=8, loc="upper left")
    signal.set_xlabel("time, s")
    for axis in (cost, distance, signal):
        axis.grid(alpha=0.3)
    figure.savefig(path, dpi=100)


def volumes(model: CollisionModel) -> list[dict]:
    """Volumes (m^3) of every part of the station and of the arm: leaves, OBBs, the real one."""
    arm = [name for name in model.link_names if name.startswith("arm_")]
    parts = {"arm": arm, **{n: [n] for n in model.link_names if n not in arm}}
    parts["total"] = list(model.link_names)
    entries = []
    for part, names in parts.items():
        fits = [fit for name in names for fit in model.fits[name]]
        entries.append(
            {
                "part": part,
                "leaves": sum(len(fit.leaves) for fit in fits),
                "obb_m3": sum(fit.volumes.obb for fit in fits),
                "leaves_m3": sum(_leaves_volume(fit) for fit in fits),
                "real_m3": sum(fit.volumes.shape for fit in fits),
            }
        )
    return entries


def _leaves_volume(fit: Fit) -> float:
    """Of the leaves of a shape, overlaps once; those of several shapes are added up."""
    several_shapes = math.isnan(fit.stand_off)  # leaves that were given have one fit for all
    return sum(leaf.volume for leaf in fit.leaves) if several_shapes else fit.union_volume


def _about(result: dict) -> str:
    """Summary of the measurement, one line."""
    return (
        f"{result['leaves']} leaves around {result['shapes']} shapes, fit {result['fit']}; "
        f"{result['link_pairs']} pairs of links, {result['leaf_pairs']} pairs of leaves; "
        f"{result['rows']} cycles of {result['cycle_s']:g} s, {result['passes']} passes"
    )


_COLUMNS = {  # of the compiled calls: (title, way)
    "tree": "hybrid tree, compiled",
    "all pairs": "all pairs, plain, compiled",
    "filtered": "all pairs, with filters, compiled",
    "tree, near": "hybrid tree, level-first, compiled",
    "all pairs, near": "all pairs, plain, near, compiled",
    "filtered, near": "all pairs, with filters, near, compiled",
    "AABBs, OBBs": "AABB tree refined by OBBs, compiled",
    "OBB tree": "OBB tree, compiled",
}


def report_robots(results: dict[str, dict]) -> str:
    """Microseconds of the compiled calls on each robot as markdown, and what the tree saves."""
    lines = []
    for name, result in results.items():
        near = (f"{way} {count:.1f}" for way, count in result["near_pairs"].items())
        lines.append(f"{name}: {_about(result)}")
        lines.append(f"  pairs of links below the threshold in the mean: {', '.join(near)}")
    lines += [
        "",
        "Microseconds of a compiled call: the nearest pair; pairs below the threshold (near), by "
        "trees of boxes too",
        "",
    ]
    lines.append(table_head("robot", *_COLUMNS))
    for name, result in results.items():
        cells = [f"{result['times'][way]['median_us']:.2f}" for way in _COLUMNS.values()]
        lines.append(table_row(TITLES.get(name, name), *cells))
    lines.append("")
    for name, result in results.items():
        lines += [f"{name}, {line}" for line in _savings(result)]
    return "\n".join(lines)


def _savings(result: dict) -> list[str]:
    """Relative time of the tree compared with its peers."""

    def than(less: float) -> str:
        return f"{abs(less):.0%} {'less' if less >= 0.0 else 'more'}"

    return [
        f"{saving['way']}: {than(saving['less'])} time than {saving['other']} "
        f"({than(saving['least'])} to {than(saving['most'])} in single passes)"
        for saving in result["savings"]
    ]


def report(result: dict) -> str:
    """The complete report as markdown."""
    lines = [
        f"{_about(result)}; {result['moving_leaves']} leaves of the arm; "
        + ", ".join(f"{k} {v}" for k, v in result["versions"].items()),
        "",
        table_head("way", "answers", "median", "cold", "worst pose", "ratio to the tree"),
    ]
    for name, r in result["times"].items():
        ratio = "-" if r["ratio"] is None else f"{r['ratio']:.2f}"
        figures = f"{r['median_us']:,.2f}", f"{r['cold_us']:,.2f}", f"{r['worst_pose_us']:,.1f}"
        lines.append(table_row(name, r["question"], *figures, ratio))
    lines.append("")
    lines += _savings(result)
    lines.append(f"published: {PUBLISHED:.0%} less time than other algorithms")
    lines.append(f"preempted {result['preemptions']} times in all while timing")
    a, seen = result["alarm"], result["sensor"]
    lines += [
        f"first alarm in cycle {a['row']} at {1000 * a['distance_m']:.2f} mm, "
        f"{1000 * a['distance_before_m']:.2f} mm before it (threshold {1000 * MARGIN:g} mm)",
        f"alarm at {seen['alarm_s']:.2f} s, {1000 * seen['alarm_m']:.1f} mm; of the sensor at "
        f"{seen['sensor_alarm_s']:.2f} s, reading {1000 * seen['sensor_alarm_m']:.1f} mm",
        f"readings minus the distance computed one cycle before: {1000 * seen['mean_off_m']:.1f} "
        f"mm in the mean, scatter {1000 * seen['scatter_m']:.1f} mm, at most "
        f"{1000 * seen['most_off_m']:.1f} mm",
        "",
        table_head("part", "leaves", "leaves/OBBs", "real/leaves"),
    ]
    for v in result["volumes"]:
        ratios = f"{v['leaves_m3'] / v['obb_m3']:.2f}", f"{v['real_m3'] / v['leaves_m3']:.0%}"
        lines.append(table_row(v["part"], v["leaves"], *ratios))
    return "\n".join(lines)
