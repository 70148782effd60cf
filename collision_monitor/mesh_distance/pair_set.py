# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A set of numbers from 0 on that grows: which pairs have been met already.

Open addressing: a number lies at the first place from its hash on that was free. Never more than
half full, so that a free place is near.
"""

from __future__ import annotations

import numpy as np

from collision_monitor.common.compiled import kernel

_FIRST_SIZE = 64  # a power of two, as all sizes are
_SPREAD = 0x9E3779B97F4A7C15 - 2**64  # Knuth's multiplicative hash: 2^64 by the golden ratio


@kernel
def empty_set(is_used):
    """A set of nothing, -1 wherever no number is; without any room if it is not ``is_used``."""
    return np.full(_FIRST_SIZE if is_used else 0, -1, dtype=np.int64)


@kernel
def _place(table, number):
    """Where ``number`` is, or would be."""
    last = len(table) - 1
    at = ((number * _SPREAD) >> 20) & last
    while table[at] >= 0 and table[at] != number:
        at = (at + 1) & last
    return at


@kernel
def add(table, used, number):
    """(table, used, whether it is new) of a set of ``used`` numbers with one more."""
    at = _place(table, number)
    if table[at] == number:
        return table, used, False
    table[at] = number
    used += 1
    if 2 * used > len(table):
        larger = np.full(2 * len(table), -1, dtype=np.int64)
        for k in range(len(table)):
            if table[k] >= 0:
                larger[_place(larger, table[k])] = table[k]
        table = larger
    return table, used, True
