# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""When links touch if all joints go on as they do, by conservative advancement."""

from __future__ import annotations

import numpy as np

from collision_monitor.common.compiled import kernel
from collision_monitor.hierarchy.aabb_tree import nearest_leaves
from collision_monitor.hierarchy.packed import unpack
from collision_monitor.hierarchy.query import move


@kernel
def collision_time(numbers, index, q, velocities, speed, horizon, tolerance, budget, there):
    """Seconds until the nearest leaves are within ``tolerance`` metres; inf beyond ``horizon``.

    Never too long: no two links come nearer by more than ``speed`` m/s, so that much time passes
    untested; where ``budget`` tests do not reach as far, it is how far they reach. ``there``
    (nq,) is work space.
    """
    view = unpack(numbers, index)
    time = 0.0
    for _ in range(budget):
        for k in range(len(q)):
            there[k] = q[k] + time * velocities[k]
        move(view, there)
        distance, i, _ = nearest_leaves(view)
        if i < 0:
            return np.inf
        if distance <= tolerance:
            return time
        time += distance / speed
        if time >= horizon:
            return np.inf
    return time
