# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Torques of links and motors, where they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.motion.violation import Code, Violation
from collision_monitor.robot.scene import without_joints
from collision_monitor.verification.check import Outcome, Task, VerificationCheck
from collision_monitor.verification.torques.combined_torques import coupled, torques_together
from collision_monitor.verification.torques.dynamics import RobotDynamics
from collision_monitor.verification.torques.torque_check import TorqueCheck, check_torques


def _run(task: Task) -> Outcome:
    """Torques while all parts move that move the robot, and not what is around it."""
    task.told("torques", 0.0)
    model, given = task.model, task.settings.torques
    robot = without_joints(model.robot, model.scene.joints)
    own = {joint.name for joint in robot.joints}
    mine = [p for p in task.parts if own.intersection(p.trajectory.joint_names)]
    names = [name for name in model.joint_names if name in own]
    dynamics = RobotDynamics(
        robot, given.inertials, names, given.floating, given.gravity, given.drives.payload
    )

    def check(trajectory: Trajectory) -> TorqueCheck:
        return check_torques(
            trajectory, dynamics, task.limits, given.drives, from_rest=task.settings.from_rest
        )

    everyone = tuple(names) if given.floating and len(mine) > 1 else coupled(robot, mine)
    torques, violations, more = torques_together(mine, names, check, everyone)
    notes = [*torques.notes, *more]
    if model.scene.joints:
        moved = ", ".join(joint.name for joint in model.scene.joints)
        notes.append(f"joints of the scene move no mass that torques know of: {moved}")
    return Outcome(_told_once(violations), notes, {"torques": torques})


def _told_once(violations: Sequence[Violation]) -> list[Violation]:
    """Without motors that bear what their links do: joints without drives."""
    links = {_same(v) for v in violations if v.code is Code.LINK_TORQUE}
    return [v for v in violations if v.code is Code.LINK_TORQUE or _same(v) not in links]


def _same(violation: Violation) -> Violation:
    return replace(violation, code=Code.LINK_TORQUE)


TORQUES = VerificationCheck(
    "torques",
    (Code.LINK_TORQUE, Code.MOTOR_TORQUE),
    _run,
    skipped=lambda task: "" if task.settings.torques else "not asked for",
)
