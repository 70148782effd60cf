# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Position servos: torques that bring joints to where they are wanted, under gravity.

Each is a spring and a damper from joint to target, critically damped, with what gravity, the
other joints and friction in the bearing ask for added:

    tau = M w^2 (target - q) + 2 M w (target' - q') + bias(q, q') + damping q' + friction

M is the largest inertia that the joint moves in sampled configurations, and w = 2 pi bandwidth.
Where the joint moves less it is the stiffer. Torques stay within the effort limits. The bias
(gravity, Coriolis) is what MuJoCo computes: a controller that knows its robot.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from collision_monitor.simulation.mujoco_model import SimulatedRobot, mujoco_library

BANDWIDTH = 8.0  # Hz
# For joints without a velocity limit: rad/s, m/s.
FALLBACK_RATES = (math.pi, 1.0)
_SAMPLES = 64
# Added to what a joint moves, as the rotor of a geared motor does: a part of the largest inertia,
# which bounds how much stiffer a servo is where the joint moves little, and so much at least, in
# kg m^2 (kg), since no motor turns fingers without mass.
_ROTOR = 0.01
_LEAST_ROTORS = (0.01, 0.1)
_CREEP = 0.01  # rad/s (m/s) of the target at which dry friction is made up for by three quarters


class Servos:
    """The servos of all joints, in the order of q, with one target each."""

    def __init__(self, robot: SimulatedRobot, data: Any, bandwidth: float = BANDWIDTH) -> None:
        """Choose gains and write them into the model; ``bandwidth`` Hz of each servo."""
        self._mujoco = mujoco_library()
        self._robot, self._data = robot, data
        joints, model = robot.bodies.joints, robot.model
        self._dt = float(model.opt.timestep)
        self._motions = np.zeros((model.nv, len(joints)))  # rates of all joints for those of q
        self._motions[robot.rates, np.arange(len(joints))] = 1.0
        dofs = np.array([model.jnt_dofadr[k] for k in range(model.njnt)], dtype=np.int64)
        of_position = {int(model.jnt_qposadr[k]): int(dofs[k]) for k in range(model.njnt)}
        for address, leader, gain in zip(robot.followers, robot.leaders, robot.gains, strict=True):
            self._motions[of_position[int(address)], leader] = gain
        largest = self._largest_inertias()
        rotors = np.maximum(
            _ROTOR * largest, [_LEAST_ROTORS[joint.kind == "prismatic"] for joint in joints]
        )
        model.dof_armature[robot.rates] += rotors
        omega = 2.0 * math.pi * bandwidth
        self.stiffness = (largest + rotors) * omega**2
        self.damping = 2.0 * (largest + rotors) * omega
        model.actuator_gainprm[:, 0] = self.stiffness
        model.actuator_biasprm[:, 1] = -self.stiffness
        model.actuator_biasprm[:, 2] = -self.damping
        self.rate_limits = np.array(
            [
                joint.velocity
                if 0.0 < joint.velocity < math.inf
                else FALLBACK_RATES[joint.kind == "prismatic"]
                for joint in joints
            ]
        )
        bounded = [joint.kind != "continuous" and joint.lower < joint.upper for joint in joints]
        self._lower = np.where(bounded, [joint.lower for joint in joints], -np.inf)
        self._upper = np.where(bounded, [joint.upper for joint in joints], np.inf)
        self._friction = model.dof_frictionloss @ np.abs(self._motions)
        self.target = np.zeros(len(joints))

    def _largest_inertias(self) -> np.ndarray:
        """What each joint moves at most, kg m^2 (kg), in sampled configurations."""
        robot, mujoco = self._robot, self._mujoco
        joints = robot.bodies.joints
        low, high = (np.array([getattr(j, end) for j in joints]) for end in ("lower", "upper"))
        rng = np.random.default_rng(0)
        data, largest = mujoco.MjData(robot.model), np.zeros(len(joints))
        out = np.zeros(robot.model.nv)
        for _ in range(_SAMPLES):
            robot.place(data, rng.uniform(low, high))
            mujoco.mj_forward(robot.model, data)
            for k, column in enumerate(self._motions.T.copy()):
                mujoco.mj_mulM(robot.model, data, out, column)
                largest[k] = max(largest[k], column @ out)
        return largest

    def overloaded(self) -> list[str]:
        """Messages about joints that cannot hold the current pose within their effort limits."""
        model, data = self._robot.model, self._data
        needed = (data.qfrc_bias - data.qfrc_passive) @ self._motions
        most = np.where(model.actuator_forcelimited, model.actuator_forcerange[:, 1], np.inf)
        return [
            f"'{joint.name}' needs {abs(need):.3g} and may exert {limit:g}"
            for joint, need, limit in zip(self._robot.bodies.joints, needed, most, strict=True)
            if abs(need) > limit
        ]

    def move_towards(self, wanted: np.ndarray, scale: float) -> None:
        """Move the targets for one time step, and ask the actuators for them.

        No target leaves the joint limits, nor moves faster than the joint may, times ``scale``:
        a step in what is wanted becomes a ramp, and at 0 everything holds.
        """
        reach = self.rate_limits * (scale * self._dt)
        wanted = np.clip(wanted, self._lower, self._upper)
        step = np.clip(wanted - self.target, -reach, reach)
        self.target = self.target + step
        data = self._data
        needed = (data.qfrc_bias - data.qfrc_passive) @ self._motions
        rate = step / self._dt
        push = self.damping * rate + needed + self._friction * np.tanh(rate / _CREEP)
        data.ctrl[:] = self.target + push / self.stiffness
