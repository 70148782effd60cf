# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Desired trajectories and points of two arms, checked before anything is computed from them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from collision_monitor.common.text import shortened
from collision_monitor.errors import TrajectoryError
from collision_monitor.motion.motion import Motion
from collision_monitor.motion.points import checked_points

# One point without a time is reached no faster than its joints may move, nor sooner than this.
_SHORTEST = 0.1


@dataclass(frozen=True, eq=False)
class DesiredTrajectory:
    """A trajectory as it was received, unchecked.

    Attributes:
        joint_names: names of the columns.
        times: one for each point, seconds after the start.
        positions: for each point one number for each joint, radians or metres.
        extras: by name (``velocities`` ...) the lengths of further fields of each point,
            which must fit too though they are not used.
    """

    joint_names: tuple[str, ...]
    times: Sequence[float]
    positions: Sequence[Sequence[float]]
    extras: Mapping[str, Sequence[int]] | None = None


def checked(
    desired: DesiredTrajectory,
    arm_joints: Collection[str],
    present: Mapping[str, float],
    start_tolerance: float,
    velocity_limits: Mapping[str, float],
) -> Motion:
    """A motion that begins where the robot stands.

    A first point at time 0 must lie within the tolerance of the present state. One that is to
    be reached later is a way to go: the present state is put before it. A single
    point at time 0 means: go there from the present state, as fast as the joints may.

    Args:
        desired: as it came in.
        arm_joints: joints that it may name.
        present: position of every joint of the robot, radians or metres.
        start_tolerance: radians or metres by which a joint may be off at time 0.
        velocity_limits: of the joints; may be infinite.

    Raises:
        TrajectoryError: names, numbers, times or start that cannot be right.
    """
    names = desired.joint_names
    times, positions = _points_of_arms(desired, arm_joints, present)
    here = np.array([present[name] for name in names])
    if times[0] == 0.0 and len(times) == 1:
        times = _shortest_time(names, positions, here, velocity_limits)
    if times[0] > 0.0:
        return Motion(names, np.r_[0.0, times], np.vstack([here, positions]))
    off = np.abs(positions[0] - here)
    worst = int(off.argmax())
    if off[worst] > start_tolerance:
        raise TrajectoryError(
            f"starts at {positions[0, worst]:.4g} of joint '{names[worst]}', but that stands at "
            f"{here[worst]:.4g}: {off[worst]:.3g} apart, {start_tolerance:g} is allowed"
        )
    return Motion(names, times, positions)


def checked_point(
    desired: DesiredTrajectory, arm_joints: Sequence[str], robot_joints: Collection[str]
) -> dict[str, float]:
    """The position of every joint of both arms, out of a trajectory of exactly one point.

    Raises:
        TrajectoryError: more points or none, names or numbers that cannot be right, or a
            joint of an arm that is not named.
    """
    if len(desired.positions) != 1:
        raise TrajectoryError(f"has {len(desired.positions)} points; a desired point is one")
    _, positions = _points_of_arms(desired, arm_joints, robot_joints)
    missing = [name for name in arm_joints if name not in desired.joint_names]
    if missing:
        raise TrajectoryError(f"does not name {_quoted(missing)}; a stream moves both arms")
    return dict(zip(desired.joint_names, positions[0].tolist(), strict=True))


def _shortest_time(
    names: tuple[str, ...],
    positions: np.ndarray,
    here: np.ndarray,
    velocity_limits: Mapping[str, float],
) -> np.ndarray:
    limits = np.array([velocity_limits[name] for name in names])
    way = np.abs(positions[0] - here)
    unlimited = ~(np.isfinite(limits) & (limits > 0.0)) & (way > 0.0)
    if unlimited.any():
        name = names[int(unlimited.argmax())]
        raise TrajectoryError(
            f"one point at time 0, and joint '{name}' has no velocity limit to tell how long "
            "the way takes: give the point a time_from_start"
        )
    needed = np.divide(way, limits, out=np.zeros_like(way), where=way > 0.0)
    return np.array([max(_SHORTEST, float(needed.max()))])


def _points_of_arms(
    desired: DesiredTrajectory, arm_joints: Collection[str], robot_joints: Collection[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Times and positions, as of `checked_points`."""
    names = desired.joint_names
    times, positions = checked_points(robot_joints, names, desired.times, desired.positions)
    if others := [name for name in names if name not in arm_joints]:
        raise TrajectoryError(
            f"names {_quoted(others)}, which is of neither arm; the arms' joints are "
            f"{shortened(sorted(arm_joints), 20)}"
        )
    for field, counts in (desired.extras or {}).items():
        for k, count in enumerate(counts):
            if count not in (0, len(names)):
                raise TrajectoryError(f"point {k} has {count} {field} for {len(names)} joints")
    return times, positions


def _quoted(names: Sequence[str]) -> str:
    return shortened([f"'{name}'" for name in names])


def distance_from(motion: Motion, present: Mapping[str, float]) -> tuple[str, float]:
    """The joint whose first position is farthest from where it stands, and by how much."""
    off = {
        name: abs(float(start) - present[name])
        for name, start in zip(motion.joint_names, motion.positions[0], strict=True)
    }
    worst = max(off, key=off.__getitem__)
    return worst, off[worst]
