# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A simulated robot: start, time, reset, contacts, and what is refused."""

import numpy as np
import pytest
from support.robots import toys
from support.robots.simulated import DUAL_ARM, simulation

from collision_monitor.errors import ConfigurationError, SimulationError, TrajectoryError
from collision_monitor.motion import read_motion
from collision_monitor.simulation.command import checked_command
from collision_monitor.simulation.simulation import Simulation


def command(sim, q, seconds, **more):
    return checked_command(sim.joint_names, sim.joint_names, [seconds], [q], **more)


def test_it_begins_at_time_zero_where_it_is_told_to():
    files = DUAL_ARM
    sim = Simulation.from_urdf(files.urdf, files.srdf, start={"left_joint_2": 0.3})
    assert sim.time == 0.0 and sim.contacts == {}
    assert dict(zip(sim.joint_names, sim.q, strict=True))["left_joint_2"] == 0.3
    sim.advance(10)
    assert sim.time == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ({"elbow": 0.1}, "joint 'elbow' is not of the robot; its joints are right_joint_1"),
        ({"left_joint_2": 9.0}, r"9 of joint 'left_joint_2' is not within its limits, -1\.74"),
        ({"left_joint_2": float("nan")}, "nan of joint 'left_joint_2'"),
    ],
)
def test_a_start_that_cannot_be_is_refused(start, message):
    with pytest.raises(ConfigurationError, match=message):
        Simulation.from_urdf(DUAL_ARM.urdf, start=start)


def test_the_published_motion_ends_in_contact_of_the_hands():
    sim = simulation("dual_arm")
    motion = read_motion("config/dual_arm_motion.csv")
    began, scale = sim.time, 0.1
    sim.command(
        checked_command(sim.joint_names, motion.joint_names, motion.times * scale, motion.positions)
    )
    while sim.time - began < 6.3:
        sim.advance(5)
    first = min(sim.log.touches, key=lambda pair: sim.log.touches[pair].first)
    assert first == ("left_link_7", "right_link_7")
    # Bare capsules of 0.05 m round the links would touch at 44 s of the motion's 62.
    assert sim.log.touches[first].first - began == pytest.approx(44.0 * scale, abs=0.05)
    sim.reset()
    assert sim.log.touches == {} and sim.contacts == {}


def test_a_reset_puts_it_back_and_time_goes_on():
    sim = simulation("dual_arm")
    run = sim.command(command(sim, np.full(14, 0.2), 1.0))
    sim.advance(300)
    before = sim.time
    sim.reset()
    assert np.array_equal(sim.q, np.zeros(14)) and np.array_equal(sim.rates, np.zeros(14))
    assert sim.time == before and not sim.moving
    assert run.phase.name == "DROPPED"
    sim.advance(300)
    assert np.abs(sim.q).max() < 1e-6


def test_time_can_be_set_forward_and_never_back():
    sim = Simulation.from_urdf(toys.chain(3))
    sim.continue_from(5.0)
    assert sim.time == pytest.approx(5.0)
    sim.continue_from(1.0)
    assert sim.time == pytest.approx(5.0)


def test_a_command_that_has_ended_is_refused():
    sim = Simulation.from_urdf(toys.chain(3))
    sim.continue_from(5.0)
    with pytest.raises(TrajectoryError, match="ended 3 s ago"):
        sim.command(command(sim, np.zeros(2), 1.0, start=1.0))


def test_what_becomes_unstable_is_an_error_and_writes_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    heavy = toys.chain(6).replace('effort="1"', 'effort="0"')
    sim = Simulation.from_urdf(heavy, timestep=0.02, bandwidth=100.0)
    rng = np.random.default_rng(0)
    with pytest.raises(SimulationError, match=r"smaller timestep than 0\.02 s"):
        for _ in range(200):
            sim.command(command(sim, rng.uniform(-2.0, 2.0, 5), 0.05))
            sim.advance(5)
    assert list(tmp_path.iterdir()) == []


def test_what_had_to_be_assumed_is_said(caplog):
    Simulation.from_urdf(toys.chain(3))
    assert "l1, l2: no mass is given" in caplog.text


def test_a_joint_of_the_scene_turns_its_obstacle():
    scene = {
        "joints": [
            {"name": "hinge", "type": "revolute", "axis": [0, 0, 1], "position": [0, 1, 0],
             "lower": -2.0, "upper": 2.0},
        ],
        "obstacles": [
            {"name": "wing", "type": "box", "size": [1.2, 0.1, 0.1], "position": [0.6, 0, 0],
             "joint": "hinge"},
        ],
    }  # fmt: skip
    sim = Simulation.from_urdf(toys.chain(3, axis="0 0 1"), scene=scene)
    assert sim.joint_names == ("j1", "j2", "hinge")
    sim.command(command(sim, [0.0, 0.0, -1.5], 2.0))
    sim.advance(1500)
    assert sim.q[2] == pytest.approx(-1.5, abs=0.2)
    # It hangs down through where the first link stands.
    assert {frozenset(pair) for pair in sim.log.touches} == {frozenset(("l0", "wing"))}
