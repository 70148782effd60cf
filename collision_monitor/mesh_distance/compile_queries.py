# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Prepares exact queries: compiles them, with the addresses of the kernels that they call."""

from __future__ import annotations

import logging
import time
from functools import cache

import numpy as np
from numba import typeof

from collision_monitor.common.compiled import callback_address, compiling, is_on_disk
from collision_monitor.hierarchy.warm_up import empty_model
from collision_monitor.mesh_distance import (
    contact_triangles,
    deepest_contacts,
    nearest_query,
    part_calls,
)
from collision_monitor.mesh_distance.contact_depth import list_contacts, part_depth, part_way_out
from collision_monitor.mesh_distance.packed_parts import Shapes, new_state, pack_shapes
from collision_monitor.mesh_distance.part_distance import holds, part_distance

logger = logging.getLogger(__name__)


@cache
def calls(depths: bool) -> np.ndarray:
    """Addresses, in this process, of what exact queries call (`part_calls.py`).

    Those that only depths of contacts need are 0 without ``depths``.
    """
    kernels = [
        (part_distance, part_calls.PART_DISTANCE),
        (holds, part_calls.HOLDS),
        (list_contacts, part_calls.LIST_CONTACTS),
    ]
    if depths:
        kernels += [(part_way_out, part_calls.WAY_OUT), (part_depth, part_calls.PART_DEPTH)]
    found = [callback_address(kernel, signature) for kernel, signature in kernels]
    return np.array(found + [0] * (part_calls.CALLS - len(found)), dtype=np.int64)


def prepare(depths: bool) -> None:
    """Compile the exact queries, or load them from disk; the log says why it takes long.

    ``depths``: those that measure how deep shapes touch as well.
    """
    last, compile_all = (
        (deepest_contacts.depths, _compile_depths) if depths
        else (contact_triangles.list_crossings, _compile_distances)
    )  # fmt: skip
    compile_now = not is_on_disk(last)
    if compile_now:
        logger.info("compiling kernels of exact distances; this takes some seconds, once")
    begin = time.monotonic()
    with compiling(last):
        compile_all()
    if compile_now:
        logger.info("kernels of exact distances compiled in %.1f s", time.monotonic() - begin)


def _empty_arguments(depths: bool) -> tuple[np.ndarray, ...]:
    """Arguments of queries of a model without links."""
    none = np.empty(0)
    shapes = pack_shapes(
        {name: none for name in Shapes._fields if name != "parts"} | {"parts": np.empty((0, 8))}, []
    )
    state = new_state(0, np.empty((0, 2), dtype=np.int64), 0)
    return (*empty_model(), *shapes, *state, calls(depths))


def _compile_distances() -> None:
    none, arrays = np.empty(0), _empty_arguments(depths=False)
    nearest_query.exact_distance(*arrays, none, True)
    nearest_query.exact_distances(*arrays, none, np.inf, none)
    which = np.empty(0, np.int64)
    nearest_query.exact_bounds(*arrays, none, which, none, 0.0, none, none)
    nearest_query.exact_bound(*arrays, which, none, 0.0, none, none)
    # Compiled, not called: there are no links to ask about.
    numbers, index, _, _, work, work_index, _ = arrays
    nearest_query.touching_leaves.compile(
        tuple(map(typeof, (numbers, index, work, work_index, 0)))
    )
    rows = np.empty((1, 2), dtype=np.int64), np.empty((1, 18))
    contact_triangles.list_crossings.compile(tuple(map(typeof, (*arrays, none, 0, 0, *rows))))


def _compile_depths() -> None:
    none, arrays = np.empty(0), _empty_arguments(depths=True)
    deepest_contacts.deepest_pair(*arrays, 0, 0.0)
    deepest_contacts.depths(*arrays, 0, none)
