# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Settings of adjustments, for `adjust`, the command ``adjust`` and the node ``self_collision``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real

from collision_monitor.common.settings import check_settings, setting
from collision_monitor.errors import ConfigurationError

METHODS = ("robust", "published", "field")  # published: the former name of field
YIELDING = ("both", "left", "right")  # of two arms; the name of an arm is also valid
RATE_LIMITS = ("velocity_limits", "acceleration_limits", "jerk_limits")


def _is_limit(value: object) -> bool:
    """Whether a value is a number above 0, which may be infinite."""
    if isinstance(value, (str, bytes)) or getattr(value, "ndim", 0):
        return False
    try:
        return float(value) > 0.0  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False


def limit_of(
    limits: Mapping[str, float] | float | None, joint: str, otherwise: float = math.inf
) -> float:
    """The limit of a joint, of limits as in `AdjustmentSettings`; ``otherwise`` without one."""
    if isinstance(limits, Mapping):
        return limits.get(joint, otherwise)
    return otherwise if limits is None else limits


@dataclass(frozen=True)
class AdjustmentSettings:
    """How `adjust` changes a motion.

    Attributes:
        safe_distance: d_saf.
        danger_distance: d_dan; a motion that starts closer is rejected.
        method: ``field`` is the linear repulsion field (Wu et al., 2018, with its printed errors
            corrected).
        every_pair: whether the result of ``field`` must be certified for all pairs that ``robust``
            checks, and is rejected otherwise: this method moves an arm away from the other arm
            only.
        tip_weight: rad/m; ``robust`` only. Redundant joints then move first.
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

    # fmt: off
    safe_distance: float = setting(
        0.1, "minimum distance of the arms from each other and from everything else, metres "
        "between leaves", most=10.0)
    danger_distance: float = setting(
        0.05, "a motion that begins closer than this is refused, and the node self_collision is "
        "ERROR and holds arms that are closer to each other, metres; at most safe_distance",
        most=10.0)
    method: str = setting(
        "robust", "how trajectories are adjusted: robust (all pairs at once, certified), or field "
        "(the repulsion field, arm against arm, as in the paper; also called published)",
        choices=METHODS)
    every_pair: bool = False
    yielding: str = setting(
        "both", "which arm gives way: both for all, left or right of two, or its name")
    tip_weight: float = setting(  # with more than this, joint displacement is negligible
        0.0, "cost of a metre of tip displacement relative to a radian of joint displacement; "
        "higher values keep the tips closer to their path", most=1e6)
    # fmt: on
    acceleration_limits: Mapping[str, float] | float | None = None
    velocity_limits: Mapping[str, float] | float | None = None
    jerk_limits: Mapping[str, float] | float | None = None
    position_limits: Mapping[str, tuple[float, float]] | None = None
    retime: bool = True
    leaving: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the values."""
        check_settings(self, ConfigurationError)
        if self.danger_distance > self.safe_distance:
            raise ConfigurationError(
                f"danger_distance: {self.danger_distance!r} m is above safe_distance, "
                f"{self.safe_distance!r} m"
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
