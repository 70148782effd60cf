# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The judge judged: rational geometry against closed forms, and its two ways against each other."""

from fractions import Fraction

import numpy as np
from support.geometry.exact_geometry import orientation, share_a_point, squared_distance


def test_distances_with_a_closed_form():
    triangle = [[0, 0, 0], [4, 0, 0], [0, 4, 0]]
    assert squared_distance(triangle, [[1, 1, 3]]) == 9
    assert squared_distance(triangle, [[3, 3, 0], [3, 3, 5]]) == 2
    assert squared_distance(triangle, [[-3, -4, 0], [-3, -4, 7], [-9, -4, 0]]) == 25
    assert squared_distance(triangle, [[1, 1, 0.1], [1, 1, 2], [2, 1, 2]]) == Fraction(0.1) ** 2


def test_the_orientation_of_axes():
    assert orientation([0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]) == 1
    assert orientation([0, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]) == -1
    assert orientation([0, 0], [1, 1], [2, 2]) == 0


def test_sharing_a_point_is_having_no_distance():
    rng = np.random.default_rng(3)
    shared = 0
    for _ in range(100):
        first, second = rng.integers(0, 3, (2, 3, 3))
        shared += share_a_point(first, second)
        assert share_a_point(first, second) == (squared_distance(first, second) == 0)
    assert 20 < shared < 80
