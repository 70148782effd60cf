# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How a free-floating base moves while its arm does: momentum and centre of mass stay.

The angular velocity follows from the joints' (zero momentum) and does not depend on where the base
is. So attitude alone is integrated: by Magnus' series of fourth order with two Gauss points
a step, which stays a rotation (Iserles et al., Lie-group methods, Acta Numerica 9, 2000). The
position follows from the centre of mass, which rests or falls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from collision_monitor.verification.torques.dynamics import RobotDynamics

_GAUSS = np.sqrt(3.0) / 6.0  # from the middle, in steps
_LONGEST = 0.05  # seconds


@dataclass(frozen=True, eq=False)
class BaseMotion:
    """Motion of the base in the inertial frame, that of the base at time 0.

    Attributes:
        times: (n,) seconds.
        poses: (n, 4, 4).
        velocities: (n, 6) linear and angular, in the frame of the base itself.
    """

    times: np.ndarray
    poses: np.ndarray
    velocities: np.ndarray


def base_motion(
    dynamics: RobotDynamics,
    times: np.ndarray,
    state: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    rows: tuple[np.ndarray, np.ndarray],
) -> BaseMotion:
    """Integrate the attitude of a floating base, from no rotation at ``times[0]``.

    Args:
        dynamics: of a robot that floats.
        times: (n,) seconds that do not fall; any spacing.
        state: positions and velocities (m, joints) at times (m,) within the motion.
        rows: positions and velocities (n, joints) at ``times``; given apart, since velocities may
            have two values at one time.
    """
    fine, index = _refined(times)
    gaps = np.diff(fine)
    middle = 0.5 * (fine[1:] + fine[:-1])
    rates = [
        np.array([dynamics.base_velocity(q, v)[3:] for q, v in zip(*state(at), strict=True)])
        for at in (middle - _GAUSS * gaps, middle + _GAUSS * gaps)
    ]
    turn = 0.5 * gaps[:, None] * (rates[0] + rates[1])
    turn += np.sqrt(3.0) / 12.0 * gaps[:, None] ** 2 * np.cross(rates[0], rates[1])
    attitudes = [Rotation.identity()]
    for step in Rotation.from_rotvec(turn):
        attitudes.append(attitudes[-1] * step)
    turned = np.array([attitudes[k].as_matrix() for k in index])
    centres = np.array([dynamics.centre_of_mass(q) for q in rows[0]])
    since = (times - times[0])[:, None]
    fallen = centres[0] + 0.5 * dynamics.gravity * since**2
    poses = np.tile(np.eye(4), (len(times), 1, 1))
    poses[:, :3, :3] = turned
    poses[:, :3, 3] = fallen - np.einsum("nij,nj->ni", turned, centres)
    velocities = np.array([dynamics.base_velocity(q, v) for q, v in zip(*rows, strict=True)])
    falling = dynamics.gravity * since
    velocities[:, :3] += np.einsum("nji,nj->ni", turned, falling)
    return BaseMotion(times, poses, velocities)


def _refined(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Times at most `_LONGEST` apart, and where among them the given ones are."""
    gaps = np.diff(times)
    counts = np.maximum(np.ceil(gaps / _LONGEST).astype(int), 1)
    start = np.repeat(times[:-1], counts)
    within = np.concatenate([np.arange(n) / n for n in counts] or [np.zeros(0)])
    fine = np.append(start + within * np.repeat(gaps, counts), times[-1])
    return fine, np.append(0, np.cumsum(counts))
