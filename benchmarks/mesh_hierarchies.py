# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Comparison of hierarchies over the triangles of links with each other and those of coal.

    python benchmarks/mesh_hierarchies.py [--robots ur5,panda,...] [--configurations 200]
    python benchmarks/mesh_hierarchies.py --turned

Build, distance, yes or no, for pairs of links at the poses where a robot is asked for the truth:
the nearest pair by leaves at random configurations ("random", no guess), and along motions
sampled at 1 kHz whose fastest joint moves at 1 rad/s ("smooth", the last nearest triangles as a
guess). Yes or no at the random ones ("apart" if they are), with the second link moved along the
normal until it is 1 mm away ("near"), and 1 mm farther than to the first touch ("touching").
Every query asks all kinds and coal in turn; answers are compared. Microseconds a query; build:
milliseconds for all links. "Turned": the same, but every mesh lies slantwise in the frame of its
link, as exporters leave some.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import coal
import numpy as np
from common.command_line import TITLES, arguments, choose, table_head, table_row
from meshes.link_meshes import link_meshes, relative
from scipy.spatial.transform import Rotation
from support.geometry.coal_shapes import coal_mesh
from support.geometry.two_meshes import mesh_crossing, mesh_distance
from support.robots.robots import RobotFiles

from collision_monitor import CollisionModel
from collision_monitor.mesh_distance.mesh_tree import KINDS, build_triangle_tree

NAMES = ("ur5", "panda", "pr2", "baxter")
ONE_PAIR = np.empty((1, 2), dtype=np.int64)
NEAR = 1e-3
MOTIONS, SAMPLES = 6, 150
REPEATS = 5  # of every query: the fastest counts, what is else is the machine

Pose = tuple[np.ndarray, np.ndarray]
Query = tuple[str, str, Pose]


class Robot:
    """Links of one robot as meshes, in every hierarchy."""

    def __init__(self, files: RobotFiles, turned: bool) -> None:
        self.model = CollisionModel.from_urdf(files.urdf, files.srdf, files.package_dirs)
        self.meshes = link_meshes(self.model)
        turns = Rotation.random(len(self.meshes), random_state=1).as_matrix()
        self.turns = {
            link: turn if turned else np.eye(3)
            for link, turn in zip(self.meshes, turns, strict=True)
        }
        self.meshes = {link: (v @ self.turns[link], t) for link, (v, t) in self.meshes.items()}
        self.trees: dict[str, dict] = {}  # kind -> link -> hierarchy
        self.build: dict[str, float] = {}
        build_triangle_tree(*next(iter(self.meshes.values())), "octree")  # compiled
        for kind in (*KINDS, "coal"):
            start = time.process_time()
            self.trees[kind] = {
                link: coal_mesh(*mesh) if kind == "coal" else build_triangle_tree(*mesh, kind)
                for link, mesh in self.meshes.items()
            }
            self.build[kind] = (time.process_time() - start) * 1e3

    def query(self, q: np.ndarray, a: str, b: str) -> Query:
        """Two links at a configuration."""
        rotation, translation = relative(self.model.link_poses(q), a, b)
        rotation = self.turns[a].T @ rotation @ self.turns[b]
        return a, b, (np.ascontiguousarray(rotation), self.turns[a].T @ translation)

    def queries(self, rows: np.ndarray) -> list[Query]:
        """The nearest pair by leaves at each configuration."""
        return [self.query(q, *self.model.distance(q).links) for q in rows]

    def motions(self) -> list[list[Query]]:
        """Along straight motions, the pair that is nearest in their middle."""
        motions = []
        for k in range(MOTIONS):
            first, last = self.model.random_configurations(2, seed=100 + k)
            step = 1e-3 * (last - first) / np.abs(last - first).max()
            rows = 0.5 * (first + last) + step * (np.arange(SAMPLES)[:, None] - SAMPLES / 2)
            a, b = self.model.distance(rows[SAMPLES // 2]).links
            motions.append([self.query(q, a, b) for q in rows])
        return motions

    def distance(self, kind: str, query: Query, guess: tuple[int, int] = (-1, -1)) -> tuple:
        """As `mesh_distance`; by coal the distance alone."""
        a, b, pose = query
        first, second = self.trees[kind][a], self.trees[kind][b]
        if kind == "coal":
            result = coal.DistanceResult()
            place = coal.Transform3s(*pose)
            coal.distance(first, coal.Transform3s(), second, place, coal.DistanceRequest(), result)
            return (max(result.min_distance, 0.0),)
        return mesh_distance(
            first.numbers, first.index, second.numbers, second.index, *pose, *guess, np.inf
        )

    def crosses(self, kind: str, query: Query) -> bool:
        """Whether the two links cross."""
        a, b, pose = query
        first, second = self.trees[kind][a], self.trees[kind][b]
        if kind == "coal":
            result = coal.CollisionResult()
            place = coal.Transform3s(*pose)
            return bool(
                coal.collide(
                    first, coal.Transform3s(), second, place, coal.CollisionRequest(), result
                )
            )
        return (
            mesh_crossing(first.numbers, first.index, second.numbers, second.index, *pose, ONE_PAIR)
            > 0
        )


def moved(robot: Robot, query: Query) -> tuple[Query, Query] | None:
    """The second link at a distance of `NEAR`, and so far beyond the touch; None if they cross."""
    a, b, (rotation, translation) = query
    answer = robot.distance("obb", query)
    if answer[0] < NEAR:
        return None
    way = (np.array(answer[6:9]) - np.array(answer[3:6])) / answer[0]
    near, touching = (
        (a, b, (rotation, translation - way * (answer[0] + beyond))) for beyond in (-NEAR, NEAR)
    )
    return near, touching


def timed(ask: Callable[[str, Query], object], query: Query, agree: Callable) -> dict[str, float]:
    """Microseconds of one query for each kind, in turn; their answers must agree."""
    times, answers = {}, {}
    for _ in range(REPEATS):
        for kind in (*KINDS, "coal"):
            start = time.perf_counter()
            answers[kind] = ask(kind, query)
            spent = (time.perf_counter() - start) * 1e6
            times[kind] = min(spent, times.get(kind, np.inf))
    if not agree(answers):
        raise AssertionError(f"{query}: {answers}")
    return times


def same_distance(answers: dict[str, tuple]) -> bool:
    """Whether distances equal that of coal within a micrometre, and each other to rounding."""
    ours = [answers[kind][0] for kind in KINDS]
    return np.ptp(ours) < 1e-12 and abs(ours[0] - answers["coal"][0]) < 1e-6


def same_yes(answers: dict[str, bool]) -> bool:
    """Whether all answers are equal."""
    return len(set(answers.values())) == 1


def measure(robot: Robot, count: int) -> dict[str, dict[str, list[float]]]:
    """Microseconds of every query, by task and kind."""
    spent: dict[str, dict[str, list[float]]] = {}

    def note(task: str, times: dict[str, float]) -> None:
        for kind, value in times.items():
            spent.setdefault(task, {}).setdefault(kind, []).append(value)

    queries = robot.queries(robot.model.random_configurations(count, seed=5))
    for ask in (robot.distance, robot.crosses):  # compiled before anything is timed
        for kind in (*KINDS, "coal"):
            ask(kind, queries[0])
    for query in queries:
        note("distance, random", timed(robot.distance, query, same_distance))
        both = moved(robot, query)
        if both is None:
            continue
        for task, case in zip(("apart", "near", "touching"), (query, *both), strict=True):
            if robot.crosses("obb", case) == (task == "touching"):
                note(f"yes or no, {task}", timed(robot.crosses, case, same_yes))
    for motion in robot.motions():
        guesses = {kind: (-1, -1) for kind in KINDS}
        for query in motion:
            given = dict(guesses)

            def ask(kind: str, query: Query, given: dict = given, guesses: dict = guesses) -> tuple:
                answer = robot.distance(kind, query, *([given[kind]] if kind in KINDS else []))
                if kind in KINDS:
                    guesses[kind] = answer[1:3]
                return answer

            note("distance, smooth", timed(ask, query, same_distance))
    return spent


def main() -> None:
    """Measure and print a table."""
    parser = arguments(__doc__, NAMES, 200)
    parser.add_argument("--turned", action="store_true", help="meshes slantwise in their frames")
    given = parser.parse_args()
    results = {}
    kinds = (*KINDS, "coal")
    lines: dict[str, list[tuple[str, ...]]] = {}
    for name, files in given.robots.items():
        robot = Robot(files, given.turned)
        triangles = sum(len(t) for _, t in robot.meshes.values())
        results[name] = {"triangles": triangles, "build": robot.build}
        title = TITLES.get(name, name)
        builds = (f"{robot.build[kind]:.0f}" for kind in kinds)
        lines.setdefault("build (ms)", []).append((title, *builds))
        for task, times in sorted(measure(robot, given.configurations).items()):
            figures = {
                kind: [float(np.mean(v)), float(np.median(v)), float(np.quantile(v, 0.99))]
                for kind, v in times.items()
            }
            results[name][task] = figures
            cells = (f"{figures[kind][0]:.2g} / {figures[kind][2]:.3g}" for kind in kinds)
            lines.setdefault(task, []).append((title, *cells))
    if given.json:
        print(json.dumps(results, indent=1))
    else:
        print(table_head("task", "robot", *kinds))
        for task, robots_cells in lines.items():
            named = f"slantwise: {task}" if given.turned else task
            print(*(table_row(named, *cells) for cells in robots_cells), sep="\n")
        print("\nMean / 99 % of the queries, microseconds.")


if __name__ == "__main__":
    choose(main, link_frames="meshes.link_frame_boxes")
