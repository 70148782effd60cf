# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Integration of joints with a spring between gear and link (model of Spong).

    M(q) qdd + h(q, qd) = tau            tau = K (theta - q) + D (thetad - qd)
    J thetadd + tau = tau_m

q are positions of links, theta of motors, J inertias of motors, all after the gear (Spong, Modeling
and control of elastic joint robots, J. Dyn. Syst. Meas. Control 109, 1987; Liu Qian et al., J. NUAA
54(1), 2022). A joint without stiffness is rigid: q = theta.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp
from scipy.interpolate import PPoly
from scipy.linalg import eigh

from collision_monitor.errors import DynamicsError
from collision_monitor.motion.samples import splined
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.verification.joint_limits_check import steps_of
from collision_monitor.verification.torques.actuators import Drive
from collision_monitor.verification.torques.dynamics import LONGEST_TURN, RobotDynamics

# -- model --

# Relative to the largest acceleration: the integration restarts at larger steps; error control
# handles smaller ones, of which a sampled motion has thousands.
_STEP = 0.05
_LEAST = 1e-12  # relative to the largest inertia of a joint: smaller inertias count as zero


class Motors(NamedTuple):
    """Positions, velocities and accelerations of all motors, (joints,) or (n, joints) each."""

    positions: np.ndarray
    velocities: np.ndarray
    accelerations: np.ndarray


@dataclass(frozen=True, eq=False)
class JointMotion:
    """Motion of links and motors; arrays are (n, joints) unless noted.

    Attributes:
        times: (n,) non-decreasing, seconds; twice where rates have a step.
        positions: of the links.
        velocities: of the links.
        link_torques: of the springs, if any.
        motor_torques: of motors, after the gear.
        state: function of times (m,): positions and velocities (m, joints).
    """

    times: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray
    link_torques: np.ndarray
    motor_torques: np.ndarray
    state: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


class FlexibleJoints:
    """Joints with springs. ``soft``, ``hard``: indices of joints with and without a spring."""

    def __init__(self, dynamics: RobotDynamics, drives: Sequence[Drive]) -> None:
        """``drives`` of the joints of ``dynamics``, in its order.

        Raises:
            DynamicsError: no joint has a spring.
        """
        stiffness = np.array([drive.stiffness for drive in drives])
        self.dynamics = dynamics
        self.soft = np.flatnonzero(np.isfinite(stiffness))
        self.hard = np.flatnonzero(np.isinf(stiffness))
        if not len(self.soft):
            raise DynamicsError("no joint has a stiffness: the robot is rigid")
        self.stiffness = stiffness[self.soft]
        self.damping = np.array([drives[j].damping for j in self.soft])
        self.rotors = np.array([drive.reflected_inertia for drive in drives])

    def spring_torques(
        self, motors: Motors, deflections: np.ndarray, speeds: np.ndarray
    ) -> np.ndarray:
        """Torques (..., soft) of springs at ``deflections`` and ``speeds`` of links."""
        bending = motors.velocities[..., self.soft] - speeds
        return self.stiffness * deflections + self.damping * bending

    def links(
        self, motors: Motors, deflections: np.ndarray, speeds: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities (..., joints) of all links."""
        q, v = motors.positions.copy(), motors.velocities.copy()
        q[..., self.soft] -= deflections
        v[..., self.soft] = speeds
        return q, v

    def forces(
        self, motors: Motors, deflections: np.ndarray, speeds: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations (soft,) of the links on springs and torques (joints,), at one time."""
        q, v = self.links(motors, deflections, speeds)
        mass, rest = self.dynamics.terms(q, v)
        a = motors.accelerations.copy()
        a[self.soft] = 0.0
        bending = self.spring_torques(motors, deflections, speeds)
        soft = mass[np.ix_(self.soft, self.soft)]
        a[self.soft] = np.linalg.solve(soft, bending - (mass @ a + rest)[self.soft])
        torques = mass @ a + rest
        torques[self.soft] = bending
        return a[self.soft], torques

    def kick(self, q: np.ndarray, jump: np.ndarray) -> np.ndarray:
        """Velocity steps (soft,) of links on springs by velocity steps (hard,) of rigid joints."""
        mass, _ = self.dynamics.terms(q, np.zeros_like(q))
        across = mass[np.ix_(self.soft, self.hard)]
        return -np.linalg.solve(mass[np.ix_(self.soft, self.soft)], across @ jump)

    def resting(self, motors: Motors, moving: bool) -> np.ndarray:
        """Deflections (soft,) of springs with links at rest, or moving as if rigid.

        Raises:
            DynamicsError: there is no equilibrium: the springs are too soft for the weight.
        """
        v, a = motors.velocities * moving, motors.accelerations * moving
        bent = np.zeros(len(self.soft))
        for _ in range(200):
            q, _ = self.links(motors, bent, bent)
            new = self.dynamics.torques(q, v, a)[self.soft] / self.stiffness
            if np.abs(new - bent).max() <= 1e-14 + 1e-13 * np.abs(new).max():
                return new
            bent = new
        raise DynamicsError("springs are too soft to hold the robot: no equilibrium at the start")

    def inertias(self, q: np.ndarray) -> np.ndarray:
        """M (soft, soft) of the links on springs.

        Raises:
            DynamicsError: a joint moves almost no mass, or masses are invalid.
        """
        mass, _ = self.dynamics.terms(q, np.zeros_like(q))
        mass = mass[np.ix_(self.soft, self.soft)]
        values, vectors = np.linalg.eigh(mass)
        if values[0] <= _LEAST * values[-1]:
            name = self.dynamics.joint_names[self.soft[int(np.abs(vectors[:, 0]).argmax())]]
            raise DynamicsError(
                f"joint {name!r} is elastic and moves an inertia of {values[0]:.3g} kg m^2: give "
                "its links masses and inertias in the URDF, or no stiffness"
            )
        return mass

    def modes(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Natural frequencies (soft,) with fixed motors, Hz, ascending; and damping ratios."""
        squares, shapes = eigh(np.diag(self.stiffness), self.inertias(q))
        omegas = np.sqrt(squares)
        return omegas / (2.0 * np.pi), self.damping @ shapes**2 / (2.0 * omegas)


class MotorCommand:
    """Command of the motors as one polynomial: the trajectory, followed by rest.

    Attributes:
        duration: seconds, including the rest.
        segments: (k, 2) seconds; velocities or accelerations have steps between segments.
        positions: PPoly of scipy.
        extra: (k, joints) acceleration by the step of velocity before each segment.
        jumps: (k, joints) the step of velocity.
    """

    def __init__(self, trajectory: Trajectory, rest: float = 0.0, from_rest: bool = True) -> None:
        """``rest``: seconds of rest after the trajectory.

        Straight lines between samples are replaced by splines: their corners would be unintended
        impulses on the springs.
        """
        times, polynomial, of_joints = trajectory.times, trajectory.polynomial, trajectory.knots
        polynomial = PPoly(polynomial.c, polynomial.x)
        if trajectory.is_straight:
            polynomial = splined(trajectory, "clamped" if from_rest else "not-a-knot")
        if rest > 0.0:
            still = np.zeros_like(polynomial.c[:, :1])
            still[-1] = trajectory.positions(times[-1:])
            polynomial.extend(still, np.array([times[-1] + rest]))
            if of_joints is not None:
                of_joints = np.vstack([of_joints, np.ones_like(of_joints[:1])])
        steps = steps_of(Trajectory(trajectory.joint_names, polynomial, of_joints), from_rest)
        # Also where a joint begins or ends at speed between the ends of others.
        every = steps_of(Trajectory(trajectory.joint_names, polynomial), from_rest)
        fast = np.abs(trajectory.sample(times).accelerations).max(axis=0, initial=0.0)
        cut = every.stepping | (np.abs(every.acceleration) > _STEP * fast + 1e-9).any(axis=1)
        cut[[0, -1]] = True
        knots = np.flatnonzero(cut)
        self.positions = polynomial
        self.duration = float(polynomial.x[-1])
        self.segments = np.stack([polynomial.x[knots[:-1]], polynomial.x[knots[1:]]], axis=1)
        self.jumps = steps.velocity[knots[:-1]]
        self.extra = steps.extra[knots[:-1]]
        self._rates = polynomial.derivative(1), polynomial.derivative(2)

    def at(self, time: np.ndarray | float, end: float) -> Motors:
        """Position, velocity, acceleration at times (...) in the segment that ends at ``end``."""
        time = np.minimum(time, np.nextafter(end, -np.inf))
        return Motors(self.positions(time), *(rate(time) for rate in self._rates))


# -- integration --
#
# Motors follow their command exactly, and links oscillate on the springs. Deflections of springs
# are integrated, so that tolerances apply to torques. The solver restarts where velocities or
# accelerations of the command step.

logger = logging.getLogger(__name__)

TOLERANCE = 1e-6  # relative to the largest rigid torque
_DAMPED = 0.02  # damping ratio: modes with less oscillate during the whole motion
_MOST_PERIODS = 10_000  # maximum number of periods; each takes some milliseconds to compute
_ROWS_PER_STEP = 2  # rows per step of the solver, so that no peak between its steps is missed


def follow(
    joints: FlexibleJoints,
    command: MotorCommand,
    tolerance: float = TOLERANCE,
    from_rest: bool = True,
) -> JointMotion:
    """Integrate with motors that follow ``command``; links start at rest in equilibrium.

    By LSODA, which changes its method where damped modes are much faster than the motion.

    Args:
        joints: the robot.
        command: of all its motors.
        tolerance: relative, of torques and speeds.
        from_rest: if False, links start as if joints were rigid.

    Raises:
        DynamicsError: an elastic joint that moves almost no mass, springs that cannot hold the
            robot, or a solver failure.
    """
    system, segments = _System(joints, command), command.segments
    state = system.start(from_rest)
    _warn_of_periods(joints, command)
    scales = system.scales()
    parts = []
    for segment, (begin, end) in enumerate(segments):
        solution = solve_ivp(
            system.rates, (begin, end), system.kicked(state, segment), "LSODA", args=(end,),
            dense_output=True, rtol=max(tolerance, 1e-12), atol=tolerance * scales,
            max_step=LONGEST_TURN,
        )  # fmt: skip
        state = solution.y[:, -1]
        if not solution.success or not np.isfinite(state).all():
            raise DynamicsError(
                f"springs cannot be integrated beyond {solution.t[-1]:.6g} s: {solution.message}"
            )
        parts.append(solution)

    def links_at(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        where = np.clip(np.searchsorted(segments[:, 0], times, "right") - 1, 0, len(parts) - 1)
        states = np.empty((2, len(times), len(joints.rotors)))
        for segment in np.unique(where):
            inside = where == segment
            y = parts[segment].sol(times[inside]).T
            states[:, inside] = system.links(times[inside], y, segments[segment, 1])
        return states[0], states[1]

    rows = [system.rows(segment, solution) for segment, solution in enumerate(parts)]
    return JointMotion(*map(np.concatenate, zip(*rows, strict=True)), links_at)


@dataclass(frozen=True, eq=False)
class _System:
    """What is integrated: y contains deflections (soft,) and speeds (soft,) of the links.

    ``end`` is the end of the segment of a time.
    """

    joints: FlexibleJoints
    command: MotorCommand

    def start(self, from_rest: bool) -> np.ndarray:
        """Y at time 0."""
        now = self.command.at(0.0, self.command.segments[0, 1])
        bent = self.joints.resting(now, not from_rest)
        return np.concatenate([bent, now.velocities[self.joints.soft] * (not from_rest)])

    def scales(self) -> np.ndarray:
        """Magnitudes of the entries of y, as if joints were rigid."""
        joints, torques, speeds = self.joints, [], []
        for begin, end in self.command.segments:
            for t in np.linspace(begin, end, 5):
                now = self.command.at(t, end)
                torques.append(np.abs(joints.dynamics.torques(*now))[joints.soft])
                speeds.append(np.abs(now.velocities)[joints.soft])
        torque, speed = np.max(torques, axis=0), np.max(speeds)
        torque = np.maximum(torque, 1e-3 * torque.max()) + 1e-9
        return np.concatenate([torque / joints.stiffness, np.full(len(torque), speed + 1e-9)])

    def links(
        self, times: np.ndarray | float, y: np.ndarray, end: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities of all links."""
        n = len(self.joints.soft)
        return self.joints.links(self.command.at(times, end), y[..., :n], y[..., n:])

    def rates(self, t: float, y: np.ndarray, end: float) -> np.ndarray:
        """The derivative of y."""
        joints, n, now = self.joints, len(self.joints.soft), self.command.at(t, end)
        speeds = now.velocities[joints.soft] - y[n:]
        return np.concatenate([speeds, joints.forces(now, y[:n], y[n:])[0]])

    def kicked(self, y: np.ndarray, segment: int) -> np.ndarray:
        """Y after the velocity step before ``segment``."""
        jump = self.command.jumps[segment][self.joints.hard]
        if not jump.any():
            return y
        n = len(self.joints.soft)
        q, _ = self.links(self.command.segments[segment, 0], y, self.command.segments[segment, 1])
        return np.concatenate([y[:n], y[n:] + self.joints.kick(q, jump)])

    def rows(self, segment: int, solution: Any) -> tuple[np.ndarray, ...]:
        """Arrays of a `JointMotion` in ``segment``, at and between steps of the solver."""
        joints, n = self.joints, len(self.joints.soft)
        gaps = np.diff(solution.t)[:, None] * (np.arange(_ROWS_PER_STEP) / _ROWS_PER_STEP)
        times = np.append((solution.t[:-1, None] + gaps).ravel(), solution.t[-1])
        y = solution.sol(times).T
        bent, speeds = y[:, :n], y[:, n:]
        now = self.command.at(times, self.command.segments[segment, 1])
        if len(joints.hard):
            torques = np.array([
                joints.forces(Motors(*(part[i] for part in now)), bent[i], speeds[i])[1]
                for i in range(len(times))
            ])  # fmt: skip
        else:
            torques = joints.spring_torques(now, bent, speeds)
        positions, velocities = joints.links(now, bent, speeds)
        accelerations = now.accelerations.copy()
        accelerations[0] += self.command.extra[segment]
        motor_torques = joints.rotors * accelerations + torques
        return times, positions, velocities, torques, motor_torques


def _warn_of_periods(joints: FlexibleJoints, command: MotorCommand) -> None:
    frequencies, damping = joints.modes(command.positions(0.0))
    ringing = frequencies[damping < _DAMPED].max(initial=0.0)
    if (periods := ringing * command.duration) > _MOST_PERIODS:
        logger.warning(
            "springs: %.0f periods of a lightly damped mode of %.3g Hz are integrated, which is "
            "slow; add damping to the file of drives", periods, ringing,
        )  # fmt: skip
