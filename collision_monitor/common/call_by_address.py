# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Calls by address: a callee is compiled once, and not again as a part of each caller.

Numba links the code of everything a kernel calls into that kernel, and optimises it all again: in a
tower of ten calls, ten times. A C callback (`numba.cfunc`) stays a thing of its own. The
addresses are those of this process, so they come in with every query.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from numba.core import types
from numba.core.typing import Signature
from numba.extending import intrinsic

from collision_monitor.common.array_views import Window

INTEGERS, FLOATS = Window(types.int64), Window(types.float64)


def named(kind: type, **of: types.Type) -> types.NamedTuple:
    """Numba's type of a NamedTuple, by the types of its fields."""
    return types.NamedTuple([of[field] for field in kind._fields], kind)


def caller(signature: Signature) -> Callable:
    """A function of kernels that calls a callback of ``signature``: ``call(address, arguments)``.

    ``address`` as `compiled.callback_address` gives it, ``arguments`` a tuple.
    """

    @intrinsic
    def call(typing_context, address, arguments):
        def generate(context, builder, types_here, values):
            place, packed = values
            given = [
                context.cast(builder, builder.extract_value(packed, k), kind, wanted)
                for k, (kind, wanted) in enumerate(
                    zip(types_here.args[1], signature.args, strict=True)
                )
            ]
            wanted = [context.get_value_type(kind) for kind in signature.args]
            code = ir.FunctionType(context.get_value_type(signature.return_type), wanted)
            return builder.call(builder.inttoptr(place, code.as_pointer()), given)

        return signature.return_type(address, arguments), generate

    return call
