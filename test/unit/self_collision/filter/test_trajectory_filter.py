# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The gate: what passes between whoever wants two arms to move and the controller."""

from dataclasses import replace

import numpy as np
import pytest
from support.robots.two_slides import ARMS, JOINTS, URDF, apart, model

from collision_monitor import CollisionModel
from collision_monitor.errors import (
    AdjustmentError,
    CancelledError,
    CollisionMonitorError,
    TrajectoryError,
)
from collision_monitor.monitoring.joint_state_buffer import JointState
from collision_monitor.motion.trajectory import Motion
from collision_monitor.self_collision import adjust
from collision_monitor.self_collision.hold_supervisor import Execution, HoldSupervisor
from collision_monitor.self_collision.trajectory_filter import (
    DesiredTrajectory,
    FilterSettings,
    TrajectoryFilter,
)

NAMES = (*JOINTS, "mast_joint")
MODEL = model()
NOW, CLOCK = 100.0, 5000.0
FAR, FARTHER = apart(0.5), apart(0.9)
SETTINGS = FilterSettings()


class Cell:
    """A gate, and a robot that stands where it is told to."""

    def __init__(self, robot=MODEL):
        self.supervisor = HoldSupervisor(robot, ARMS)
        self.filter = TrajectoryFilter(robot, ARMS, self.supervisor)
        self.stand(FAR)

    def stand(self, q, mast=0.0, now=NOW, table=0.0):
        names = (*NAMES, "table_joint")[: len(self.supervisor.monitor.model.joint_names)]
        return self.supervisor.update(JointState(names, [*q, mast, table][: len(names)], now))[1]

    def job(self, names=JOINTS, rows=(FAR, FARTHER), times=(0.0, 2.0), start=0.0, **options):
        settings = replace(SETTINGS, **options)
        desired = DesiredTrajectory(tuple(names), times, rows)
        return self.filter.job(desired, start, settings, CLOCK, NOW)

    def release(self, job, motion=None, clock=CLOCK + 0.2, now=NOW, **changed):
        motion = job.motion if motion is None else motion
        return self.filter.release(job, motion, replace(job.asked, **changed), clock, now)


@pytest.fixture
def cell():
    return Cell()


@pytest.mark.parametrize("method", ["robust", "published"])
def test_all_settings_reach_the_library(cell, method):
    given = {
        "safe_distance": 0.2, "danger_distance": 0.1, "method": method, "yielding": "left",
        "tip_weight": 3.0, "acceleration_limits": 4.0, "jerk_limits": 90.0,
    }  # fmt: skip
    job = cell.job(rows=(FAR, apart(0.05), FARTHER), times=(0.0, 2.0, 4.0), **given)
    assert job.settings == FilterSettings(**given)
    adjusted, expected, usual = cell.filter.adjust(job), *(
        adjust(MODEL.twin(), job.motion, ARMS, settings)
        for settings in (job.settings, SETTINGS)
    )
    assert np.array_equal(adjusted.motion.positions, expected.motion.positions)
    assert np.array_equal(adjusted.motion.times, expected.motion.times)
    assert not np.array_equal(adjusted.motion.positions, usual.motion.positions)


def test_joints_of_no_arm_are_where_they_were_when_the_trajectory_came():
    cell = Cell(CollisionModel.from_urdf(URDF.replace('"0 0 3"', '"0 0.6 0"')))
    assert cell.filter.adjust(cell.job()).certified >= SETTINGS.safe_distance
    cell.stand(FAR, mast=1.4)
    with pytest.raises(AdjustmentError, match="'mast'"):
        cell.filter.adjust(cell.job())


def test_a_job_that_is_cancelled_is_not_adjusted(cell):
    job = cell.job()
    job.cancelled.set()
    with pytest.raises(CancelledError):
        cell.filter.adjust(job)


def test_arms_that_all_but_touch_are_led_away(cell):
    cell.stand(apart(0.001))
    job = cell.job(rows=(apart(0.001), FAR), start_tolerance=0.01)
    assert job.settings.leaving == {("r_ball", "l_ball"): 0.0}
    motion = cell.filter.adjust(job).motion
    assert motion.positions[[0, -1]].tolist() == [apart(0.001), FAR]


@pytest.mark.parametrize(
    ("names", "yielding", "held"), [(JOINTS[:2], "right", "left"), (JOINTS[2:], "left", "right")]
)
def test_an_arm_that_is_not_named_is_held_and_cannot_yield(cell, names, yielding, held):
    row = [FAR[JOINTS.index(name)] for name in names]
    job = cell.job(names, (row, [x + 0.1 for x in row]), yielding="both")
    assert job.settings.yielding == yielding
    assert f"'{held}' is not named" in " ".join(job.notes)


def test_a_part_of_an_arm_is_refused(cell):
    with pytest.raises(TrajectoryError, match="names 1 of the 2 joints of 'left', but not l_y"):
        cell.job(JOINTS[:3], (FAR[:3], FARTHER[:3]))


class Slow(Cell):
    """An arm that is sent from l_y = 0 to 1 in 2 s, from CLOCK on; the other one is to follow."""

    def __init__(self):
        super().__init__()
        there = [FAR[2], 1.0]
        self.release(self.job(JOINTS[2:], (FAR[2:], there)), clock=CLOCK)

    def at(self, seconds, l_y):
        self.filter.update(JointState(NAMES, [*FAR[:3], l_y, 0.0], NOW + seconds), CLOCK + seconds)
        return self.filter.running(CLOCK + seconds)

    def settles(self, begin, end, l_y):
        """Whether it is still under way after joint states at rest, every 0.05 s."""
        return [self.at(t, l_y) for t in np.arange(begin, end, 0.05)][-1]


def test_an_arm_that_is_slower_than_planned_is_still_under_way():
    cell = Slow()
    assert all(cell.at(t, t / 8.0) for t in np.arange(0.0, 7.9, 0.05))
    desired = DesiredTrajectory(JOINTS[:2], (0.0, 2.0), (FAR[:2], FARTHER[:2]))
    says = (
        "does not name l_x, l_y, which an earlier trajectory still moves to its goal, later than "
        "planned: name these joints too, or wait"
    )
    with pytest.raises(TrajectoryError, match=says):
        cell.filter.job(desired, 0.0, SETTINGS, CLOCK + 7.85, NOW + 7.85)
    assert cell.at(8.0, 1.0)
    assert not cell.settles(8.05, 8.35, 1.0)
    assert cell.filter.job(desired, 0.0, SETTINGS, CLOCK + 8.35, NOW + 8.35)


def test_an_arm_that_arrives_as_planned_is_hardly_waited_for():
    cell = Slow()
    assert all(cell.at(t, t / 2.0) for t in np.arange(0.0, 2.0, 0.05))
    assert cell.at(2.05, 1.0)
    assert not cell.settles(2.1, 2.4, 1.0)


def test_an_arm_that_passes_its_goal_on_the_way_is_still_under_way():
    """A slow arm goes beyond its goal, and comes back."""
    cell = Slow()
    assert all(cell.at(t, min(t, 8.0 - t) / 2.0) for t in np.arange(0.0, 5.9, 0.05))
    assert cell.at(6.1, 1.0)
    assert not cell.settles(6.15, 6.45, 1.0)


def test_a_slow_arm_is_under_way_until_joint_states_show_that_it_stands():
    cell = Slow()
    assert cell.at(1.9, 0.2)
    assert cell.filter.running(CLOCK + 5.0)  # without any in between
    assert cell.at(5.0, 0.6)
    assert cell.settles(5.05, 5.3, 0.6)
    assert not cell.settles(5.35, 6.2, 0.6)


def test_joint_states_of_the_other_arm_do_not_end_a_slow_motion():
    cell = Slow()
    assert all(cell.at(t, t / 8.0) for t in np.arange(0.0, 3.0, 0.05))
    for t in np.arange(3.0, 4.5, 0.05):
        one_arm = JointState(NAMES[:2], FAR[:2], NOW + t)
        cell.filter.update(one_arm, CLOCK + t)
    assert cell.filter.running(CLOCK + 4.5)
    assert all(cell.at(t, t / 8.0) for t in np.arange(4.5, 7.9, 0.05))


def test_joint_states_of_another_device_do_not_end_a_motion():
    cell = Slow()
    assert all(cell.at(t, t / 2.0) for t in np.arange(0.0, 2.05, 0.05))
    cell.supervisor.monitor.watchdogs.publishers.update("joint_states", 2, NOW)
    for t in np.arange(2.05, 2.45, 0.05):  # those of the arm are held up
        cell.filter.update(JointState(["finger"], [0.1], NOW + t), CLOCK + t)
        assert not cell.supervisor.joint_state_fault(NOW + t)
    assert cell.filter.running(CLOCK + 2.4)


@pytest.mark.parametrize("rate", [50.0, 250.0])
def test_noise_of_a_joint_at_rest_is_no_motion(rate):
    cell, noise = Slow(), np.random.default_rng(3).normal(scale=1e-3, size=2000)
    times = np.arange(0.0, 4.0, 1.0 / rate)
    for t, more in zip(times, noise, strict=False):
        cell.at(t, min(t / 2.0, 1.0) + more)
    assert not cell.filter.running(CLOCK + 4.0)


def test_a_slow_motion_that_returns_to_its_goal_does_not_end_where_it_turns_there():
    cell = Cell()
    rows = [[FAR[2], l_y] for l_y in (0.0, 0.9, 0.4, 0.9)]
    cell.release(cell.job(JOINTS[2:], rows, times=(0.0, 2.0, 4.0, 6.0)), clock=CLOCK)
    for t in np.arange(0.0, 60.0, 0.02):
        l_y = float(np.interp(0.05 * t, (0.0, 2.0, 4.0), (0.0, 0.9, 0.4)))
        values = [*FAR[:3], l_y, 0.0]
        cell.filter.update(JointState(NAMES, values, NOW + t), CLOCK + t)
    assert cell.filter.running(CLOCK + 60.0)


def test_a_new_robot_does_not_end_a_slow_motion():
    cell = Slow()
    assert all(cell.at(t, t / 8.0) for t in np.arange(0.0, 3.0, 0.05))
    newer = TrajectoryFilter(MODEL, ARMS, HoldSupervisor(MODEL, ARMS))
    newer.take_over(cell.filter)
    assert newer.running(CLOCK + 3.0) and newer.joints_to_hold(CLOCK + 3.0) == JOINTS
    newer.restore_previous()
    assert not newer.running(CLOCK + 3.0)


def test_a_motion_ends_as_planned_with_a_new_robot_that_has_none_of_its_joints():
    goal = dict(zip(JOINTS[2:], FAR[2:], strict=True))
    execution = Execution(JOINTS[2:], CLOCK, CLOCK + 2.0, goal).continue_with(("a",), ("a",))
    assert execution.running(CLOCK + 1.9) and not execution.running(CLOCK + 2.1)


def test_an_arm_that_stands_away_from_its_goal_is_waited_for_a_second():
    """The controller aborted; what moves the arm later is not the trajectory."""
    cell = Slow()
    assert all(cell.at(t, min(t / 8.0, 0.5)) for t in np.arange(0.0, 4.75, 0.05))
    assert not cell.at(5.1, 0.5005)
    assert not any(cell.at(t, t / 10.0) for t in np.arange(5.2, 7.0, 0.05))


@pytest.mark.parametrize("old", [0.6, 100.0])
def test_without_a_fresh_joint_state_everything_is_refused(cell, old):
    desired = DesiredTrajectory(JOINTS, (0.0, 2.0), (FAR, FARTHER))
    with pytest.raises(TrajectoryError, match="not known: joint states are .* old"):
        cell.filter.job(desired, 0.0, SETTINGS, CLOCK, NOW + old)
    fresh = TrajectoryFilter(MODEL, ARMS, HoldSupervisor(MODEL, ARMS))
    with pytest.raises(TrajectoryError, match="no joint state received yet"):
        fresh.job(desired, 0.0, SETTINGS, CLOCK, NOW)


@pytest.mark.parametrize("start", [CLOCK - 3.0, CLOCK + 0.1])
def test_a_start_that_is_past_when_it_is_sent_means_now_and_is_remarked(cell, start):
    job = cell.job(start=start)
    then = max(start, CLOCK) + 0.1
    assert job.is_due(then)
    said = f"its start time is {then - start:.3g} s in the past; it starts now"
    assert cell.release(job, clock=then).notes == (said,)


def test_a_stamp_of_now_is_not_remarked_and_needs_no_clock_that_goes_on(cell):
    assert cell.release(cell.job(start=CLOCK - 0.01), clock=CLOCK + 0.02).notes == ()
    job = cell.job(start=CLOCK - 0.01)
    assert job.is_due(CLOCK - 5.0)
    assert cell.release(job, clock=CLOCK - 5.0).notes == ()


def test_a_start_ahead_is_waited_for_and_one_of_another_clock_refused(cell):
    job = cell.job(start=CLOCK + 9.0)
    assert not job.is_due(CLOCK + 8.99) and job.is_due(CLOCK + 9.0)
    assert cell.release(job, clock=CLOCK + 9.01).notes == ()
    assert cell.filter.running(CLOCK + 9.0 + 1.9)
    assert cell.job().is_due(CLOCK)
    with pytest.raises(TrajectoryError, match="starts in 1e.04 s by its stamp, at most 3600 s"):
        cell.job(start=CLOCK + 1e4)
    with pytest.raises(TrajectoryError, match="started 1e.04 s ago by its stamp, at most 3600 s"):
        cell.job(start=CLOCK - 1e4)


def test_what_is_released_is_under_way_for_as_long_as_it_takes(cell):
    assert not cell.filter.running(CLOCK)
    assert cell.filter.joints_to_hold(CLOCK) == ()
    cell.release(cell.job(JOINTS[:2], (FAR[:2], FARTHER[:2])))
    assert cell.filter.running(CLOCK + 2.1)
    assert cell.filter.joints_to_hold(CLOCK + 2.1) == JOINTS[:2]
    cell.filter.mark_finished()
    assert not cell.filter.running(CLOCK + 1.0)


def test_what_is_taken_back_leaves_what_was_released_before(cell):
    cell.release(cell.job(JOINTS[:2], (FAR[:2], FARTHER[:2])))
    cell.release(cell.job(JOINTS[:2], (FAR[:2], FARTHER[:2])))
    cell.filter.restore_previous()
    assert cell.filter.running(CLOCK + 2.1)
    assert cell.filter.joints_to_hold(CLOCK + 2.1) == JOINTS[:2]
    cell.filter.restore_previous()
    assert cell.filter.running(CLOCK + 2.1)
    cell.filter.mark_finished()
    cell.filter.restore_previous()
    assert not cell.filter.running(CLOCK + 0.1)


def test_one_arm_waits_for_the_other_and_both_together_may_replace_it(cell):
    cell.release(cell.job(JOINTS[:2], (FAR[:2], FARTHER[:2])), clock=CLOCK)
    with pytest.raises(TrajectoryError, match="not name r_x, r_y, which an earlier .* for 2 s"):
        cell.job(JOINTS[2:], (FAR[2:], FARTHER[2:]))
    assert cell.job(JOINTS[:2], (FAR[:2], FARTHER[:2])).settings.yielding == "right"
    assert cell.job().settings.yielding == "both"


def test_a_trajectory_that_waited_while_another_was_released_is_refused(cell):
    left = cell.job(JOINTS[2:], (FAR[2:], FARTHER[2:]))
    cell.release(cell.job(JOINTS[:2], (FAR[:2], FARTHER[:2])), clock=CLOCK)
    with pytest.raises(TrajectoryError, match="an earlier trajectory still moves"):
        cell.release(left, clock=CLOCK)


def test_what_was_begun_before_a_held_arm_moved_stays_here_but_endless_joints_may_turn(cell):
    job = cell.job(JOINTS[:2], (FAR[:2], FARTHER[:2]))
    cell.stand(FAR, mast=0.3, now=NOW + 0.1)
    cell.release(job, now=NOW + 0.1)
    cell.filter.mark_finished()
    cell.stand([*FAR[:3], 0.03], mast=0.3, now=NOW + 0.2)
    with pytest.raises(TrajectoryError, match="joint 'l_y' moved"):
        cell.release(job, now=NOW + 0.2)


@pytest.mark.parametrize(("offset", "may_turn"), [(0.0, True), (0.3, False)])
def test_an_endless_joint_may_turn_only_if_no_distance_of_an_arm_depends_on_it(offset, may_turn):
    """A turntable with a ball on its axis, or beside it."""
    scene = {
        "obstacles": [
            {"name": "ball", "type": "sphere", "radius": 0.1, "position": [offset, 0.0, 0.0],
             "joint": "table_joint"}
        ],
        "joints": [
            {"name": "table_joint", "type": "continuous", "axis": [0, 0, 1], "position": [0, 2, 0]}
        ],
    }  # fmt: skip
    cell = Cell(CollisionModel.from_urdf(URDF, scene=scene))
    job = cell.job(JOINTS[:2], (FAR[:2], FARTHER[:2]))
    cell.stand(FAR, now=NOW + 0.1, table=1.0)
    if may_turn:
        assert cell.release(job, now=NOW + 0.1).motion is job.motion
        return
    with pytest.raises(TrajectoryError, match="during adjustment joint 'table_joint' moved by 1;"):
        cell.release(job, now=NOW + 0.1)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"safe_distance": 0.4}, "safe_distance was changed from 0.1 to 0.4: send it again"),
        ({"danger_distance": 0.02}, "danger_distance was changed from 0.05 to 0.02"),
        ({"acceleration_limits": 1.0}, "acceleration_limits was changed from None to 1.0"),
    ],
)
def test_what_was_adjusted_with_other_settings_stays_here(cell, changed, says):
    job = cell.job(JOINTS[:2], (FAR[:2], FARTHER[:2]))
    with pytest.raises(TrajectoryError, match=f"during adjustment {says}"):
        cell.release(job, **changed)
    assert not cell.filter.running(CLOCK + 0.3)
    assert cell.release(job, max_points=5).motion is job.motion


def test_what_was_begun_before_the_arms_came_too_near_stays_here(cell):
    job = cell.job()
    assert cell.stand(apart(0.01), now=NOW + 0.1)
    cell.stand(FAR, now=NOW + 0.2)
    with pytest.raises(TrajectoryError, match="came closer than danger_distance"):
        cell.release(job, now=NOW + 0.2)


def test_after_an_event_a_motion_that_leads_away_is_let_go_and_watched(cell):
    assert cell.stand(apart(0.03), now=NOW)
    job = cell.job(rows=(apart(0.03), FARTHER))
    assert job.settings.leaving == {("r_ball", "l_ball"): pytest.approx(0.028)}
    assert replace(job.settings, leaving={}) == SETTINGS
    assert "0.0300 m apart, danger_distance is 0.05 m: only motions" in job.notes[0]
    cell.release(job)
    assert not cell.stand(apart(0.032), now=NOW + 0.1)
    assert cell.stand(apart(0.02), now=NOW + 0.2)


NEAR = apart(0.03)
ASIDE = [*np.add(NEAR, [0.0, 0.3, 0.0, 0.3])]  # both at the same distance


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ((NEAR, NEAR), "0.0300 m apart, 0.0350 m is needed; they start below their danger dist"),
        ((NEAR, ASIDE), "0.0300 m apart, 0.0350 m is needed; they start below their danger dist"),
        ((NEAR, FAR, NEAR), "0.0300 m apart, 0.0350 m is needed; they start below their danger"),
        ((NEAR, apart(0.034)), "0.0340 m apart, 0.0350 m is needed; they start below their danger"),
        ((apart(0.027), FAR), "0.0270 m apart, 0.0280 m is needed; the start is closer than they "),
    ],
)
def test_during_an_event_only_motions_that_end_farther_apart_are_let_go(cell, rows, says):
    cell.stand(NEAR)
    job = cell.job(rows=rows, times=np.arange(len(rows)))
    with pytest.raises(AdjustmentError, match=says):
        cell.filter.adjust(job)


def test_during_an_event_a_motion_may_end_a_little_farther_apart(cell):
    cell.stand(NEAR)
    motion = cell.filter.adjust(cell.job(rows=(NEAR, apart(0.0351)))).motion
    assert motion.positions[[0, -1]].tolist() == [NEAR, apart(0.0351)]


def test_during_an_event_all_other_pairs_keep_their_danger_distance():
    post = {"name": "post", "type": "sphere", "radius": 0.1, "position": [-0.35, -0.22, 0.0]}
    cell = Cell(CollisionModel.from_urdf(URDF, scene={"obstacles": [post]}))
    cell.stand(NEAR)
    with pytest.raises(AdjustmentError, match=r"'post' are 0\.0200 m apart, 0\.0500 m is needed"):
        cell.filter.adjust(cell.job(rows=(NEAR, FAR)))


@pytest.mark.parametrize(
    ("names", "times", "rows"),
    [
        (JOINTS[::-1], [0.0, 1.0], [FAR, FAR]),
        (JOINTS[:2], [0.0, 1.0], [FAR[:2], FAR[:2]]),
        (JOINTS, [0.0, 0.0], [FAR, FAR]),
        (JOINTS, [0.0, 4e-10], [FAR, FAR]),  # equal in a message
        (JOINTS, [0.0, np.nan], [FAR, FAR]),
        (JOINTS, [0.0, 1.0], [FAR, [np.nan] * 4]),
        (JOINTS, [0.0, 1.0], [FAR, [np.inf] * 4]),
        (JOINTS, [0.0, 1.0], [FAR]),
        (JOINTS, [], np.empty((0, 4))),
    ],
)
def test_what_is_no_sound_trajectory_never_passes(cell, names, times, rows):
    motion = Motion(tuple(names), np.array(times), np.array(rows))
    with pytest.raises(CollisionMonitorError, match="internal error"):
        cell.release(cell.job(), motion)
    assert not cell.filter.running(CLOCK + 0.3)


@pytest.mark.parametrize("gap", [1e-9, 3e-9, 1e-7])
def test_times_in_a_message_increase_however_short_an_interval_is(gap):
    cell = Cell(CollisionModel.from_urdf(URDF.replace(' velocity="1"', "")))
    job = cell.job(rows=(FAR, FARTHER, apart(1.4)), times=(0.0, 2.0, 2.0 + gap))
    times = cell.release(job, cell.filter.adjust(job).motion).motion.times
    assert len(times) > 3
    assert (np.diff(np.round(1e9 * times)) > 0.0).all()
