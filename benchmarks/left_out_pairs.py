# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Whether the reasons hold for which pairs are left out by design, against coal.

    python benchmarks/left_out_pairs.py [--robots ur5,panda,...] [--poses 1000] [--json]

The robots of example-robot-data that have an arm, legs or a hand, by their URDF alone. A reason
says in how many of some sampled configurations the shapes of two links meet, or how deep they meet
at most, or both. In random poses that were not used for the reason, the share of contacts is
counted with coal; and in up to 60 poses with contact it is tried, in 300 directions, whether the
first link can be moved out of the second by at most the depth that the reason names. In half of
these poses a quarter of the joints are at a limit.

``share``: pairs whose share differs by more than four standard deviations. ``deeper``: pairs of
which a pose was found from which no direction leads out, by a length of up to 5 % more than the
reason says. Both columns should be 0. Neighbours over one joint and links that are rigidly joined
are left out for other reasons.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import sys
from typing import Any

import numpy as np
from common.command_line import arguments
from support.geometry.exact_reference import ExactReference
from support.robots.vendor_robots import VENDOR_NAMES
from vendor_robots import load

_DIRECTIONS, _CONTACTS = 300, 30
_MORE = 1.05  # lengths that are tried, by the depth: directions are 10 degrees apart


def claimed_share(reason: str) -> tuple[float, int]:
    """Share of configurations in which the shapes meet, and of how many; nan without one."""
    if found := re.search(r"meet in ([\d.]+)% of (\d+) sampled", reason):
        return float(found[1]) / 100.0, int(found[2])
    return math.nan, 1


def claimed_depth(reason: str) -> float:
    """Largest depth of contacts in metres; inf if the reason names none."""
    found = re.search(r"(?:up to|\d to|nowhere deeper than) (\d+) mm", reason)
    return float(found[1]) / 1000.0 if found else math.inf


def directions(count: int) -> np.ndarray:
    """Unit vectors (count, 3), evenly spread over the sphere by the golden angle."""
    z = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    around, angle = np.sqrt(1.0 - z * z), np.pi * (3.0 - math.sqrt(5.0)) * np.arange(count)
    return np.column_stack([around * np.cos(angle), around * np.sin(angle), z])


def leads_out(coal: ExactReference, q: np.ndarray, links: tuple[str, str], length: float) -> bool:
    """Whether a translation of the first link by ``length`` metres separates both."""
    poses = dict(coal.poses(q))
    start = poses[links[0]]
    for direction in directions(_DIRECTIONS):
        moved = start.copy()
        moved[:3, 3] += length * direction
        poses[links[0]] = moved
        if coal.distance_between(links, poses) > 0.0:
            return True
    return False


def result_of(name: str, count: int) -> dict[str, Any]:
    """Numbers of pairs of a robot, and the reasons that do not hold."""
    model, coal = load(name, False)
    left = [pair for pair in model.unmonitored_pairs if pair.by_design]
    configurations = model.random_configurations(count, seed=77)
    rng = np.random.default_rng(78)
    limits = np.where(rng.random(configurations.shape) < 0.5, model.lower, model.upper)
    at_limits = np.where(rng.random(configurations.shape) < 0.25, limits, configurations)
    share, deeper = [], []
    for pair in left:
        links = pair.link_a, pair.link_b
        meet = [coal.distance_between(links, coal.poses(q)) <= 0.0 for q in configurations]
        claimed, samples = claimed_share(pair.reason)
        variance = claimed * (1.0 - claimed) * (1.0 / samples + 1.0 / count)
        if abs(np.mean(meet) - claimed) > 4.0 * math.sqrt(variance) + 1.0 / samples:
            share.append(f"{links}: {np.mean(meet):.1%}, not: {pair.reason}")
        depth = claimed_depth(pair.reason)
        if depth == math.inf:
            continue
        more = (q for q in at_limits if coal.distance_between(links, coal.poses(q)) <= 0.0)
        touching = [*configurations[meet][:_CONTACTS], *itertools.islice(more, _CONTACTS)]
        if not all(leads_out(coal, q, links, _MORE * depth) for q in touching):
            deeper.append(f"{links}: deeper than {depth:.3f} m: {pair.reason}")
    return {"left out": len(left), "share": share, "deeper": deeper}


def main() -> int:
    """Print the table, and the reasons that do not hold."""
    parser = arguments(__doc__)
    parser.add_argument("--robots", default=",".join(VENDOR_NAMES))
    parser.add_argument("--poses", type=int, default=1000)
    options = parser.parse_args()
    results = {}
    if not options.json:
        print("| robot | left out | share | deeper |\n|---|---|---|---|")
    for name in options.robots.split(","):
        results[name] = row = result_of(name, options.poses)
        if not options.json:
            print(f"| {name} | {row['left out']} | {len(row['share'])} | {len(row['deeper'])} |")
            for text in (*row["share"], *row["deeper"]):
                print(text, flush=True)
    if options.json:
        print(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
