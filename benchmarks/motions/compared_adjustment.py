# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Measure `adjust` against a sampling planner (OMPL) and against barriers (pink), on two arms.

Random motions on which the arms of a robot meet (test/support/robots/crossing_motions.py) are
adjusted by `adjust` (robust method, defaults), by RRT-Connect with path simplification
(adjustment_planner.py; ten times the time of `adjust`, at least 10 s) and by differential
inverse kinematics with self-collision barriers (adjustment_peer.py). A motion is solved if
it reaches its end (within 1e-3 rad), and the meshes of the two arms are at least d_saf apart at 20
samples between waypoints, by pinocchio and coal (test/support/geometry/mesh_clearance.py).
Barriers are linearised, so they are allowed a millimetre less. Links that by design are closer
than d_saf are ignored.
Limits: positions, velocities and the default accelerations of `adjust`; a path of the planner has
the times of the desired motion. Times are processor times; set OMP_NUM_THREADS=1.

    python benchmarks/adjustment.py --robots baxter --motions 200
"""

from __future__ import annotations

import json
import logging
import time
from dataclasses import asdict, dataclass

from common.command_line import TITLES, arguments, table_head, table_row

import numpy as np  # isort: skip
from motions.adjustment_peer import GEOMETRIES, Peer
from motions.adjustment_planner import plan
from support.geometry.mesh_clearance import MeshClearance, between
from support.geometry.reference import Reference
from support.robots.crossing_motions import CrossingMotions, kept_apart, load_two_arms, rest
from support.robots.robots import RobotFiles

from collision_monitor.errors import AdjustmentError
from collision_monitor.motion.trajectory import Motion
from collision_monitor.self_collision import adjust
from collision_monitor.self_collision.margins import sides
from collision_monitor.self_collision.retiming import retime

_END = 1e-3  # rad or m
_TOLERANCE = 1e-3  # m, of the barriers
_PLANNING = 10.0  # times the time of `adjust`, and at least so many seconds
_RAMP = 0.5  # s to the velocity limit, as in `adjust`
_BENT = {"pr2"}


@dataclass
class Run:
    """Result of one method for one motion; lengths in metres, angles in radians."""

    solved: bool
    clearance: float
    deviation: float
    seconds: float
    limits: bool
    reason: str = ""


WAYS = ("adjust", "OMPL", "pink")


class Robot:
    """A robot with its motions, and the methods to adjust them."""

    def __init__(
        self, name: str, files: RobotFiles, seed: int, safe: float, danger: float, geometry: str
    ) -> None:
        self.name, self._safe, self._danger = name, safe, danger
        self._model, self._arms = load_two_arms(files)
        reference = Reference(files.urdf, files.package_dirs, self._model)
        self._source = CrossingMotions(
            self._model, self._arms, seed, safe, danger, bent=name in _BENT
        )
        kept = kept_apart(self._model, self._arms, safe, danger)
        between_arms = sides(self._model, self._arms).between & kept
        self._meshes = MeshClearance(self._model, reference, between_arms)
        self._peer = Peer(
            self._model, reference, kept, self._source.joint_names, rest(self._model), safe,
            geometry,
        )  # fmt: skip

    def measure(self, count: int) -> tuple[list[float], dict[str, list[Run]]]:
        """Mesh clearance of ``count`` desired motions, and the results of each method."""
        desired, runs = [], {method: [] for method in WAYS}
        for number in range(count + 1):
            motion = next(self._source.motions)
            ours = self._adjust(motion)
            budget = max(_PLANNING, _PLANNING * ours.seconds) if number else 1.0
            answers = ours, self._plan(motion, budget), self._follow(motion)
            if number == 0:
                continue  # loads machine code
            desired.append(self._clearance(motion.positions))
            for method, run in zip(WAYS, answers, strict=True):
                runs[method].append(run)
            logging.getLogger(__name__).info(
                "%s %d: %.3f; %s; %s; %s", self.name, number, desired[-1], *answers
            )
        return desired, runs

    def _clearance(self, positions: np.ndarray) -> float:
        rows = np.repeat(rest(self._model)[None], len(positions), axis=0)
        rows[:, self._source.columns] = positions
        return self._meshes.least(between(rows))[0]

    def _judged(
        self, motion: Motion, positions: np.ndarray, times: np.ndarray, seconds: float,
        tolerance: float = 0.0, reason: str = "",
    ) -> Run:  # fmt: skip
        """Result for ``motion``."""
        clearance = self._clearance(positions)
        away = float(np.abs(positions[-1] - motion.positions[-1]).max())
        near = clearance < self._safe - tolerance
        reason = reason or (f"{away:.3f} rad from the end" if away > _END else "")
        count = min(len(positions), len(motion.positions))
        deviation = np.abs(positions[:count] - motion.positions[:count]).max()
        return Run(
            away <= _END and not near, clearance, float(deviation), seconds,
            self._keeps_limits(motion, positions, times), reason or ("too near" if near else ""),
        )  # fmt: skip

    def _keeps_limits(self, motion: Motion, positions: np.ndarray, times: np.ndarray) -> bool:
        columns = self._source.columns
        fastest = self._model.velocity_limits[columns]
        spans = np.diff(motion.times)[:, None]
        rates = np.diff(motion.positions, axis=0) / spans
        desired = np.abs(np.diff(rates, axis=0) / (0.5 * (spans[1:] + spans[:-1]))).max(axis=0)
        hardest = np.maximum(desired, fastest / _RAMP)
        lower, upper = self._model.lower[columns], self._model.upper[columns]
        inside = (positions >= lower - 1e-6).all() and (positions <= upper + 1e-6).all()
        slack = 1.0 + 1e-6
        return bool(
            inside and (retime(times, positions, slack * fastest, slack * hardest) == times).all()
        )

    def _adjust(self, motion: Motion) -> Run:
        start = time.process_time()
        try:
            adjusted = adjust(
                self._model, motion, self._arms,
                safe_distance=self._safe, danger_distance=self._danger,
            )  # fmt: skip
        except AdjustmentError as error:
            return Run(False, np.nan, np.nan, time.process_time() - start, True, str(error))
        spent = time.process_time() - start
        run = self._judged(motion, adjusted.motion.positions, adjusted.motion.times, spent)
        run.deviation = adjusted.largest_change
        return run

    def _plan(self, motion: Motion, seconds: float) -> Run:
        found = plan(self._model, self._arms, motion, seconds, self._safe, self._danger)
        if found.path is None:
            return Run(False, np.nan, np.nan, found.seconds, True, "no path")
        return self._judged(motion, found.positions, motion.times, found.seconds)

    def _follow(self, motion: Motion) -> Run:
        found = self._peer.follow(motion.positions)
        times = motion.times[1] * np.arange(len(found.positions))
        return self._judged(motion, found.positions, times, found.seconds, _TOLERANCE, found.reason)


def rows(name: str, runs: dict[str, list[Run]]) -> str:
    """Lines of the table."""
    lines = []
    for method, each in runs.items():
        solved = [run for run in each if run.solved]
        median, late = np.quantile([run.seconds for run in each], [0.5, 0.99])
        changes = [run.deviation for run in solved] or [np.nan]
        least = min(run.clearance for run in each if run.clearance == run.clearance)
        cells = (
            "" if lines else TITLES.get(name, name), "`adjust`" if method == "adjust" else method,
            f"{len(solved)} of {len(each)}", f"{median:.2f} / {late:.2f}",
            f"{np.median(changes):.2f} / {max(changes):.2f}", f"{least:.4f}",
            f"{sum(run.limits for run in solved)} of {len(solved)}",
        )  # fmt: skip
        lines.append(table_row(*cells))
    return "\n".join(lines)


def remark(name: str, desired: list[float], runs: dict[str, list[Run]]) -> str:
    """What the table does not show of a robot: desired motions in contact, and what is missed."""
    missed = sum(
        not ours.solved and other.solved
        for ours, other in zip(runs["adjust"], runs["OMPL"], strict=True)
    )
    meet = sum(distance < 1e-6 for distance in desired)
    return f"{name}: meshes meet on {meet}; solved by OMPL and not by adjust: {missed}"


def main() -> None:
    """Run from the command line."""
    parser = arguments(__doc__, ("baxter", "pr2", "tiago_dual", "talos"))
    parser.add_argument("--motions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--safe-distance", type=float, default=0.1)
    parser.add_argument("--danger-distance", type=float, default=0.05)
    parser.add_argument("--peer-geometry", choices=GEOMETRIES, default="hulls")
    parser.add_argument("--verbose", action="store_true", help="a line for every motion")
    options = parser.parse_args()
    logging.basicConfig(level=logging.ERROR, format="%(message)s")
    if options.verbose:
        logging.getLogger(__name__).setLevel(logging.INFO)
    report, remarks = {}, []
    if not options.json:
        print(
            table_head(
                "robot", "", "solved", "median / p99 (s)", "largest change, median / most (rad)",
                "least mesh distance (m)", "limits kept",
            )
        )  # fmt: skip
    for name, files in options.robots.items():
        robot = Robot(
            name, files, options.seed, options.safe_distance, options.danger_distance,
            options.peer_geometry,
        )  # fmt: skip
        desired, runs = robot.measure(options.motions)
        report[name] = {"desired": desired} | {
            way: [asdict(run) for run in each] for way, each in runs.items()
        }
        if not options.json:
            print(rows(name, runs), flush=True)
            remarks.append(remark(name, desired, runs))
    if options.json:
        print(json.dumps(report))
    else:
        print("", *remarks, sep="\n")
