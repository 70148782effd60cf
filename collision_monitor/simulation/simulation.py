# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A simulated robot: servos follow trajectories, contacts are recorded.

Each servo is a critically damped spring from joint to target, with feed-forward of gravity, of the
other joints and of bearing friction:

    tau = M w^2 (target - q) + 2 M w (target' - q') + bias(q, q') + damping q' + friction

M is the largest inertia that the joint moves in sampled configurations, and w = 2 pi bandwidth.
With a smaller inertia the servo is stiffer. Torques stay within the effort limits. The bias
(gravity, Coriolis) is computed by MuJoCo: the controller has an exact model.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from collision_monitor.common.safe_files import ReceivedText
from collision_monitor.common.text import closest, shortened
from collision_monitor.errors import ConfigurationError, SimulationError
from collision_monitor.robot.inertials import read_friction, read_inertials
from collision_monitor.robot.scene import Scene, load_scene, mesh_files
from collision_monitor.robot.srdf import load_srdf
from collision_monitor.robot.urdf import load_robot
from collision_monitor.simulation.mujoco_model import (
    SimulatedRobot,
    SimulationSettings,
    mujoco_library,
    simulated_robot,
)
from collision_monitor.simulation.trajectory_execution import Command, Run, TrajectoryExecution

# -- servos --

# For joints without a velocity limit: rad/s, m/s.
FALLBACK_RATES = (math.pi, 1.0)
# Rotor inertia added to each joint: a fraction of the largest inertia, which bounds the stiffness
# of a servo at small inertias; and a minimum in kg m^2 (kg), since links such as fingers may be
# almost massless.
_ROTOR = 0.01
_LEAST_ROTORS = (0.01, 0.1)
_FRICTION_SPEED = 0.01  # rad/s (m/s) of the target: 3/4 of dry friction are compensated


class Servos:
    """The servos of all joints, in the order of q: one target each, within ``limits`` (nq, 2)."""

    def __init__(self, robot: SimulatedRobot, data: Any, bandwidth: float) -> None:
        """Compute gains and write them into the model; ``bandwidth`` of each servo, Hz."""
        self._mujoco = mujoco_library()
        self._robot, self._data = robot, data
        joints, model = robot.bodies.joints, robot.model
        self._dt = float(model.opt.timestep)
        largest = self._largest_inertias()
        rotors = np.maximum(
            _ROTOR * largest, [_LEAST_ROTORS[joint.kind == "prismatic"] for joint in joints]
        )
        model.dof_armature[robot.positions] += rotors
        omega = 2.0 * math.pi * bandwidth
        self.stiffness = (largest + rotors) * omega**2
        self.damping = 2.0 * (largest + rotors) * omega
        model.actuator_gainprm[:, 0] = self.stiffness
        model.actuator_biasprm[:, 1] = -self.stiffness
        model.actuator_biasprm[:, 2] = -self.damping
        self.rate_limits = np.array(
            [
                joint.velocity
                if joint.velocity < math.inf
                else FALLBACK_RATES[joint.kind == "prismatic"]
                for joint in joints
            ]
        )
        self.limits = np.where(
            model.jnt_limited[robot.positions, None], model.jnt_range[robot.positions],
            (-np.inf, np.inf),
        )  # fmt: skip
        self._friction = model.dof_frictionloss @ np.abs(self._robot.motions)
        self.target = np.zeros(len(joints))

    def _largest_inertias(self) -> np.ndarray:
        """Largest inertia (nq,) of each joint in sampled configurations, kg m^2 (kg)."""
        robot, mujoco = self._robot, self._mujoco
        data, largest = mujoco.MjData(robot.model), np.zeros(len(robot.bodies.joints))
        out = np.zeros(robot.model.nv)
        for q in robot.random_configurations():
            robot.place(data, q)
            mujoco.mj_forward(robot.model, data)
            for k, column in enumerate(self._robot.motions.T.copy()):
                mujoco.mj_mulM(robot.model, data, out, column)
                largest[k] = max(largest[k], column @ out)
        return largest

    def overloaded(self) -> list[str]:
        """Messages about joints that cannot hold the current pose within their effort limits."""
        model, data = self._robot.model, self._data
        needed = (data.qfrc_bias - data.qfrc_passive) @ self._robot.motions
        most = np.where(model.actuator_forcelimited, model.actuator_forcerange[:, 1], np.inf)
        return [
            f"'{joint.name}' needs {abs(need):.3g}, its limit is {limit:g}"
            for joint, need, limit in zip(self._robot.bodies.joints, needed, most, strict=True)
            if abs(need) > limit
        ]

    def move_towards(self, wanted: np.ndarray, scale: float) -> None:
        """Move the targets by one time step, and set the actuators.

        Targets are within joint limits, and move at most at the velocity limits times ``scale``: a
        step becomes a ramp, and at scale 0 all targets hold.
        """
        reach = self.rate_limits * (scale * self._dt)
        wanted = np.clip(wanted, *self.limits.T)
        step = np.clip(wanted - self.target, -reach, reach)
        self.target = self.target + step
        data = self._data
        needed = (data.qfrc_bias - data.qfrc_passive) @ self._robot.motions
        rate = step / self._dt
        push = self.damping * rate + needed + self._friction * np.tanh(rate / _FRICTION_SPEED)
        data.ctrl[:] = self.target + push / self.stiffness


# -- contacts --

Pair = tuple[str, str]


@dataclass(frozen=True)
class Contact:
    """Contact of two links: ``depth`` of their hulls in metres, ``force`` in newtons.

    The largest depth of all contact points, and the sum of their normal forces.
    """

    depth: float
    force: float


@dataclass(frozen=True)
class Touch:
    """Contacts of a pair so far: first and last time in s, largest depth and force."""

    first: float
    last: float
    depth: float
    force: float


def contacts_of(robot: SimulatedRobot, data: Any) -> dict[Pair, Contact]:
    """Contacts after a step, by pair with names in alphabetical order."""
    if data.ncon == 0:
        return {}
    mujoco = mujoco_library()
    contacts: dict[Pair, Contact] = {}
    wrench = np.zeros(6)
    bodies = robot.model.geom_bodyid[data.contact.geom]
    for contact, (row, distance) in enumerate(zip(bodies.tolist(), data.contact.dist.tolist(),
                                                  strict=True)):  # fmt: skip
        if distance > 0.0:
            continue
        first, second = sorted(robot.names[body] for body in row)
        mujoco.mj_contactForce(robot.model, data, contact, wrench)
        old = contacts.get((first, second), Contact(0.0, 0.0))
        contacts[first, second] = Contact(max(old.depth, -distance), old.force + float(wrench[0]))
    return contacts


def add_touches(touches: dict[Pair, Touch], contacts: Mapping[Pair, Contact], time: float) -> None:
    """Add contacts at ``time`` s to those so far."""
    for pair, contact in contacts.items():
        old = touches.get(pair, Touch(time, time, 0.0, 0.0))
        touches[pair] = Touch(
            old.first, time, max(old.depth, contact.depth), max(old.force, contact.force)
        )


# -- simulation --

logger = logging.getLogger(__name__)

Source = str | bytes | os.PathLike | ReceivedText


class Simulation:
    """One robot in one scene; see `from_urdf`. Time starts at 0 and never decreases.

    Attributes:
        data: the state as MuJoCo has it (``mujoco.MjData`` of ``robot.model``), for its viewer.
        contacts: of links and obstacles now, by pair.
        touches: all since the start or the last reset, by pair.
        mesh_files: paths of the meshes that it was loaded from.
    """

    mesh_files: frozenset[str] = frozenset()

    def __init__(
        self, robot: SimulatedRobot, start: Mapping[str, float], settings: SimulationSettings
    ) -> None:
        """Rest at ``start``, radians or metres by joint; default 0, or the nearer limit.

        Raises:
            ConfigurationError: an unknown joint, or a position beyond its limits.
        """
        self._mujoco = mujoco_library()
        self.robot = robot
        self.joint_names = robot.bodies.joint_names
        self.timestep = float(robot.model.opt.timestep)
        self.data = self._mujoco.MjData(robot.model)
        self._servos = Servos(robot, self.data, settings.servo_bandwidth)
        self._start = self._start_of(start)
        self._steps = 0
        self.execution = TrajectoryExecution(self.joint_names, self._start)
        self.reset()

    @classmethod
    def from_urdf(
        cls,
        urdf: Source,
        srdf: Source | None = None,
        package_dirs: Sequence[str | os.PathLike] = (),
        scene: str | os.PathLike | Mapping | None = None,
        start: Mapping[str, float] | None = None,
        settings: SimulationSettings | None = None,
    ) -> Simulation:
        """Load a robot and a scene as for a CollisionModel, and masses.

        Args:
            urdf: path of a URDF, or its text.
            srdf: path or text of an SRDF; disabled pairs have no contacts.
            package_dirs: folders with packages at any depth, searched first for ``package://``.
            scene: path of a scene file, or its content; obstacles are attached to their links.
            start: positions by joint name, radians or metres.
            settings: time step, gravity and servos.

        Raises:
            MissingDependencyError: MuJoCo is not installed.
            RobotDescriptionError, SemanticDescriptionError, SceneError: invalid files.
            ConfigurationError: invalid start.
        """
        settings = settings or SimulationSettings()
        robot = load_robot(urdf, package_dirs)
        obstacles = Scene() if scene is None else load_scene(scene, robot, package_dirs)
        simulated = simulated_robot(
            robot,
            read_inertials(urdf),
            read_friction(urdf),
            None if srdf is None else load_srdf(srdf, robot),
            obstacles,
            settings,
        )
        for text in (*robot.warnings, *simulated.warnings):
            logger.warning("%s", text)
        simulation = cls(simulated, start or {}, settings)
        simulation.mesh_files = mesh_files(robot, obstacles)
        if overloaded := simulation._servos.overloaded():
            logger.warning(
                "the robot cannot hold its start position: joint %s (N m or N); a URDF has no "
                "springs for balance; effort_limits false lets servos be stronger",
                shortened(overloaded),
            )
        return simulation

    def _start_of(self, given: Mapping[str, float]) -> np.ndarray:
        joints = self.robot.bodies.joints
        start = np.array([joint.rest for joint in joints])
        for name, value in given.items():
            if name not in self.joint_names:
                raise ConfigurationError(
                    f"start: the robot has no joint '{name}'; its joints are "
                    f"{closest(name, self.joint_names)}"
                )
            column = self.joint_names.index(name)
            lower, upper = self._servos.limits[column]
            if not np.isfinite(value) or not lower <= value <= upper:
                raise ConfigurationError(
                    f"start: {value:g} of joint '{name}' is not within its limits, {lower:g} to "
                    f"{upper:g}"
                )
            start[column] = value
        return start

    # -- state --

    @property
    def time(self) -> float:
        """Seconds since the beginning."""
        return self._steps * self.timestep

    @property
    def q(self) -> np.ndarray:
        """Positions (nq,), radians and metres, in the order of ``joint_names``."""
        return self.data.qpos[self.robot.positions]

    @property
    def rates(self) -> np.ndarray:
        """Velocities (nq,), rad/s and m/s."""
        return self.data.qvel[self.robot.positions]

    @property
    def efforts(self) -> np.ndarray:
        """Efforts of the servos (nq,), N m and N."""
        return self.data.actuator_force.copy()

    @property
    def target(self) -> np.ndarray:
        """Targets of the servos (nq,), radians and metres."""
        return self._servos.target

    # -- actions --

    def reset(self) -> None:
        """Return to the start, and clear trajectories and contacts; time continues."""
        self._mujoco.mj_resetData(self.robot.model, self.data)
        self.robot.place(self.data, self._start)
        self._mujoco.mj_forward(self.robot.model, self.data)
        self._servos.target = self._start.copy()
        self.execution.hold(self._start)
        self.touches: dict[Pair, Touch] = {}
        self._note_contacts()

    def continue_from(self, time: float) -> None:
        """Advance the clock to ``time`` s, if that is later."""
        self._steps = max(self._steps, math.ceil(time / self.timestep))

    def command(self, command: Command) -> Run:
        """Execute a trajectory from now on, or from its start time.

        Raises:
            TrajectoryError: it has already ended.
        """
        return self.execution.accept(command, self.time)

    def advance(self, steps: int, scale: float = 1.0) -> None:
        """Simulate ``steps`` time steps; ``scale``: speed scale of trajectories, 0 to 1.

        Raises:
            ConfigurationError: ``scale`` is not from 0 to 1.
            SimulationError: the simulation is unstable.
        """
        if not 0.0 <= scale <= 1.0:
            raise ConfigurationError(f"scale: {scale!r} is not a number from 0 to 1")
        mujoco, model, data = self._mujoco, self.robot.model, self.data
        for _ in range(steps):
            before = data.time
            mujoco.mj_step1(model, data)
            wanted = self.execution.advance(self.time + self.timestep, self.timestep, scale)
            self._servos.move_towards(wanted, scale)
            mujoco.mj_step2(model, data)
            self._steps += 1
            if not (data.time > before and np.isfinite(data.qpos).all()):  # MuJoCo restarts
                raise SimulationError(
                    f"became unstable after {self.time:.3f} s: use a smaller timestep than "
                    f"{self.timestep:g} s or a smaller servo_bandwidth, and check the masses"
                )
            if data.ncon or self.contacts:
                self._note_contacts()

    def _note_contacts(self) -> None:
        self.contacts = contacts_of(self.robot, self.data)
        add_touches(self.touches, self.contacts, self.time)
