# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Calls by address give what plain calls give."""

from typing import NamedTuple

import numpy as np
from numba import types

from collision_monitor.common.array_views import borrow
from collision_monitor.common.compiled import callback_address, kernel
from collision_monitor.mesh_distance.part_calls import FLOATS, INTEGERS, caller, named


class Both(NamedTuple):
    """Two windows."""

    numbers: np.ndarray
    index: np.ndarray


@kernel
def _inner(both, row, factor, twice):
    both.index[row, 0] += 1
    both.numbers[row, 0] *= factor * (2.0 if twice else 1.0)
    return both.numbers[row, 0], both.index[row, 0], row > 1


SIGNATURE = types.Tuple((types.float64, types.int64, types.boolean))(
    named(Both, numbers=FLOATS, index=INTEGERS), types.int64, types.float64, types.boolean
)
call = caller(SIGNATURE)


@kernel
def _outer(numbers, index, address, row, factor):
    both = Both(borrow(numbers, 0, len(numbers), 1), borrow(index, 0, len(index), 1))
    first = call(address, (both, row, factor, True))
    # Constants are integers and booleans like any other.
    second = call(address, (both, 2, 3.0, False))
    return first, second


def test_what_is_called_by_address_sees_its_arguments_and_answers():
    address = callback_address(_inner, SIGNATURE)
    numbers, index = np.array([1.0, 2.0, 4.0]), np.array([5, 6, 7])
    assert _outer(numbers, index, address, 1, 0.5) == ((2.0, 7, False), (12.0, 8, True))
    assert numbers.tolist() == [1.0, 2.0, 12.0]
    assert index.tolist() == [5, 7, 8]
