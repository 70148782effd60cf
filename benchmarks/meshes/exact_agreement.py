# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Comparison of exact distances with those of coal, on real robots.

    python benchmarks/exact_distance.py agreement [--robots ur5,...] [--random 2000]
        [--consecutive 5000]

`model.distance(q, exact=True)` against pinocchio's kinematics and coal's mesh distance on the same
triangles, at random configurations and along a smooth motion through random ones, a millisecond a
step; a robot without an SRDF without the pairs that touch in more than 5 % of random samples. Both
must say the same about contact, and the same distance where there is none, to 1e-6 m. A
mesh inside a closed one is in contact to us and apart to coal: such are counted, and checked by a
winding number of their own. Each disagreement is printed with its configuration.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from common.command_line import ROOT  # noqa: F401  finds the tests' helpers
from support.geometry.exact_reference import ExactReference
from support.geometry.reference import Reference
from support.robots.robots import ROBOTS
from support.robots.smooth_motion import smooth_motion, without_usual_contacts

from collision_monitor import CollisionModel

NAMES = ("ur5", "panda", "baxter", "pr2", "tiago_dual")
TOLERANCE = 1e-6


def compare(model: CollisionModel, reference: ExactReference, rows: np.ndarray) -> dict:
    """Counts, and the largest difference where neither finds contact, metres."""
    counts = {"rows": len(rows), "contact": 0, "held": 0, "wrong": 0, "largest": 0.0}
    for q in rows:
        ours = model.distance(q, exact=True)
        theirs, links = reference.least(q, max(ours.distance, 0.0) + 0.01)
        if ours.distance <= 0.0:
            counts["contact"] += 1
            if theirs > TOLERANCE and reference.holds(q, ours.links):
                counts["held"] += 1
            elif theirs > TOLERANCE:
                counts["wrong"] += 1
                print(f"contact of {ours.links}, not to coal: {theirs} m at {q.tolist()}")
            continue
        difference = abs(ours.distance - theirs)
        counts["largest"] = max(counts["largest"], difference)
        if difference > TOLERANCE:
            counts["wrong"] += 1
            print(f"{ours.distance} m of {ours.links}, coal {theirs} of {links} at {q.tolist()}")
    return counts


def main() -> int:
    """Compare and print a table; returns 1 if anything disagrees."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--robots", default=",".join(NAMES))
    parser.add_argument("--random", type=int, default=2000)
    parser.add_argument("--consecutive", type=int, default=5000)
    parser.add_argument("--hierarchy", default="aabb")
    options = parser.parse_args()
    print(
        "| robot | rows | in contact | of them held | wrong | largest difference (m) | s |\n"
        + "|---" * 7 + "|"
    )
    wrong = 0
    for name in options.robots.split(","):
        files = ROBOTS[name]
        model = CollisionModel.from_urdf(
            files.urdf, files.srdf, files.package_dirs, hierarchy=options.hierarchy
        )
        if files.srdf is None:
            model = without_usual_contacts(model)
        reference = ExactReference(model, Reference(files.urdf, files.package_dirs, model))
        kinds = {
            "random": model.random_configurations(options.random, seed=1),
            "consecutive": smooth_motion(model, options.consecutive),
        }
        for kind, rows in kinds.items():
            begin = time.perf_counter()
            r = compare(model, reference, rows)
            wrong += r["wrong"]
            print(
                f"| {name}, {kind} | {r['rows']} | {r['contact']} | {r['held']} | {r['wrong']} "
                f"| {r['largest']:.1e} | {time.perf_counter() - begin:.0f} |",
                flush=True,
            )
    return 1 if wrong else 0
