# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Measure the adjustment of two arms against differential IK with self-collision barriers (pink).

Random motions on which the arms of a robot meet (test/support/robots/crossing_motions.py) go
through `adjust` (robust method, defaults, without the re-timing that the peer does not do either)
and through the peer (adjustment_peer.py), one after the other for every motion. Solved, of both:
it gets to the end (within 1e-3 rad), and the meshes of the two arms are never nearer than d_saf
at 20 samples between waypoints, by pinocchio and coal (test/support/geometry/mesh_clearance.py).
The peer's programs hold a distance only as its linearisation does, so it is allowed a millimetre
less. Links of one and the other arm that cannot be d_saf apart by design (PR2's shoulders) are in
neither figure. Times are of the processor, since others share the machine; set OMP_NUM_THREADS=1.

    python benchmarks/adjustment.py --robots baxter --motions 200
"""

from __future__ import annotations

import json
import logging
import time
from dataclasses import asdict, dataclass

from command_line import arguments

import numpy as np  # isort: skip
from adjustment_peer import GEOMETRIES, Peer
from support.geometry.mesh_clearance import MeshClearance, between
from support.geometry.reference import Reference
from support.robots.crossing_motions import CrossingMotions, kept_apart, load_two_arms, rest
from support.robots.robots import RobotFiles

from collision_monitor.errors import AdjustmentError
from collision_monitor.self_collision import adjust
from collision_monitor.self_collision.margins import sides

_END = 1e-3  # rad or m
_TOLERANCE = 1e-3  # m, of the peer


@dataclass
class Run:
    """One motion through one way; lengths in metres, angles in radians."""

    solved: bool
    clearance: float
    deviation: float
    milliseconds: float  # a waypoint
    reason: str = ""


class Robot:
    """A robot with its motions, and both ways to adjust them."""

    def __init__(
        self, name: str, files: RobotFiles, seed: int, safe: float, danger: float, geometry: str
    ) -> None:
        self.name, self._safe, self._danger = name, safe, danger
        self._model, self._arms = load_two_arms(files)
        reference = Reference(files.urdf, files.package_dirs, self._model)
        self._source = CrossingMotions(self._model, self._arms, seed, safe, danger)
        kept = kept_apart(self._model, self._arms, safe, danger)
        between_arms = sides(self._model, self._arms).between & kept
        self._meshes = MeshClearance(self._model, reference, between_arms)
        self._peer = Peer(
            self._model, reference, kept, self._source.joint_names, rest(self._model), safe,
            geometry,
        )  # fmt: skip

    def measure(self, count: int) -> tuple[list[float], list[Run], list[Run]]:
        """Mesh clearance of ``count`` desired motions, and what the two ways make of them."""
        desired, ours, peer = [], [], []
        for k in range(count + 1):
            motion = next(self._source.motions)
            runs = self._adjust(motion), self._follow(motion)
            if k == 0:
                continue  # machine code is read
            desired.append(self._clearance(motion.positions))
            ours.append(runs[0])
            peer.append(runs[1])
            logging.getLogger(__name__).info(
                "%s %d: %.3f; %s; %s", self.name, k, desired[-1], *runs
            )
        return desired, ours, peer

    def _clearance(self, positions: np.ndarray) -> float:
        rows = np.repeat(rest(self._model)[None], len(positions), axis=0)
        rows[:, self._source.columns] = positions
        return self._meshes.least(between(rows))[0]

    def _adjust(self, motion) -> Run:
        start = time.process_time()
        try:
            found = adjust(
                self._model, motion, self._arms,
                safe_distance=self._safe, danger_distance=self._danger, retime=False,
            )  # fmt: skip
        except AdjustmentError as error:
            spent = time.process_time() - start
            return Run(False, np.nan, np.nan, spent / len(motion.times) * 1e3, str(error))
        spent = time.process_time() - start
        clearance = self._clearance(found.motion.positions)
        there = np.abs(found.motion.positions[-1] - motion.positions[-1]).max() <= _END
        return Run(
            bool(there and clearance >= self._safe),
            clearance,
            found.largest_change,
            spent / len(motion.times) * 1e3,
        )

    def _follow(self, motion) -> Run:
        found = self._peer.follow(motion.positions)
        clearance = self._clearance(found.positions)
        away = float(np.abs(found.positions[-1] - motion.positions[-1]).max())
        count = min(len(found.positions), len(motion.positions))
        deviation = np.abs(found.positions[:count] - motion.positions[:count]).max()
        safe = clearance >= self._safe - _TOLERANCE
        reason = found.reason or (f"{away:.3f} rad from the end" if away > _END else "")
        return Run(
            bool(away <= _END and safe),
            clearance,
            float(deviation),
            found.seconds / (len(found.positions) - 1) * 1e3,
            reason or ("" if safe else "too near"),
        )


def row(name: str, desired: list[float], ours: list[Run], peer: list[Run]) -> str:
    """A line of the table."""
    both = [(a, b) for a, b in zip(ours, peer, strict=True) if a.solved and b.solved]

    def deviations(which: int) -> str:
        if not both:
            return "-"
        values = [pair[which].deviation for pair in both]
        return " / ".join(f"{x:.2f}" for x in (*np.quantile(values, [0.5, 0.95]), max(values)))

    def least(runs: list[Run]) -> str:
        return f"{min((r.clearance for r in runs if r.solved), default=np.nan):.4f}"

    nearest = min((r.clearance for r in peer), default=np.nan)
    less = sum(a.deviation < b.deviation for a, b in both)
    times = [np.median([r.milliseconds for r in runs]) for runs in (ours, peer)]
    return (
        f"| {name} | {len(ours)} ({sum(d < 1e-6 for d in desired)}) "
        f"| {sum(r.solved for r in ours)} | {sum(r.solved for r in peer)} "
        f"| {least(ours)} | {nearest:.4f} | {deviations(0)} | {deviations(1)} "
        f"| {less} of {len(both)} | {times[0]:.2f} | {times[1]:.2f} | {times[1] / times[0]:.1f} |"
    )


def main() -> None:
    """Run from the command line."""
    parser = arguments(__doc__, ("baxter", "pr2", "tiago_dual"))
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
    report = {}
    if not options.json:
        print(
            "| robot | motions (meshes meet) | solved | solved, peer | least clearance (m) "
            "| least clearance, peer (m) | largest change, median / 95 % / most (rad) | peer "
            "| less than the peer | ms a waypoint | peer | ratio |"
        )
        print("|---|" + 11 * "---|")
    for name, files in options.robots.items():
        robot = Robot(
            name, files, options.seed, options.safe_distance, options.danger_distance,
            options.peer_geometry,
        )  # fmt: skip
        desired, ours, peer = robot.measure(options.motions)
        report[name] = {
            "desired": desired,
            "ours": [asdict(r) for r in ours],
            "peer": [asdict(r) for r in peer],
        }
        if not options.json:
            print(row(name, desired, ours, peer), flush=True)
    if options.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()
