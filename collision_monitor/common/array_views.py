# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Two-dimensional windows into a packed array, without reference counts.

A numba slice of an array counts references with atomic instructions, twice per slice: with a dozen
slices this takes half the time of a query. An array also consists of nine values: passing a dozen
arrays from kernel to kernel causes most of the compiler's work. A window is an address and two
sizes. It owns no memory, so no references are counted. It supports only ``window[row, column]``, to
read or to write, and ``len(window)``, its rows. As in any kernel indices are not checked; negative
ones do not count from the end. A window must not outlive the call that made it, and cannot be
returned to Python. `work_space` makes one on the processor's stack, where no call for memory is
needed.
"""

from __future__ import annotations

import operator

from numba.core import cgutils, types
from numba.extending import intrinsic, lower_builtin, models, register_model, type_callable
from numba.np import arrayobj


class Window(types.Type):
    """Numba's type of a window on numbers of one kind."""

    def __init__(self, dtype: types.Type) -> None:
        """``dtype``: of each number."""
        self.dtype = dtype
        super().__init__(name=f"window({dtype})")


@register_model(Window)
class _WindowModel(models.StructModel):
    def __init__(self, manager, kind) -> None:
        members = [
            ("data", types.CPointer(kind.dtype)),
            ("rows", types.intp),
            ("columns", types.intp),
        ]
        super().__init__(manager, kind, members)


def _is_place(index: types.Type) -> bool:
    return (
        isinstance(index, types.BaseTuple)
        and len(index) == 2
        and all(isinstance(kind, types.Integer | types.IntegerLiteral) for kind in index)
    )


@type_callable(operator.getitem)
def _type_of_read(context):
    def kind(window, index):
        return window.dtype if isinstance(window, Window) and _is_place(index) else None

    return kind


@type_callable(operator.setitem)
def _type_of_write(context):
    def kind(window, index, value):
        if isinstance(window, Window) and _is_place(index) and isinstance(value, types.Number):
            return types.none
        return None

    return kind


@type_callable(len)
def _type_of_len(context):
    def kind(window):
        return types.intp if isinstance(window, Window) else None

    return kind


# Members of a window, extracted by number: a proxy would write the whole window to memory for each,
# and the compiler would have to optimise that away.
_DATA, _ROWS, _COLUMNS = range(3)


def _place(context, builder, kinds, values):
    """Address of one number."""
    data = builder.extract_value(values[0], _DATA)
    columns = builder.extract_value(values[0], _COLUMNS)
    row, column = (
        context.cast(builder, value, kind, types.intp)
        for value, kind in zip(cgutils.unpack_tuple(builder, values[1]), kinds[1], strict=True)
    )
    return builder.gep(data, [builder.add(builder.mul(row, columns), column)])


@lower_builtin(operator.getitem, Window, types.BaseTuple)
def _read(context, builder, sig, arguments):
    place = _place(context, builder, sig.args, arguments)
    return context.unpack_value(builder, sig.return_type, place)


@lower_builtin(operator.setitem, Window, types.BaseTuple, types.Any)
def _write(context, builder, sig, arguments):
    place = _place(context, builder, sig.args, arguments)
    kind = sig.args[0].dtype
    value = context.cast(builder, arguments[2], sig.args[2], kind)
    context.pack_value(builder, kind, value, place)
    return context.get_dummy_value()


@lower_builtin(len, Window)
def _rows(context, builder, sig, arguments):
    return builder.extract_value(arguments[0], _ROWS)


@intrinsic
def borrow(typing_context, array, offset, rows, columns):
    """(rows, columns) window of the contiguous 1-D ``array`` from ``offset`` on."""
    sig = Window(array.dtype)(array, types.intp, types.intp, types.intp)

    def generate(context, builder, sig, arguments):
        source_value, first, rows, columns = arguments
        source = arrayobj.make_array(sig.args[0])(context, builder, source_value)
        result = cgutils.create_struct_proxy(sig.return_type)(context, builder)
        result.data = builder.gep(source.data, [first])
        result.rows, result.columns = rows, columns
        return result._getvalue()

    return sig, generate


@intrinsic
def work_space(typing_context, like, rows, columns):
    """(rows, columns) window of numbers of the kind of ``like``, not set to anything.

    Both sizes must be constants. It is valid until the kernel that made it returns.
    """
    if not all(isinstance(size, types.IntegerLiteral) for size in (rows, columns)):
        return None
    # A window of literals would hold that constant, whatever is written to it.
    sig = Window(types.unliteral(like))(like, rows, columns)

    def generate(context, builder, sig, arguments):
        row_count, column_count = (size.literal_value for size in sig.args[1:])
        result = cgutils.create_struct_proxy(sig.return_type)(context, builder)
        kind = context.get_data_type(sig.return_type.dtype)
        result.data = cgutils.alloca_once(builder, kind, size=row_count * column_count)
        result.rows = context.get_constant(types.intp, row_count)
        result.columns = context.get_constant(types.intp, column_count)
        return result._getvalue()

    return sig, generate


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
