# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Which arms a hold stops, and motions under way when the clock is set back."""

import numpy as np
import pytest
from support.robots.two_slides import ARMS, JOINTS, apart, model

from collision_monitor.errors import TrajectoryError
from collision_monitor.monitoring.joint_state_buffer import JointState
from collision_monitor.monitoring.standing import Standing
from collision_monitor.self_collision.hold_supervisor import Execution, HoldSupervisor
from collision_monitor.self_collision.trajectory_filter import (
    DesiredTrajectory,
    FilterSettings,
    TrajectoryFilter,
)

NAMES = (*JOINTS, "mast_joint")
MODEL = model()
NOW, CLOCK = 100.0, 5000.0
FAR = np.array(apart(0.5))
RIGHT, LEFT = JOINTS[:2], JOINTS[2:]


class Cell:
    """A filter, and a robot that is where it is told, at ``time`` s since the start."""

    def __init__(self):
        self.filter = TrajectoryFilter(MODEL, ARMS, HoldSupervisor(MODEL, ARMS))
        self.time, self.set_back = 0.0, 0.0
        self.q = FAR.copy()
        self.go(1.5)

    @property
    def clock(self):
        return CLOCK + self.time - self.set_back

    def go(self, seconds, names=(), by=0.0, noise=0.0):
        """Joint states for some time, in which joints move by ``by`` in all."""
        rng, start, count = np.random.default_rng(0), self.q.copy(), round(seconds / 0.02)
        columns = [JOINTS.index(name) for name in names]
        for k in range(1, count + 1):
            self.q[columns] = start[columns] + by * k / count
            self.time += seconds / count
            q = self.q + noise * rng.normal(size=4)
            message = JointState(NAMES, [*q, 0.0], NOW + self.time)
            self.filter.update(message, self.clock)

    def send(self, names, by=0.2, start=0.0):
        """Forward a motion of 1 s, which the robot does not execute yet."""
        columns = [JOINTS.index(name) for name in names]
        rows = self.q[columns] + np.outer([0.0, 1.0], np.full(len(columns), by))
        desired = DesiredTrajectory(tuple(names), (0.0, 1.0), rows)
        now = NOW + self.time
        job = self.filter.job(desired, start, FilterSettings(), self.clock, now)
        self.filter.release(job, job.motion, job.asked, self.clock, now)
        return job

    def held(self, always=False):
        return self.filter.joints_to_hold(self.clock, always)


def test_nothing_is_held_that_was_never_sent_unless_all_are_always_held():
    cell = Cell()
    cell.go(0.2, RIGHT, 0.1)
    assert cell.held() == ()
    assert cell.held(always=True) == RIGHT
    cell.go(1.5)
    assert cell.held(always=True) == JOINTS  # all stand: something else has moved


def test_an_arm_that_another_controller_moves_is_held_instead_of_the_last_that_was_sent():
    cell = Cell()
    cell.send(LEFT)
    cell.go(1.0, LEFT, 0.2)
    cell.go(2.0)
    cell.go(0.1, RIGHT, 0.02)
    assert cell.held() == ()
    assert cell.held(always=True) == RIGHT


@pytest.mark.parametrize("always", [False, True])
def test_an_arm_that_is_paused_and_goes_on_is_held_although_another_was_sent_later(always):
    cell = Cell()
    cell.send(RIGHT)
    cell.go(0.5, RIGHT, 0.1)
    cell.go(2.0)
    assert not cell.filter.running(cell.clock)
    cell.send(LEFT)
    cell.go(1.0, LEFT, 0.2)
    cell.go(2.0)
    assert cell.held(always) == RIGHT  # paused away from its goal: it may go on at any time
    cell.go(0.04, RIGHT, 0.002)
    assert cell.held(always) == RIGHT
    cell.send(LEFT)
    assert cell.held(always) == JOINTS


def test_an_arm_that_stands_at_its_goal_is_held_once_it_moves():
    cell = Cell()
    cell.send(JOINTS)
    cell.go(1.0, JOINTS, 0.2)
    cell.go(2.0, noise=2e-4)
    assert cell.held() == ()
    cell.go(0.02, LEFT, 0.003)
    assert cell.held() == LEFT


def test_an_arm_whose_goal_is_open_is_held():
    cell = Cell()
    cell.send(LEFT)
    cell.go(1.0, LEFT, 0.2)
    cell.go(2.0)
    cell.filter.is_open = lambda: True
    assert cell.held() == LEFT


def test_an_arm_whose_goal_is_open_may_go_on_so_the_other_is_not_sent_alone():
    cell = Cell()
    cell.send(LEFT)
    cell.filter.is_open = lambda: True
    cell.go(0.5, LEFT, 0.1)
    cell.go(3.0)  # paused, as by the teach pendant
    with pytest.raises(TrajectoryError, match="l_x, l_y, which an earlier trajectory still moves"):
        cell.send(RIGHT)
    cell.send(JOINTS)


def test_arms_that_follow_a_stream_are_held_until_they_stand_where_it_ended():
    cell = Cell()
    goal = dict(zip(JOINTS, FAR + np.array([0.0, 0.2, 0.0, 0.0]), strict=True))
    cell.filter.start_stream(cell.clock, 0.1, goal, 0.01)
    assert cell.held() == JOINTS
    cell.go(3.0)
    assert cell.held() == RIGHT
    cell.go(0.2, ["r_y"], 0.2)
    cell.go(2.0)
    assert cell.held() == ()


def test_a_release_that_is_never_executed_does_not_count():
    cell = Cell()
    cell.send(RIGHT)
    cell.filter.restore_previous()
    cell.go(0.1, RIGHT, 0.05)
    assert cell.held() == ()


# -- the clock --


@pytest.mark.parametrize("seconds", [990.0, 4990.0, 0.3])
def test_a_clock_that_is_set_back_does_not_prolong_a_motion(seconds):
    cell = Cell()
    cell.send(RIGHT)
    cell.go(0.5, RIGHT, 0.1)
    cell.set_back = seconds
    cell.go(0.4, RIGHT, 0.08)
    with pytest.raises(TrajectoryError, match="an earlier trajectory still moves for 0.1"):
        cell.send(LEFT)
    cell.go(0.5, RIGHT, 0.02)
    with pytest.raises(TrajectoryError, match="still moves to its goal, later than planned"):
        cell.send(LEFT)
    cell.go(1.5)
    assert not cell.filter.running(cell.clock)
    cell.send(LEFT)


def test_a_clock_that_is_set_back_at_once_does_not_prolong_a_motion():
    execution = Execution(RIGHT, CLOCK, CLOCK + 1.0)
    assert execution.running(CLOCK - 990.0) and not execution.running(CLOCK - 988.9)


def test_a_motion_that_waits_for_its_start_is_refused_if_the_clock_is_set_back():
    cell = Cell()
    now = NOW + cell.time
    desired = DesiredTrajectory(RIGHT, (0.0, 1.0), [FAR[:2], FAR[:2]])
    job = cell.filter.job(desired, cell.clock + 5.0, FilterSettings(), cell.clock, now)
    assert not job.is_due(cell.clock)
    cell.set_back = 990.0
    assert job.is_due(cell.clock)
    with pytest.raises(TrajectoryError, match="clock was set back by 990 s before its start"):
        cell.filter.release(job, job.motion, job.asked, cell.clock, now)


# -- standing --


def test_a_joint_is_not_known_to_stand_before_a_second_or_after_a_gap():
    standing = Standing(["a", "b"])

    def hear(begin, end, joints=None):
        for t in np.arange(begin, end, 0.02):
            standing.update(np.zeros(2), joints, CLOCK + t)

    hear(0.0, 0.9)
    assert not standing.stands(["a"], CLOCK + 0.9)
    hear(0.9, 1.2)
    assert standing.stands(["a", "b"], CLOCK + 1.2)
    hear(1.2, 2.0, np.array([0]))
    assert standing.stands(["a"], CLOCK + 2.0) and not standing.stands(["b"], CLOCK + 2.0)
    assert not standing.stands(["a"], CLOCK + 3.0)
    hear(3.0, 3.5)
    assert not standing.stands(["a"], CLOCK + 3.5)


@pytest.mark.parametrize(("speed", "stands"), [(0.0, True), (0.001, True), (0.005, False)])
def test_a_slow_joint_does_not_stand(speed, stands):
    standing = Standing(["a"])
    for t in np.arange(0.0, 3.0, 0.01):
        standing.update(np.array([speed * t]), None, CLOCK + t)
    assert standing.stands(["a"], CLOCK + 3.0) == stands
