# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Sine and cosine of eight angles at once."""

from __future__ import annotations

import math

from collision_monitor.batch_clear.simd import LANES, bits, greater, load, nearest_integer, store
from collision_monitor.common.compiled import inlined_kernel

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

    With angle = n pi + y both are those of y, and change sign together when n is odd.
    """
    n = nearest_integer(angle * (1.0 / math.pi))
    y = angle - n * _PI_HIGH - n * _PI_MIDDLE - n * _PI_LOW
    half = n * 0.5
    rest = half - nearest_integer(half)  # 0, or half a unit for an odd n
    sign = 1.0 - 8.0 * rest * rest
    z = y * y
    sine = _S4 + z * (_S5 + z * (_S6 + z * (_S7 + z * _S8)))
    sine = y + y * z * (_S1 + z * (_S2 + z * (_S3 + z * sine)))
    cosine = _C4 + z * (_C5 + z * (_C6 + z * (_C7 + z * _C8)))
    cosine = 1.0 + z * (_C1 + z * (_C2 + z * (_C3 + z * cosine)))
    return sign * sine, sign * cosine


@inlined_kernel
def any_angle(angle, scratch, row):
    """`angle`, brought to at most pi where a lane exceeds 1e6; row ``row`` of scratch is lost."""
    if bits(greater(angle, 0.0 - angle) > _LARGEST):
        store(scratch, row, angle)
        for lane in range(LANES):
            x = scratch[row, lane]
            scratch[row, lane] = math.atan2(math.sin(x), math.cos(x))
        return load(scratch, row)
    return angle
