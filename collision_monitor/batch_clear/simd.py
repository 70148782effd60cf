# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Eight float64 values that kernels handle as one: one lane for each configuration.

Numba has no such type, and vectorisation of its loops over eight values is not reliable. Here a
value is one LLVM vector: `+ - * /`, `<` and the functions below work on all lanes at once, on any
processor (LLVM splits vectors that are too wide). A scalar operand is broadcast. A comparison gives
a mask; bit k of the integer ``bits(mask)`` is lane k.

Only kernels can use these types. Lanes are independent.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, lower_builtin, models, register_model, type_callable
from numba.np import arrayobj

from collision_monitor.common.compiled import inlined_kernel

LANES = 8
ALL = (1 << LANES) - 1  # bits of a mask that is true in all lanes

_NUMBERS = ir.VectorType(ir.DoubleType(), LANES)
_BOOLEANS = ir.VectorType(ir.IntType(1), LANES)
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
        super().__init__(manager, kind, _BOOLEANS)


def _broadcast(builder, value):
    """Broadcast a scalar to all lanes."""
    first = builder.insert_element(ir.Constant(_NUMBERS, ir.Undefined), value, ir.IntType(32)(0))
    return builder.shuffle_vector(
        first, first, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    )


def _operand(context, builder, kind, value):
    if kind == lanes:
        return value
    return _broadcast(builder, context.cast(builder, value, kind, types.float64))


def _define(operation: Callable, result: types.Type, generate: Callable) -> None:
    """Define ``operation`` of two lanes, or of lanes and a number, for numba."""

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
    """Broadcast ``value`` to every lane."""

    def generate(context, builder, signature, arguments):
        return _broadcast(builder, arguments[0])

    return lanes(types.float64), generate


@intrinsic
def lesser(typing_context, a, b):
    """The smaller of two lanes; b if either is NaN."""

    def generate(context, builder, signature, arguments):
        first, second = arguments
        return builder.select(builder.fcmp_ordered("<", first, second), first, second)

    return lanes(lanes, lanes), generate


@intrinsic
def greater(typing_context, a, b):
    """The larger of two lanes; b if either is NaN."""

    def generate(context, builder, signature, arguments):
        first, second = arguments
        return builder.select(builder.fcmp_ordered(">", first, second), first, second)

    return lanes(lanes, lanes), generate


@intrinsic
def choose(typing_context, condition, a, b):
    """Select a where ``condition`` is true, else b."""

    def generate(context, builder, signature, arguments):
        return builder.select(*arguments)

    return lanes(mask, lanes, lanes), generate


@intrinsic
def nearest_integer(typing_context, value):
    """Each lane rounded to the nearest integer, halves to even."""

    def generate(context, builder, signature, arguments):
        function = builder.module.declare_intrinsic(
            f"llvm.rint.v{LANES}f64", (), ir.FunctionType(_NUMBERS, [_NUMBERS])
        )
        return builder.call(function, arguments)

    return lanes(lanes), generate


@intrinsic
def bits(typing_context, condition):
    """Convert a mask to an integer: bit k is lane k."""

    def generate(context, builder, signature, arguments):
        packed = builder.bitcast(arguments[0], ir.IntType(LANES))
        return builder.zext(packed, ir.IntType(64))

    return types.int64(mask), generate


# -- sine and cosine of eight angles --


# pi in three parts, the first two of 33 bits: an integer below 2^20 times one of them
# is exact, so an angle is reduced without loss (Cody and Waite).
_PI_HIGH = float.fromhex("0x1.921fb544p+1")
_PI_MIDDLE = float.fromhex("0x1.0b4611a6p-33")
_PI_LOW = float.fromhex("0x1.3198a2e037073p-68")
_LARGEST = 1e6  # radians; less than 2^20 half turns

# sin(y) / y and cos(y) as polynomials in y^2 for |y| <= pi / 2: interpolated at the nine
# Chebyshev nodes in 50 digits, errors 2e-19 and 4e-18 before rounding.
_S1 = -0.16666666666666666
_S2 = 0.008333333333333186
_S3 = -0.00019841269841208638
_S4 = 2.7557319211223257e-06
_S5 = -2.505210688997513e-08
_S6 = 1.6058940847832492e-10
_S7 = -7.643025738964345e-13
_S8 = 2.7215660921125597e-15
_C1 = -0.4999999999999997
_C2 = 0.04166666666666388
_C3 = -0.001388888888877292
_C4 = 2.4801587277402905e-05
_C5 = -2.7557316389900044e-07
_C6 = 2.0876561781878517e-09
_C7 = -1.1462900350687044e-11
_C8 = 4.6089602423243444e-14


@inlined_kernel
def sine_cosine(angle):
    """Sine and cosine of lanes of angles up to 1e6 radians; error below 4e-16.

    With angle = n pi + y, sine and cosine of y change sign together if n is odd.
    """
    n = nearest_integer(angle * (1.0 / math.pi))
    y = angle - n * _PI_HIGH - n * _PI_MIDDLE - n * _PI_LOW
    half = n * 0.5
    rest = half - nearest_integer(half)  # 0, or half for an odd n
    sign = 1.0 - 8.0 * rest * rest
    z = y * y
    sine = _S4 + z * (_S5 + z * (_S6 + z * (_S7 + z * _S8)))
    sine = y + y * z * (_S1 + z * (_S2 + z * (_S3 + z * sine)))
    cosine = _C4 + z * (_C5 + z * (_C6 + z * (_C7 + z * _C8)))
    cosine = 1.0 + z * (_C1 + z * (_C2 + z * (_C3 + z * cosine)))
    return sign * sine, sign * cosine


@inlined_kernel
def any_angle(angle, scratch, row):
    """Reduce `angle` to at most pi in lanes that exceed 1e6; overwrites row ``row`` of scratch."""
    if bits(greater(angle, 0.0 - angle) > _LARGEST):
        store(scratch, row, angle)
        for lane in range(LANES):
            x = scratch[row, lane]
            scratch[row, lane] = math.atan2(math.sin(x), math.cos(x))
        return load(scratch, row)
    return angle
