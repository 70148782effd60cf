# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Two-dimensional windows into a packed array that cost nothing.

A numba slice of an array counts references with atomic instructions, twice per
slice: with a dozen slices that is half of a query's time. These windows
own nothing, so nothing is counted. They must not outlive the call that made
them, and no kernel returns one.
"""

from __future__ import annotations

from numba.core import types
from numba.extending import intrinsic
from numba.np import arrayobj


@intrinsic
def borrow(typing_context, array, offset, rows, columns):
    """(rows, columns) window of the contiguous 1-D ``array`` from ``offset`` on."""
    window = types.Array(array.dtype, 2, "C")
    signature = window(array, types.intp, types.intp, types.intp)

    def generate(context, builder, signature, arguments):
        source_value, first, row_count, column_count = arguments
        source = arrayobj.make_array(signature.args[0])(context, builder, source_value)
        result = arrayobj.make_array(signature.return_type)(context, builder)
        item_size = context.get_constant(
            types.intp, context.get_abi_sizeof(context.get_data_type(array.dtype))
        )
        arrayobj.populate_array(
            result,
            data=builder.gep(source.data, [first]),
            shape=[row_count, column_count],
            strides=[builder.mul(column_count, item_size), item_size],
            itemsize=item_size,
            meminfo=None,
        )
        return result._getvalue()

    return signature, generate


@intrinsic
def lend(typing_context, array):
    """The same array, not counted."""

    def generate(context, builder, signature, arguments):
        source = arrayobj.make_array(signature.args[0])(context, builder, arguments[0])
        result = arrayobj.make_array(signature.return_type)(context, builder)
        arrayobj.populate_array(
            result,
            data=source.data,
            shape=source.shape,
            strides=source.strides,
            itemsize=source.itemsize,
            meminfo=None,
        )
        return result._getvalue()

    return array(array), generate
