# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Time of exact distances against pinocchio + coal on the same meshes.

    python benchmarks/exact_distance.py [--robots ur5,...] [--configurations 400] [--json]

`model.distance(q, exact=True)`, kinematics and nearest points included, against

- *all pairs*: pinocchio's `computeDistances` over the shapes of all checked pairs, meshes in coal's
  hierarchies of OBBs and RSSs;
- *left pairs*: the same, asked only for the pairs whose leaves are nearer than the answer. That is
  what any pre-filter by these capsules must leave, and here the filter itself costs nothing.

Along a smooth motion of a millisecond a step, and at random configurations. Blocks of calls
alternate between the three; ratios are medians over configurations of what both took for the same
one. The p99 is that of single calls of ours. A robot without an SRDF is asked about the pairs that
do not touch in more than 5 % of random samples.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence

import numpy as np
from command_line import arguments
from reference import Reference, pin
from robots import RobotFiles
from smooth_motion import smooth_motion, without_usual_contacts

from collision_monitor import CollisionModel

NAMES = ("ur5", "panda", "pr2", "baxter", "tiago_dual")
BLOCK = 20


class MeshPeer:
    """Pinocchio and coal on the URDF's own shapes."""

    def __init__(self, model: CollisionModel, reference: Reference) -> None:
        self._model, self._reference = model, reference
        self._geometry, owners = reference.mesh_geometry()
        self._data = pin.GeometryData(self._geometry)
        rank = {pair: k for k, pair in enumerate(model.pairs)}
        self._pairs = np.array([rank[owner] for owner in owners])

    def ask(self, q: np.ndarray, pairs: np.ndarray | None = None) -> Callable[[], None]:
        """A call that measures all pairs at ``q``, or those of the model that are true."""
        for k in range(len(self._pairs)):
            if pairs is None or pairs[self._pairs[k]]:
                self._data.activateCollisionPair(k)
            else:
                self._data.deactivateCollisionPair(k)
        there = self._reference.configuration(q)
        model, data = self._reference.pin_model, self._reference.pin_data
        return lambda: pin.computeDistances(model, data, self._geometry, self._data, there)


def microseconds(call: Callable[[], object]) -> float:
    """What one call takes."""
    begin = time.perf_counter_ns()
    call()
    return 1e-3 * (time.perf_counter_ns() - begin)


def measure(model: CollisionModel, peer: MeshPeer, rows: np.ndarray) -> dict:
    """Times of all three at each row, in microseconds."""
    ours, everything, left, counts, touches = [], [], [], [], 0
    for block in np.array_split(rows, max(1, len(rows) // BLOCK)):
        # Once unmeasured: what others have pushed out of the caches comes back.
        model.distance(block[0], exact=True)
        answers = []
        for q in block:
            ours.append(microseconds(lambda q=q, to=answers: to.append(model.distance(q, True))))
        for q, answer in zip(block, answers, strict=True):
            touches += answer.distance <= 0.0
            near = model.distances(q) < max(answer.distance, 0.0) + 1e-9
            counts.append(near.sum())
            left.append(microseconds(peer.ask(q, near)))
        for q in block:
            everything.append(microseconds(peer.ask(q)))
    ours, everything, left = map(np.array, (ours, everything, left))
    return {
        "median_us": float(np.median(ours)),
        "p99_us": float(np.percentile(ours, 99)),
        "all_us": float(np.median(everything)),
        "left_us": float(np.median(left)),
        "left_pairs": float(np.mean(counts)),
        "all_ratio": float(np.median(everything / ours)),
        "left_ratio": float(np.median(left / ours)),
        "in_contact": touches / len(rows),
    }


def both(files: RobotFiles, count: int) -> dict[str, dict]:
    """Along a smooth motion, and at random configurations."""
    model = CollisionModel.from_urdf(files.urdf, files.srdf, files.package_dirs)
    model.prepare_exact()
    if files.srdf is None:
        model = without_usual_contacts(model)
    peer = MeshPeer(model, Reference(files.urdf, files.package_dirs, model))
    return {
        "smooth": measure(model, peer, smooth_motion(model, count)),
        "random": measure(model, peer, model.random_configurations(count, seed=1)),
    }


def table(name: str, results: dict[str, dict]) -> Sequence[str]:
    """Rows of the table."""
    return [
        f"| {name}, {kind} | {r['median_us']:.1f} | {r['p99_us']:.1f} | {r['all_us']:.0f} "
        f"| {r['all_ratio']:.0f} | {r['left_us']:.1f} | {r['left_ratio']:.1f} "
        f"| {r['left_pairs']:.1f} | {r['in_contact']:.0%} |"
        for kind, r in results.items()
    ]


def main() -> None:
    """Measure and print a table."""
    options = arguments(__doc__, NAMES, 400).parse_args()
    results = {}
    if not options.json:
        print(
            "| robot | ours (us) | p99 | all pairs (us) | ratio | left pairs (us) | ratio "
            "| pairs left | in contact |\n" + "|---" * 9 + "|"
        )
    for name, files in options.robots.items():
        results[name] = both(files, options.configurations)
        if not options.json:
            print(*table(name, results[name]), sep="\n", flush=True)
    if options.json:
        print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
