# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Time of exact distances against pinocchio + coal on the same meshes.

    python benchmarks/exact_distance.py [--robots ur5,...] [--configurations 400] [--json]
    python benchmarks/exact_distance.py agreement    # meshes/exact_agreement.py

`model.distance(q, exact=True)`, kinematics and nearest points included, against

- *all pairs*: pinocchio's `computeDistances` over the shapes of all checked pairs, meshes in coal's
  hierarchies of OBBs and RSSs;
- *filtered*: the distances of one capsule a link by coal first, then those of the shapes of the
  pairs whose capsules are nearer than the answer. No filter by these capsules may leave fewer, and
  none knows the answer beforehand, so this is the least that one can take. What the shapes alone
  take of it is given as well.

Along a smooth motion of a millisecond a step, and at random configurations. Blocks of calls
alternate between the three; ratios are medians over configurations of what both took for the same
one. The p99 is that of single calls of ours. A robot without an SRDF is asked about the pairs that
do not touch in more than 5 % of random samples.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from common.command_line import TITLES, arguments, choose, table_head, table_row
from support.geometry.reference import Reference, pin
from support.robots.robots import RobotFiles
from support.robots.smooth_motion import smooth_motion, without_usual_contacts

from collision_monitor import CollisionModel

NAMES = ("ur5", "panda", "pr2", "baxter", "tiago_dual")
BLOCK = 20


class Peer:
    """Pinocchio and coal on some geometry of the checked pairs."""

    def __init__(self, model: CollisionModel, reference: Reference, geometry: tuple) -> None:
        """``geometry``: (geometry model, owners) of ``reference``, about pairs of ``model``."""
        self._reference = reference
        self._geometry, owners = geometry
        self.data = pin.GeometryData(self._geometry)
        rank = {pair: k for k, pair in enumerate(model.pairs)}
        self._pairs = np.array([rank.get(owner, -1) for owner in owners])

    def ask(self, q: np.ndarray, wanted: np.ndarray) -> Callable[[], None]:
        """A function that measures the pairs of the model that are ``wanted`` (pairs,) at ``q``."""
        for k in range(len(self._pairs)):
            if self._pairs[k] >= 0 and wanted[self._pairs[k]]:
                self.data.activateCollisionPair(k)
            else:
                self.data.deactivateCollisionPair(k)
        there = self._reference.configuration(q)
        model, data = self._reference.pin_model, self._reference.pin_data
        return lambda: pin.computeDistances(model, data, self._geometry, self.data, there)

    def nearer(self, limit: float, count: int) -> np.ndarray:
        """Mask of ``count`` pairs closer than ``limit`` metres."""
        found = np.array([result.min_distance for result in self.data.distanceResults])
        near = np.zeros(count, dtype=bool)
        near[self._pairs[(self._pairs >= 0) & (found < limit)]] = True
        return near


class Peers(NamedTuple):
    """Coal on the shapes, and on one capsule a link."""

    shapes: Peer
    capsules: Peer


def microseconds(call: Callable[[], object]) -> float:
    """Time of one call."""
    begin = time.perf_counter_ns()
    call()
    return 1e-3 * (time.perf_counter_ns() - begin)


def measure(model: CollisionModel, peers: Peers, configurations: np.ndarray) -> dict:
    """Times of all three at each configuration, in microseconds."""
    ours, everything, filters, left, counts, touches = [], [], [], [], [], 0
    all_pairs = np.ones(len(model.pairs), dtype=bool)
    for block in np.array_split(configurations, max(1, len(configurations) // BLOCK)):
        # Once unmeasured: what others have pushed out of the caches comes back.
        model.distance(block[0], exact=True)
        answers = []
        for q in block:
            ours.append(microseconds(lambda q=q, to=answers: to.append(model.distance(q, True))))
        near = []
        for q, answer in zip(block, answers, strict=True):
            touches += answer.distance <= 0.0
            filters.append(microseconds(peers.capsules.ask(q, all_pairs)))
            near.append(peers.capsules.nearer(max(answer.distance, 0.0) + 1e-9, len(all_pairs)))
        for q, wanted in zip(block, near, strict=True):
            counts.append(wanted.sum())
            left.append(microseconds(peers.shapes.ask(q, wanted)))
        for q in block:
            everything.append(microseconds(peers.shapes.ask(q, all_pairs)))
    ours, everything, filters, left = map(np.array, (ours, everything, filters, left))
    return {
        "median_us": float(np.median(ours)),
        "p99_us": float(np.percentile(ours, 99)),
        "all_us": float(np.median(everything)),
        "filtered_us": float(np.median(filters + left)),
        "left_us": float(np.median(left)),
        "left_pairs": float(np.mean(counts)),
        "all_ratio": float(np.median(everything / ours)),
        "filtered_ratio": float(np.median((filters + left) / ours)),
        "left_ratio": float(np.median(left / ours)),
        "in_contact": touches / len(configurations),
    }


def both(files: RobotFiles, count: int) -> dict[str, dict]:
    """Along a smooth motion, and at random configurations."""
    model = CollisionModel.from_urdf(files.urdf, files.srdf, files.package_dirs)
    model.prepare_exact()
    if files.srdf is None:
        model = without_usual_contacts(model)
    reference = Reference(files.urdf, files.package_dirs, model)
    coarse = CollisionModel.from_urdf(
        files.urdf, files.srdf, files.package_dirs, max_leaves_per_link=1
    )
    capsules = Reference(files.urdf, files.package_dirs, coarse)
    peers = Peers(
        Peer(model, reference, reference.mesh_geometry()),
        Peer(model, capsules, capsules.leaf_geometry()),
    )
    return {
        "smooth": measure(model, peers, smooth_motion(model, count)),
        "random": measure(model, peers, model.random_configurations(count, seed=1)),
    }


def table(name: str, results: dict[str, dict]) -> Sequence[str]:
    """Rows of the table."""
    return [
        table_row(
            f"{TITLES.get(name, name)}, {kind}", f"{r['median_us']:.1f}", f"{r['p99_us']:.1f}",
            f"{r['all_us']:,.0f}", f"{r['all_ratio']:,.0f}", f"{r['filtered_us']:,.1f}",
            f"{r['filtered_ratio']:.1f}", f"{r['in_contact']:.0%}",
        )  # fmt: skip
        for kind, r in results.items()
    ]


def main() -> None:
    """Measure and print a table."""
    options = arguments(__doc__, NAMES, 400).parse_args()
    results = {}
    if not options.json:
        print(
            table_head(
                "robot, configurations", "ours", "p99", "all pairs", "ratio", "filtered", "ratio",
                "in contact",
            )
        )  # fmt: skip
    for name, files in options.robots.items():
        results[name] = both(files, options.configurations)
        if not options.json:
            print(*table(name, results[name]), sep="\n", flush=True)
    if options.json:
        print(json.dumps(results, indent=2))


if __name__ == "__main__":
    choose(main, agreement="meshes.exact_agreement")
