# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Servos hold, follow, keep to limits, and stand when they are told to."""

import numpy as np
import pytest
from support.robots import toys
from support.robots.simulated import simulation

from collision_monitor.simulation.mujoco_model import SimulationSettings
from collision_monitor.simulation.simulation import Simulation
from collision_monitor.simulation.trajectory_execution import checked_command

TRACKING = 0.004  # rad: docs/simulation.md


def go(sim, q, seconds, **rates):
    """Send it there; the largest error on the way (rad), while nothing is touched."""
    nq = len(sim.joint_names)
    rates = rates or {"velocities": [np.zeros(nq)], "accelerations": [np.zeros(nq)]}
    sim.command(checked_command(sim.joint_names, sim.joint_names, [seconds], [q], **rates))
    worst = 0.0
    for _ in range(round((seconds + 0.5) / sim.timestep)):
        sim.advance(1)
        worst = max(worst, float(np.abs(sim.target - sim.q).max()))
    return worst


@pytest.mark.parametrize("name", ["dual_arm", "ur5", "panda"])
def test_they_hold_against_gravity_and_follow_within_the_documented_tolerance(name):
    sim = simulation(name)
    start = sim.q
    sim.advance(500)
    assert np.abs(sim.q - start).max() < 1e-6
    assert np.abs(sim.efforts).max() > 1.0  # there is something to hold
    rng = np.random.default_rng(4)
    joints = sim.robot.bodies.joints
    for _ in range(2):
        goal = sim.q + rng.uniform(-0.3, 0.3, len(joints))
        goal = np.clip(goal, [j.lower for j in joints], [j.upper for j in joints])
        assert go(sim, goal, 2.0) < TRACKING
        assert not sim.touches
        assert np.abs(sim.q - goal).max() < 1e-5


def test_a_robot_with_mimic_joints_is_followed_too():
    sim = simulation("baxter", effort_limits=False)
    goal = sim.q.copy()
    goal[sim.joint_names.index("l_gripper_l_finger_joint")] = 0.015
    go(sim, goal, 1.0)
    follower = sim.robot.model.joint("l_gripper_r_finger_joint").qposadr[0]
    assert sim.data.qpos[follower] == pytest.approx(-0.015, abs=1e-3)


ONE = toys.robot(
    toys.link("a"), toys.link("b", xyz="0.3 0 0"),
    toys.joint("j", "a", "b", xyz="0 0 1", axis="0 1 0").replace('effort="1"', 'effort="200"'),
)  # fmt: skip


def one(**options):
    return Simulation.from_urdf(ONE, settings=SimulationSettings(**options))


def test_a_step_becomes_a_ramp_at_the_velocity_limit():
    sim = one(gravity=0.0)
    sim.command(checked_command(["j"], ["j"], [0.0], [[1.0]]))
    fastest = 0.0
    for _ in range(400):  # 0.8 s at 1 rad/s
        sim.advance(1)
        fastest = max(fastest, abs(float(sim.rates[0])))
    assert sim.target[0] == pytest.approx(0.8, abs=0.01)
    assert fastest < 1.2
    sim.advance(400)
    assert sim.q[0] == pytest.approx(1.0, abs=1e-3)


def test_targets_stay_within_the_joint_limits():
    sim = one()
    sim.command(checked_command(["j"], ["j"], [1.0], [[3.0]]))
    sim.advance(2000)
    assert sim.target[0] == 2.0
    assert sim.q[0] == pytest.approx(2.0, abs=0.02)


def test_a_slower_scale_slows_and_zero_holds_even_a_step():
    sim = one(gravity=0.0)
    sim.command(checked_command(["j"], ["j"], [1.0], [[0.5]]))
    sim.advance(250, 0.5)
    assert sim.target[0] == pytest.approx(0.125, abs=1e-9)
    sim.advance(500, 0.0)
    assert sim.q[0] == pytest.approx(0.125, abs=1e-3)
    assert abs(sim.rates[0]) < 1e-3
    sim.command(checked_command(["j"], ["j"], [0.0], [[-1.0]]))
    sim.advance(500, 0.0)
    assert sim.target[0] == pytest.approx(0.125, abs=1e-9)


def test_it_stops_within_milliradians_of_where_it_was_told_to():
    sim = one()
    sim.command(checked_command(["j"], ["j"], [1.0], [[0.8]]))
    sim.advance(250)
    told = float(sim.q[0])
    beyond = 0.0
    for _ in range(250):
        sim.advance(1, 0.0)
        beyond = max(beyond, float(sim.q[0]) - told)
    assert beyond < 0.02
    assert abs(sim.q[0] - sim.target[0]) < 1e-4


def test_weak_servos_give_way_and_say_so_before(caplog):
    heavy = ONE.replace('effort="200"', 'effort="5"')
    sim = Simulation.from_urdf(heavy)
    assert "joint 'j' needs 12.3, its limit is 5" in caplog.text
    sim.advance(500)
    assert abs(sim.q[0]) > 0.1
    assert abs(sim.efforts[0]) == pytest.approx(5.0)
    caplog.clear()
    strong = Simulation.from_urdf(heavy, settings=SimulationSettings(effort_limits=False))
    assert "cannot hold" not in caplog.text
    strong.advance(500)
    assert abs(strong.q[0]) < 1e-6


def test_dry_friction_is_made_up_for():
    sticky = ONE.replace('velocity="1"/>', 'velocity="1"/><dynamics friction="3"/>')
    sim = Simulation.from_urdf(sticky)
    worst = 0.0
    sim.command(checked_command(["j"], ["j"], [2.0], [[1.0]]))
    for _ in range(1000):
        sim.advance(1)
        worst = max(worst, float(np.abs(sim.target - sim.q).max()))
    assert sim.robot.model.dof_frictionloss[0] == 3.0
    assert worst < 0.01
