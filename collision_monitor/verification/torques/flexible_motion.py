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
from scipy.interpolate import CubicSpline, PPoly
from scipy.linalg import eigh

from collision_monitor.errors import DynamicsError
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.verification.joint_limits_check import LONGEST_STEP, steps_of
from collision_monitor.verification.torques.actuators import Drive
from collision_monitor.verification.torques.dynamics import RobotDynamics

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

    def accelerations(
        self, motors: Motors, deflections: np.ndarray, speeds: np.ndarray
    ) -> np.ndarray:
        """Accelerations (soft,) of the links on springs at one time."""
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
        """Torques (hard,) of rigid joints at one time."""
        q, v = self.links(motors, deflections, speeds)
        mass, rest = self.dynamics.terms(q, v)
        a = motors.accelerations.copy()
        a[self.soft] = self.accelerations(motors, deflections, speeds)
        return (mass @ a + rest)[self.hard]

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

    def frequencies(self, q: np.ndarray) -> np.ndarray:
        """(soft,) Hz, ascending: undamped natural frequencies with fixed motors."""
        squares = eigh(np.diag(self.stiffness), self.inertias(q), eigvals_only=True)
        return np.sqrt(squares) / (2.0 * np.pi)

    def slopes(self, q: np.ndarray) -> np.ndarray:
        """(2 soft, 2 soft): Jacobian of the rates of (deflections, speeds), without h."""
        mass, n = self.inertias(q), len(self.soft)
        result = np.zeros((2 * n, 2 * n))
        result[:n, n:] = -np.eye(n)
        result[n:, :n] = np.linalg.solve(mass, np.diag(self.stiffness))
        result[n:, n:] = -np.linalg.solve(mass, np.diag(self.damping))
        return result


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

        Straight lines between samples are replaced by a spline: their corners would be unintended
        impulses on the springs.
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
        """Position, velocity, acceleration at times (...) in the segment that ends at ``end``."""
        row = self._all(np.minimum(time, np.nextafter(end, -np.inf)))
        n = self._joints
        return Motors(row[..., :n], row[..., n : 2 * n], row[..., 2 * n :])


# -- integration --
#
# Either motors follow their command exactly and links oscillate on the springs, or motors have
# given torques and everything moves freely. Deflections of the springs are integrated, so that
# tolerances apply to torques. The solver restarts where velocities or accelerations of the command
# step.

logger = logging.getLogger(__name__)

METHODS = ("DOP853", "RK45", "Radau", "BDF", "LSODA")
TOLERANCE = 1e-6  # relative to the largest rigid torque
_DAMPED = 0.02  # damping ratio: modes with less oscillate during the whole motion
# A stiff solver is faster if the fastest mode is damped, exceeds all oscillating modes by this
# factor, and the motion by this many radians.
_FASTER = 3.0
_STIFF = 2000.0
_MOST_PERIODS = 10_000  # maximum number of periods; each takes some milliseconds to compute
_ROWS_PER_STEP = 8  # rows per step of the solver, so that no peak between its steps is missed


@dataclass(frozen=True, eq=False)
class FlexibleMotion(JointMotion):
    """A motion on springs.

    Attributes:
        deflections: (n, joints) motors minus links.
        frequencies: (springs,) Hz, ascending, with fixed motors at the start.
        method: the solver.
    """

    deflections: np.ndarray
    frequencies: np.ndarray
    method: str


@dataclass(frozen=True, eq=False)
class _System:
    """The integrated system: y contains deflections, speeds of the links, and further states.

    Attributes:
        joints: the robot.
        segments: (k, 2) seconds; the solver restarts in each.
        start, scales: y at the start, and magnitudes of its entries.
        motors: function of (times, end of their segment, y).
        rates, slopes: functions of (time, y, end): y' and its Jacobian.
        kicked: function of (y, segment): y after the velocity step before the segment.
        motor_torques: function of (segment, times, motors, link torques).
    """

    joints: FlexibleJoints
    segments: np.ndarray
    start: np.ndarray
    scales: np.ndarray
    motors: Callable[[np.ndarray, float, np.ndarray], Motors]
    rates: Callable[[float, np.ndarray, float], np.ndarray]
    slopes: Callable[[float, np.ndarray, float], np.ndarray]
    kicked: Callable[[np.ndarray, int], np.ndarray]
    motor_torques: Callable[[int, np.ndarray, Motors, np.ndarray], np.ndarray]

    def links(self, times: np.ndarray, end: float, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities of the links."""
        n = len(self.joints.soft)
        return self.joints.links(self.motors(times, end, y), y[..., :n], y[..., n : 2 * n])


def follow(
    joints: FlexibleJoints,
    command: MotorCommand,
    method: str = "auto",
    tolerance: float = TOLERANCE,
    from_rest: bool = True,
) -> FlexibleMotion:
    """Integrate with motors that follow ``command``; links start at rest in equilibrium.

    Args:
        joints: the robot.
        command: of all its motors.
        method: of solve_ivp of scipy; ``auto``: DOP853, or Radau if the fastest mode is damped and
            much faster than the motion.
        tolerance: relative, of torques and speeds.
        from_rest: if False, links start as if joints were rigid.

    Raises:
        DynamicsError: an unknown method, an elastic joint that moves almost no mass, springs that
            cannot hold the robot, or a solver failure.
    """
    n = len(joints.soft)

    def rates(t: float, y: np.ndarray, end: float) -> np.ndarray:
        now = command.at(t, end)
        speeds = now.velocities[joints.soft] - y[n:]
        return np.concatenate([speeds, joints.accelerations(now, y[:n], y[n:])])

    def slopes(t: float, y: np.ndarray, end: float) -> np.ndarray:
        return joints.slopes(joints.links(command.at(t, end), y[:n], y[n:])[0])

    def kicked(y: np.ndarray, k: int) -> np.ndarray:
        jump = command.jumps[k][joints.hard]
        if jump.any():
            begin, end = command.segments[k]
            q, _ = joints.links(command.at(begin, end), y[:n], y[n:])
            y = np.concatenate([y[:n], y[n:] + joints.kick(q, jump)])
        return y

    def motor_torques(part: int, times: np.ndarray, now: Motors, torques: np.ndarray) -> np.ndarray:
        accelerations = now.accelerations.copy()
        accelerations[0] += command.extra[part]
        return joints.rotors * accelerations + torques

    first = command.at(0.0, command.segments[0, 1])
    bent = joints.resting(first, not from_rest)
    start = np.concatenate([bent, first.velocities[joints.soft] * (not from_rest)])
    system = _System(
        joints, command.segments, start, _scales(joints, command),
        lambda times, end, y: command.at(times, end), rates, slopes, kicked, motor_torques,
    )  # fmt: skip
    return _integrated(system, method, tolerance)


def driven(
    joints: FlexibleJoints,
    start: np.ndarray,
    duration: float,
    torques: Callable[[float], np.ndarray],
    method: str = "auto",
    tolerance: float = TOLERANCE,
) -> FlexibleMotion:
    """Integrate motors from rest at ``start`` (joints,) with ``torques(t)`` after the gear.

    Links start at rest in equilibrium.

    Raises:
        DynamicsError: as `follow`; or a joint without stiffness or rotor inertia.
    """
    lacking = [
        name
        for j, name in enumerate(joints.dynamics.joint_names)
        if j in joints.hard or joints.rotors[j] <= 0.0
    ]
    if lacking:
        raise DynamicsError(
            f"motors driven by torques need rotor_inertia and stiffness: {', '.join(lacking)}"
        )
    n = len(joints.soft)
    still = np.zeros(n)

    def motors(times: np.ndarray, end: float, y: np.ndarray) -> Motors:
        return Motors(y[..., 2 * n : 3 * n], y[..., 3 * n :], np.zeros_like(y[..., :n]))

    def rates(t: float, y: np.ndarray, end: float) -> np.ndarray:
        now = motors(t, end, y)
        bent, speeds = y[:n], y[n : 2 * n]
        spring = joints.spring_torques(now, bent, speeds)
        return np.concatenate([
            now.velocities - speeds,
            joints.accelerations(now, bent, speeds),
            now.velocities,
            (torques(t) - spring) / joints.rotors,
        ])  # fmt: skip

    def slopes(t: float, y: np.ndarray, end: float) -> np.ndarray:
        links = joints.slopes(joints.links(motors(t, end, y), y[:n], y[n : 2 * n])[0])
        stiff = np.diag(joints.stiffness / joints.rotors)
        damp, one, none = np.diag(joints.damping / joints.rotors), np.eye(n), np.zeros((n, n))
        return np.block([
            [links[:n, :n], links[:n, n:], none, one],
            [links[n:, :n], links[n:, n:], none, -links[n:, n:]],
            [none, none, none, one],
            [-stiff, damp, none, -damp],
        ])  # fmt: skip

    bent = joints.resting(Motors(start, still, still), False)
    given = np.abs([torques(t) for t in np.linspace(0.0, duration, 50)]).max(axis=0)
    scale = np.maximum(given, 1e-3 * given.max()) + 1e-9
    speed = scale * duration / joints.rotors
    system = _System(
        joints, np.array([[0.0, duration]]), np.concatenate([bent, still, start, still]),
        np.concatenate([scale / joints.stiffness, speed, speed * duration, speed]),
        motors, rates, slopes, lambda y, k: y,
        lambda part, times, now, springs: np.array([torques(t) for t in times]),
    )  # fmt: skip
    return _integrated(system, method, tolerance)


def _method(method: str, slopes: np.ndarray, duration: float) -> str:
    if method not in ("auto", *METHODS):
        raise DynamicsError(f"method: {method!r} is not one of auto, {', '.join(METHODS)}")
    modes = np.linalg.eigvals(slopes)
    ringing = np.abs(modes.imag[modes.real >= -_DAMPED * np.abs(modes)]).max(initial=0.0)
    periods = ringing * duration / (2.0 * np.pi)
    if periods > _MOST_PERIODS:
        logger.warning(
            "springs: %.0f periods of a lightly damped mode of %.3g Hz are integrated, which is "
            "slow; add damping to the file of drives",
            periods,
            ringing / (2.0 * np.pi),
        )
    if method != "auto":
        return method
    fastest = np.abs(modes).max()
    stiff = fastest > _FASTER * ringing and fastest * duration > _STIFF
    return "Radau" if stiff else "DOP853"


def _scales(joints: FlexibleJoints, command: MotorCommand) -> np.ndarray:
    """(2 springs,) deflections of springs and speeds of links as if joints were rigid."""
    torques, speeds = [], []
    for begin, end in command.segments:
        for t in np.linspace(begin, end, 5):
            now = command.at(t, end)
            torques.append(np.abs(joints.dynamics.torques(*now))[joints.soft])
            speeds.append(np.abs(now.velocities)[joints.soft])
    torque, speed = np.max(torques, axis=0), np.max(speeds)
    torque = np.maximum(torque, 1e-3 * torque.max()) + 1e-9
    return np.concatenate([torque / joints.stiffness, np.full(len(torque), speed + 1e-9)])


def _integrated(system: _System, method: str, tolerance: float) -> FlexibleMotion:
    """Integrate all segments, one after the other."""
    segments, state = system.segments, system.start
    slopes = system.slopes(0.0, state, segments[0, 1])
    method = _method(method, slopes, segments[-1, 1])
    options = {"method": method, "rtol": max(tolerance, 1e-12), "atol": tolerance * system.scales}
    if method in ("Radau", "BDF"):
        options["jac"] = system.slopes
    parts = []
    for k, (begin, end) in enumerate(segments):
        solution = solve_ivp(
            system.rates, (begin, end), system.kicked(state, k), dense_output=True, args=(end,),
            **options,
        )  # fmt: skip
        state = solution.y[:, -1]
        if not solution.success or not np.isfinite(state).all():
            raise DynamicsError(
                f"springs cannot be integrated beyond {solution.t[-1]:.6g} s by {method}: "
                f"{solution.message}"
            )
        parts.append(solution)

    def links_at(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        where = np.clip(np.searchsorted(segments[:, 0], times, "right") - 1, 0, len(parts) - 1)
        found = np.empty((2, len(times), len(system.joints.rotors)))
        for k in np.unique(where):
            inside = where == k
            y = parts[k].sol(times[inside]).T
            found[:, inside] = system.links(times[inside], segments[k, 1], y)
        return found[0], found[1]

    rows = [_rows(system, k, solution) for k, solution in enumerate(parts)]
    columns = [np.concatenate(column) for column in zip(*rows, strict=True)]
    q, _ = system.links(0.0, segments[0, 1], system.start)
    *columns, deflections = columns
    frequencies = system.joints.frequencies(q)
    return FlexibleMotion(*columns, links_at, deflections, frequencies, method)


def _rows(system: _System, k: int, solution: Any) -> tuple[np.ndarray, ...]:
    """Arrays of a `FlexibleMotion` in segment ``k``, at and between steps of the solver."""
    joints, n = system.joints, len(system.joints.soft)
    gaps = np.diff(solution.t)[:, None] * (np.arange(_ROWS_PER_STEP) / _ROWS_PER_STEP)
    times = np.append((solution.t[:-1, None] + gaps).ravel(), solution.t[-1])
    y = solution.sol(times).T
    bent, speeds = y[:, :n], y[:, n : 2 * n]
    now = system.motors(times, system.segments[k, 1], y)
    torques = np.empty_like(now.positions)
    torques[:, joints.soft] = joints.spring_torques(now, bent, speeds)
    if len(joints.hard):
        torques[:, joints.hard] = [
            joints.hard_torques(Motors(*(part[i] for part in now)), bent[i], speeds[i])
            for i in range(len(times))
        ]
    positions, velocities = joints.links(now, bent, speeds)
    given = system.motor_torques(k, times, now, torques)
    return times, positions, velocities, torques, given, now.positions - positions
