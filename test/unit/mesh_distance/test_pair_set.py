# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The growing set of numbers, against Python's."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from collision_monitor.common.compiled import kernel
from collision_monitor.mesh_distance.mesh_crossing import add, empty_set


@kernel
def _newness(numbers, new):
    table, used = empty_set(True), 0
    for k in range(len(numbers)):
        table, used, new[k] = add(table, used, numbers[k])
    return used, len(table)


@given(
    st.lists(st.one_of(st.integers(0, 40), st.integers(0, 2**62)), max_size=600),
    st.sampled_from([1, 2**6, 2**20, 2**40]),
)
@settings(max_examples=200, deadline=None)
def test_a_number_is_new_once(numbers, step):
    numbers = [n * step % 2**63 for n in numbers]
    new = np.zeros(len(numbers), dtype=bool)
    used, room = _newness(np.array(numbers, dtype=np.int64), new)
    seen, expected = set(), []
    for number in numbers:
        expected.append(number not in seen)
        seen.add(number)
    assert new.tolist() == expected
    assert used == len(seen) <= room // 2
