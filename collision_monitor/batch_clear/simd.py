# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Eight numbers that kernels handle as one: a value a configuration, a lane each.

Numba has no such type, and its loops over eight values become vector instructions
or not as the optimiser pleases. Here a value is one LLVM vector: `+ - * /`, `<` and the functions
below work on all lanes at once, on any processor (LLVM splits a vector that is too wide).
A plain float among the operands stands for eight equal ones. A comparison gives a mask;
``bits(mask)`` is an integer, bit k of which is lane k.

Only kernels can use these; no lane ever sees another.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from llvmlite import ir
from numba.core import types
from numba.core.datamodel import models
from numba.extending import intrinsic, lower_builtin, register_model, type_callable
from numba.np import arrayobj

LANES = 8
ALL = (1 << LANES) - 1  # the bits of a mask that is true everywhere

_NUMBERS = ir.VectorType(ir.DoubleType(), LANES)
_TRUTHS = ir.VectorType(ir.IntType(1), LANES)
# Products may be fused with sums; nothing is assumed about NaN and infinity.
_FLAGS = ("contract", "nsz")


class Lanes(types.Type):
    """Numba's type of eight float64."""

    def __init__(self) -> None:
        super().__init__(name="lanes")


class Mask(types.Type):
    """Numba's type of eight truth values."""

    def __init__(self) -> None:
        super().__init__(name="lanes_mask")


lanes = Lanes()
mask = Mask()


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, kind) -> None:
        super().__init__(manager, kind, _NUMBERS)


@register_model(Mask)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, manager, kind) -> None:
        super().__init__(manager, kind, _TRUTHS)


def _spread(builder, value):
    """Eight times the same scalar."""
    first = builder.insert_element(ir.Constant(_NUMBERS, ir.Undefined), value, ir.IntType(32)(0))
    return builder.shuffle_vector(
        first, first, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    )


def _operand(context, builder, kind, value):
    if kind == lanes:
        return value
    return _spread(builder, context.cast(builder, value, kind, types.float64))


def _define(operation: Callable, result: types.Type, generate: Callable) -> None:
    """Teach numba ``operation`` of two lanes, or of lanes and a number."""

    @type_callable(operation)
    def typing(context):
        def typer(a, b):
            kinds = {type(a), type(b)}
            if Lanes in kinds and all(k == lanes or isinstance(k, types.Number) for k in (a, b)):
                return result
            return None

        return typer

    def lower(context, builder, signature, arguments):
        a, b = (
            _operand(context, builder, kind, value)
            for kind, value in zip(signature.args, arguments, strict=True)
        )
        return generate(builder, a, b)

    for a, b in ((Lanes, Lanes), (Lanes, types.Number), (types.Number, Lanes)):
        lower_builtin(operation, a, b)(lower)


_define(operator.add, lanes, lambda builder, a, b: builder.fadd(a, b, flags=_FLAGS))
_define(operator.sub, lanes, lambda builder, a, b: builder.fsub(a, b, flags=_FLAGS))
_define(operator.mul, lanes, lambda builder, a, b: builder.fmul(a, b, flags=_FLAGS))
_define(operator.truediv, lanes, lambda builder, a, b: builder.fdiv(a, b, flags=_FLAGS))
_define(operator.lt, mask, lambda builder, a, b: builder.fcmp_ordered("<", a, b))
_define(operator.gt, mask, lambda builder, a, b: builder.fcmp_ordered(">", a, b))


def _place(context, builder, kind, array, row):
    """Address of row ``row`` of an array (rows, LANES)."""
    data = arrayobj.make_array(kind)(context, builder, array).data
    first = builder.gep(data, [builder.mul(row, row.type(LANES))])
    return builder.bitcast(first, _NUMBERS.as_pointer())


@intrinsic
def load(typing_context, array, row):
    """Row ``row`` of a contiguous array (rows, LANES)."""

    def generate(context, builder, signature, arguments):
        place = _place(context, builder, signature.args[0], *arguments)
        return builder.load(place, align=8)

    return lanes(array, types.intp), generate


@intrinsic
def store(typing_context, array, row, value):
    """Write ``value`` to row ``row`` of a contiguous array (rows, LANES)."""

    def generate(context, builder, signature, arguments):
        place = _place(context, builder, signature.args[0], *arguments[:2])
        builder.store(arguments[2], place, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), generate


@intrinsic
def spread(typing_context, value):
    """``value`` in every lane."""

    def generate(context, builder, signature, arguments):
        return _spread(builder, arguments[0])

    return lanes(types.float64), generate


@intrinsic
def lesser(typing_context, a, b):
    """The smaller of two lanes; of b where either is NaN."""

    def generate(context, builder, signature, arguments):
        first, second = arguments
        return builder.select(builder.fcmp_ordered("<", first, second), first, second)

    return lanes(lanes, lanes), generate


@intrinsic
def greater(typing_context, a, b):
    """The larger of two lanes; of b where either is NaN."""

    def generate(context, builder, signature, arguments):
        first, second = arguments
        return builder.select(builder.fcmp_ordered(">", first, second), first, second)

    return lanes(lanes, lanes), generate


@intrinsic
def choose(typing_context, condition, a, b):
    """Where ``condition`` holds a, else b."""

    def generate(context, builder, signature, arguments):
        return builder.select(*arguments)

    return lanes(mask, lanes, lanes), generate


@intrinsic
def nearest_integer(typing_context, value):
    """Each lane rounded to an integer, halves to the even one."""

    def generate(context, builder, signature, arguments):
        function = builder.module.declare_intrinsic(
            f"llvm.rint.v{LANES}f64", (), ir.FunctionType(_NUMBERS, [_NUMBERS])
        )
        return builder.call(function, arguments)

    return lanes(lanes), generate


@intrinsic
def bits(typing_context, condition):
    """A mask as an integer: bit k is lane k."""

    def generate(context, builder, signature, arguments):
        packed = builder.bitcast(arguments[0], ir.IntType(LANES))
        return builder.zext(packed, ir.IntType(64))

    return types.int64(mask), generate
