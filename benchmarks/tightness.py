# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Loss of clearance by leaves: volumes, and mesh distance minus leaf distance.

    python benchmarks/tightness.py [--robots ur5,panda,...] [--max-leaves 8] [--json]
    python benchmarks/tightness.py --robots ur5 --sweep 1,2,4,8,16 --plot trade.png
    python benchmarks/tightness.py --published     # one leaf a mesh: the published fit and ours

The true distance is that of the collision meshes, by coal, at 2,000 random configurations where
it is positive and below 0.3 m. Leaves of a pair are never farther apart than its meshes, so only
pairs whose leaves are closer than the minimum mesh distance so far need a check.

`--published` compares two fits of a single leaf to each mesh of a robot. The published one: the
capsule along the longest side of the oriented box, its end spheres moved inwards, or the sphere
about the centre of the box, whichever is smaller. Ours (`max_leaves_per_link` 1) is
optimised as several leaves are, where that is smaller.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import time
from pathlib import Path
from xml.etree import ElementTree

import coal
import numpy as np
from common.command_line import TITLES, arguments, counts, table_head, table_row
from scipy.spatial import ConvexHull
from support.robots.robots import RobotFiles

from collision_monitor import CollisionModel
from collision_monitor.fitting.bounding_shapes import fit_box, fit_leaf, hull_points
from collision_monitor.fitting.shapes import fits_in_own_frame
from collision_monitor.robot.description import Shape
from collision_monitor.robot.urdf import load_robot

TIMES = (1, 1.5, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50, 70, 100)  # us
LOSSES = (2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50, 70, 100)  # mm
NAMES = ("ur5", "panda", "xarm7", "baxter", "tiago_dual")
FARTHEST = 0.3
# Links (as expressions) of which no two are checked against each other: a hand in itself and with
# the wrist that carries it, a base with its wheels.
TOGETHER = {
    "tiago_dual": (
        *(f"hand_{side}|wrist_{side}|arm_{side}_([567]|tool)" for side in ("left", "right")),
        "base|wheel|suspension|caster|torso_fixed",
        "torso|head_1|arm_(left|right)_[12]_",
    )
}


def coal_shape(shape: Shape):
    """A shape of ours as coal sees it."""
    if shape.kind == "mesh":
        mesh = coal.BVHModelOBBRSS()
        mesh.beginModel(len(shape.triangles), len(shape.vertices))
        mesh.addVertices(np.asarray(shape.vertices, dtype=float))
        mesh.addTriangles(np.asarray(shape.triangles, dtype=np.int32))
        mesh.endModel()
        return mesh
    if shape.kind == "box":
        return coal.Box(*shape.size)
    if shape.kind == "sphere":
        return coal.Sphere(*shape.size)
    return {"cylinder": coal.Cylinder, "capsule": coal.Capsule}[shape.kind](*shape.size)


class Meshes:
    """The collision shapes of a robot in coal, at the poses of a model."""

    def __init__(self, model: CollisionModel) -> None:
        self.model = model
        self.shapes = {
            link.name: [(coal_shape(shape), shape.pose) for shape in link.shapes]
            for link in model.robot.links.values()
        }
        self.request = coal.DistanceRequest()

    def distance(self, poses: dict[str, np.ndarray], a: str, b: str, beyond: float) -> float:
        """Distance of two links' shapes; at the first contact it is not positive."""
        least = beyond
        for first, pose_a in self.shapes[a]:
            place_a = poses[a] @ pose_a
            t1 = coal.Transform3s(place_a[:3, :3], place_a[:3, 3])
            for second, pose_b in self.shapes[b]:
                place_b = poses[b] @ pose_b
                t2 = coal.Transform3s(place_b[:3, :3], place_b[:3, 3])
                result = coal.DistanceResult()
                least = min(least, coal.distance(first, t1, second, t2, self.request, result))
        return least


def losses(model: CollisionModel, count: int, seconds: float) -> tuple[np.ndarray, int]:
    """(losses of up to ``count`` configurations, how many were in contact and left out)."""
    meshes = Meshes(model)
    lost, touching = [], 0
    deadline = time.monotonic() + seconds
    for q in model.random_configurations(20 * count, seed=2):
        if len(lost) >= count or time.monotonic() > deadline:
            break
        by_leaves = model.distances(q)
        poses = model.link_poses(q)
        true = np.inf
        for k in np.argsort(by_leaves):
            if by_leaves[k] >= true or true <= 0.0:
                break
            true = meshes.distance(poses, *model.pairs[k], true)
        if true <= 0.0:
            touching += 1
        elif true < FARTHEST:
            lost.append(true - float(by_leaves.min()))
    return np.array(lost), touching


def call_time(model: CollisionModel) -> float:
    """Microseconds of a distance query in the mean; the least of many short passes."""
    configurations = model.random_configurations(100, seed=3)
    times = []
    for _ in range(60):
        start = time.perf_counter()
        for q in configurations:
            model.distance(q)
        times.append((time.perf_counter() - start) / len(configurations) * 1e6)
    return min(times)


def semantics(name: str, files: RobotFiles) -> Path | str | None:
    """The SRDF of a robot, or one that disables the pairs in `TOGETHER`."""
    if files.srdf is not None or name not in TOGETHER:
        return files.srdf
    links = re.findall(r'<link name="([^"]+)"', files.urdf.read_text())
    lines = [
        f'<disable_collisions link1="{a}" link2="{b}" reason="Never"/>'
        for group in TOGETHER[name]
        for a, b in itertools.combinations([x for x in links if re.match(group, x)], 2)
    ]
    title = ElementTree.parse(files.urdf).getroot().get("name")
    return f'<robot name="{title}">{"".join(lines)}</robot>'


def measure(name: str, files: RobotFiles, options: dict, count: int, seconds: float) -> dict:
    """Volumes and losses of one robot."""
    srdf = semantics(name, files)
    model = CollisionModel.from_urdf(files.urdf, srdf, files.package_dirs, **options)
    fits = [fit for name in model.link_names for fit in model.fits[name]]
    hull, obb, union, leaf = (
        sum(numbers)
        for numbers in zip(
            *(
                (f.volumes.hull, f.volumes.obb, f.union_volume, sum(x.volume for x in f.leaves))
                for f in fits
            ),
            strict=True,
        )
    )
    loss, touching = losses(model, count, seconds)
    return {
        "links": len(model.link_names),
        "leaves": len(model.leaves),
        "leaves_per_link": len(model.leaves) / len(model.link_names),
        "most_leaves": max(sum(len(f.leaves) for f in model.fits[n]) for n in model.link_names),
        "union_over_hull": union / hull,
        "union_over_obb": union / obb,
        "leaves_over_obb": leaf / obb,
        "mean_loss_mm": 1000.0 * float(loss.mean()) if len(loss) else float("nan"),
        "p95_loss_mm": 1000.0 * float(np.percentile(loss, 95)) if len(loss) else float("nan"),
        "least_loss_mm": 1000.0 * float(loss.min()) if len(loss) else float("nan"),
        "configurations": len(loss),
        "touching": touching,
        "call_us": call_time(model),
    }


def single_leaves(files: RobotFiles) -> dict[str, float]:
    """Volumes (m^3) of all meshes of a robot: of boxes, of hulls, of a single leaf in each fit."""
    robot = load_robot(files.urdf, files.package_dirs)
    shapes = [shape for link in robot.links.values() for shape in link.shapes]
    volumes = {"meshes": 0, "obb": 0.0, "hull": 0.0, "published": 0.0, "single": 0.0}
    for shape in shapes:
        if shape.kind == "mesh":
            points = hull_points(np.asarray(shape.vertices, dtype=float))
            box = fit_box(points)
            volumes["meshes"] += 1
            volumes["obb"] += box.volume
            volumes["hull"] += ConvexHull(points).volume
            volumes["published"] += fit_leaf(points, box).volume
            volumes["single"] += fits_in_own_frame(shape, 1, math.inf)[0].leaves[0].volume
    return volumes


def print_single_leaves(robots: dict[str, RobotFiles], as_json: bool) -> None:
    """The table of `--published`."""
    results = {name: single_leaves(files) for name, files in robots.items()}
    if as_json:
        print(json.dumps(results, indent=2))
        return
    print("| robot | meshes | published/OBB | ours/OBB | published/hull | ours/hull |")
    print("|---" * 6 + "|")
    for name, v in results.items():
        ratios = [v[fit] / v[of] for of in ("obb", "hull") for fit in ("published", "single")]
        cells = " | ".join(f"{ratio:.2f}" for ratio in ratios)
        print(f"| {TITLES.get(name, name)} | {v['meshes']} | {cells} |")


def main() -> None:
    """Measure and print a table."""
    parser = arguments(__doc__, NAMES, 2000)
    parser.add_argument("--seconds", type=float, default=120.0, help="at most for each robot")
    parser.add_argument("--max-leaves", type=int, default=None)
    parser.add_argument("--tolerance", type=float, default=None, help="leaf_tolerance in metres")
    parser.add_argument("--sweep", type=counts, help="numbers of leaves per link: 1,2,4,8,16")
    parser.add_argument("--plot", default="", help="with --sweep: PNG of loss over time")
    parser.add_argument("--published", action="store_true", help="volumes of single leaves alone")
    options = parser.parse_args()
    if options.published:
        print_single_leaves(options.robots, options.json)
        return
    settings = {}
    if options.max_leaves is not None:
        settings["max_leaves_per_link"] = options.max_leaves
    if options.tolerance is not None:
        settings["leaf_tolerance"] = options.tolerance
    variants = [settings]
    if options.sweep:
        variants = [{"max_leaves_per_link": n, "leaf_tolerance": 0.0} for n in options.sweep]
    if not options.json:
        print(
            table_head(
                "robot", "leaves a link (most)", "union/hull", "union/OBB", "mean loss (mm)",
                "95 % (mm)", "call (us)",
            )
        )  # fmt: skip
    results: dict[str, list[dict]] = {}
    for name, files in options.robots.items():
        for variant in variants:
            r = measure(name, files, variant, options.configurations, options.seconds)
            results.setdefault(name, []).append({**variant, **r})
            if not options.json:
                leaves = f"{r['leaves_per_link']:.1f} ({r['most_leaves']})"
                figures = f"{r['union_over_hull']:.2f}", f"{r['union_over_obb']:.2f}"
                keys = "mean_loss_mm", "p95_loss_mm", "call_us"
                figures += tuple(f"{r[key]:.1f}" for key in keys)
                print(table_row(TITLES.get(name, name), leaves, *figures), flush=True)
    if options.json:
        print(json.dumps(results, indent=2))
    if options.plot:
        plot(results, options.plot)


def plot(results: dict[str, list[dict]], path: str) -> None:
    """Loss over time of a query, one line for each robot."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FuncFormatter, NullFormatter

    figure, axes = plt.subplots(figsize=(8.0, 5.0), dpi=120)
    for (name, rows), marker in zip(results.items(), itertools.cycle("os^Dv"), strict=False):
        times, lost = ([r[key] for r in rows] for key in ("call_us", "mean_loss_mm"))
        (line,) = axes.plot(times, lost, marker + "-", label=TITLES.get(name, name), linewidth=1.6)
        for r in rows:
            axes.annotate(
                str(r["max_leaves_per_link"]), (r["call_us"], r["mean_loss_mm"]),
                textcoords="offset points", xytext=(6, 5), fontsize=9,
                color=line.get_color(),
            )  # fmt: skip
    for axis, ticks in ((axes.xaxis, TIMES), (axes.yaxis, LOSSES)):
        axis.axes.set(**{f"{axis.axis_name}scale": "log"})
        axis.set_major_locator(matplotlib.ticker.FixedLocator(ticks))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
    axes.margins(0.08)
    axes.set_xlabel("time of one distance query from Python (\u00b5s)")
    axes.set_ylabel("clearance lost to the leaves, mean (mm)")
    axes.set_title("What leaves cost and save; numbers: leaves a link at most")
    axes.grid(True, alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)


if __name__ == "__main__":
    main()
