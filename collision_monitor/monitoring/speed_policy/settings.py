# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Settings of the speed policy, and its parameters for single joints and pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase

import numpy as np

from collision_monitor.common.limits import LARGEST_RATE, SMALLEST_DECELERATION
from collision_monitor.errors import BehaviourError, ThresholdsError
from collision_monitor.model.thresholds import Rule
from collision_monitor.monitoring.speed_policy.decision_kernels import MOST_CYCLES


@dataclass(frozen=True)
class SpeedSettings:
    """Settings of the speed policy, besides distances and thresholds.

    Attributes:
        prediction: check the braking path; otherwise only the present pose.
        reaction_time: seconds from a joint state until the robot begins to brake.
        parting_speed: a pair moves away if its distance grows faster than this, m/s.
        escape_scale: speed scale while a pair within its stop distance moves away.
        release_distance: metres beyond a threshold at which a flag that it raised may fall.
        release_cycles: number of consecutive joint states after which it falls.
        rise_time: seconds in which the scale may rise from 0 to 1.
        velocity_window: seconds of joint states from which velocities are estimated.
        resolution: metres to which the clearance on the braking path is certified.

    Raises:
        BehaviourError: a value is not finite or out of its range.
    """

    prediction: bool = True
    reaction_time: float = 0.05
    parting_speed: float = 0.005
    escape_scale: float = 0.25
    release_distance: float = 0.005
    release_cycles: int = 5
    rise_time: float = 1.0
    velocity_window: float = 0.05
    resolution: float = 0.001

    def __post_init__(self) -> None:
        """Check all values."""
        for field in fields(self):
            value = getattr(self, field.name)
            if not math.isfinite(value) or value < 0.0:
                raise BehaviourError(f"{field.name}: {value!r} is not a number of 0 or more")
        if self.escape_scale > 1.0:
            raise BehaviourError(f"escape_scale: {self.escape_scale!r} is above 1")
        if not 1 <= self.release_cycles <= MOST_CYCLES:
            raise BehaviourError(
                f"release_cycles: {self.release_cycles!r} is not from 1 to {MOST_CYCLES}"
            )
        for name in ("velocity_window", "resolution"):
            if getattr(self, name) == 0.0:
                raise BehaviourError(f"{name}: must be above 0")


# By default a joint stops from its velocity limit in half a second, within bounds for URDFs with
# unrealistic limits; a joint without a limit brakes softly.
_STOPPING_SECONDS = 0.5
_LEAST, _MOST, _UNLIMITED = 0.5, 10.0, 1.0
_DECELERATIONS = f"from {SMALLEST_DECELERATION:g} to {LARGEST_RATE:g} (rad/s^2 or m/s^2)"


def default_decelerations(velocity_limits: np.ndarray) -> np.ndarray:
    """Default decelerations (nq,), rad/s^2 or m/s^2.

    The velocity limit divided by half a second, at least 0.5 and at most 10; 1 without a limit.
    """
    limits = np.asarray(velocity_limits, dtype=float)
    usable = np.isfinite(limits) & (limits > 0.0)
    bounded = np.clip(np.where(usable, limits, 1.0) / _STOPPING_SECONDS, _LEAST, _MOST)
    return np.where(usable, bounded, _UNLIMITED)


def braking_decelerations(
    joint_names: Sequence[str],
    velocity_limits: np.ndarray,
    given: Sequence[str] = (),
    limits: Mapping[str, float] | None = None,
) -> np.ndarray:
    """Decelerations (nq,) of all joints, rad/s^2 or m/s^2.

    Args:
        joint_names: the joints of q.
        velocity_limits: (nq,) rad/s or m/s, may be infinite; see `default_decelerations`.
        given: ``pattern=value``, such as ``left_*=3.0``; later entries take precedence.
        limits: by joint, of a ``joint_limits.yaml``; ``given`` takes precedence.

    Raises:
        BehaviourError: an entry is not ``pattern=value``, matches no joint, or its value is not a
            number from 0.001 to 1e9; or one of ``limits`` is not.
    """
    out = default_decelerations(velocity_limits)
    for column, name in enumerate(joint_names):
        if limits and np.isfinite(limits.get(name, np.inf)):
            out[column] = limits[name]
            if not SMALLEST_DECELERATION <= out[column] <= LARGEST_RATE:
                raise BehaviourError(
                    f"joint_limits: max_acceleration of {name} is {out[column]:g}; as a braking "
                    f"deceleration it must be {_DECELERATIONS}"
                )
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
        if not SMALLEST_DECELERATION <= value <= LARGEST_RATE:
            raise BehaviourError(
                f"braking_decelerations: {entry!r}: {text!r} is not a number {_DECELERATIONS}"
            )
        hits = [k for k, name in enumerate(joint_names) if fnmatchcase(name, pattern)]
        if not hits:
            raise BehaviourError(
                f"braking_decelerations: {entry!r} matches no joint; the joints are "
                f"{', '.join(joint_names)}"
            )
        out[hits] = value
    return out


_FLAGS = {"true": True, "false": False}


def parse_pair_thresholds(entries: Sequence[str]) -> tuple[Rule, ...]:
    """Rules from lines such as ``left_* right_* warn=0.2 stop=0.05``; empty lines are skipped.

    Raises:
        ThresholdsError: an entry is not two names and warn, stop or both, or check.
    """
    rules = []
    for index, entry in enumerate(entries):
        words = entry.split()
        if not words:
            continue
        given: dict[str, float | bool] = {}
        for word in words[2:]:
            key, equals, text = word.partition("=")
            if not equals or key not in ("warn", "stop", "check") or key in given:
                raise _invalid_rule(entry, f"{word!r} is not warn=..., stop=... or check=...")
            try:
                given[key] = _FLAGS[text.lower()] if key == "check" else float(text)
            except (KeyError, ValueError):
                what = "neither true nor false" if key == "check" else "not a number of metres"
                raise _invalid_rule(entry, f"{text!r} is {what}") from None
        if len(words) < 2 or any("=" in word for word in words[:2]) or not given:
            raise _invalid_rule(
                entry, "expected two names or patterns, then warn, stop or both, or check"
            )
        if given.get("check") is False and len(given) > 1:
            raise _invalid_rule(entry, "a pair that is not checked has neither warn nor stop")
        rules.append(Rule(" ".join(words[:2]), **given, source=f"pair_thresholds[{index}]"))
    return tuple(rules)


def _invalid_rule(entry: str, why: str) -> ThresholdsError:
    return ThresholdsError(
        f"pair_thresholds: {entry!r}: {why}; such as 'left_* right_* warn=0.2 stop=0.05'"
    )
