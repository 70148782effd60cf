# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How tightly leaves are fitted."""

from __future__ import annotations

import math
from dataclasses import dataclass

from collision_monitor.errors import FitError


@dataclass(frozen=True)
class FitSettings:
    """Budget and aim of a fit.

    Attributes:
        max_leaves_per_link: leaves of a link at most, shared by its shapes (each has
            one at least); 1 gives the capsule or sphere of least volume. The links of a robot
            have three quarters of it in the mean at most.
        leaf_tolerance: metres by which leaves may stand off the mesh in the mean, all around
            and where other links come near; no more leaves are added once they do.

    Raises:
        FitError: a value that means nothing.
    """

    max_leaves_per_link: int = 8
    leaf_tolerance: float = 0.002

    def __post_init__(self) -> None:
        """Refuse what means nothing."""
        count, tolerance = self.max_leaves_per_link, self.leaf_tolerance
        if not (isinstance(count, int) and 1 <= count <= 64):
            raise FitError(f"max_leaves_per_link: {count!r} is not an integer from 1 to 64")
        if not (math.isfinite(tolerance) and tolerance >= 0.0):
            raise FitError(f"leaf_tolerance: {tolerance!r} is not a length in metres, 0 or more")
