# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Settings of adjustments, for `adjust`, the command ``adjust`` and the node ``self_collision``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real

from collision_monitor.errors import ConfigurationError

METHODS = ("robust", "published", "field")  # published: the former name of field
YIELDING = ("both", "left", "right")  # of two arms; the name of an arm is also valid
MOST_TIP_WEIGHT = 1e6  # rad/m: joint displacement is negligible then
RATE_LIMITS = ("velocity_limits", "acceleration_limits", "jerk_limits")


def is_number(value: object) -> bool:
    """Whether a value is a finite real number, and not a text."""
    try:
        return not isinstance(value, (str, bytes)) and math.isfinite(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False


def _is_limit(value: object) -> bool:
    """Whether a value is a number above 0, which may be infinite."""
    if isinstance(value, (str, bytes)) or getattr(value, "ndim", 0):
        return False
    try:
        return float(value) > 0.0  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False


def limit_of(limits: Mapping[str, float] | float | None, joint: str) -> float:
    """The limit of a joint, of limits as in `AdjustmentSettings`; inf without one."""
    if isinstance(limits, Mapping):
        return limits.get(joint, math.inf)
    return math.inf if limits is None else limits


@dataclass(frozen=True)
class AdjustmentSettings:
    """How `adjust` changes a motion.

    Attributes:
        safe_distance: d_saf, the clearance to keep between leaves, metres.
        danger_distance: d_dan; a motion that starts closer is rejected, metres.
        method: ``robust`` (all pairs, all waypoints at once) or ``field``, the linear repulsion
            field (Wu et al., 2018, with its printed errors corrected; right arm against left arm
            only). ``published`` is another name of ``field``.
        every_pair: whether the result of ``field`` must be certified for all pairs that ``robust``
            checks, and is rejected otherwise: this method moves an arm away from the other arm
            only.
        yielding: the arm that is adjusted: ``both`` for all, ``left`` or ``right`` of two, or its
            name.
        tip_weight: weight of tip displacement against joint displacement, rad/m, from 0 to 1e6;
            ``robust`` only. Redundant joints then move first.
        acceleration_limits: rad/s^2 or m/s^2 by joint, or one value for all; by default the
            velocity limit divided by half a second, or the acceleration of the desired motion if
            that is higher; none if obstacles move in the motion.
        velocity_limits: rad/s or m/s by joint, or one value for all joints of the motion; instead
            of those of the URDF.
        jerk_limits: rad/s^3 or m/s^3 by joint, or one value for all; by default there are none.
            Measured as in `verify`, but a motion may start and stop at its own speed.
        position_limits: (lower, upper) by joint, rad or m; used if tighter than those of the URDF.
        retime: whether to slow the result down where it exceeds velocity, acceleration or jerk
            limits.
        leaving: pairs of links that may start closer than d_dan, with the least distance from which
            they may, metres; ``robust`` only. They must not come more than 1 mm closer than at the
            start, and must end at least 5 mm farther apart.

    Raises:
        ConfigurationError: a value is invalid. Names of joints and arms are checked by `adjust`.
    """

    safe_distance: float = 0.1
    danger_distance: float = 0.05
    method: str = "robust"
    every_pair: bool = False
    yielding: str = "both"
    tip_weight: float = 0.0
    acceleration_limits: Mapping[str, float] | float | None = None
    velocity_limits: Mapping[str, float] | float | None = None
    jerk_limits: Mapping[str, float] | float | None = None
    position_limits: Mapping[str, tuple[float, float]] | None = None
    retime: bool = True
    leaving: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the values."""
        for name in ("safe_distance", "danger_distance"):
            value = getattr(self, name)
            if not is_number(value) or value < 0.0:
                raise ConfigurationError(
                    f"{name}: {value!r} is not a length in metres of at least 0"
                )
        if self.danger_distance > self.safe_distance:
            raise ConfigurationError(
                f"danger_distance: {self.danger_distance!r} m is above safe_distance, "
                f"{self.safe_distance!r} m"
            )
        if self.method not in METHODS:
            raise ConfigurationError(f"method: {self.method!r} is not one of {', '.join(METHODS)}")
        if not (is_number(self.tip_weight) and 0.0 <= self.tip_weight <= MOST_TIP_WEIGHT):
            raise ConfigurationError(
                f"tip_weight: {self.tip_weight!r} is not a number from 0 to {MOST_TIP_WEIGHT:g}"
            )
        for option in RATE_LIMITS:
            limits = getattr(self, option)
            each = limits if isinstance(limits, Mapping) else {"all joints": limits}
            hint = "" if isinstance(limits, (Mapping, Real)) else "; give one, or one by joint"
            for name, value in each.items() if limits is not None else ():
                if not _is_limit(value):
                    raise ConfigurationError(
                        f"{option}: {value!r} for {name} is no number above 0{hint}"
                    )
