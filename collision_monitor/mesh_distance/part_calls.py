# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Calls by address: a large query about two parts is compiled once, and not in each caller.

Numba links the code of all callees into a kernel and optimises it again: ten times in a chain of
ten calls. A C callback (`numba.cfunc`) is compiled separately. Addresses are valid in one process
only, so every query passes them on.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.typing import Signature
from numba.extending import intrinsic

from collision_monitor.common.array_views import Window
from collision_monitor.common.compiled import inlined_kernel
from collision_monitor.mesh_distance.parts import INTEGERS_OF_SHAPES, Shapes

INTEGERS, FLOATS = Window(types.int64), Window(types.float64)


def named(kind: type, **of: types.Type) -> types.NamedTuple:
    """Numba's type of a NamedTuple, from the types of its fields."""
    return types.NamedTuple([of[field] for field in kind._fields], kind)


def caller(signature: Signature) -> Callable:
    """Return a function for kernels that calls a callback: ``call(address, arguments)``.

    ``address`` from `compiled.callback_address`; ``arguments`` is a tuple that matches
    ``signature``.
    """

    @intrinsic
    def call(typing_context, address, arguments):
        def generate(context, builder, types_here, values):
            place, packed = values
            given = [
                context.cast(builder, builder.extract_value(packed, k), kind, expected)
                for k, (kind, expected) in enumerate(
                    zip(types_here.args[1], signature.args, strict=True)
                )
            ]
            expected = [context.get_value_type(kind) for kind in signature.args]
            code = ir.FunctionType(context.get_value_type(signature.return_type), expected)
            return builder.call(builder.inttoptr(place, code.as_pointer()), given)

        return signature.return_type(address, arguments), generate

    return call


CALLS = 3
# The order of their addresses in the argument of `parts.data_of`.
_PART_DISTANCE, _HOLDS, _LIST_CONTACTS = map(np.int64, range(CALLS))

_INDEX, _NUMBER, _YES = types.int64, types.float64, types.boolean
_NUMBERS, _INDICES = (types.Array(kind, 1, "C") for kind in (_NUMBER, _INDEX))
_DATA = types.Tuple((_NUMBERS, _INDICES, _NUMBERS, _INDEX, _INDICES))
_SHAPES = named(
    Shapes, **{f: INTEGERS if f in INTEGERS_OF_SHAPES else FLOATS for f in Shapes._fields}
)
_PARTS = (_DATA, _SHAPES, _INDEX, _INDEX, FLOATS)  # data, shapes, part, part, pose

# Signatures of `part_distance.part_distance` and `holds`, and of `crossings.list_contacts`.
PART_DISTANCE = types.Tuple((_NUMBER, _INDEX, _INDEX))(
    *_PARTS, _INDEX, _INDEX, _NUMBER, _NUMBER, _YES, FLOATS
)
HOLDS = _YES(*_PARTS)
LIST_CONTACTS = _INDEX(*_PARTS, INTEGERS)

_part_distance, _holds, _list_contacts = map(caller, (PART_DISTANCE, HOLDS, LIST_CONTACTS))


@inlined_kernel
def call_part_distance(data, shapes, i, j, pose, row_a, row_b, limit, enough, search, points):
    """`part_distance.part_distance`."""
    return _part_distance(
        data[4][_PART_DISTANCE],
        (data, shapes, i, j, pose, row_a, row_b, limit, enough, search, points),
    )


@inlined_kernel
def call_holds(data, shapes, i, j, pose):
    """`part_distance.holds`."""
    return _holds(data[4][_HOLDS], (data, shapes, i, j, pose))


@inlined_kernel
def call_list_contacts(data, shapes, i, j, pose, out):
    """`crossings.list_contacts`."""
    return _list_contacts(data[4][_LIST_CONTACTS], (data, shapes, i, j, pose, out))
