# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The linear repulsion field between two links."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class LinearField:
    """The repulsion f between two links at a distance of d metres.

        f(d) = 0                  d >  safe
        f(d) = slope (safe - d)   danger <= d <= safe
        f(d) = infinite           d <  danger: motion must stop

    The sum F of all f is the index of a configuration: a motion is free of self-collision only if
    F = 0 at every instant. Wu Changzheng et al., J. Shanghai Jiao Tong University 52(1), 2018,
    45-53. The caller chooses the distance: between the segments of the paper, or between surfaces
    (smaller by both radii; ``danger`` may then be zero or negative).

    Attributes:
        safe: d_saf, for both arms together, metres.
        danger: d_dan, for both arms together, metres.
        slope: s, in newton per metre if f is a force; any unit is possible.

    Raises:
        ValueError: a value is not finite, danger is above safe, or the slope is not positive.
    """

    safe: float
    danger: float
    slope: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what means nothing."""
        for name in ("safe", "danger", "slope"):
            value = getattr(self, name)
            if not math.isfinite(value):
                raise ValueError(f"{name}: {value!r} is not a finite number")
        if self.danger > self.safe:
            raise ValueError(
                f"danger: {self.danger!r} m is above safe, {self.safe!r} m; the distance at "
                "which motion must stop is the smaller one"
            )
        if self.slope <= 0.0:
            raise ValueError(f"slope: {self.slope!r} repels nothing; a positive number is needed")

    @classmethod
    def of_arms(
        cls,
        safe_right: float,
        safe_left: float,
        danger_right: float,
        danger_left: float,
        slope: float = 1.0,
    ) -> LinearField:
        """The field between two arms with their own distances in metres, which are added.

        Raises:
            ValueError: a distance is negative or not finite, danger is above safe for an arm, or
                the slope is not positive.
        """
        arms = {"right": (safe_right, danger_right), "left": (safe_left, danger_left)}
        for arm, (safe, danger) in arms.items():
            for name, value in (("safe", safe), ("danger", danger)):
                if not (math.isfinite(value) and value >= 0.0):
                    raise ValueError(
                        f"{name}_{arm}: {value!r} is not a distance in metres, zero or more"
                    )
            if danger > safe:
                raise ValueError(
                    f"danger_{arm}: {danger!r} m is above safe_{arm}, {safe!r} m; it must not be"
                )
        return cls(safe_right + safe_left, danger_right + danger_left, slope)

    def force(self, distance: float | np.ndarray) -> float | np.ndarray:
        """The repulsion at ``distance`` in metres, with the shape of ``distance``.

        It is infinite below ``danger`` and for NaN: an unknown distance is not safe.
        """
        d = np.asarray(distance, dtype=float)
        inside = np.where(d >= self.danger, self.slope * (self.safe - d), np.inf)
        force = np.where(d > self.safe, 0.0, inside)
        return force if force.ndim else float(force)

    def index(self, distances: np.ndarray) -> float:
        """The index F: the sum of f over ``distances`` of any shape, metres."""
        return float(np.sum(self.force(distances)))
