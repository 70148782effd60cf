# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Links on springs over time, by a solver of ordinary differential equations.

Motors follow their command: their controllers hold them on it, and the links swing on the springs;
the torques of the motors follow. Or motors are given torques, and everything moves freely. What is
integrated is how far springs are bent, so that tolerances are those of torques. The solver begins
anew where velocities or accelerations of the command step.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from collision_monitor.errors import DynamicsError
from collision_monitor.verification.torques.flexible_joints import (
    FlexibleJoints,
    JointMotion,
    MotorCommand,
    Motors,
)

logger = logging.getLogger(__name__)

METHODS = ("DOP853", "RK45", "Radau", "BDF", "LSODA")
TOLERANCE = 1e-6  # of the largest rigid torque
_DAMPED = 0.02  # of critical damping: what is damped less rings through the whole motion
# A stiff solver pays where the fastest mode is damped, faster than all that ring by this factor,
# and by this many radians faster than the motion.
_FASTER = 3.0
_STIFF = 2000.0
_MANY = 10_000  # periods, of some milliseconds of computing each
_WITHIN = 8  # rows a step of the solver, so that no top between its steps is missed


@dataclass(frozen=True, eq=False)
class FlexibleMotion(JointMotion):
    """A motion on springs.

    Attributes:
        deflections: (n, joints) motors minus links.
        frequencies: (springs,) Hz, rising, with fixed motors at the start.
        method: the solver.
    """

    deflections: np.ndarray
    frequencies: np.ndarray
    method: str


@dataclass(frozen=True, eq=False)
class _System:
    """What is integrated: y has the deflections, then the speeds of the links, then more.

    Attributes:
        joints: the robot.
        segments: (k, 2) seconds; the solver begins anew in each.
        start, scales: y at the start, and how large its entries become.
        motors: of (times, end of their segment, y).
        rates, slopes: of (time, y, end): y' and how it changes with y.
        kicked: of (y, segment): y after the step of velocity before the segment.
        motor_torques: of (segment, times, motors, link torques).
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
    """Motors follow ``command``; links begin at rest where springs hold them against gravity.

    Args:
        joints: the robot.
        command: of all its motors.
        method: of scipy's solve_ivp; ``auto``: DOP853, or Radau where the fastest mode is
            damped and much faster than the motion.
        tolerance: relative, of torques and speeds.
        from_rest: else links begin as rigid ones would.

    Raises:
        DynamicsError: an unknown method, an elastic joint that moves next to no mass, springs that
            cannot hold the robot, a solver that fails.
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
    """Motors at ``start`` (joints,) and at rest are given ``torques(t)`` (joints,), after the gear.

    Links begin at rest where springs hold them against gravity.

    Raises:
        DynamicsError: as `follow`, and a joint without stiffness or without rotor inertia.
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
    if periods > _MANY:
        logger.warning(
            "springs: %.0f periods of a mode of %.3g Hz that is hardly damped have to be followed, "
            "which takes long; damping in the file of drives makes it short",
            periods,
            ringing / (2.0 * np.pi),
        )
    if method != "auto":
        return method
    fastest = np.abs(modes).max()
    stiff = fastest > _FASTER * ringing and fastest * duration > _STIFF
    return "Radau" if stiff else "DOP853"


def _scales(joints: FlexibleJoints, command: MotorCommand) -> np.ndarray:
    """(2 springs,) how far springs are bent and how fast links are, were the joints rigid."""
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
    """Solve all segments, one after the other."""
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
    """The arrays of a `FlexibleMotion` in segment ``k``, at and between the solver's steps."""
    joints, n = system.joints, len(system.joints.soft)
    gaps = np.diff(solution.t)[:, None] * (np.arange(_WITHIN) / _WITHIN)
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
