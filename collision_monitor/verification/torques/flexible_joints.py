# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Joints with a spring between gear and link: Spong's model.

    M(q) qdd + h(q, qd) = tau            tau = K (theta - q) + D (thetad - qd)
    J thetadd + tau = tau_m

q are the links, theta the motors and J their inertias, all after the gear (Spong, Modeling and
control of elastic joint robots, J. Dyn. Syst. Meas. Control 109, 1987; Liu Qian et al., J. NUAA
54(1), 2022). A joint without stiffness is rigid: its link is where its motor is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline, PPoly
from scipy.linalg import eigh

from collision_monitor.errors import DynamicsError
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.verification.limits.velocity_discontinuities import LONGEST_STEP, steps_of
from collision_monitor.verification.torques.actuators import Drive
from collision_monitor.verification.torques.dynamics import RobotDynamics

# Of the largest acceleration: at steps above it an integration begins anew; its error control takes
# smaller ones, of which a sampled motion has thousands.
_STEP = 0.05
_LEAST = 1e-12  # of the largest inertia of a joint: less is none


class Motors(NamedTuple):
    """Positions, velocities and accelerations of all motors, (joints,) or (n, joints) each."""

    positions: np.ndarray
    velocities: np.ndarray
    accelerations: np.ndarray


@dataclass(frozen=True, eq=False)
class JointMotion:
    """What links and motors do; (n, joints) each unless said otherwise.

    Attributes:
        times: (n,) seconds that do not fall; both sides of where rates step.
        positions: of the links.
        velocities: of the links.
        link_torques: with springs, those of these.
        motor_torques: after the gear.
        state: positions and velocities (m, joints) at any times (m,) of the motion.
    """

    times: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray
    link_torques: np.ndarray
    motor_torques: np.ndarray
    state: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


class FlexibleJoints:
    """Links on springs. ``soft`` and ``hard``: numbers of the joints with and without one."""

    def __init__(self, dynamics: RobotDynamics, drives: Sequence[Drive]) -> None:
        """Take the drives of the joints of ``dynamics``, in its order.

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
        """Torques (..., soft) of springs that are bent by ``deflections``, links at ``speeds``."""
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

    def accelerations(
        self, motors: Motors, deflections: np.ndarray, speeds: np.ndarray
    ) -> np.ndarray:
        """Accelerations (soft,) of the links on springs at one instant."""
        q, v = self.links(motors, deflections, speeds)
        torques = self.spring_torques(motors, deflections, speeds)
        if not len(self.hard):
            return self.dynamics.accelerations(q, v, torques)
        mass, rest = self.dynamics.terms(q, v)
        across = mass[np.ix_(self.soft, self.hard)]
        torques = torques - rest[self.soft] - across @ motors.accelerations[self.hard]
        return np.linalg.solve(mass[np.ix_(self.soft, self.soft)], torques)

    def hard_torques(
        self, motors: Motors, deflections: np.ndarray, speeds: np.ndarray
    ) -> np.ndarray:
        """Torques (hard,) that rigid joints bear at one instant."""
        q, v = self.links(motors, deflections, speeds)
        mass, rest = self.dynamics.terms(q, v)
        a = motors.accelerations.copy()
        a[self.soft] = self.accelerations(motors, deflections, speeds)
        return (mass @ a + rest)[self.hard]

    def kick(self, q: np.ndarray, jump: np.ndarray) -> np.ndarray:
        """What links on springs step by (soft,) when rigid joints' velocities do by (hard,)."""
        mass, _ = self.dynamics.terms(q, np.zeros_like(q))
        across = mass[np.ix_(self.soft, self.hard)]
        return -np.linalg.solve(mass[np.ix_(self.soft, self.soft)], across @ jump)

    def resting(self, motors: Motors, moving: bool) -> np.ndarray:
        """How far springs are bent (soft,) where links rest, or move as rigid ones would.

        Raises:
            DynamicsError: no equilibrium: the springs are too soft for the weight on them.
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
            DynamicsError: a joint moves next to no mass, or masses that cannot be.
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

    def frequencies(self, q: np.ndarray) -> np.ndarray:
        """(soft,) Hz, rising: of links on their springs undamped, motors fixed."""
        squares = eigh(np.diag(self.stiffness), self.inertias(q), eigvals_only=True)
        return np.sqrt(squares) / (2.0 * np.pi)

    def slopes(self, q: np.ndarray) -> np.ndarray:
        """(2 soft, 2 soft): how rates of (deflections, speeds) change with these, but for h."""
        mass, n = self.inertias(q), len(self.soft)
        result = np.zeros((2 * n, 2 * n))
        result[:n, n:] = -np.eye(n)
        result[n:, :n] = np.linalg.solve(mass, np.diag(self.stiffness))
        result[n:, n:] = -np.linalg.solve(mass, np.diag(self.damping))
        return result


class MotorCommand:
    """What motors are commanded: the trajectory, followed by rest, as one polynomial.

    Attributes:
        duration: seconds, with the rest at the end.
        segments: (k, 2) seconds; from one to the next velocities or accelerations step.
        positions: scipy's PPoly.
        extra: (k, joints) what the step of velocity before each segment adds to the acceleration.
        jumps: (k, joints) that step.
    """

    def __init__(self, trajectory: Trajectory, rest: float = 0.0, from_rest: bool = True) -> None:
        """Take a trajectory, with ``rest`` seconds of standing still at its end.

        Straight lines between samples become a spline through these: their corners would be
        knocks to a spring that nobody meant.
        """
        times, polynomial = trajectory.times, trajectory.polynomial
        if trajectory.is_straight and len(times) > 2 and np.diff(times).max() <= LONGEST_STEP:
            ends = "clamped" if from_rest else "not-a-knot"
            polynomial = CubicSpline(times, trajectory.positions(times), bc_type=ends)
        polynomial = PPoly(polynomial.c, polynomial.x)
        if rest > 0.0:
            still = np.zeros_like(polynomial.c[:, :1])
            still[-1] = trajectory.positions(times[-1:])
            polynomial.extend(still, np.array([times[-1] + rest]))
        smoothed = Trajectory(trajectory.joint_names, polynomial)
        steps = steps_of(smoothed, from_rest)
        fast = np.abs(trajectory.sample(times).accelerations).max(axis=0, initial=0.0)
        cut = steps.stepping | (np.abs(steps.acceleration) > _STEP * fast + 1e-9).any(axis=1)
        cut[[0, -1]] = True
        knots = np.flatnonzero(cut)
        self.positions = polynomial
        self.duration = float(polynomial.x[-1])
        self.segments = np.stack([polynomial.x[knots[:-1]], polynomial.x[knots[1:]]], axis=1)
        self.jumps = steps.velocity[knots[:-1]]
        self.extra = steps.extra[knots[:-1]]
        order, pieces, joints = polynomial.c.shape
        rates = np.zeros((order, pieces, 3 * joints))
        for k in range(3):
            c = (polynomial.derivative(k) if k else polynomial).c
            rates[order - len(c) :, :, k * joints : (k + 1) * joints] = c
        self._all = PPoly(rates, polynomial.x)
        self._joints = joints

    def at(self, time: np.ndarray | float, end: float) -> Motors:
        """Position, velocity, acceleration at times (...) of the segment that ends at ``end``."""
        row = self._all(np.minimum(time, np.nextafter(end, -np.inf)))
        n = self._joints
        return Motors(row[..., :n], row[..., n : 2 * n], row[..., 2 * n :])
