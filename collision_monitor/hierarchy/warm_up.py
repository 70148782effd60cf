# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Compiles the queries for one configuration before they are needed.

Compiling takes seconds. `distance`, and what loading runs, is compiled while a robot is loaded, the
other queries when a monitor is made, never when a joint state comes. Everything else compiles
at its first call.
"""

from __future__ import annotations

import logging
import time

import numpy as np

from collision_monitor.common.compiled import compiling, is_on_disk
from collision_monitor.hierarchy import query
from collision_monitor.hierarchy.packed import View, pack

logger = logging.getLogger(__name__)


def empty_model() -> tuple[np.ndarray, np.ndarray]:
    """(numbers, index) of a model without joints and leaves: kernels are the same for all."""
    none = np.empty(0, dtype=np.int64)
    view = View(
        joint_table=none.reshape(0, 3),
        leaf_bodies=none.reshape(0, 1),
        nodes=none.reshape(0, 2),
        open_bits=none.reshape(0, 1),
        links=none.reshape(0, 2),
        pairs=none.reshape(0, 2),
        warm_start=np.array([[-1, -1]]),
        joint_motion=np.empty((0, 2)),
        placements=np.empty((0, 12)),
        poses=np.zeros((1, 12)),
        leaf_ends=np.empty((0, 6)),
        radii=np.empty((0, 1)),
        ends=np.empty((0, 6)),
        boxes=np.empty((0, 6)),
        moving_leaves=0,
        moving_nodes=0,
    )
    return pack(view)


def warm_up() -> None:
    """Compile what loading and the first distance run, or load it from disk; the log says why."""
    compile_now = not is_on_disk(query.distance)
    if compile_now:
        logger.info("compiling kernels; this takes some seconds, once")
    begin = time.monotonic()
    numbers, index = empty_model()
    q = np.empty(0)
    with compiling(query.distance):
        query.place_all(numbers, index)
        query.contacts(numbers, index, q, 0.0, np.empty((2, 2), dtype=np.int64))
        query.distance(numbers, index, q)
    if compile_now:
        logger.info("kernels compiled in %.1f s", time.monotonic() - begin)


def warm_up_for_states() -> None:
    """Compile the other queries for one configuration: no joint state of a monitor waits for it."""
    numbers, index = empty_model()
    q = np.empty(0)
    with compiling(query.pair_distances):
        query.leaf_segments(numbers, index, q, np.empty((0, 6)))
        query.pair_distances(numbers, index, q.reshape(1, 0), np.empty((1, 0)))
