# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Torques of motions that run beside each other."""

import numpy as np
import pytest
from support.robots.one_joint import heavy, joint

from collision_monitor import CollisionModel
from collision_monitor.motion.motion_files import LoadedMotion
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.motion.violation import Code
from collision_monitor.robot.inertials import read_inertials
from collision_monitor.robot.limits import JointLimits
from collision_monitor.verification import Settings, SimultaneousMotion, Torques, verify
from collision_monitor.verification.clearance.schedule import Scheduled
from collision_monitor.verification.torques.torque_check import full_trajectory
from collision_monitor.verification.verification import Verdict


def two_arms_on_a_torso():
    """Both arms turn about z, as the torso does, one 2 m above the other."""
    parts = [
        '<link name="base"/><link name="chest"/>', joint("torso", "base", "chest", "0 0 1"),
        heavy("left", 2.0, "1 0 0", "1 1 1"), joint("l", "chest", "left", "0 0 1", "0 3 0"),
        heavy("right", 2.0, "1 0 0", "1 1 1"), joint("r", "chest", "right", "0 0 1", "0 3 2"),
    ]  # fmt: skip
    return f'<robot name="torso">{"".join(parts)}</robot>'


def turning(name, by=0.5, duration=1.0):
    rates = np.zeros((2, 1))
    trajectory = Trajectory.through((name,), [0.0, duration], [[0.0], [by]], rates, rates)
    return LoadedMotion(trajectory, (), (), f"{name}.csv", named=frozenset([name]))


def test_one_trajectory_is_that_of_all_parts_at_their_starts():
    parts = [Scheduled(turning("l").trajectory, 3.0), Scheduled(turning("r", 2.0).trajectory, 1.0)]
    one = full_trajectory(parts, ("r", "l"))
    assert (one.joint_names, one.duration) == (("r", "l"), 3.0)
    times = np.linspace(0.0, 3.0, 50)
    assert np.allclose(one.positions(times)[:, 0], parts[1].trajectory.positions(times)[:, 0])
    left = parts[0].trajectory.positions(times - 2.0)[:, 0]
    assert np.allclose(one.positions(times)[:, 1], left)


@pytest.mark.parametrize(("start", "unsafe"), [(0.0, True), (5.0, False)])
def test_a_torso_bears_both_arms_when_both_move(start, unsafe):
    pytest.importorskip("pinocchio")
    text = two_arms_on_a_torso()
    model = CollisionModel.from_urdf(text)

    def verified(effort, beside):
        limits = {"torso": JointLimits(effort=effort)}
        rows = turning("l").trajectory
        names = model.joint_names
        table = [[0.0] * 3, [0.5 * (n == "l") for n in names]]
        rates = np.zeros((2, 3))
        whole_body = Trajectory.through(names, rows.times, table, rates, rates)
        motion = LoadedMotion(whole_body, (), (), "l.csv", named=frozenset(["l"]))
        torques = Torques(read_inertials(text))
        settings = Settings(exact=False, limits=limits, torques=torques, beside=beside)
        return verify(model, motion, settings)

    alone = verified(1e9, [])
    peak = max(abs(p.value) for p in alone.torques.peaks if p.joint == "torso")
    assert peak > 1.0
    result = verified(1.2 * peak, [SimultaneousMotion(turning("r"), start)])
    found = {(v.code, v.subject) for v in result.violations}
    assert result.verdict is (Verdict.NOT_SAFE if unsafe else Verdict.SAFE), result.reason
    assert found == ({(Code.LINK_TORQUE, "torso")} if unsafe else set())
