# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Calls of the large queries about two parts by address, so that each is compiled once."""

from __future__ import annotations

import numpy as np
from numba import types

from collision_monitor.common.call_by_address import FLOATS, INTEGERS, caller, named
from collision_monitor.common.compiled import inlined_kernel
from collision_monitor.mesh_distance.packed_parts import Shapes

_PART_DISTANCE, _HOLDS, _LIST_CONTACTS, _WAY_OUT, _PART_DEPTH = map(np.int64, range(5))
# Their addresses are in this order in what `packed_parts.data_of` is given.
CALLS = 5

_INDEX, _NUMBER, _YES = types.int64, types.float64, types.boolean
_NUMBERS, _INDICES = types.Array(_NUMBER, 1, "C"), types.Array(_INDEX, 1, "C")
_DATA = types.Tuple((_NUMBERS, _INDICES, _NUMBERS, _INDEX, _INDICES))
_INTEGERS = ("links", "parts", "leaf_links", "closed")
_SHAPES = named(Shapes, **{f: INTEGERS if f in _INTEGERS else FLOATS for f in Shapes._fields})
_PARTS = (_DATA, _SHAPES, _INDEX, _INDEX, FLOATS)  # data, shapes, part, part, pose

# Types of `part_distance.part_distance` and `holds`, and of those of `contact_depth.py`.
PART_DISTANCE = types.Tuple((_NUMBER, _INDEX, _INDEX))(
    *_PARTS, _INDEX, _INDEX, _NUMBER, _YES, FLOATS
)
HOLDS = _YES(*_PARTS)
LIST_CONTACTS = _INDEX(*_PARTS, INTEGERS)
WAY_OUT = types.Tuple((_NUMBER, _INDEX))(
    *_PARTS, FLOATS, FLOATS, *(_NUMBER,) * 4, _YES, _NUMBER, _INDEX
)
PART_DEPTH = types.Tuple((_NUMBER, _INDEX, _INDEX))(*_PARTS, *(_NUMBER,) * 5, FLOATS)

_part_distance, _holds, _list_contacts, _part_way_out, _part_depth = map(
    caller, (PART_DISTANCE, HOLDS, LIST_CONTACTS, WAY_OUT, PART_DEPTH)
)


@inlined_kernel
def call_part_distance(data, shapes, i, j, pose, row_a, row_b, limit, search, points):
    """`part_distance.part_distance`."""
    return _part_distance(
        data[4][_PART_DISTANCE], (data, shapes, i, j, pose, row_a, row_b, limit, search, points)
    )


@inlined_kernel
def call_holds(data, shapes, i, j, pose):
    """`part_distance.holds`."""
    return _holds(data[4][_HOLDS], (data, shapes, i, j, pose))


@inlined_kernel
def call_list_contacts(data, shapes, i, j, pose, out):
    """`contact_depth.list_contacts`."""
    return _list_contacts(data[4][_LIST_CONTACTS], (data, shapes, i, j, pose, out))


@inlined_kernel
def call_part_way_out(
    data, shapes, i, j, pose, first, second, start, x, y, z, anywhere, limit, looks
):
    """`contact_depth.part_way_out`."""
    return _part_way_out(
        data[4][_WAY_OUT],
        (data, shapes, i, j, pose, first, second, start, x, y, z, anywhere, limit, looks),
    )


@inlined_kernel
def call_part_depth(data, shapes, i, j, pose, enough, most, nx, ny, nz, points):
    """`contact_depth.part_depth`."""
    return _part_depth(
        data[4][_PART_DEPTH], (data, shapes, i, j, pose, enough, most, nx, ny, nz, points)
    )
