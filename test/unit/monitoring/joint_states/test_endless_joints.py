# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A driver that reports an endless joint within half a turn: its jump is no motion."""

import math

import numpy as np
import pytest
from support.joint_states import send
from support.robots.toy_models import toy_model
from support.robots.toys import joint, link, robot

from collision_monitor import CollisionModel, Monitor
from collision_monitor.monitoring.cell_buffer import CellBuffer
from collision_monitor.monitoring.joint_state_buffer import JointStateBuffer
from collision_monitor.robot.angles import TURN

# An arm of 0.6 m that turns, and a post beside its tip at about pi.
URDF = robot(
    link("base", '<sphere radius="0.05"/>'),
    link("arm", '<box size="0.5 0.06 0.06"/>', "0.35 0 0"),
    link("post", '<cylinder radius="0.05" length="1"/>'),
    joint("turn", "base", "arm", "continuous", "0 0 0"),
    joint("fix", "base", "post", "fixed", "-0.45 0.3 0"),
)
MODEL = CollisionModel.from_urdf(URDF.replace('velocity="1"', 'velocity="2"'))


def wrapped(angle):
    return (angle + math.pi) % TURN - math.pi


def states(angles, velocity=None, report=wrapped, step=0.01):
    monitor = Monitor(MODEL)
    given = () if velocity is None else (velocity,)
    return [
        monitor.update(["turn"], [report(angle)], 100.0 + k * step, stamp=100.0 + k * step,
                       velocities=given)
        for k, angle in enumerate(angles)
    ]  # fmt: skip


@pytest.mark.parametrize("velocity", [None, 0.0])
def test_noise_where_the_driver_wraps_is_no_conflict_and_no_motion(velocity):
    noise = np.random.default_rng(1).normal(0.0, 2e-4, 200)
    at_rest = Monitor(CollisionModel.from_urdf(URDF.replace("-0.45 0.3 0", "-0.45 0.6 0")))
    found = []
    for k, angle in enumerate(math.pi + noise):
        given = () if velocity is None else (velocity,)
        found.append(
            at_rest.update(["turn"], [wrapped(angle)], 0.01 * k, stamp=1.0 + 0.01 * k,
                           velocities=given)
        )  # fmt: skip
    assert {(state.level.name, state.cause) for state in found} == {("OK", "")}
    assert min(state.speed_scale for state in found[5:]) == 1.0


@pytest.mark.parametrize("speed", [1.0, 0.2, -0.2, -1.0])
@pytest.mark.parametrize("given", [True, False])
def test_turning_past_the_wrap_decides_as_if_the_driver_counted_turns(speed, given):
    velocity = speed if given else None
    angles = math.pi - 80 * 0.01 * speed + 0.01 * speed * np.arange(160)
    as_counted = states(angles, velocity, report=float)
    for state, expected in zip(states(angles, velocity), as_counted, strict=True):
        assert (state.level, state.action) == (expected.level, expected.action)
        assert state.speed_scale == pytest.approx(expected.speed_scale, abs=1e-6)
    if abs(speed) == 1.0:
        assert len({state.action for state in as_counted}) > 1  # the post matters


def test_a_jump_that_is_no_whole_turn_is_a_conflict_still():
    angles = [math.pi + (0.4 if k % 2 else 0.0) for k in range(20)]
    assert states(angles)[-1].cause == "conflict"


def buffer(endless):
    return JointStateBuffer(("a", "b"), [1.0, 1.0], endless=np.array(endless))


def test_positions_go_on_in_the_turn_of_the_last_ones_in_whole_and_partial_messages():
    b = buffer([True, False])
    for k, angle in enumerate(np.arange(3.0, 16.0, 0.004)):
        names = ["a", "b"] if k % 500 < 400 else ["a"]
        send(b, names, [wrapped(angle), 0.2][: len(names)], now=0.01 * k, stamp=1.0 + 0.01 * k)
        assert b.q == pytest.approx([angle, 0.2])
        assert b.reported == pytest.approx([wrapped(angle), 0.2])
    assert b.conflict(0.01 * k) == ""


def test_joints_with_end_stops_are_taken_as_reported():
    b = buffer([False, False])
    for k, angle in enumerate((3.1, -3.1)):
        send(b, ["a", "b"], [angle, 0.0], now=float(k))
    assert b.q[0] == -3.1


def test_another_model_goes_on_in_the_same_turn():
    old, new, limited = buffer([True, False]), buffer([True, False]), buffer([False, False])
    for k, angle in enumerate((3.1, 3.2)):
        send(old, ["a", "b"], [wrapped(angle), 0.0], now=float(k))
    for each in (new, limited):
        each.take_over(old)
        send(each, ["a", "b"], [wrapped(3.21), 0.0], now=2.0)
    assert new.q[0] == pytest.approx(3.21)
    assert limited.q[0] == pytest.approx(wrapped(3.21))


def test_each_robot_of_a_cell_keeps_its_own_turns():
    robots = {"left": ["l"], "right": ["r"]}
    b = CellBuffer(("r", "l"), [1.0, 1.0], robots, endless=np.array([True, False]))
    for k, angle in enumerate((3.1, 3.2)):
        send(b, ["l", "r"], [wrapped(angle), wrapped(angle)], now=float(k))
    assert b.q == pytest.approx([3.2, wrapped(3.2)])
    assert b.reported == pytest.approx([wrapped(3.2)] * 2)


@pytest.mark.parametrize("gain", [1, -1, 2])
def test_a_mimic_joint_is_where_its_leader_puts_it_in_any_turn(gain):
    mimic = f'<mimic joint="drive" multiplier="{gain}"/>'
    model = toy_model(
        link("base"), link("wheel"), link("other"),
        joint("drive", "base", "wheel", "continuous"),
        joint("follow", "base", "other", "continuous", "-1 0 0", extra=mimic),
    )  # fmt: skip

    def levels(off):
        monitor = Monitor(model)
        return {
            monitor.update(
                ["drive", "follow"], [wrapped(turned), wrapped(gain * turned + off)],
                0.01 * k, stamp=1.0 + 0.01 * k,
            ).level.name
            for k, turned in enumerate(np.linspace(0.1, 3.0 * TURN, 600))
        }  # fmt: skip

    assert levels(0.0) == {"OK"}
    assert levels(0.2) == {"OK", "WARN"}
