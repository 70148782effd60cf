# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Calls by address: what is called is compiled once, and not again as a part of each caller.

Numba links the code of everything a kernel calls into that kernel, and optimises it all again: in a
tower of ten calls, ten times. A kernel that is called by address stays a thing of its own. The
addresses are those of this process, so they come in with every query.
"""

from __future__ import annotations

import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic

from collision_monitor.common.array_views import Window

INTEGERS, FLOATS = Window(types.int64), Window(types.float64)


def addresses(kernels: list[tuple]) -> np.ndarray:
    """Addresses of kernels, each given with numba's types of its arguments; compiles them."""
    found = []
    for kernel, kinds in kernels:
        kernel.compile(tuple(kinds))
        compiled = kernel.overloads[tuple(kinds)]
        name = compiled.fndesc.llvm_func_name
        found.append(compiled.library.get_pointer_to_function(name))
    return np.array(found, dtype=np.int64)


def named(kind: type, **of: types.Type) -> types.NamedTuple:
    """Numba's type of a NamedTuple, by the types of its fields."""
    return types.NamedTuple([of[field] for field in kind._fields], kind)


@intrinsic
def far_call(typing_context, kernel, address, arguments):
    """What ``kernel`` returns for a tuple of arguments, by its address.

    The address is that of its code for the types of these arguments, constants being int64.
    """
    kinds = tuple(types.unliteral(kind) for kind in arguments.types)
    result = kernel.get_call_type(typing_context, kinds, {}).return_type

    def generate(context, builder, signature, values):
        _, place, packed = values
        given = [
            context.cast(builder, value, kind, wanted)
            for value, kind, wanted in zip(
                cgutils.unpack_tuple(builder, packed), signature.args[2].types, kinds, strict=True
            )
        ]
        kind = context.call_conv.get_function_type(result, kinds)
        pointer = builder.inttoptr(place, kind.as_pointer())
        _, returned = context.call_conv.call_function(builder, pointer, result, kinds, given)
        return returned

    return result(kernel, address, arguments), generate
