# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Settings of a monitor and of its speed policy, and of single joints and pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from collision_monitor.common.limits import LARGEST_OF_JOINT, SMALLEST_DECELERATION
from collision_monitor.common.settings import check_settings, setting
from collision_monitor.common.text import MOST_NAMED, shortened
from collision_monitor.errors import BehaviourError, ThresholdsError
from collision_monitor.model.thresholds import STOP_DISTANCE, WARN_DISTANCE, Rule

# Each needs the kernels of those before it.
NARROW_PHASES = ("leaf", "auto")


@dataclass(frozen=True)
class MonitorSettings:
    """What a `Monitor` may be told, with the defaults of library and node."""

    warn_distance: float = setting(
        WARN_DISTANCE,
        "WARN and slow down when the distance of two links is at or below this, metres",
        most=10.0,
    )
    stop_distance: float = setting(
        STOP_DISTANCE,
        "ERROR and stop when the distance of two links is at or below this, metres; at most "
        "warn_distance",
        most=10.0,
    )
    narrow_phase: str = setting(
        "auto",
        "geometry for distances: 'auto': triangles where capsules and spheres are within "
        "warn_distance, or hold a level, in bounded time; 'leaf': capsules and spheres only, which "
        "are nearer than the meshes. A node started with 'leaf' cannot be changed to 'auto' at run "
        "time: it needs more kernels",
        choices=NARROW_PHASES,
    )
    joint_state_timeout: float = setting(
        0.5,
        "STALE when the position of any joint is older than this, seconds; 0 disables the "
        "watchdog, which is unsafe and logged as a warning",
        most=60.0,
    )
    zero_state_confirmation: float = setting(
        0.3,
        "an all-zero joint state is accepted only after it has repeated for this time, seconds, "
        "and ten times as long after a loss of data, a change of publishers or a jump, if the "
        "robot was elsewhere",
        most=60.0,
    )


# -- speed policy --

# Cycles for which a level may be held: the kernel keeps the scales of so many.
MOST_CYCLES = 100


@dataclass(frozen=True)
class SpeedSettings:
    """Settings of the speed policy, besides distances and thresholds.

    Raises:
        BehaviourError: a value is out of its range.
    """

    # fmt: off
    prediction: bool = setting(
        True, "slow down and stop based on the clearance along the braking path, not only on the "
        "current one")
    reaction_time: float = setting(
        0.05, "time from a joint state until the robot begins to brake on command, seconds",
        most=5.0)
    parting_speed: float = setting(
        0.005, "two links count as moving away when their distance grows faster than this, m/s",
        most=10.0)
    escape_scale: float = setting(
        0.25, "largest ~/speed_scale while links within their stop distance move away", most=1.0)
    release_distance: float = setting(
        0.005, "hysteresis: a level is left only when the distance exceeds its threshold by this, "
        "metres, or by an eighth of the pair's warning distance if that is less", most=1.0)
    release_cycles: int = setting(
        5, "number of consecutive joint states that must allow it before a level is left and the "
        "scale rises", most=MOST_CYCLES)
    rise_time: float = setting(
        1.0, "minimum time for ~/speed_scale to rise from 0 to 1, seconds; it falls immediately",
        most=60.0)
    velocity_window: float = setting(
        0.05, "seconds of joint states from which velocities are estimated", positive=True)
    resolution: float = setting(
        0.001, "metres to which the clearance on the braking path is certified", positive=True)
    # fmt: on

    def __post_init__(self) -> None:
        """Check all values."""
        check_settings(self, BehaviourError)


# -- single joints: how fast they brake --

# By default a joint stops from its velocity limit in half a second, within bounds for URDFs with
# unrealistic limits; a joint without a limit brakes softly.
STOPPING_SECONDS = 0.5
_LEAST, _MOST, _UNLIMITED = 0.5, 10.0, 1.0
_DECELERATIONS = f"from {SMALLEST_DECELERATION:g} to {LARGEST_OF_JOINT:g} (rad/s^2 or m/s^2)"


def default_decelerations(velocity_limits: np.ndarray) -> np.ndarray:
    """Default decelerations (nq,), rad/s^2 or m/s^2.

    The velocity limit divided by half a second, at least 0.5 and at most 10; 1 without a limit.
    """
    bounded = np.clip(velocity_limits / STOPPING_SECONDS, _LEAST, _MOST)
    return np.where(np.isfinite(velocity_limits), bounded, _UNLIMITED)


def checked_decelerations(joint_names: Sequence[str], values: np.ndarray) -> np.ndarray:
    """Decelerations (nq,) of the joints of q, contiguous; rad/s^2 or m/s^2.

    Raises:
        BehaviourError: they are not one for each joint, from 0.001 to 1e9. With others there is no
            braking path: one below 0 would look like a robot that stops at once.
    """
    out = np.ascontiguousarray(values, dtype=float)
    if out.shape != (len(joint_names),):
        raise BehaviourError(
            f"decelerations: shape {out.shape}; one for each of {len(joint_names)} joints is needed"
        )
    for name, value in zip(joint_names, out.tolist(), strict=True):
        if not SMALLEST_DECELERATION <= value <= LARGEST_OF_JOINT:
            raise BehaviourError(
                f"decelerations: {value:g} of joint '{name}' is not a number {_DECELERATIONS}"
            )
    return out


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
            if not SMALLEST_DECELERATION <= out[column] <= LARGEST_OF_JOINT:
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
        if not SMALLEST_DECELERATION <= value <= LARGEST_OF_JOINT:
            raise BehaviourError(
                f"braking_decelerations: {entry!r}: {text!r} is not a number {_DECELERATIONS}"
            )
        hits = [k for k, name in enumerate(joint_names) if fnmatchcase(name, pattern)]
        if not hits:
            raise BehaviourError(
                f"braking_decelerations: {entry!r} matches no joint; the joints are "
                f"{shortened(joint_names, MOST_NAMED)}"
            )
        out[hits] = value
    return out


# -- single pairs: their thresholds --

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
