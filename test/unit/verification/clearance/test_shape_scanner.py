# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What leaves cannot clear, decided by the shapes: against dense sampling and closed forms."""

import numpy as np
import pytest
from support.geometry.scan_cases import random_motion, request, two_arms
from support.robots.toys import joint, link, robot

from collision_monitor import CollisionModel
from collision_monitor.continuous.clearance_scan import Precision
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.verification.clearance.scanner import Scanner
from collision_monitor.verification.clearance.schedule import Schedule
from collision_monitor.verification.clearance.shape_scanner import ShapeScanner

# A flat box turns above a table: its one capsule dips into the table, the box does not.
TABLE = {"obstacles": [{"name": "table", "type": "box", "size": [2, 2, 0.1],
                        "position": [0, 0, -0.05]}]}  # fmt: skip
TURNTABLE = robot(
    link("base", ""), link("plate", '<box size="0.6 0.3 0.02"/>'),
    joint("turn", "base", "plate", xyz="0 0 0.03", axis="0 0 1"),
)  # fmt: skip


@pytest.fixture(scope="module")
def arms():
    model = two_arms()
    return model, ShapeScanner(model)


@pytest.mark.parametrize("seed", range(3))
def test_no_sample_is_below_what_is_certified(arms, seed):
    model, scanner = arms
    schedule = Schedule(model, random_motion(model, seed, 4, 2))
    edges, precision = schedule.bins(12), Precision(1e-3, 0.1, 0.3, 1e-4)
    leaf = Scanner(model).scan(request(model, schedule, edges, 0.0, 0.02, precision=precision))
    pairs = np.flatnonzero(leaf.lows.min(axis=0) < 0.02)
    asked = request(model, schedule, edges, 0.0, 0.02, precision=precision, pairs=pairs)
    scan = scanner.scan(asked)
    assert len(pairs) > 3
    times = np.linspace(schedule.begin, schedule.end, 301)
    bins = np.clip(np.searchsorted(edges, times, "right") - 1, 0, len(edges) - 2)
    for column, pair in enumerate(pairs):
        rows = np.array([scanner.measure(schedule.configuration(t), pair)[0] for t in times])
        assert (rows >= scan.lows[bins, column]).all()
        assert scan.best[column] <= rows.min() + 1e-3 + 0.1 * abs(rows.min()) + 1e-9
        assert (scan.lows[:, column] >= leaf.lows[:, pair] - 1e-12).all()
        first = scanner.first_below(schedule, pair, 0.02, 0.0, schedule.end, 1e-3)
        below = times[rows < 0.02]
        assert first <= below.min(initial=np.inf) + 1e-3
        if len(below):
            q = schedule.configuration(first)
            assert scanner.measure(q, pair)[0] < 0.02


def test_what_only_leaves_touch_is_free():
    model = CollisionModel.from_urdf(TURNTABLE, scene=TABLE, max_leaves_per_link=1)
    turn = Schedule(model, Trajectory.through(("turn",), [0.0, 5.0], [[-1.5], [1.5]]))
    wanted = request(model, turn, 20, 0.0, 0.01)
    assert Scanner(model).scan(wanted).best.max() < 0.0
    scan = ShapeScanner(model).scan(wanted)
    assert scan.best[0] == pytest.approx(0.02, abs=1e-9)  # the gap, whatever the angle
    assert (scan.lows >= 0.01).all()
    assert not np.isfinite(scan.doubts).any()


def test_a_thin_plate_between_two_samples_is_found():
    """A box of 1 mm flies at 100 m/s through a plate of 1 mm: in it for 20 us of 10 ms."""
    shot = robot(
        link("gun", ""), link("bullet", '<box size="0.001 0.01 0.01"/>'),
        joint("fly", "gun", "bullet", "prismatic", xyz="0 0 0", axis="1 0 0"),
    )  # fmt: skip
    plate = {"obstacles": [{"name": "plate", "type": "box", "size": [0.001, 1, 1],
                            "position": [0.0137, 0, 0]}]}  # fmt: skip
    model = CollisionModel.from_urdf(shot, scene=plate)
    flight = Schedule(model, Trajectory.through(("fly",), [0.0, 0.01], [[-0.5], [0.5]]))
    scanner = ShapeScanner(model)
    scan = scanner.scan(request(model, flight, np.array([0.0, 0.01]), 0.0))
    assert scan.best[0] < 0.0
    first = scanner.first_below(flight, 0, 0.0, 0.0, 0.01, 1e-8)
    assert first == pytest.approx(0.005 + (0.0137 - 0.001) / 100.0, abs=3e-8)


def test_a_violation_after_a_long_time_at_the_limit_is_found():
    """While the plate turns no bound can tell its gap from a limit that is hardly smaller."""
    lowered = robot(
        link("base", ""), link("arm", ""), link("plate", '<box size="0.6 0.3 0.02"/>'),
        joint("lift", "base", "arm", "prismatic", xyz="0 0 0.03", axis="0 0 1"),
        joint("turn", "arm", "plate", xyz="0 0 0", axis="0 0 1"),
    )  # fmt: skip
    model = CollisionModel.from_urdf(lowered, scene=TABLE, max_leaves_per_link=1)
    rows = [[0.0, -1.5], [0.0, 0.0], [-0.01, 0.0]]
    motion = Schedule(model, Trajectory.through(("lift", "turn"), [0.0, 2.0, 2.5], rows))
    first = ShapeScanner(model).first_below(motion, 0, 0.02 - 3e-10, 0.0, 2.5, 1e-3)
    assert first == pytest.approx(2.0, abs=1e-3)


def test_too_many_measurements_leave_it_undecided(arms):
    model, _ = arms
    schedule = Schedule(model, random_motion(model, 1, 4, 2))
    leaf = Scanner(model).scan(request(model, schedule, 4, 0.0))
    pair = int(np.argmax((leaf.lows < 0.0).sum(axis=0)))
    scanner = ShapeScanner(model, most=3)
    scan = scanner.scan(request(model, schedule, 4, 0.0, pairs=[pair]))
    assert np.isfinite(scan.doubts).any()
    assert (scan.lows[:, 0] >= leaf.lows[:, pair] - 1e-12).all()
    assert scan.lows.min() < 0.0
