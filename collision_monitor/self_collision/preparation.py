# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Checks desired motions, inserts waypoints, and adds the other joints of the robot."""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.errors import ConfigurationError, MotionError
from collision_monitor.motion.trajectory import Motion
from collision_monitor.verification.clearance.schedule import rest_configuration

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

_COARSE = 0.15  # rad or m: waypoints are inserted between those farther apart
_FINE = 0.1
_ROUNDING = 1e-6  # rad or m beyond a position limit that counts as rounding
_START_TOLERANCE = 0.01  # rad or m by which a robot may start beyond a position limit: sensor noise


def checked(model: CollisionModel, motion: Motion) -> Motion:
    """The motion with its values as arrays.

    Raises:
        MotionError: no waypoints, wrong shapes, times that do not increase, values that are not
            finite, duplicate or unknown joints.
    """
    names = tuple(motion.joint_names)
    try:
        times = np.array(motion.times, dtype=float)
        positions = np.array(motion.positions, dtype=float)
    except (TypeError, ValueError) as error:
        raise MotionError(f"times and positions are not arrays of numbers: {error}") from None
    if times.ndim != 1 or positions.shape != (len(times), len(names)):
        raise MotionError(
            f"times of shape {times.shape} and positions of shape {positions.shape} for "
            f"{len(names)} joints, not (n,) and (n, {len(names)})"
        )
    if not len(times):
        raise MotionError("the motion has no waypoints")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise MotionError(f"the motion names '{twice[0]}' twice")
    unknown = [name for name in names if name not in model.joint_names]
    if unknown:
        raise MotionError(
            f"'{model.name}' has no joint {', '.join(map(repr, unknown))}; it has "
            f"{', '.join(model.joint_names)}"
        )
    for k, (time, row) in enumerate(zip(times, positions, strict=True)):
        if not np.isfinite(time):
            raise MotionError(f"waypoint {k}: its time is {time}")
        if k and time <= times[k - 1]:
            raise MotionError(f"waypoint {k}: time {time:g} does not increase")
        if not np.isfinite(row).all():
            column = int(np.isfinite(row).argmin())
            raise MotionError(
                f"waypoint {k} at {time:g} s: joint '{names[column]}' is at {row[column]}"
            )
    return Motion(names, times, positions)


def refined(motion: Motion, times: int = 1) -> Motion:
    """The motion with waypoints inserted where they are more than `_COARSE` apart.

    ``times``: additionally divide each moving segment into this many.
    """
    if len(motion.times) < 2:
        return motion
    steps = np.abs(np.diff(motion.positions, axis=0)).max(axis=1, initial=0.0)
    counts = np.where(steps > _COARSE, np.ceil(steps / _FINE), 1).astype(int)
    counts = np.where(steps > 0.0, counts * times, counts)
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


def configurations(model: CollisionModel, motion: Motion, held: Mapping[str, float]) -> np.ndarray:
    """(n, nq) positions of all joints of the model along a `checked` motion.

    ``held``: positions of joints that the motion does not name; the others as in
    `rest_configuration`.

    Raises:
        MotionError: a position beyond the limits.
        ConfigurationError: ``held`` has an unknown joint, or a value that is not a number.
    """
    rows = _all_joints(model, motion, held)
    beyond = np.maximum(model.lower - rows, rows - model.upper)
    if (beyond > _ROUNDING).any():
        k, column = np.unravel_index(int(beyond.argmax()), beyond.shape)
        raise MotionError(
            f"waypoint {k} at {motion.times[k]:g} s: joint '{model.joint_names[column]}' is at "
            f"{rows[k, column]:g}, beyond its limits {model.lower[column]:g} to "
            f"{model.upper[column]:g}"
        )
    return rows


def _all_joints(model: CollisionModel, motion: Motion, held: Mapping[str, float]) -> np.ndarray:
    rest = rest_configuration(model, held)
    rows = np.repeat(rest[None, :], len(motion.times), axis=0)
    rows[:, [model.joint_names.index(name) for name in motion.joint_names]] = motion.positions
    return rows


def standing(model: CollisionModel, motion: Motion, held: Mapping[str, float]) -> CollisionModel:
    """The model with position limits extended to the start of a `checked` motion.

    Sensors may report a robot slightly beyond a limit. A start position beyond a limit by at most
    `_START_TOLERANCE` replaces the limit.

    Raises:
        ConfigurationError: as `configurations`.
    """
    start = Motion(motion.joint_names, motion.times[:1], motion.positions[:1])
    q = _all_joints(model, start, held)[0]
    beyond = np.maximum(model.lower - q, q - model.upper)
    off = (beyond > 0.0) & (beyond <= _START_TOLERANCE)
    if not off.any():
        return model
    model = copy.copy(model)
    model.lower = np.where(off, np.minimum(model.lower, q), model.lower)
    model.upper = np.where(off, np.maximum(model.upper, q), model.upper)
    return model


def within(
    model: CollisionModel, position_limits: Mapping[str, tuple[float, float]] | None
) -> CollisionModel:
    """A copy of the model with tighter position limits.

    Raises:
        ConfigurationError: an unknown joint, not two numbers, or an empty range.
    """
    if not position_limits:
        return model
    model = copy.copy(model)
    model.lower, model.upper = model.lower.copy(), model.upper.copy()
    for name, (lower, upper) in position_limits.items():
        if name not in model.joint_names:
            raise ConfigurationError(f"position_limits: '{model.name}' has no joint '{name}'")
        k = model.joint_names.index(name)
        own = model.lower[k], model.upper[k]
        model.lower[k], model.upper[k] = max(own[0], lower), min(own[1], upper)
        if math.isnan(lower) or math.isnan(upper) or model.lower[k] > model.upper[k]:
            raise ConfigurationError(
                f"position_limits: {name}: {lower:g} .. {upper:g} does not overlap the "
                f"limits of the robot, {own[0]:g} .. {own[1]:g}"
            )
    return model
