# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The published comparison of the two-level check: all points, one level, two levels.

    python benchmarks/two_level_check.py [--blocks N]
    python benchmarks/two_level_check.py --plot docs/two_level.png     # figures and picture alone

First as published: the tip of the probe arm, 95 points, compiled, on the same arrays. All points:
each against the ball. One level: the bound on the way, to the resolution of the points. Two levels:
the points that are left against the box as well. The paper says that two levels take 22.96 % less
time than all points where the motion is clear and 18.68 % less in the near miss.

Then the method of this package: all links over the whole motion, on the probe arm and on a real UR5
whose hand passes the obstacle. All points: the nearest shapes at each of 95 points, without the
motion between them. Two levels: leaves with the bound of second order, and the shapes where that is
not enough
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "test")]

from motions.probe_motion import (  # noqa: E402
    CLEAR,
    DURATION,
    END,
    NEAR,
    PRINTED_WAY,
    START,
    UR5_ASIDE,
    UR5_PART,
    box,
    points,
    probe_arm,
    scene,
    tip,
    trajectory,
)
from motions.two_level_as_printed import Box, ball_gap, place, two_levels  # noqa: E402
from support.robots.robots import ROBOTS  # noqa: E402

from collision_monitor import CollisionModel  # noqa: E402
from collision_monitor.common.compiled import kernel  # noqa: E402
from collision_monitor.hierarchy.packed import unpack  # noqa: E402
from collision_monitor.motion.trajectory import Trajectory  # noqa: E402
from collision_monitor.verification.clearance.clearance_check import Certifier  # noqa: E402
from collision_monitor.verification.clearance.schedule import Schedule  # noqa: E402
from collision_monitor.verification.clearance.two_level import check_two_levels  # noqa: E402

REPEAT = 300
PUBLISHED = {"clear": 22.96, "near miss": 18.68}


def medians(ways: dict[str, Callable[[], object]], blocks: int, repeat: int) -> dict[str, float]:
    """Microseconds of processor time a call of each way; blocks of them alternate."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(blocks):
        for name, way in ways.items():
            start = time.process_time()
            for _ in range(repeat):
                way()
            times[name].append((time.process_time() - start) / repeat * 1e6)
    return {name: statistics.median(values) for name, values in times.items()}


def show(title: str, found: dict[str, float], base: str) -> None:
    """Print a table."""
    print(title)
    for name, value in found.items():
        less = 100.0 * (1.0 - value / found[base])
        times = found[base] / value
        print(f"  {name:<44} {value:10.2f} us   {less:6.2f} % less, {times:5.1f} times")


@kernel
def _all_points(times, numbers, index, rows, body, point, box, radius, places, marks):
    view = unpack(numbers, index)
    for _ in range(times):
        for row in range(len(rows)):
            place(view, rows[row], body, point, places, row)
            marks[0, row] = ball_gap(places, row, box, radius) <= 0.0


@kernel
def _levels(
    times, numbers, index, rows, body, point, box, radius, reaches, both, places, marks
):  # fmt: skip
    for _ in range(times):
        two_levels(
            numbers, index, rows, body, point, box, radius, reaches, both, places, marks[0],
            marks[1],
        )  # fmt: skip


def as_published(blocks: int) -> None:
    """The tip only, in compiled loops, so that only the method is timed."""
    model = probe_arm()
    waypoints, end = points(trajectory(model.joint_names)), tip(model)
    places, marks = np.empty((len(waypoints), 3)), np.empty((2, len(waypoints)), dtype=bool)
    for name, center in (("clear", CLEAR), ("near miss", NEAR)):
        obstacle = box(center)
        given = (REPEAT, *end.arguments(waypoints, obstacle))
        more = end.reaches, places, marks
        as_printed = (*given[:-1], 0.0)
        ways = {
            "all points": lambda g=given: _all_points(*g, places, marks),
            "one level": lambda g=given, m=more: _levels(*g, m[0], False, *m[1:]),
            "two levels": lambda g=given, m=more: _levels(*g, m[0], True, *m[1:]),
            "two levels, gaps as printed": lambda g=as_printed, m=more: _levels(
                *g, m[0], True, *m[1:]
            ),
        }
        for way in ways.values():
            way()
        spent = {key: value / REPEAT for key, value in medians(ways, blocks, 1).items()}
        show(f"the tip, {name} (published: {PUBLISHED[name]} % less)", spent, "all points")
        print(figures(name, model, waypoints, center))


def figures(name: str, model: CollisionModel, waypoints: np.ndarray, center: np.ndarray) -> str:
    """Results of the methods for the tip and one obstacle."""
    end, obstacle = tip(model), box(center)
    ends = np.array([model.link_poses(q)["tip"][:3, 3] for q in waypoints[[0, -1]]])
    gaps = 1e3 * np.linalg.norm(ends - center, axis=1).sum()
    fine = trajectory(model.joint_names).positions(np.linspace(0.0, DURATION, 2000))
    at = np.array([model.link_poses(q)["tip"][:3, 3] for q in fine])
    length = 1e3 * np.linalg.norm(np.diff(at, axis=0), axis=1).sum()
    bound = 1e3 * np.abs(waypoints[-1] - waypoints[0]) @ end.reaches
    lines = [
        f"the tip, {name}: {len(waypoints)} points",
        f"  clearances to the centre at both ends: {gaps:.2f} mm together",
        f"  path of the tip: {length:.2f} mm; at most {bound:.1f} mm by the sum over the joints; "
        f"printed {1e3 * PRINTED_WAY:.2f} mm",
        f"  points in the ball: {shown(points_in_ball(model, waypoints, obstacle))}",
    ]
    for key, answer in (
        ("two levels", end.two_levels(waypoints, obstacle)),
        ("two levels, gaps as printed", end.two_levels(waypoints, obstacle, printed=True)),
    ):
        lines.append(
            f"  {key}: suspects {shown(answer.suspects)}, in the box {shown(answer.hits)}; "
            f"{answer.tests} tests, {answer.placed} points placed"
        )
    return "\n".join(lines)


def points_in_ball(model: CollisionModel, waypoints: np.ndarray, obstacle: Box) -> tuple[int, ...]:
    """Rows at which the tip is in the ball around the box."""
    places = np.array([model.link_poses(q)["tip"][:3, 3] for q in waypoints])
    gaps = np.linalg.norm(places - obstacle.rows[3], axis=1)
    return tuple(np.flatnonzero(gaps <= obstacle.radius).tolist())


def shown(indices: tuple[int, ...]) -> list[int]:
    """Points from 1, as the paper counts them."""
    return [k + 1 for k in indices]


def all_shapes(model: CollisionModel, rows: np.ndarray) -> bool:
    """Whether the shapes are apart at every point."""
    return all(model.distance(q, exact=True).distance > 0.0 for q in rows)


def whole_robot(name: str, model: CollisionModel, motion: Trajectory, blocks: int) -> None:
    """Every link, at every instant."""
    rows = points(motion)
    one, two, schedule = Certifier(model, exact=False), Certifier(model), Schedule(model, motion)
    ways = {
        "all points, shapes": lambda: all_shapes(model, rows),
        "all points, leaves (errs on the near side)": lambda: (model.min_distances(rows) > 0).all(),
        "one level: leaves at every instant": lambda: one.certify(schedule),
        "two levels: shapes where leaves do not do": lambda: two.certify(schedule),
        "verify --method two-level": lambda: not check_two_levels(model, motion).violations,
    }
    verdicts = {key: way() for key, way in ways.items()}
    show(name, medians(ways, blocks, 3), "all points, shapes")
    for key, verdict in verdicts.items():
        print(f"  {key:<44} {'free' if verdict else 'not shown to be free'}")


def plot(path: str) -> None:
    """Draw the tip's distance from the ball at all points, and suspects; print the figures."""
    from matplotlib.figure import Figure

    model = probe_arm()
    waypoints, end = points(trajectory(model.joint_names)), tip(model)
    at = np.array([1e3 * model.link_poses(q)["tip"][:3, 3] for q in waypoints])
    numbers = np.arange(1, len(waypoints) + 1)
    figure = Figure(figsize=(9.5, 5.5), layout="constrained")
    for axis, (name, center) in zip(
        figure.subplots(2, 1, sharex=True), (("clear", CLEAR), ("near miss", NEAR)), strict=True
    ):
        print(figures(name, model, waypoints, center))
        obstacle = box(center)
        gaps = np.linalg.norm(at - 1e3 * center, axis=1) - 1e3 * obstacle.radius
        sound = end.two_levels(waypoints, obstacle)
        printed = end.two_levels(waypoints, obstacle, True)
        axis.plot(numbers, gaps, ".-", markersize=3, linewidth=0.8, label="tip to ball")
        for label, style, chosen in (
            ("suspects, sound", "o", sound.suspects),
            ("suspects, as printed", "x", printed.suspects),
        ):
            if chosen:
                axis.plot(numbers[list(chosen)], gaps[list(chosen)], style, label=label)
        axis.axhline(0.0, color="C3", linewidth=0.8, label="ball")
        axis.set_title(
            f"{name}: {sound.tests} tests, {sound.placed} of {len(waypoints)} points placed, "
            f"{len(sound.suspects)} suspects, {len(sound.hits)} in the box",
            loc="left", fontsize=10,
        )  # fmt: skip
        axis.set_ylabel("mm")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    axis.set_xlabel("interpolation point")
    figure.savefig(path, dpi=100)


def main() -> None:
    """Run all comparisons."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, default=31)
    parser.add_argument("--plot", default="", help="PNG of distances and suspects; no timing")
    options = parser.parse_args()
    blocks = options.blocks
    if options.plot:
        plot(options.plot)
        return
    as_published(blocks)
    for name, center in (("clear", CLEAR), ("near miss", NEAR)):
        model = probe_arm(center)
        whole_robot(f"probe arm, {name}", model, trajectory(model.joint_names), blocks)
    files = ROBOTS["ur5"]
    model = CollisionModel.from_urdf(files.urdf, files.srdf, files.package_dirs)
    motion = trajectory(model.joint_names, START, START + UR5_PART * (END - START))
    hand = model.link_poses(motion.positions(np.array([4.6]))[0])["ee_link"][:3, 3]
    for name, off in (("clear", [0.0, 0.0, -1.5]), ("near miss", UR5_ASIDE)):
        model = CollisionModel.from_urdf(
            files.urdf, files.srdf, files.package_dirs, scene=scene(hand + off)
        )
        whole_robot(f"UR5, {name}", model, motion, blocks)


if __name__ == "__main__":
    main()
