# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What motors are told to do: the trajectory, followed by rest, as one polynomial."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicSpline, PPoly

from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.verification.limits.velocity_discontinuities import LONGEST_STEP, steps_of
from collision_monitor.verification.torques.flexible_joints import Motors
from collision_monitor.verification.torques.sample_times import stepping

# Of the largest acceleration: at steps above it an integration begins anew; its error control takes
# smaller ones, of which a sampled motion has thousands.
_STEP = 0.05


class MotorCommand:
    """Positions, velocities and accelerations of motors over time, (joints,) each.

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
        cut = stepping(steps) | (np.abs(steps.acceleration) > _STEP * fast + 1e-9).any(axis=1)
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
