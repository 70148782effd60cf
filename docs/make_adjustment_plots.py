# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Make the plots of adjusted motions: the experiment of Wu et al. (2018), before and after.

    python docs/make_adjustment_plots.py [--methods field,robust] [--output FOLDER]

It writes adjustment_joints.png and adjustment_distance.png, and prints the table of docs/adjust.md;
distances are between the centre lines of the links, as in the paper. Run it
with ``make docs PAGES=adjustment_plots``; it writes to docs/. The robot and the
motion are those of test/support/robots/dual_arm_cases.py.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import matplotlib

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS.parent), str(DOCS.parent / "test")]

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from support.robots.dual_arm_cases import (  # noqa: E402
    PAPER,
    joint_centres,
    largest_deviation,
    largest_step,
    pair_distances,
    refined,
)

from collision_monitor.self_collision.field.repulsion_field import (  # noqa: E402
    adjust_published,
)
from collision_monitor.self_collision.margins import Problem  # noqa: E402
from collision_monitor.self_collision.motion_clearance import repulsion  # noqa: E402
from collision_monitor.self_collision.robust.sqp_adjustment import SqpAdjustment  # noqa: E402

METHODS: dict[str, Callable[[Problem], np.ndarray]] = {
    "field": adjust_published,
    "robust": lambda problem: SqpAdjustment(problem).run(),
}
COLOURS = ("#1d3557", "#e76f51")  # one a method
BEFORE, SAFE, DANGER = "#8d99ae", "#2a9d8f", "#d62828"
FINE = 20  # points between waypoints, plus one


def joints(motions: Mapping[str, np.ndarray]) -> plt.Figure:
    """Every joint of both arms over time, in degrees."""
    figure, axes = plt.subplots(
        7, 2, figsize=(11, 12), sharex=True, layout="constrained", squeeze=False
    )
    for side, name in enumerate(("right", "left")):
        for k in range(7):
            axis, column = axes[k, side], 7 * side + k
            axis.plot(
                PAPER.times, np.degrees(PAPER.desired[:, column]), color=BEFORE,
                linestyle=(0, (3, 2)), linewidth=1.6, label="desired",
            )  # fmt: skip
            for colour, (method, rows) in zip(COLOURS, motions.items(), strict=False):
                axis.plot(
                    PAPER.times, np.degrees(rows[:, column]), color=colour, linewidth=1.2,
                    label=method,
                )  # fmt: skip
            axis.set_ylabel(f"joint {k + 1}, deg")
            axis.grid(alpha=0.3)
            axis.margins(x=0.01)
        axes[0, side].set_title(f"{name} arm", loc="left")
        axes[-1, side].set_xlabel("time, s")
    axes[0, 0].legend(frameon=False, fontsize=8)
    return figure


def distances(motions: Mapping[str, np.ndarray]) -> plt.Figure:
    """Least distance of the segments, the same near d_saf, and the index F, while they are near."""
    safe, danger = 0.2, 0.15
    times = np.linspace(PAPER.times[0], PAPER.times[-1], FINE * (len(PAPER.times) - 1) + 1)
    figure, axes = plt.subplots(3, 1, figsize=(9, 8.5), sharex=True, layout="constrained")
    curves = {"desired": (PAPER.desired, BEFORE)}
    for colour, (method, rows) in zip(COLOURS, motions.items(), strict=False):
        curves[method] = (rows, colour)
    for name, (rows, colour) in curves.items():
        every = pair_distances(joint_centres(refined(rows, FINE), PAPER.offset))
        d = every.min(axis=(1, 2))
        force = repulsion(every, safe, danger).sum(axis=(1, 2))
        stop = ~np.isfinite(force)
        for axis in axes[:2]:
            axis.plot(times, d, color=colour, label=name)
        axes[2].plot(times, np.where(stop, np.nan, force), color=colour, label=name)
        if stop.any():
            whole = axes[2].get_xaxis_transform()  # the height of the panel
            axes[2].fill_between(
                times, 0.0, 1.0, where=stop, color=DANGER, alpha=0.15, transform=whole
            )
            axes[2].text(
                times[stop].mean(), 0.5, "infinite", ha="center", color=DANGER, transform=whole
            )
    for axis in axes[:2]:
        axis.axhline(safe, color=SAFE, linestyle="--", linewidth=1.0, label="d_saf")
    axes[0].axhline(danger, color=DANGER, linestyle="--", linewidth=1.0, label="d_dan")
    axes[0].set_ylabel("least distance d, m")
    axes[0].set_ylim(bottom=0.0)
    axes[0].legend(frameon=False, fontsize=8)
    axes[1].set_ylabel("d near d_saf, m")
    axes[1].set_xlim(38.0, 62.0)
    axes[1].set_ylim(safe - 0.002, safe + 0.006)
    axes[2].set_ylabel("index F of all pairs")
    axes[2].set_xlabel("time, s")
    for axis in axes:
        axis.grid(alpha=0.3)
    return figure


def table(motions: Mapping[str, np.ndarray]) -> str:
    """The figures of all motions, the desired one first."""
    desired = PAPER.desired
    columns = {"desired": desired, **{f"`{name}`": rows for name, rows in motions.items()}}
    lines = {
        "": list(columns),
        "least distance at any instant, m": [
            f"{PAPER.segment_distances(refined(rows, FINE)).min():.4f}" for rows in columns.values()
        ],
        "largest change of a joint, deg": [
            f"{largest_deviation(rows, desired):.1f}" for rows in columns.values()
        ],
        "largest step from waypoint to waypoint, deg": [
            f"{largest_step(rows):.2f}" for rows in columns.values()
        ],
        f"waypoints that are changed, of 0 to {len(desired) - 1}": [
            f"{changed[0]} to {changed[-1]}" if len(changed) else "none"
            for rows in columns.values()
            for changed in [np.flatnonzero((rows != desired).any(axis=1))]
        ],
    }
    return "\n".join(f"| {' | '.join([name, *cells])} |" for name, cells in lines.items())


def main() -> None:
    """Adjust the motion by every method, draw it and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known = ",".join(METHODS)
    parser.add_argument("--methods", default=known, help="which (default %(default)s)")
    parser.add_argument("--output", type=Path, default=DOCS, help="folder of the pictures")
    options = parser.parse_args()
    names = options.methods.split(",")
    if unknown := [name for name in names if name not in METHODS]:
        parser.error(f"--methods {','.join(unknown)}: there are {known}")
    problem = PAPER.problem()
    motions = {name: METHODS[name](problem) for name in names}
    for name, figure in (("joints", joints(motions)), ("distance", distances(motions))):
        figure.savefig(options.output / f"adjustment_{name}.png", dpi=90)
    print(table(motions))


if __name__ == "__main__":
    main()
