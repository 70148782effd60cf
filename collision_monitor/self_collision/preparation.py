# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Checks desired motions, inserts waypoints, adds the other joints; motions to a single point."""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from collision_monitor.common.limits import SIX_DIGITS
from collision_monitor.common.text import closest, shortened, time_text
from collision_monitor.errors import ConfigurationError, MotionError, TrajectoryError
from collision_monitor.motion.trajectory import NANO, Motion, check_points, numbers
from collision_monitor.robot.angles import TURN, limits_beside
from collision_monitor.robot.bodies import leading_joint
from collision_monitor.robot.description import Joint
from collision_monitor.self_collision.settings import limit_of

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

_COARSE = 0.15  # rad or m: waypoints are inserted between those farther apart
_FINE = 0.1


def checked(model: CollisionModel, motion: Motion) -> Motion:
    """The motion with its values as arrays.

    Raises:
        MotionError: no waypoints, wrong shapes, times that do not increase or that no `Trajectory`
            can have, values that are not finite, duplicate or unknown joints.
    """
    names = tuple(motion.joint_names)
    try:
        times = numbers("times", motion.times).copy()
        positions = numbers("positions", motion.positions).copy()
        check_points(names, times, positions)
    except TrajectoryError as error:
        raise MotionError(str(error)) from None
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise MotionError(f"the motion names '{twice[0]}' twice")
    unknown = [name for name in names if name not in model.joint_names]
    if unknown:
        raise MotionError(
            f"'{model.name}' has no joint {shortened(map(repr, unknown))}; it has "
            f"{closest(str(unknown[0]), model.joint_names)}"
        )
    return Motion(names, times, positions)


def refined(motion: Motion, times: int = 1) -> Motion:
    """The motion with waypoints inserted where they are more than `_COARSE` apart.

    ``times``: additionally divide each moving segment into this many. Parts are not shorter than
    the resolution of times, and of those in messages, allows.
    """
    if len(motion.times) < 2:
        return motion
    steps = np.abs(np.diff(motion.positions, axis=0)).max(axis=1, initial=0.0)
    counts = np.where(steps > _COARSE, np.ceil(steps / _FINE), 1).astype(int)
    counts = np.where(steps > 0.0, counts * times, counts)
    shortest = max(1.0 / NANO, float(np.spacing(np.abs(motion.times).max())))
    most = np.floor(np.diff(motion.times) / (2.0 * shortest))
    counts = np.maximum(np.minimum(counts, most), 1).astype(int)
    if counts.max() == 1:
        return motion
    parts = np.concatenate([np.arange(c) / c for c in counts] + [[0.0]])
    before = np.append(np.repeat(np.arange(len(counts)), counts), len(counts))
    after = np.minimum(before + 1, len(counts))

    def blend(values: np.ndarray, part: np.ndarray) -> np.ndarray:
        return values[before] + part * (values[after] - values[before])

    return Motion(
        motion.joint_names, blend(motion.times, parts), blend(motion.positions, parts[:, None])
    )


def configurations(model: CollisionModel, motion: Motion, rest: np.ndarray) -> np.ndarray:
    """(n, nq) positions of all joints of the model along a `checked` motion.

    ``rest`` (nq,): positions of joints that the motion does not name.

    Raises:
        MotionError: a position beyond the limits.
    """
    positions = motion.of_joints(model.joint_names, rest, model.name).positions
    lower, upper = model.position_limits
    beyond = np.maximum(lower - positions, positions - upper)
    if (beyond > SIX_DIGITS).any():
        waypoint, column = np.unravel_index(int(beyond.argmax()), beyond.shape)
        name = model.joint_names[column]
        followers = [f"'{joint.name}'" for joint, leader, _, _ in mimics(model) if leader == name]
        others = f", with those of {', '.join(followers)} that mimics it" if followers else ""
        place = f"waypoint {waypoint} at {time_text(motion.times[waypoint])}: joint '{name}' is at"
        if name not in motion.joint_names:
            place = f"joint '{name}', which the motion does not name (--q), is held at"
        raise MotionError(
            f"{place} {positions[waypoint, column]:g}, beyond its limits {lower[column]:g} to "
            f"{upper[column]:g}{others}"
        )
    return positions


def moving_scene_joint(
    model: CollisionModel, names: Sequence[str], positions: np.ndarray
) -> str | None:
    """A joint that moves obstacles of the scene in a motion, with ``positions`` (n, names)."""
    for joint in model.scene.joints:
        if joint.name in names and np.ptp(positions[:, names.index(joint.name)]) > 0.0:
            return joint.name
    return None


def mimics(model: CollisionModel) -> Iterator[tuple[Joint, str, float, float]]:
    """Mimic joints that move: (joint, leading joint, gain, offset)."""
    for joint in model.robot.joints:
        if joint.moves and joint.mimic is not None:
            leader, gain, offset = leading_joint(joint, model.robot.joint_named)
            if leader is not None and gain != 0.0:
                yield joint, leader, gain, offset


def velocity_limits(
    model: CollisionModel, given: Mapping[str, float] | float | None = None
) -> np.ndarray:
    """Velocities (nq,) up to which joints and those that mimic them keep limits, rad/s or m/s.

    ``given``: instead of those of the URDF, except for mimic joints; as in `AdjustmentSettings`.
    """
    own = zip(model.joint_names, model.velocity_limits.tolist(), strict=True)
    limits = {name: limit_of(given, name, limit) for name, limit in own}
    for joint, leader, gain, _ in mimics(model):
        limits[leader] = min(limits[leader], joint.velocity / abs(gain))
    return np.array(list(limits.values()))


# By model: copies are models of their own for what is known of a model.
_COPIES: WeakKeyDictionary[CollisionModel, dict[tuple, CollisionModel]] = WeakKeyDictionary()


def limited(
    model: CollisionModel,
    names: Collection[str],
    start: np.ndarray,
    given: Mapping[str, tuple[float, float]] | None = None,
    beyond: float = 0.0,
) -> CollisionModel:
    """A copy of the model with the position limits of a motion, and ranges to sample within them.

    Those of endless joints are moved by whole turns to their positions at the start.

    Args:
        model: the robot and its scene.
        names: of joints that move: they have limits that their mimic joints keep, too, except
            those that the leader cannot keep.
        start: (nq,) configuration at the start.
        given: tighter limits by joint.
        beyond: sensors may report a robot slightly beyond a limit; a start beyond a limit by at
            most this, radians or metres, replaces the limit.

    Raises:
        ConfigurationError: ``given`` is no mapping, or has an unknown joint, not two numbers, or
            an empty range.
    """
    lower, upper = _narrowed(model, given, start)
    for joint, leader, gain, offset in mimics(model):
        column = model.joint_names.index(leader)
        low, high = sorted((end - offset) / gain for end in (joint.lower, joint.upper))
        if model.bodies.endless[column]:
            low, high = limits_beside(low, high, float(start[column]))
        low, high = max(low, lower[column]), min(high, upper[column])
        if leader in names and joint.kind != "continuous" and low <= high:
            lower[column], upper[column] = low, high
    lower = np.where(lower - start <= beyond, np.minimum(lower, start), lower)
    upper = np.where(start - upper <= beyond, np.maximum(upper, start), upper)
    if np.array_equal([lower, upper], model.position_limits):
        return model
    copies = _COPIES.setdefault(model, {})
    key = (*lower.tolist(), *upper.tolist())
    if key not in copies:
        copies.clear()
        copied = copies[key] = copy.copy(model)
        below, above = copied.unlimited = ~np.isfinite([lower, upper])
        copied.lower = np.where(below, np.where(above, model.lower, upper - TURN), lower)
        copied.upper = np.where(above, np.where(below, model.upper, lower + TURN), upper)
    return copies[key]


def _narrowed(
    model: CollisionModel, given: Mapping[str, tuple[float, float]] | None, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Position limits (nq,) of the model that are ``given`` too; see `limited`."""
    lower, upper = model.position_limits
    if given is not None and not isinstance(given, Mapping):
        raise ConfigurationError(
            f"position_limits: {given!r} is not a mapping of joints to (lower, upper)"
        )
    for name, limits in (given or {}).items():
        if name not in model.joint_names:
            raise ConfigurationError(f"position_limits: '{model.name}' has no joint '{name}'")
        column = model.joint_names.index(name)
        low, high = _two_numbers(name, limits)
        if model.bodies.endless[column]:
            low, high = limits_beside(low, high, float(start[column]))
        least, most = max(lower[column], low), min(upper[column], high)
        if math.isnan(low) or math.isnan(high) or least > most:
            raise ConfigurationError(
                f"position_limits: {name}: {low:g} .. {high:g} does not overlap the "
                f"limits of the robot, {lower[column]:g} .. {upper[column]:g}"
            )
        lower[column], upper[column] = least, most
    return lower, upper


def _two_numbers(name: str, limits: object) -> tuple[float, float]:
    """Position limits (lower, upper) of the joint ``name`` as floats."""
    try:
        lower, upper = limits  # type: ignore[misc]
        if not any(isinstance(end, (str, bytes, complex)) for end in (lower, upper)):
            return float(lower), float(upper)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ConfigurationError(
        f"position_limits: {name}: {limits!r} is not two numbers (lower, upper)"
    )


# -- from rest to rest --
#
# All joints follow 10 u^3 - 15 u^4 + 6 u^5, with the time u from 0 to 1. Velocity and acceleration
# are 0 at both ends.

_PEAKS = 15.0 / 8.0, 10.0 / math.sqrt(3.0), 60.0  # of velocity, acceleration and jerk
_STEP = 0.05  # s between waypoints
_FEWEST, _MOST = 20, 2000  # intervals


def rest_to_rest(
    start: np.ndarray, goal: np.ndarray, duration: float, *limits: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Times (n,) from 0 s, and positions (n, joints) from ``start`` to ``goal``, both (joints,).

    The motion takes ``duration`` seconds, or longer if the limits require it: those of velocity,
    acceleration and jerk (joints,), which may be infinite. Intervals last whole nanoseconds.
    """
    change = goal - start
    for order, (peak, limit) in enumerate(zip(_PEAKS, limits, strict=True), 1):
        shortest = (peak * np.abs(change) / limit) ** (1.0 / order)
        duration = max(duration, float(shortest.max()))
    count = int(np.clip(math.ceil(duration / _STEP), _FEWEST, _MOST))
    times = math.ceil(duration / count * NANO) / NANO * np.arange(count + 1)
    u = np.linspace(0.0, 1.0, count + 1)
    positions = start + (u**3 * (10.0 - 15.0 * u + 6.0 * u**2))[:, None] * change
    positions[-1] = goal
    return times, positions
