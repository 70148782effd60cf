# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Three kinds of boxes for the exact self-collision check of an industrial arm.

    python benchmarks/mesh_hierarchies.py link-frames [--configurations 400]

After Chen and Xie, who report 5.0 ms for building and detecting with an octree of boxes along the
links' axes, 5.5 with oriented boxes and 5.6 with boxes of the world. Here: all checked pairs of
links of a UR5 and a UR10, one yes or no a configuration, to the first crossing; the same descent
in compiled code, the same test of triangles, the same answers. Boxes of the world are either
refitted at every configuration to the triangles of links whose outermost boxes meet, or put
around the boxes of the link as the descent comes to them. The others are built once, and the
transform between two links is all that changes.

The package's octree holds 8 triangles in a leaf at most, its binary trees 1. So that the kind of
box and the size of the leaves can be told apart, all are also built with the other leaf size.

Uniform random configurations, and approaching ones: the last tenth of straight motions, sampled,
into the first contact. Ways alternate in blocks; microseconds of processor time a configuration,
medians of blocks, and what is saved in the median of the ratios within one block (10 to 90 % of
the blocks). Build: milliseconds of processor time for all links, once, median of five. The last
table adds one build and one detection, the criterion of the paper.
"""

from __future__ import annotations

import json
import statistics
import time

import numpy as np
from common.command_line import arguments
from meshes.link_meshes import link_meshes
from meshes.world_boxes import by_links, by_world
from support.robots.robots import ROBOTS, RobotFiles

from collision_monitor import CollisionModel
from collision_monitor.mesh_distance.mesh_tree import build_triangle_tree, windows
from collision_monitor.robot.bodies import link_poses

OBB, AABB, OCTREE = "PCA OBBs", "link-frame AABBs", "link-frame octree"
WAYS = {  # kind of box, triangles in a leaf at most
    "world AABBs, refitted, 1 a leaf": ("aabb", 1),
    "world AABBs, around boxes, 1 a leaf": ("aabb", 1),
    f"{OBB}, 1 a leaf": ("obb", 1),
    f"{AABB}, 1 a leaf": ("aabb", 1),
    f"{OCTREE}, 1 a leaf": ("octree", 1),
    f"{OBB}, 8 a leaf": ("obb", 8),
    f"{AABB}, 8 a leaf": ("aabb", 8),
    f"{OCTREE}, 8 a leaf": ("octree", 8),
}
SAVINGS = {  # what is compared: (way, other way)
    "octree (8) against OBBs (1), as the package builds them": (
        f"{OCTREE}, 8 a leaf", f"{OBB}, 1 a leaf"),
    "octree against OBBs, 8 a leaf": (f"{OCTREE}, 8 a leaf", f"{OBB}, 8 a leaf"),
    "octree against OBBs, 1 a leaf": (f"{OCTREE}, 1 a leaf", f"{OBB}, 1 a leaf"),
    "boxes alone: AABBs against OBBs, binary, 1 a leaf": (f"{AABB}, 1 a leaf", f"{OBB}, 1 a leaf"),
    "boxes alone: AABBs against OBBs, binary, 8 a leaf": (f"{AABB}, 8 a leaf", f"{OBB}, 8 a leaf"),
    "octree (8) against refitted world AABBs (1)": (
        f"{OCTREE}, 8 a leaf", "world AABBs, refitted, 1 a leaf"),
    "octree (8) against world AABBs around boxes (1)": (
        f"{OCTREE}, 8 a leaf", "world AABBs, around boxes, 1 a leaf"),
}  # fmt: skip
BLOCKS, BUILDS = 25, 5
STEPS, APPROACH = 64, 20  # of the search for the first contact; samples before it


class Forest:
    """All links of a robot in trees of one kind."""

    def __init__(self, meshes: dict, kind: str, in_a_leaf: int) -> None:
        build_triangle_tree(*next(iter(meshes.values())), kind)  # compiled
        builds = []
        for _ in range(BUILDS):
            start = time.process_time()
            settings = f"{kind}:leaf={in_a_leaf}"
            trees = [build_triangle_tree(*mesh, settings) for mesh in meshes.values()]
            builds.append((time.process_time() - start) * 1e3)
        self.build = statistics.median(builds)
        self.numbers = np.concatenate([tree.numbers for tree in trees])
        self.index = np.concatenate([tree.index for tree in trees])
        sizes = np.array([(0, 0), *((len(t.numbers), len(t.index)) for t in trees)])
        self.starts = np.cumsum(sizes, axis=0)[:-1]
        views = [windows(tree.numbers, tree.index) for tree in trees]
        held = np.concatenate([-view.nodes[view.nodes[:, 1] < 0, 1] for view in views])
        self.in_a_leaf = float(held.mean())
        room = np.array([(6 * len(v.nodes), 9 * len(v.corners)) for v in views])
        ends = np.cumsum(room.ravel())
        self.places = (ends - room.ravel()).reshape(-1, 2)
        self.space = np.empty(ends[-1])


def ur10() -> RobotFiles:
    """It lies beside the UR5, without an SRDF."""
    ur5 = ROBOTS["ur5"]
    return RobotFiles(ur5.urdf.with_name("ur10_robot.urdf"), None, ur5.package_dirs)


class Robot:
    """One robot in every way."""

    def __init__(self, files: RobotFiles) -> None:
        # Leaves have no part in this: only the links, the pairs and the kinematics.
        self.model = CollisionModel.from_urdf(
            files.urdf, files.srdf, files.package_dirs, max_leaves_per_link=1
        )
        self.meshes = link_meshes(self.model)
        rank = {name: k for k, name in enumerate(self.meshes)}
        self.pairs = np.array([[rank[a], rank[b]] for a, b in self.model.pairs])
        self.forests = {way: Forest(self.meshes, *made) for way, made in WAYS.items()}

    def poses(self, rows: np.ndarray) -> np.ndarray:
        """(n, links, 3, 4) of all links."""
        poses = link_poses(self.model.bodies, self.meshes, rows)
        return np.ascontiguousarray(np.stack(list(poses.values()), axis=1)[:, :, :3])

    def ask(self, way: str, poses: np.ndarray, out: np.ndarray) -> None:
        """Answers of one way into ``out``."""
        forest = self.forests[way]
        shared = forest.numbers, forest.index, forest.starts, self.pairs, poses
        if way.startswith("world"):
            by_world(*shared, forest.space, forest.places, "refitted" in way, out)
        else:
            by_links(*shared, out)

    def collides(self, rows: np.ndarray) -> np.ndarray:
        """Whether the arm hits itself at each configuration; all ways must agree."""
        poses, answers = self.poses(rows), []
        for way in WAYS:
            answers.append(np.empty(len(rows), dtype=bool))
            self.ask(way, poses, answers[-1])
            if not (answers[0] == answers[-1]).all():
                raise AssertionError(f"{way} says otherwise than {next(iter(WAYS))}")
        return answers[0]

    def approaching(self, count: int) -> np.ndarray:
        """The last tenth of motions from clear configurations to the first contact."""
        rows = self.model.random_configurations(8 * count, seed=3)
        hits = self.collides(rows)
        approaches = []
        for clear, hit in zip(rows[~hits], rows[hits], strict=False):
            motion = clear + np.linspace(0, 1, STEPS)[:, None] * (hit - clear)
            first = int(self.collides(motion).argmax())
            part = np.linspace(0.9, 1.0, APPROACH)[:, None]
            approaches.append(clear + part * (motion[first] - clear))
            if len(approaches) * APPROACH >= count:
                break
        return np.concatenate(approaches)


def measure(robot: Robot, poses: np.ndarray) -> dict[str, np.ndarray]:
    """Microseconds a configuration of every way in every block."""
    times = {way: [] for way in WAYS}
    out = np.empty(len(poses), dtype=bool)
    for _ in range(BLOCKS):
        for way, found in times.items():
            start = time.thread_time()
            robot.ask(way, poses, out)
            found.append((time.thread_time() - start) / len(poses) * 1e6)
    return {way: np.array(found) for way, found in times.items()}


def saved(times: dict[str, np.ndarray], way: str, other: str) -> list[float]:
    """How much less time a way takes: median, 10 % and 90 % of the blocks."""
    return np.percentile(1.0 - times[way] / times[other], (50, 10, 90)).tolist()


def main() -> None:
    """Measure and print two tables."""
    given = arguments(__doc__, (), 400).parse_args()
    columns, lines, results = [], {what: [] for what in SAVINGS}, {}
    sums: dict[str, list[str]] = {way: [] for way in WAYS}
    for name, files in (("UR5", ROBOTS["ur5"]), ("UR10", ur10())):
        robot = Robot(files)
        trees = robot.forests
        results[name] = {"triangles": sum(len(t) for _, t in robot.meshes.values())}
        cells = [f"{forest.in_a_leaf:.1f}" for forest in trees.values()]
        columns.append((f"{name}: triangles in a leaf", cells))
        columns.append(("build (ms)", [f"{forest.build:.0f}" for forest in trees.values()]))
        results[name]["build_ms"] = {way: forest.build for way, forest in trees.items()}
        cases = {
            "random": robot.model.random_configurations(given.configurations, seed=1),
            "approaching": robot.approaching(given.configurations),
        }
        for case, configurations in cases.items():
            hit = float(robot.collides(configurations).mean())
            times = measure(robot, robot.poses(configurations))
            medians = {way: statistics.median(found) for way, found in times.items()}
            savings = {what: saved(times, *ways) for what, ways in SAVINGS.items()}
            results[name][case] = {"hit": hit, "us": medians, "saved": savings}
            cells = [f"{value:.2f}" for value in medians.values()]
            columns.append((f"{name}, {len(configurations)} {case}, {hit:.0%} hit", cells))
            if case == "random":
                for way, forest in trees.items():
                    once = 1e-3 * medians[way]
                    both = (forest.build, once, forest.build + once)
                    sums[way] += [f"{value:.3g}" for value in both]
            for what, (middle, low, high) in savings.items():
                lines[what].append(f"{middle:.0%} ({low:.0%} to {high:.0%})")
    if given.json:
        print(json.dumps(results, indent=1))
        return
    print(f"| way | {' | '.join(title for title, _ in columns)} |")
    print("|---" * (len(columns) + 1) + "|")
    for way, *cells in zip(WAYS, *(cells for _, cells in columns), strict=True):
        print(f"| {way} | {' | '.join(cells)} |")
    print("\n| less time | UR5 random | UR5 approaching | UR10 random | UR10 approaching |")
    print("|---" * 5 + "|")
    for what, cells in lines.items():
        print(f"| {what} | {' | '.join(cells)} |")
    titles = [f"{name}: {what}" for name in results for what in ("build", "detection", "together")]
    print(f"\n| milliseconds | {' | '.join(titles)} |\n" + "|---" * (len(titles) + 1) + "|")
    for way, cells in sums.items():
        print(f"| {way} | {' | '.join(cells)} |")
