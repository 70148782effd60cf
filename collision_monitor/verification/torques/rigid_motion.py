# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Torques of rigid joints along a trajectory, by inverse dynamics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.verification.limits.velocity_discontinuities import steps_of
from collision_monitor.verification.torques.actuators import Drive
from collision_monitor.verification.torques.dynamics import RobotDynamics
from collision_monitor.verification.torques.sample_times import instants_of

RESOLUTION = 0.01  # seconds


@dataclass(frozen=True, eq=False)
class RigidMotion:
    """Links and motors at ``times`` (n,), which do not fall; (n, joints) each.

    Where rates step, both sides are there. ``state`` gives positions and velocities (m, joints) at
    any times (m,) of the motion.
    """

    times: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray
    link_torques: np.ndarray
    motor_torques: np.ndarray
    state: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def rigid_motion(
    trajectory: Trajectory,
    dynamics: RobotDynamics,
    drives: Sequence[Drive],
    from_rest: bool = True,
) -> RigidMotion:
    """Torques at instants `RESOLUTION` apart or closer; motors turn their rotors besides."""
    rows = instants_of(trajectory, steps_of(trajectory, from_rest), RESOLUTION)
    torques = np.array([
        dynamics.torques(*row)
        for row in zip(rows.positions, rows.velocities, rows.accelerations, strict=True)
    ])  # fmt: skip
    rotors = np.array([drive.reflected_inertia for drive in drives])
    polynomial, rate = trajectory.polynomial, trajectory.polynomial.derivative()

    def state(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return polynomial(times), rate(times)

    return RigidMotion(
        rows.times, rows.positions, rows.velocities, torques,
        torques + rotors * rows.accelerations, state,
    )  # fmt: skip
