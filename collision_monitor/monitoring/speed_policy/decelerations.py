# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How hard each joint brakes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

import numpy as np

from collision_monitor.errors import BehaviourError

# Without better knowledge a joint stops from its velocity limit in half a second, within bounds
# for URDFs whose limits are made up; one without a limit brakes softly.
_STOPPING_SECONDS = 0.5
_LEAST, _MOST, _UNLIMITED = 0.5, 10.0, 1.0


def by_rule(velocity_limits: np.ndarray) -> np.ndarray:
    """Decelerations (nq,), rad/s^2 or m/s^2, where nothing else is known.

    The velocity limit over half a second, not below 0.5 and not above 10; 1 without a limit.
    """
    limits = np.asarray(velocity_limits, dtype=float)
    usable = np.isfinite(limits) & (limits > 0.0)
    ruled = np.clip(np.where(usable, limits, 1.0) / _STOPPING_SECONDS, _LEAST, _MOST)
    return np.where(usable, ruled, _UNLIMITED)


def braking_decelerations(
    joint_names: Sequence[str],
    velocity_limits: np.ndarray,
    given: Sequence[str] = (),
    limits: Mapping[str, float] | None = None,
) -> np.ndarray:
    """Decelerations (nq,) of all joints, rad/s^2 or m/s^2.

    Args:
        joint_names: of q.
        velocity_limits: (nq,), may be infinite: see `by_rule`.
        given: ``pattern=value``, such as ``left_*=3.0``; a later one counts.
        limits: of the joints of a ``joint_limits.yaml``, where nothing is given.

    Raises:
        BehaviourError: an entry that is not ``pattern=value``, names no joint, or a value that
            is not a number above 0.
    """
    out = by_rule(velocity_limits)
    for k, name in enumerate(joint_names):
        if limits and np.isfinite(limits.get(name, np.inf)):
            out[k] = limits[name]
    for entry in given:
        pattern, equals, text = (part.strip() for part in entry.partition("="))
        if not equals or not pattern:
            raise BehaviourError(
                f"braking_decelerations: {entry!r} is not of the form joint=value, such as "
                "'left_*=3.0'"
            )
        try:
            value = float(text)
        except ValueError:
            value = np.nan
        if not (np.isfinite(value) and value > 0.0):
            raise BehaviourError(
                f"braking_decelerations: {entry!r}: {text!r} is not a number above 0 (rad/s^2 or "
                "m/s^2)"
            )
        hits = [k for k, name in enumerate(joint_names) if fnmatchcase(name, pattern)]
        if not hits:
            raise BehaviourError(
                f"braking_decelerations: {entry!r} matches no joint; the joints are "
                f"{', '.join(joint_names)}"
            )
        out[hits] = value
    return out
