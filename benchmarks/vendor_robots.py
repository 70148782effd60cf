# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Alarms of a monitor with defaults on robots as their vendors describe them, against coal.

    python benchmarks/vendor_robots.py [--robots ur5,panda,...] [--poses 300] [--srdf] [--json]
    python benchmarks/vendor_robots.py --cycles      # time of an update along motions instead

The robots of example-robot-data that have an arm, legs or a hand, by their URDF alone; with
``--srdf`` by their SRDF as well, where there is one. Each robot rests in poses around zero (15 % of
the range of each joint) and in random ones: five joint states, 10 ms apart. The table says in how
many of them the last state is a stop, or a warning or stop, and in how many of all there is no
cause for it: coal finds no pair of the model within its stop (warning) distance, by pinocchio's
kinematics and the meshes. ``missed``: poses with a contact that is no stop. ``above``: poses in
which the reported distance is larger than coal's.

``--cycles``: median and 99th percentile of `Monitor.update` in microseconds along random motions
at 1 kHz and at 125 Hz, and of the cycles that find a contact.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from command_line import arguments
from support.geometry.exact_reference import ExactReference
from support.geometry.reference import Reference
from support.robots.robots import ROBOTS, share_folder

from collision_monitor import CollisionModel, Monitor
from collision_monitor.model.permanent_contacts import samples_around_zero
from collision_monitor.monitoring.monitor import Level

# URDF and SRDF below example-robot-data/robots, of robots that the tests do not use.
MORE = {
    "ur3": ("ur_description/urdf/ur3_robot.urdf", "ur_description/srdf/ur3.srdf"),
    "ur10": ("ur_description/urdf/ur10_robot.urdf", "ur_description/srdf/ur10.srdf"),
    "z1": ("z1_description/urdf/z1.urdf", "z1_description/srdf/z1.srdf"),
    "so101": ("so_arm_description/urdf/so101.urdf", ""),
    "kinova": ("kinova_description/robots/kinova.urdf", "kinova_description/srdf/kinova.srdf"),
    "allegro": ("allegro_hand_description/urdf/allegro_right_hand.urdf", ""),
    "tiago_pro": ("tiago_pro_description/robots/tiago_pro.urdf", ""),
    "icub": ("icub_description/robots/icub.urdf", "icub_description/srdf/icub.srdf"),
    "romeo": ("romeo_description/urdf/romeo.urdf", "romeo_description/srdf/romeo.srdf"),
    "a1": ("a1_description/urdf/a1.urdf", "a1_description/srdf/a1.srdf"),
    "go1": ("go1_description/urdf/go1.urdf", "go1_description/srdf/go1.srdf"),
    "go2": ("go2_description/urdf/go2.urdf", "go2_description/srdf/go2.srdf"),
    "b1_z1": ("b1_description/urdf/b1-z1.urdf", "b1_description/srdf/b1-z1.srdf"),
    "laikago": ("laikago_description/urdf/laikago.urdf", "laikago_description/srdf/laikago.srdf"),
    "hyq": ("hyq_description/robots/hyq_no_sensors.urdf", "hyq_description/srdf/hyq.srdf"),
    "anymal_b": (
        "anymal_b_simple_description/robots/anymal.urdf",
        "anymal_b_simple_description/srdf/anymal.srdf",
    ),
    "anymal_c": (
        "anymal_c_simple_description/urdf/anymal.urdf",
        "anymal_c_simple_description/srdf/anymal.srdf",
    ),
    "solo12": ("solo_description/robots/solo12.urdf", "solo_description/srdf/solo.srdf"),
    "bolt": ("bolt_description/robots/bolt.urdf", "bolt_description/srdf/bolt.srdf"),
}
NAMES = (*ROBOTS, *MORE)
STATES, PERIOD = 5, 0.01
SAME = 1e-6  # metres between two libraries


def load(name: str, with_srdf: bool) -> tuple[CollisionModel, ExactReference]:
    """A robot with defaults, and what coal knows of it."""
    share = share_folder()
    if share is None:
        sys.exit("the package example-robot-data is not installed (PyPI: example-robot-data)")
    if name in ROBOTS:
        urdf, srdf = ROBOTS[name].urdf, ROBOTS[name].srdf
    else:
        robots = share / "example-robot-data" / "robots"
        urdf, srdf = (robots / path if path else None for path in MORE[name])
    given = srdf if with_srdf and srdf is not None and srdf.exists() else None
    model = CollisionModel.from_urdf(urdf, srdf=given, package_dirs=[share])
    reference = Reference(urdf, [share], model)
    return model, ExactReference(model, reference)


def truth(model: CollisionModel, coal: ExactReference, q: np.ndarray, reach: float) -> np.ndarray:
    """(pairs,) distances by coal of the pairs whose leaves are within ``reach``; others inf."""
    out = np.full(len(model.pairs), np.inf)
    for k in np.flatnonzero(model.distances(q) <= reach):
        out[k] = coal.distance(q, model.pairs[k])
        if out[k] > 0.0 and coal.holds(q, model.pairs[k]):
            out[k] = 0.0
    return out


def alarms(model: CollisionModel, coal: ExactReference, rows: np.ndarray) -> dict[str, float]:
    """Parts of the poses with alarms, with and without a cause."""
    counts = dict.fromkeys(("stop", "false_stop", "warn", "false_warn", "missed", "above"), 0)
    for q in rows:
        monitor = Monitor(model)
        for k in range(STATES):
            state = monitor.update(model.joint_names, q, now=100.0 + PERIOD * k)
        limits = monitor.behaviour.thresholds
        real = truth(model, coal, q, monitor.behaviour.widest_warning)
        is_stop, is_warn = state.level is Level.ERROR, state.level is not Level.OK
        counts["stop"] += is_stop
        counts["warn"] += is_warn
        counts["false_stop"] += is_stop and not (real <= limits[:, 0] + SAME).any()
        counts["false_warn"] += is_warn and not (real <= limits[:, 1] + SAME).any()
        counts["missed"] += bool((real <= -SAME).any()) and not is_stop
        counts["above"] += state.distance > max(0.0, real.min()) + SAME
    shares = {key: counts[key] / len(rows) for key in list(counts)[:4]}
    return {**shares, "missed": counts["missed"], "above": counts["above"]}


def motion(model: CollisionModel, rate: float, seconds: float, seed: int) -> np.ndarray:
    """Positions of joints that speed up and slow down, at most at half of their limits."""
    rng = np.random.default_rng(seed)
    fastest = 0.5 * np.minimum(model.velocity_limits, 2.0)
    times, period = np.arange(0.0, seconds, 1.0 / rate), 2.0
    speeds = rng.uniform(-1.0, 1.0, (3, len(fastest))) * fastest / 3.0
    start = np.clip(0.0, model.lower, model.upper)
    waves = [
        speed * np.sin(2.0 * np.pi * (k + 1) * times[:, None] / period) * period / 2.0 / np.pi
        for k, speed in enumerate(speeds)
    ]
    return np.clip(start + sum(waves), model.lower, model.upper)


def cycles(model: CollisionModel, seconds: float) -> dict[str, float]:
    """Times of `Monitor.update` along motions, microseconds."""
    found: dict[str, float] = {}
    in_contact: list[float] = []
    for name, rate in (("1 kHz", 1000.0), ("125 Hz", 125.0)):
        spent = []
        for seed in range(5):
            monitor = Monitor(model)
            for k, q in enumerate(motion(model, rate, seconds, seed)):
                now = 100.0 + k / rate
                begin = time.perf_counter()
                state = monitor.update(model.joint_names, q, now, now)
                spent.append(time.perf_counter() - begin)
                if state.distance <= 0.0:
                    in_contact.append(spent[-1])
        found |= _percentiles(name, spent)
    return found | _percentiles("contact", in_contact)


def _percentiles(name: str, seconds: list[float]) -> dict[str, float]:
    values = np.percentile(seconds, (50, 99)) * 1e6 if seconds else (np.nan, np.nan)
    return {f"{name} median": float(values[0]), f"{name} p99": float(values[1])}


def main() -> int:
    """Print the table."""
    parser = arguments(__doc__)
    parser.add_argument("--robots", default=",".join(NAMES), help="names, with commas between")
    parser.add_argument("--poses", type=int, default=300)
    parser.add_argument("--srdf", action="store_true")
    parser.add_argument("--cycles", action="store_true")
    options = parser.parse_args()
    results = {}
    for name in options.robots.split(","):
        if name not in NAMES:
            parser.error(f"no robot {name!r}; there are {', '.join(NAMES)}")
        model, coal = load(name, options.srdf)
        if options.cycles:
            row = cycles(model, 5.0)
            cells = [f"{value:.0f}" for value in row.values()]
        else:
            rows = {
                "around zero": samples_around_zero(model, options.poses, seed=1),
                "random": model.random_configurations(options.poses, seed=1),
            }
            row = {key: alarms(model, coal, some) for key, some in rows.items()}
            cells = [
                f"{each['stop']:.0%} ({each['false_stop']:.1%}) | "
                f"{each['warn']:.0%} ({each['false_warn']:.1%})"
                for each in row.values()
            ]
            structural = len(Monitor(model).behaviour.structural_pairs)
            cells += [str(sum(each[key] for each in row.values())) for key in ("missed", "above")]
            cells.append(f"{len(model.pairs)}, {structural} structural")
        results[name] = row
        if not options.json:
            if len(results) == 1:
                print(_head(list(row) if options.cycles else None))
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
    if options.json:
        print(json.dumps(results, indent=1))
    return 0


def _head(columns: list[str] | None) -> str:
    names = columns or [
        "stop around zero (false)", "warning", "stop at random (false)", "warning",
        "missed", "above", "pairs",
    ]  # fmt: skip
    return f"| robot | {' | '.join(names)} |\n|---|{'---|' * len(names)}"


if __name__ == "__main__":
    sys.exit(main())
