# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Stalls of the joint-state stream: false and missed stops against the true motion.

    python benchmarks/joint_state_stalls.py [--split] [--trials 1000] [--workers 2] [--json]

A trial is a robot in a cell, a random smooth motion within its limits that passes near an obstacle
or itself, and joint states at 100 to 1000 Hz with one stall of 20 to 450 ms. The monitor has the
node's defaults, with ``narrow_phase`` leaf. Messages go through a queue with the node's own rule
for merging waiting ones (`CycleWatch.is_behind`). Stalls:

- none: no stall, for comparison;
- bunched: the backlog arrives at once, a few to 200 microseconds apart;
- delayed: messages are 20 to 150 ms late with jitter, in order; then the stream catches up;
- lost: as bunched, but 30 to 90 % of the backlog is lost;
- reordered: as bunched, but neighbours in the backlog are swapped.

Stamps are true (of measurement), late (of sending: those of the backlog bunch) or absent; half of
the streams have the driver's velocities.

With ``--split`` a random half of the joints has a publisher of its own, at 10 to 50 Hz without
stalls; the other half stalls. Then the true q and v of each half are those of its newest message.

The truth is a `BrakingCheck` without hysteresis at the true q(t) and v(t), t the time of
measurement: v is kept for the reaction time, then every joint brakes.

- *needed*: that path comes within the stop distance, at the newest message received. The age of the
  message adds to the reaction time if its stamp is true; otherwise no monitor can know it.
- *missed*: a stop is needed for longer than a grace time and the monitor does not report it (STALE
  and ERROR are stops). The grace is the lag of a slope over the velocity window (over three
  messages, if that is longer), and two messages.
- *false*: the monitor begins a stop, and the path with 5 % longer reaction and braking distance,
  from q(t) with the true age of the message, stays clear: for each velocity that the robot had
  in the velocity window (or three messages) before t, for the mean since each of these times, and
  for the fastest of each joint. Without true stamps and velocities, times within the backlog are
  unknown: then velocities since the beginning of the stall count as well.
- *bound*: as false, but the path at the monitor's own velocities, sampled, does stay clear by 2 mm
  too. The cause is the bound of the clearance on the braking path, not the stream.
- *false seconds*: how long stops of both kinds last while no path as above needs one.
"""

from __future__ import annotations

import json
import sys
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import product

import numpy as np
from common.command_line import ROBOTS, arguments
from motions.stalled_streams import SLOW_RATES, STALLS, STAMPS, Message, random_motion, stream

from collision_monitor import CollisionModel, Monitor
from collision_monitor.cli.demo import package_file
from collision_monitor.continuous.braking import BrakingPath, braking_path
from collision_monitor.model.thresholds import Thresholds
from collision_monitor.monitoring.joint_state_buffer import JointState
from collision_monitor.monitoring.settings import SpeedSettings
from collision_monitor.monitoring.speed_policy.braking_check import BrakingCheck, Measured
from collision_monitor.monitoring.speed_policy.decision import Decision

CELLS = ("ur5", "panda", "dual_arm")
SCENE = {
    "obstacles": [
        {"name": "wall", "type": "box", "size": [0.1, 2.0, 1.6], "position": [0.6, 0.0, 0.5]},
        {"name": "post", "type": "cylinder", "radius": 0.05, "length": 1.5,
         "position": [-0.4, 0.3, 0.75]},
    ]
}  # fmt: skip
WINDOW = SpeedSettings().velocity_window
LONGER = 1.05


@dataclass
class Row:
    """Counts of one kind of stream.

    Attributes:
        worst_delay: seconds that a needed stop was late, at most.
        failures: number of the trial, and text.
    """

    trials: int = 0
    needed: int = 0
    missed: int = 0
    false: int = 0
    bound: int = 0
    false_seconds: float = 0.0
    worst_delay: float = 0.0
    failures: list[tuple[int, str]] = field(default_factory=list)

    def add(self, other: Row) -> None:
        """Add the counts of ``other``."""
        for name in ("trials", "needed", "missed", "false", "bound", "false_seconds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.worst_delay = max(self.worst_delay, other.worst_delay)
        self.failures += other.failures


class Cell:
    """A model with its thresholds and the two reference checks."""

    def __init__(self, name: str) -> None:
        if name == "dual_arm":
            self.model = CollisionModel.from_urdf(
                package_file("urdf/dual_arm.urdf"), srdf=package_file("urdf/dual_arm.srdf"),
                scene=str(package_file("urdf/dual_arm_scene.yaml")),
            )  # fmt: skip
        else:
            files = ROBOTS[name]
            self.model = CollisionModel.from_urdf(
                files.urdf, files.srdf, files.package_dirs, scene=SCENE
            )
        policy = self.monitor().behaviour
        self.brakes, thresholds = policy.decelerations, policy.thresholds
        reaction = SpeedSettings().reaction_time
        self.checks = []
        for factor in (1.0, LONGER):
            settings = SpeedSettings(reaction_time=factor * reaction, release_distance=0.0)
            check = BrakingCheck(self.model, self.brakes / factor, settings)
            check.set_thresholds(thresholds)
            self.checks.append(check)
        self.fresh = BrakingCheck(self.model, self.brakes)

    def monitor(self) -> Monitor:
        """A new monitor with the defaults of the node."""
        monitor = Monitor(self.model, narrow_phase="leaf")
        monitor.set_thresholds(Thresholds(0.1, 0.02))
        return monitor

    def needs_stop(self, q: np.ndarray, v: np.ndarray, age: float) -> bool:
        """Whether the robot must brake now."""
        return self._decide(0, q, v, age).stop

    def may_stop(self, q: np.ndarray, v: np.ndarray, age: float) -> bool:
        """Whether it is within a stop distance, or would be on a way that is 5 % longer."""
        decision = self._decide(1, q, v, LONGER * age)
        return decision.stop or decision.inside

    def comes_near(self, monitor: Monitor, late: float) -> bool:
        """Whether the way by the monitor's own velocities comes near, sampled every 1/60."""
        q, v = monitor.buffer.q.copy(), monitor.behaviour.velocities.values
        law = BrakingPath(q, v, self.brakes, LONGER * (SpeedSettings().reaction_time + late))
        path = np.empty((len(q), 61))
        braking_path(law, path)
        stop = self.checks[0].thresholds[:, 0]
        return any((self.model.distances(row) <= stop + 0.002).any() for row in path.T)

    def _decide(self, which: int, q: np.ndarray, v: np.ndarray, late: float) -> Decision:
        self.checks[which].take_over(self.fresh)  # no hysteresis
        measured = Measured(self.model.distance(q))
        return self.checks[which].decide(q, v, measured, late=late)


@lru_cache
def cell_of(name: str) -> Cell:
    """A cell of `CELLS`, loaded once."""
    return Cell(name)


def trial(
    number: int, seed: int, split: bool = False, monitor: Monitor | None = None
) -> tuple[tuple[str, str, bool], Row]:
    """The kind of stream of one trial, and what came of it.

    ``monitor``: a new one of the cell, by default with the defaults of the node.
    """
    rng = np.random.default_rng([seed, number])
    stall, stamps = STALLS[number % 5], STAMPS[number // 5 % 3]
    gives, cell = number // 15 % 2 == 1, cell_of(CELLS[number // 30 % 3])
    cost = 1e-3 * float(rng.choice([0.1, 0.5, 3.0]))  # of a cycle, seconds
    begin = rng.uniform(0.25, 0.6)
    end = begin + rng.uniform(0.02, 0.45)
    motion = random_motion(cell, rng, rng.uniform(begin, end + 0.15))
    messages = stream(rng, stall, stamps, begin, end)
    period = messages[1].measured - messages[0].measured
    monitor, names = monitor or cell.monitor(), cell.model.joint_names
    publisher, slowest = np.zeros(len(names), dtype=int), period  # of each joint
    if split:
        publisher[rng.permutation(len(names))[len(names) // 2 :]] = 1
        other = stream(rng, "none", stamps, 0.0, 0.0, SLOW_RATES)
        slowest = other[1].measured - other[0].measured
        messages += [message._replace(publisher=1) for message in other]
        messages.sort(key=lambda message: message.arrives)
    grace = max(0.5 * WINDOW, slowest) + 2.0 * slowest
    times = np.full(1 + split, -1.0)  # of the last measurements, by publisher
    cycles, row = monitor.watchdogs.cycles, Row(1)
    waiting, now, was_stop = deque(messages), 0.0, False
    unmet, is_false, last, needed_any = None, False, 0.0, False

    def read(message: Message) -> JointState:
        times[message.publisher] = message.measured
        own = np.flatnonzero(publisher == message.publisher)
        q, v = (each[own] for each in motion.at(message.measured))
        stamp = max(message.stamp, 0.0)
        lag = now + 1e9 - stamp if stamp else 0.0
        own_names = [names[k] for k in own]
        return JointState(own_names, tuple(q), 5.0 + now, stamp, lag, tuple(v) if gives else ())

    def truth(past: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """True q and v, seconds (publishers,) before the last measurements."""
        q, v = np.moveaxis([motion.at(t) for t in times - past], 0, 2)
        rows = np.arange(len(names))
        return q[rows, publisher], v[rows, publisher]

    while waiting:
        message = waiting.popleft()
        last, now = now, max(now, message.arrives)
        if cycles.is_behind(now):
            while waiting and waiting[0].arrives <= now:
                monitor.merge(read(message))
                message = waiting.popleft()
        state = monitor.process(read(message))
        cycles.add(now, now + cost)
        if times.min() < 0.0:
            continue  # the other half of the joints is unknown
        is_stop, age, t = state.action == "stop", now - message.measured, times.max()
        if is_false:
            row.false_seconds += now - last
        if is_stop and (is_false or not was_stop):
            q, back = truth(0.0 * times)[0], np.full(len(times), WINDOW)
            if stamps != "true" and not gives and times[0] >= begin - WINDOW:
                back[0] += max(0.0, min(times[0], end + WINDOW) - begin)
            back[-1] = max(back[-1], 2.0 * slowest)
            before = [truth(past) for past in np.linspace(0.0 * back, back, 16)]
            speeds = np.array([v for _, v in before])
            fastest = np.take_along_axis(speeds, np.abs(speeds).argmax(0)[None], 0)
            means = [(q - before[k][0]) / (back[publisher] * k / 15) for k in range(1, 16)]
            justified = any(cell.may_stop(q, v, age) for v in (*speeds, *fastest, *means))
            if not justified and not was_stop:
                is_loose = not cell.comes_near(monitor, age)
                row.bound += is_loose
                row.false += not is_loose
                kind = "bound" if is_loose else "false"
                row.failures.append((number, f"{kind} at {t:.3f}, age {age:.3f}: {state.message}"))
            is_false = not justified
        elif not is_stop:
            is_false = False
        was_stop = is_stop
        now += cost
        if not waiting or waiting[0].arrives >= max(now, message.arrives + 0.5 * period):
            needed = cell.needs_stop(*truth(0.0 * times), age if stamps == "true" else 0.0)
            needed_any |= needed
            if needed and not is_stop:
                unmet = t if unmet is None else unmet
                row.worst_delay = float(max(row.worst_delay, t - unmet + period))
                if t - unmet > grace and not row.missed:
                    row.missed = 1
                    row.failures.append((number, f"missed at {t:.3f}, {state.message}"))
            else:
                unmet = None
    row.needed = int(needed_any)
    return (stall, stamps, gives), row


def run(
    trials: int, seed: int = 0, workers: int = 1, split: bool = False
) -> dict[tuple[str, str, bool], Row]:
    """Counts by kind of stream: stall, stamps, whether the driver gives velocities."""
    table: dict[tuple[str, str, bool], Row] = {}
    work = partial(trial, seed=seed, split=split)
    if workers > 1:
        with ProcessPoolExecutor(workers) as pool:
            found = list(pool.map(work, range(trials), chunksize=10))
    else:
        found = [work(k) for k in range(trials)]
    for kind, row in found:
        table.setdefault(kind, Row()).add(row)
    kinds = product(STALLS, STAMPS, (False, True))
    return {kind: table[kind] for kind in kinds if kind in table}


def main() -> int:
    """Print the table; 1 if a stop was missed or false."""
    parser = arguments(__doc__)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--split", action="store_true", help="two publishers of disjoint joints")
    parser.add_argument("--verbose", action="store_true", help="also list each failure")
    options = parser.parse_args()
    table = run(options.trials, options.seed, options.workers, options.split)
    if options.json:
        names = ("stall", "stamps", "velocities")
        rows = [dict(zip(names, kind, strict=True)) | vars(row) for kind, row in table.items()]
        print(json.dumps(rows))
    else:
        print("stall      stamps  velocities trials needed missed false bound false_s delay_ms")
        for (stall, stamps, gives), row in table.items():
            print(
                f"{stall:10} {stamps:7} {'driver' if gives else 'none':10} {row.trials:6} "
                f"{row.needed:6} {row.missed:6} {row.false:5} {row.bound:5} "
                f"{row.false_seconds:7.3f} {1e3 * row.worst_delay:8.1f}"
            )
        if options.verbose:
            for row in table.values():
                for number, text in row.failures:
                    print(number, text)
    return int(any(row.missed or row.false for row in table.values()))


if __name__ == "__main__":
    sys.exit(main())
