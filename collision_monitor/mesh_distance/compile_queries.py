# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Prepares exact queries: compiles them, with the addresses of the kernels that they call."""

from __future__ import annotations

import logging
import time
from functools import cache

import numpy as np
from numba import typeof, types

from collision_monitor.common.compiled import compiling, is_on_disk
from collision_monitor.common.far_call import FLOATS, INTEGERS, addresses, named
from collision_monitor.hierarchy.warm_up import empty_model
from collision_monitor.mesh_distance import contact_triangles, deepest_contacts, nearest_query
from collision_monitor.mesh_distance.contact_depth import list_contacts, part_depth, part_way_out
from collision_monitor.mesh_distance.packed_parts import Shapes, new_state, pack_shapes
from collision_monitor.mesh_distance.part_distance import holds, part_distance

logger = logging.getLogger(__name__)

_INTEGER_WINDOWS = ("links", "parts", "leaf_links", "closed")


@cache
def calls(depths: bool) -> np.ndarray:
    """Addresses, in this process, of the kernels that exact queries call by address.

    Those that only depths of contacts need are 0 without ``depths``.
    """
    number, whole = types.float64, types.int64
    numbers, index = types.Array(number, 1, "C"), types.Array(whole, 1, "C")
    data = types.Tuple((numbers, index, numbers, whole, index))
    shapes = named(
        Shapes,
        **{f: INTEGERS if f in _INTEGER_WINDOWS else FLOATS for f in Shapes._fields},
    )
    parts = (data, shapes, whole, whole, FLOATS)
    for_distances = [
        (part_distance, (*parts, whole, whole, number, types.boolean, FLOATS)),
        (holds, parts),
        (list_contacts, (*parts, INTEGERS)),
    ]
    for_depths = [
        (part_way_out, (*parts, FLOATS, FLOATS, *(number,) * 4, types.boolean, number, whole)),
        (part_depth, (*parts, *(number,) * 5, FLOATS)),
    ]
    if depths:
        return addresses(for_distances + for_depths)
    return np.r_[addresses(for_distances), np.zeros(len(for_depths), dtype=np.int64)]


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
    nearest_query.exact_bounds(*arrays, none, np.empty(0, np.int64), none, 0.0, none, none)
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
