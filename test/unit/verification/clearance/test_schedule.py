# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Trajectories that run together: where all joints are, and what is refused."""

import numpy as np
import pytest
from support.geometry.scan_cases import two_arms
from support.robots.toys import joint, link, robot

from collision_monitor import CollisionModel
from collision_monitor.errors import ConfigurationError, TrajectoryError
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.verification.clearance.schedule import Schedule, Scheduled


@pytest.fixture(scope="module")
def model():
    return two_arms()


def joint_at(name):
    """A link on a joint from 0.5 to 1."""
    child = link("top")
    text = joint(name, "base", "top", "prismatic").replace('"-2"', '"0.5"').replace('"2"', '"1"')
    return child + text


def line(name, end, duration=2.0):
    return Trajectory.through((name,), [0.0, duration], [[0.0], [end]])


def curved(rate):
    """From 0 to 0, with a velocity at the beginning."""
    rates = [[rate], [0.0]]
    return Trajectory.through(("1",), [0.0, 2.0], [[0.0], [0.0]], rates)


def test_each_part_moves_its_joints_from_its_start_on(model):
    parts = [line("a_1", 1.0), Scheduled(line("b_2", -1.0), 1.5)]
    schedule = Schedule(model, parts, held={"lift": 0.3})
    assert (schedule.begin, schedule.end) == (0.0, 3.5)
    at = dict(zip(model.joint_names, schedule.configuration(2.5), strict=True))
    assert at == {"lift": 0.3, "a_1": 1.0, "a_2": 0.0, "a_3": 0.0, "b_1": 0.0, "b_2": -0.5}
    at = dict(zip(model.joint_names, schedule.configuration(9.0), strict=True))
    assert (at["a_1"], at["b_2"]) == (1.0, -1.0)


def test_a_prefix_tells_whose_joints_they_are(model):
    schedule = Schedule(model, [Scheduled(line("1", 1.0), prefix="a_"), line("b_1", 2.0)])
    at = dict(zip(model.joint_names, schedule.configuration(2.0), strict=True))
    assert (at["a_1"], at["b_1"]) == (1.0, 2.0)
    with pytest.raises(TrajectoryError, match="no joint 'c_1'"):
        Schedule(model, Scheduled(line("1", 1.0), prefix="c_"))


def test_joints_that_cannot_be_at_zero_rest_at_the_nearer_limit():
    text = robot(link("base"), link("arm"), joint("turn", "base", "arm"), joint_at("lift"))
    model = CollisionModel.from_urdf(text)
    schedule = Schedule(model, line("turn", 1.0))
    assert schedule.configuration(0.0).tolist() == [0.0, 0.5]


@pytest.mark.parametrize(
    ("motion", "held", "message"),
    [
        ([], {}, "no trajectory is given"),
        (line("elbow", 1.0), {}, "no joint 'elbow' that a trajectory can move; it has lift, a_1"),
        (line("b_3", 1.0), {}, "no joint 'b_3'"),  # it mimics
        ([line("a_1", 1.0), line("a_1", 2.0)], {}, "'a_1' is moved by two trajectories"),
        (line("a_1", 1.0), {"knee": 0.0}, "held: 'toy' has no joint 'knee'"),
        (line("a_1", 1.0), {"lift": np.nan}, "held: nan for 'lift'"),
        (line("a_1", 1.0), {"lift": 10**400}, "held: 1000.* for 'lift' is not a finite number"),
        (line("a_1", 1.0), [("lift", 0.1)], "held: .* is not a mapping of joints to positions"),
        (line("a_1", 1e308), {}, r"'a_1' moves by up to 1e\+308 rad or m between 0 s and 2 s"),
        (Scheduled(curved(1e9), prefix="a_"), {}, "'a_1' moves by up to .* than the maximum"),
    ],
)
def test_what_does_not_fit_is_refused(model, motion, held, message):
    with pytest.raises((TrajectoryError, ConfigurationError), match=message):
        Schedule(model, motion, held)


@pytest.mark.parametrize("start", [np.nan, np.inf, 1.01e8, -1.7e9, 1e12])
def test_a_start_that_is_no_time_is_refused(start):
    with pytest.raises(TrajectoryError, match="cannot start at .* starts are -1e.08 to 1e.08 s"):
        Scheduled(line("a_1", 1.0), start)


def test_a_motion_that_the_rounding_of_times_would_hide_is_refused(model):
    swing = Trajectory.through(("a_1",), [0.0, 1e-8, 2e-8], [[0.0], [1.0], [0.0]])
    late = Trajectory.through(("a_1",), [0.0, 9e7, 9e7 + 1e-6], [[0.0], [0.0], [1.0]])
    # All points of the first would be at one time.
    for part, end in ((Scheduled(swing, 1e8), "100000000 s"), (late, "90000000.000001 s")):
        message = f"'a_1' moves by up to 1 rad or m between .*{end}.*too fast for times so far"
        with pytest.raises(TrajectoryError, match=message):
            Schedule(model, [part, line("b_1", 1.0)])
    Schedule(model, [Scheduled(swing), Scheduled(line("b_1", 1.0), 1e8)])
