# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Makes exact queries ready: addresses of what they call, and everything compiled."""

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
def calls() -> np.ndarray:
    """Addresses, in this process, of the kernels that exact queries call by address."""
    number, whole = types.float64, types.int64
    numbers, index = types.Array(number, 1, "C"), types.Array(whole, 1, "C")
    data = types.Tuple((numbers, index, numbers, whole, index))
    shapes = named(
        Shapes,
        **{f: INTEGERS if f in _INTEGER_WINDOWS else FLOATS for f in Shapes._fields},
    )
    parts = (data, shapes, whole, whole, FLOATS)
    return addresses(
        [
            (part_distance, (*parts, whole, whole, number, types.boolean, FLOATS)),
            (holds, parts),
            (list_contacts, (*parts, INTEGERS)),
            (
                part_way_out,
                (*parts, FLOATS, FLOATS, *(number,) * 4, types.boolean, number, whole),
            ),
            (part_depth, (*parts, *(number,) * 5, FLOATS)),
        ]
    )


def prepare() -> None:
    """Compile every exact query, or load it from disk; the log says why it takes long."""
    compile_now = not is_on_disk(nearest_query.exact_distance)
    if compile_now:
        logger.info("compiling kernels of exact distances; this takes some seconds, once")
    begin = time.monotonic()
    with compiling(contact_triangles.list_crossings):
        _compile_all()
    if compile_now:
        logger.info("kernels of exact distances compiled in %.1f s", time.monotonic() - begin)


def _compile_all() -> None:
    none = np.empty(0)
    shapes = pack_shapes(
        {name: none for name in Shapes._fields if name != "parts"} | {"parts": np.empty((0, 8))}, []
    )
    arrays = (*empty_model(), *shapes, *new_state(0, np.empty((0, 2), dtype=np.int64), 0), calls())
    nearest_query.exact_distance(*arrays, none)
    nearest_query.exact_distances(*arrays, none, np.inf, none)
    nearest_query.exact_bounds(*arrays, none, np.empty(0, np.int64), np.inf, 0.0, none, none)
    deepest_contacts.deepest_pair(*arrays, 0, 0.0)
    deepest_contacts.depths(*arrays, 0, none)
    # Compiled, not called: there are no links to ask about.
    rows = np.empty((1, 2), dtype=np.int64), np.empty((1, 18))
    contact_triangles.list_crossings.compile(tuple(map(typeof, (*arrays, none, 0, 0, *rows))))
