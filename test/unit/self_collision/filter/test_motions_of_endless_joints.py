# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Joints without end stops: no limits, and the same pose a whole turn away."""

import math

import numpy as np
import pytest
from support.robots.toys import joint, link, robot

from collision_monitor import CollisionModel
from collision_monitor.errors import ConfigurationError, MotionError, TrajectoryError
from collision_monitor.monitoring.joint_state_buffer import JointState
from collision_monitor.motion.trajectory import Motion
from collision_monitor.robot.angles import TURN
from collision_monitor.self_collision.adjustment import adjust
from collision_monitor.self_collision.arms import Arm
from collision_monitor.self_collision.hold_supervisor import HoldSupervisor
from collision_monitor.self_collision.point_stream import PointStream, Streamer
from collision_monitor.self_collision.trajectory_filter import (
    DesiredTrajectory,
    FilterSettings,
    TrajectoryFilter,
)

# Two arms, each a slide and a wrist that turns without end, and a wheel. At zero the hands are
# 1.1 m apart.
JOINTS = ("r_x", "r_roll", "l_x", "l_roll")
ARMS = tuple(
    Arm(name, (f"{side}_x", f"{side}_roll"), (f"{side}_cart", f"{side}_hand"), f"{side}_hand")
    for name, side in (("right", "r"), ("left", "l"))
)
HAND = '<box size="0.1 0.4 0.1"/>'
URDF = robot(
    link("base", ""),
    link("wheel", '<cylinder radius="0.1" length="0.05"/>'),
    joint("wheel_joint", "base", "wheel", "continuous", "0 0 -2"),
    *(
        part
        for side, x in (("r", "-0.6 0 0"), ("l", "0.6 0 0"))
        for part in (
            link(f"{side}_cart", '<sphere radius="0.05"/>', "0 0 0.5"),
            link(f"{side}_hand", HAND, "0 0.2 0"),
            joint(f"{side}_x", "base", f"{side}_cart", "prismatic", x, "1 0 0"),
            joint(f"{side}_roll", f"{side}_cart", f"{side}_hand", "continuous", "0 0 0"),
        )
    ),
    name="rolling",
)
MODEL = CollisionModel.from_urdf(URDF)
NAMES = (*JOINTS, "wheel_joint")
NOW, CLOCK = 100.0, 5000.0
HERE = np.array([0.0, 3.1, 0.0, 0.0])


class Cell:
    """A filter, and a robot whose driver reports positions as they are given."""

    def __init__(self):
        self.supervisor = HoldSupervisor(MODEL, ARMS)
        self.filter = TrajectoryFilter(MODEL, ARMS, self.supervisor)

    def stand(self, q, seconds=0.0, wheel=0.0):
        names = MODEL.joint_names
        values = dict(zip(NAMES, (*q, wheel), strict=True))
        message = JointState(names, [values[n] for n in names], NOW + seconds)
        self.filter.update(message, CLOCK + seconds)

    def job(self, rows, times=None):
        times = np.arange(len(rows)) if times is None else times
        desired = DesiredTrajectory(JOINTS, times, rows)
        return self.filter.job(desired, 0.0, FilterSettings(), CLOCK, NOW)


def turned(row, roll):
    return [row[0], row[1] + roll, *row[2:]]


@pytest.mark.parametrize("turns", [-3, -1, 0, 2])
def test_a_trajectory_that_starts_whole_turns_away_begins_where_the_robot_is(turns):
    cell = Cell()
    cell.stand(HERE)
    job = cell.job([turned(HERE, turns * TURN + more) for more in (0.002, 0.5, 1.0)])
    assert job.motion.positions[:, 1] == pytest.approx(HERE[1] + np.array([0.002, 0.5, 1.0]))
    with pytest.raises(TrajectoryError, match="'r_roll' at 3.15, but it is at 3.1: 0.05 apart"):
        cell.job([turned(HERE, turns * TURN + 0.05), HERE])


@pytest.mark.parametrize("times", [(1.0, 2.0), (0.0,)])
def test_the_way_to_a_later_first_point_is_the_short_one(times):
    cell = Cell()
    cell.stand(HERE)
    rows = [turned(HERE, 0.4 - TURN), turned(HERE, 0.8 - TURN)][: len(times)]
    roll = cell.job(rows, times).motion.positions[:, 1]
    assert roll[0] == HERE[1] and np.diff(roll).max() <= 0.4 + 1e-9 and np.diff(roll).min() >= 0.0


def test_a_wheel_that_has_turned_does_not_refuse_motions_of_the_arms():
    cell = Cell()
    cell.stand(HERE, wheel=20.0)
    job = cell.job([HERE, turned(HERE, 1.0)])
    found = cell.filter.adjust(job).motion
    assert found.positions[-1] == pytest.approx(turned(HERE, 1.0))
    cell.stand(HERE, 0.1, wheel=20.0 - TURN)
    assert cell.filter.release(job, found, job.asked, CLOCK + 0.2, NOW + 0.1)


def test_a_joint_that_the_driver_wraps_meanwhile_has_not_moved_and_the_motion_begins_there():
    cell = Cell()
    at_pi = turned(HERE, math.pi - HERE[1])
    cell.stand(at_pi)
    job = cell.job([at_pi, turned(at_pi, 0.5)])
    cell.stand(turned(at_pi, 0.001 - TURN), 0.1)
    motion = cell.filter.release(job, job.motion, job.asked, CLOCK + 0.2, NOW + 0.1).motion
    assert motion.positions[:, 1] == pytest.approx([-math.pi, -math.pi + 0.5])
    cell.stand(turned(at_pi, 0.05 - TURN), 0.3)
    cell.filter.mark_finished()
    with pytest.raises(TrajectoryError, match="joint 'r_roll' moved by 0.05"):
        cell.filter.release(job, job.motion, job.asked, CLOCK + 0.4, NOW + 0.3)


def test_a_motion_ends_where_the_driver_reports_its_goal_whole_turns_away():
    cell = Cell()
    cell.stand(HERE)
    job = cell.job([HERE, turned(HERE, 1.0)])
    cell.filter.release(job, job.motion, job.asked, CLOCK, NOW)
    for t in np.arange(0.0, 1.4, 0.02):
        roll = HERE[1] + min(t, 1.0)
        cell.stand([0.0, (roll + math.pi) % TURN - math.pi, 0.0, 0.0], t)
    assert not cell.filter.running(CLOCK + 1.4)


def test_what_holds_the_arms_is_in_the_turns_of_the_driver():
    cell = Cell()
    for k, roll in enumerate((3.1, 3.2 - TURN)):
        cell.stand(turned(HERE, roll - HERE[1]), 0.1 * k)
    assert cell.supervisor.positions()["r_roll"] == pytest.approx(3.2 - TURN)


def test_a_stream_of_points_goes_on_past_half_a_turn():
    streamer = Streamer(MODEL, ARMS, 0.1, 0.05)
    stream = PointStream(streamer, MODEL.joint_names, JOINTS, horizon=1.0, timeout=0.5)
    here = dict(zip(NAMES, (*HERE, 20.0), strict=True))
    rolls = []
    for k in range(1, 20):
        now = 0.05 * k
        target = dict(zip(JOINTS, turned(HERE, 0.01 * k), strict=True))
        target["r_roll"] = (target["r_roll"] + math.pi) % TURN - math.pi
        present = {**here, "r_roll": target["r_roll"], "wheel_joint": 20.0 - TURN * (k % 2)}
        assert stream.departure(now, present, 0.05) == ""
        done = stream.step(target, now + 0.05, now, here if k == 1 else present)
        assert done.largest_change < 1e-9
        rolls.append(done.motion.positions[-1, done.motion.joint_names.index("r_roll")])
    assert np.diff(rolls) == pytest.approx(np.full(18, 0.01))
    off = stream.departure(now, {**present, "r_roll": present["r_roll"] + 0.3}, 0.05)
    assert off.startswith("joint 'r_roll' is at")


# The wrists cannot turn farther than fingers, which turn with them.
FINGERS = URDF.replace("</robot>", "".join(
    link(f"{side}_finger", '<sphere radius="0.02"/>', "0 0 0.3")
    + joint(f"{side}_bend", f"{side}_hand", f"{side}_finger", xyz="0 0 0", limits=(-1.0, 1.0),
            extra=f'<mimic joint="{side}_roll"/>')
    for side in "rl"
) + "</robot>")  # fmt: skip


@pytest.mark.parametrize("turns", [-2, 0, 1])
def test_a_stream_keeps_limits_of_joints_that_mimic_a_continuous_one_in_its_turn(turns):
    model = CollisionModel.from_urdf(FINGERS)
    streamer = Streamer(model, ARMS, 0.1, 0.05)
    roll, q = model.joint_names.index("r_roll"), np.zeros(len(model.joint_names))
    q[roll] = 0.5 + turns * TURN
    streamer.reset(q)
    assert streamer.step(q, 0.1)[0] == pytest.approx(q)
    q[roll] = 1.5
    for _ in range(20):
        reached = streamer.step(q, 0.1)[0][roll]
    assert reached == pytest.approx(1.0 + turns * TURN)


# -- the library --


@pytest.mark.parametrize("turns", [-2, 0, 1])
def test_adjust_keeps_limits_of_joints_that_mimic_a_continuous_one_in_its_turn(turns):
    model = CollisionModel.from_urdf(FINGERS)
    rows = np.zeros((2, 4))
    rows[:, 1] = np.array([0.5, 0.9]) + turns * TURN
    found = adjust(model, Motion(JOINTS, [0.0, 2.0], rows), ARMS)
    assert found.motion.positions[-1] == pytest.approx(rows[-1])
    rows[1, 1] += 0.2
    with pytest.raises(MotionError, match="'r_roll' is at .*'r_bend' that mimics it"):
        adjust(model, Motion(JOINTS, [0.0, 2.0], rows), ARMS)


def test_adjust_has_no_position_limits_for_a_continuous_joint():
    rows = np.array([[0.0, 3.0, 0.0, 0.0], [0.0, 3.6, 0.0, -20.0], [0.2, 7.0, 0.0, -21.0]])
    found = adjust(MODEL, Motion(JOINTS, [0.0, 20.0, 25.0], rows), ARMS, held={"wheel_joint": 1e3})
    assert found.motion.positions[[0, -1]] == pytest.approx(rows[[0, -1]])
    with pytest.raises(MotionError, match="joint 'r_x' is at 2.1, beyond its limits -2 to 2"):
        rows[1, 0] = 2.1
        adjust(MODEL, Motion(JOINTS, [0.0, 20.0, 25.0], rows), ARMS)


def test_a_motion_that_has_to_change_is_adjusted_in_its_own_turn():
    """The hands would meet; the same motion whole turns away is adjusted alike."""
    rows = np.array([[0.25, 0.0, -0.25, 0.0], [0.25, -1.5, -0.25, 1.5], [0.25, -3.0, -0.25, 3.0]])
    near, far = (
        adjust(MODEL, Motion(JOINTS, [0.0, 3.0, 6.0], rows + off), ARMS, safe_distance=0.05,
               danger_distance=0.02, yielding="right")
        for off in (np.zeros(4), np.array([0.0, 3 * TURN, 0.0, -5 * TURN]))
    )  # fmt: skip
    assert near.changed and far.changed
    assert far.certified >= 0.05 and near.certified >= 0.05
    assert far.motion.positions[-1, 1] == pytest.approx(-3.0 + 3 * TURN)


def test_limits_given_for_a_continuous_joint_hold_in_every_turn():
    given = {"r_roll": (-1.0, 1.0)}
    rows = np.array([HERE, HERE])
    rows[:, 1] = 4 * TURN + np.array([0.0, 0.9])
    motion = Motion(JOINTS, [0.0, 2.0], rows)
    found = adjust(MODEL, motion, ARMS, position_limits=given)
    assert found.motion.positions == pytest.approx(rows[[0, -1]]) or not found.changed
    rows[1, 1] += 0.2
    with pytest.raises(MotionError, match="'r_roll' is at 26.2327, beyond its limits 24.1327"):
        adjust(MODEL, Motion(JOINTS, [0.0, 2.0], rows), ARMS, position_limits=given)
    with pytest.raises(ConfigurationError, match="does not overlap"):
        adjust(MODEL, motion, ARMS, position_limits={"r_x": (3.0, 4.0)})
