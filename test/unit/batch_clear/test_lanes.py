# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Eight lanes at once do what numpy does to arrays of eight."""

import numba
import numpy as np
import pytest

from collision_monitor.batch_clear.simd import (
    ALL,
    LANES,
    bits,
    choose,
    greater,
    lesser,
    load,
    nearest_integer,
    spread,
    store,
)
from collision_monitor.common.compiled import kernel


@kernel
def arithmetic(a, b, number, out):
    """One result a row of ``out``."""
    x, y = load(a, 1), load(b, 0)
    store(out, 0, x + y)
    store(out, 1, x - y)
    store(out, 2, x * y)
    store(out, 3, x / y)
    store(out, 4, number + x)
    store(out, 5, x - number)
    store(out, 6, number - x)
    store(out, 7, 3 * x)
    store(out, 8, number / x)
    store(out, 9, spread(number))
    store(out, 10, lesser(x, y))
    store(out, 11, greater(x, y))
    store(out, 12, choose(x < y, x, spread(7.0)))
    store(out, 13, nearest_integer(4.0 * x))


@kernel
def comparisons(a, b, number):
    """Bits of four comparisons."""
    x, y = load(a, 0), load(b, 0)
    return bits(x < y), bits(x > y), bits(x < number), bits(number < x)


def as_bits(truths):
    """The integer whose bit k is truths[k]."""
    return sum(1 << k for k, truth in enumerate(truths) if truth)


def test_every_operation_is_that_of_numpy_lane_by_lane():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3, LANES))
    out = np.full((15, LANES), -9.0)
    arithmetic(a, b, 2.5, out)
    x, y = a[1], b[0]
    expected = [
        x + y, x - y, x * y, x / y, 2.5 + x, x - 2.5, 2.5 - x, 3 * x, 2.5 / x, np.full(LANES, 2.5),
        np.minimum(x, y), np.maximum(x, y), np.where(x < y, x, 7.0), np.rint(4.0 * x),
    ]  # fmt: skip
    assert np.array_equal(out[:14], expected)
    assert (out[14] == -9.0).all()  # nothing beyond what was written


def test_comparisons_give_one_bit_a_lane():
    rng = np.random.default_rng(1)
    for _ in range(50):
        a, b = rng.integers(-2, 3, (2, 1, LANES)).astype(float)
        expected = a[0] < b[0], a[0] > b[0], a[0] < 1.0, a[0] > 1.0
        assert comparisons(a, b, 1.0) == tuple(map(as_bits, expected))
    everywhere = np.zeros((1, LANES))
    assert comparisons(everywhere, everywhere + 1.0, 1.0) == (ALL, 0, ALL, 0)


@pytest.mark.parametrize("lane", range(LANES))
def test_a_nan_is_neither_less_nor_more_and_stays_in_its_lane(lane):
    a, b = np.zeros((2, 1, LANES))
    a[0, lane] = np.nan
    assert comparisons(a, b + 1.0, 2.0) == (ALL & ~(1 << lane), 0, ALL & ~(1 << lane), 0)
    out = np.zeros((14, LANES))
    arithmetic(np.vstack([b, a]), b + 1.0, 0.5, out)
    assert np.array_equal(np.flatnonzero(np.isnan(out[0])), [lane])


def test_lanes_become_vector_instructions():
    compiled = numba.njit(arithmetic.py_func)  # code from the cache cannot be inspected
    compiled(np.ones((3, LANES)), np.ones((3, LANES)), 2.5, np.zeros((14, LANES)))
    assert f"<{LANES} x double>" in compiled.inspect_llvm(compiled.signatures[0])
