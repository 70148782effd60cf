# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What samples say of the share of configurations in which two links meet."""

from __future__ import annotations

from scipy.stats import beta


def share_bounds(meets: int, samples: int, confidence: float) -> tuple[float, float]:
    """Lower and upper bound of a share of which ``meets`` of ``samples`` were seen.

    Each alone holds with ``confidence`` (Clopper and Pearson, Biometrika 26, 1934, one-sided). With
    none seen the upper one is 1 - (1 - confidence) ** (1 / samples): 3 / samples at 95 %, the rule
    of three.
    """
    low, high = 0.0, 1.0
    if meets > 0:
        low = float(beta.ppf(1.0 - confidence, meets, samples - meets + 1))
    if meets < samples:
        high = float(beta.ppf(confidence, meets + 1, samples - meets))
    return low, high
