# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Results of `adjust` for random motions, checked by `verify` and by coal.

Motions are straight, of all arms, between random poses that are valid ends, with default options;
with ``--touching`` only those with contacts; with ``--balls`` among random balls. A result is wrong
if it is not certified to be free of contact, exceeds positions or velocities of the URDF, or if
pinocchio and coal (without the balls) find a contact at 10 samples between waypoints. Times are
processor time in seconds. ``ends``: random poses without contact that are refused as an end, of all
that were tried, since links are closer than the danger distance.

    python benchmarks/adjustment.py random --robots baxter,pr2 --motions 200 --touching
    python benchmarks/adjustment.py random --robots yumi.urdf@folder_of_packages
    python benchmarks/adjustment.py random --robots nextage.urdf@rtmros_nextage,duaro.urdf@khi_robot

xacro makes these URDFs. ``--safe-distance`` and ``--danger-distance`` replace the defaults.
"""

from __future__ import annotations

import logging
import sys

from common.command_line import arguments

import numpy as np  # isort: skip
from support.robots.judged_motions import judge

from collision_monitor import CollisionModel
from collision_monitor.self_collision import find_chains


def balls(count: int, seed: int) -> dict | None:
    """Random scene of balls, 0.4 to 0.9 m from the base."""
    random, obstacles = np.random.default_rng(seed), []
    for k in range(count):
        way = random.normal(size=3)
        place = random.uniform(0.4, 0.9) * way / np.linalg.norm(way)
        obstacles.append(
            {"name": f"ball_{k}", "type": "sphere", "radius": 0.05, "position": place.tolist()}
        )
    return {"obstacles": obstacles} if obstacles else None


def main() -> int:
    """Print a table; returns 1 if any result is wrong."""
    parser = arguments(__doc__, ("baxter", "pr2", "tiago_dual", "talos"))
    parser.add_argument("--motions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--touching", action="store_true")
    parser.add_argument("--balls", type=int, default=0, metavar="N")
    parser.add_argument("--safe-distance", type=float, default=0.1, metavar="M")
    parser.add_argument("--danger-distance", type=float, default=0.05, metavar="M")
    options = parser.parse_args()
    distances = {
        "safe_distance": options.safe_distance, "danger_distance": options.danger_distance
    }  # fmt: skip
    logging.disable(logging.WARNING)
    print(
        "| robot | ends | motions | unchanged | adjusted | refused | wrong | median, s | p99, s |\n"
        + "|---" * 9 + "|"
    )
    wrong = 0
    for name, files in options.robots.items():
        scene = balls(options.balls, options.seed)
        model = CollisionModel.from_urdf(files.urdf, files.srdf, files.package_dirs, scene=scene)
        arms = find_chains(model.robot, model.semantics)
        print(f"{name}: {' and '.join(arm.name for arm in arms)}", file=sys.stderr)
        r = judge(model, files, arms, options.motions, options.seed, options.touching, **distances)
        wrong += len(r.wrong)
        cells = (
            f"{r.refused_ends} of {r.ends}", len(r.seconds), r.safe, r.adjusted, len(r.refused),
            len(r.wrong), f"{np.median(r.seconds):.2f}", f"{np.quantile(r.seconds, 0.99):.2f}",
        )  # fmt: skip
        print(f"| {name} | {' | '.join(map(str, cells))} |", flush=True)
        for text in (*r.wrong, *r.refused):
            print(f"{name}: {text}", file=sys.stderr)
    return 1 if wrong else 0
