# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Three kinds of boxes to say exactly whether an industrial arm hits itself.

    python benchmarks/link_frame_boxes.py [--configurations 400]

After Chen and Xie, who report 5.0 ms for building and detecting with an octree of boxes along the
links' axes, 5.5 with oriented boxes and 5.6 with boxes of the world. Here: all checked pairs of
links of a UR5 and a UR10, one yes or no a configuration, to the first crossing; the same descent
in compiled code, the same test of triangles, the same answers. Boxes of the world are either
refitted at every configuration to the triangles of links whose outermost boxes meet, or put
around the boxes of the link as the descent comes to them. The others are built once, and the
transform between two links is all that changes.

Uniform random configurations, and approaching ones: the last tenth of straight motions, sampled,
into the first contact. Ways alternate in blocks; microseconds of processor time a configuration,
medians. Build: milliseconds of it for all links, once.
"""

from __future__ import annotations

import json
import statistics
import time

import numpy as np
from command_line import arguments
from link_meshes import link_meshes
from robots import ROBOTS, RobotFiles
from world_boxes import by_links, by_world

from collision_monitor import CollisionModel
from collision_monitor.bounding.triangle_tree import build_triangle_tree
from collision_monitor.kernels.mesh_tree import windows
from collision_monitor.robot.batch_poses import link_poses

WAYS = {
    "world AABBs, refitted": "aabb",
    "world AABBs, around boxes": "aabb",
    "PCA OBBs": "obb",
    "link-frame AABBs": "aabb",
    "link-frame octree": "octree",
}
BLOCKS = 25
STEPS, APPROACH = 64, 20  # of the search for the first contact; samples before it


class Forest:
    """All links of a robot in trees of one kind."""

    def __init__(self, meshes: dict, kind: str) -> None:
        build_triangle_tree(*next(iter(meshes.values())), kind)  # compiled
        start = time.process_time()
        trees = [build_triangle_tree(*mesh, kind) for mesh in meshes.values()]
        self.build = (time.process_time() - start) * 1e3
        self.numbers = np.concatenate([tree.numbers for tree in trees])
        self.index = np.concatenate([tree.index for tree in trees])
        sizes = np.array([(0, 0), *((len(t.numbers), len(t.index)) for t in trees)])
        self.starts = np.cumsum(sizes, axis=0)[:-1]
        views = [windows(tree.numbers, tree.index) for tree in trees]
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
        self.forests = {way: Forest(self.meshes, kind) for way, kind in WAYS.items()}

    def poses(self, rows: np.ndarray) -> np.ndarray:
        """(n, links, 3, 4) of all links."""
        poses = link_poses(self.model.bodies, self.meshes, rows)
        return np.ascontiguousarray(np.stack(list(poses.values()), axis=1)[:, :, :3])

    def ask(self, way: str, poses: np.ndarray, out: np.ndarray) -> None:
        """Answers of one way into ``out``."""
        forest = self.forests[way]
        shared = forest.numbers, forest.index, forest.starts, self.pairs, poses
        if way.startswith("world"):
            by_world(*shared, forest.space, forest.places, way.endswith("refitted"), out)
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
        found = []
        for clear, hit in zip(rows[~hits], rows[hits], strict=False):
            motion = clear + np.linspace(0, 1, STEPS)[:, None] * (hit - clear)
            first = int(self.collides(motion).argmax())
            part = np.linspace(0.9, 1.0, APPROACH)[:, None]
            found.append(clear + part * (motion[first] - clear))
            if len(found) * APPROACH >= count:
                break
        return np.concatenate(found)


def medians(robot: Robot, poses: np.ndarray) -> dict[str, float]:
    """Microseconds a configuration."""
    times = {way: [] for way in WAYS}
    out = np.empty(len(poses), dtype=bool)
    for _ in range(BLOCKS):
        for way, found in times.items():
            start = time.thread_time()
            robot.ask(way, poses, out)
            found.append((time.thread_time() - start) / len(poses) * 1e6)
    return {way: statistics.median(found) for way, found in times.items()}


def main() -> None:
    """Measure and print a table."""
    given = arguments(__doc__, (), 400).parse_args()
    results = {}
    table = [f"| robot | configurations | hit | {' | '.join(WAYS)} | octree takes less than |"]
    table.append("|---" * (len(WAYS) + 4) + "|")
    for name, files in (("UR5", ROBOTS["ur5"]), ("UR10", ur10())):
        robot = Robot(files)
        build = {way: forest.build for way, forest in robot.forests.items()}
        results[name] = {"build": build, "triangles": sum(len(t) for _, t in robot.meshes.values())}
        cases = {
            "random": robot.model.random_configurations(given.configurations, seed=1),
            "approaching": robot.approaching(given.configurations),
        }
        for case, rows in cases.items():
            hit = float(robot.collides(rows).mean())
            found = medians(robot, robot.poses(rows))
            results[name][case] = {"hit": hit, **found}
            octree = found["link-frame octree"]
            world = 1 - octree / min(v for way, v in found.items() if way.startswith("world"))
            oriented = 1 - octree / found["PCA OBBs"]
            cells = " | ".join(f"{value:.2f}" for value in found.values())
            ahead = f"world by {world:.0%}, OBBs by {oriented:.0%}"
            table.append(f"| {name} | {len(rows)} {case} | {hit:.0%} | {cells} | {ahead} |")
        cells = " | ".join(f"{value:.0f}" for value in build.values())
        table.append(f"| {name} | build (ms) | | {cells} | |")
    print(json.dumps(results, indent=1) if given.json else "\n".join(table))


if __name__ == "__main__":
    main()
