# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Detours among obstacles that move: on time, within velocity limits, and clear."""

import numpy as np
import pytest
from support.robots.planar_arms import JOINTS, sliding_box

from collision_monitor.errors import AdjustmentError
from collision_monitor.model.proximity import Proximity
from collision_monitor.motion.trajectory import Motion
from collision_monitor.self_collision import adjust
from collision_monitor.self_collision.robust.detour import Effort, find_timed_detour
from collision_monitor.self_collision.stepper import Stepper

# A box that crosses the place of the right arm, which has to give way and to come back.
MODEL = sliding_box([0.85, -3.0, 0.0], [0, 1, 0])
NAMES = (*JOINTS, "slide")
LIMITS = np.array([-np.inf if "base" in pair else 0.05 for pair in MODEL.pairs])


def crossing(count=21, seconds=10.0, turn=0.0):
    """The right arm stands still, the left one is out of the way; the box may turn back."""
    rows = np.zeros((count, 7))
    rows[:, 3] = 1.5
    rows[:, 6] = np.linspace(1.5, 3.5, count)
    if turn:
        rows[:, 6] -= turn * np.sin(np.linspace(0.0, 4.0 * np.pi, count))
    return Motion(NAMES, np.linspace(0.0, seconds, count), rows)


def detour(motion, speed=1.0, effort=None):
    columns = np.arange(3)
    stepper = Stepper(Proximity(MODEL), columns, LIMITS, np.eye(3), 0.003)
    speeds, effort = np.full(7, speed), effort or Effort()
    return find_timed_detour(stepper, motion.positions, motion.times, speeds, effort)


def is_clear(motion, clearance):
    """Whether pairs of the arms and the box are that far apart at dense samples, in metres."""
    at = np.linspace(motion.times[0], motion.times[-1], 2001)
    rows = np.column_stack([np.interp(at, motion.times, each) for each in motion.positions.T])
    kept = LIMITS > 0.0
    return min(MODEL.distances(q)[kept].min() for q in rows) >= clearance - 1e-6


@pytest.mark.parametrize(("seconds", "turn"), [(6.0, 0.3), (20.0, 0.0)])
def test_a_detour_is_on_time_within_velocity_limits_and_clear(seconds, turn):
    motion = crossing(41, seconds, turn)
    assert not is_clear(motion, 0.05)
    effort = Effort()
    rows = detour(motion, effort=effort)
    assert 0 < effort.edges < Effort().edges and not effort.is_spent
    assert np.array_equal(rows[[0, -1]], motion.positions[[0, -1]])
    assert np.array_equal(rows[:, 3:], motion.positions[:, 3:])
    rates = np.abs(np.diff(rows, axis=0)) / np.diff(motion.times)[:, None]
    assert rates[:, :3].max() <= 1.0
    assert is_clear(Motion(NAMES, motion.times, rows), 0.05)
    assert np.array_equal(rows, detour(motion))


def test_nothing_is_found_if_joints_are_too_slow_or_there_is_no_budget():
    motion = crossing()
    assert detour(motion, effort=Effort(2000)) is not None
    assert detour(motion, speed=0.05, effort=Effort(2000)) is None
    assert detour(motion, effort=Effort(0, 1.0)) is None
    assert detour(motion, effort=Effort(1000, 0.0)) is None
    assert detour(crossing(2)) is None  # no row in between


@pytest.mark.parametrize("count", [2, 21])
def test_an_arm_gives_way_to_an_obstacle_that_crosses_its_place(count):
    motion = crossing(count)
    adjusted = adjust(MODEL, motion)
    assert adjusted.certified and adjusted.changed
    assert np.array_equal(adjusted.motion.times, adjusted.desired.times)
    assert is_clear(adjusted.motion, 0.1)
    spans = np.diff(adjusted.motion.times)[:, None]
    assert (np.abs(np.diff(adjusted.motion.positions, axis=0)) / spans).max() <= 1.0 + 1e-6
    for end in (0, -1):
        assert adjusted.motion.positions[end] == pytest.approx(motion.positions[end], abs=1e-9)


def test_an_obstacle_that_is_too_fast_is_named():
    with pytest.raises(AdjustmentError, match=r"'box' are .* no detour was found"):
        adjust(MODEL, crossing(seconds=0.7))
