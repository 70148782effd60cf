# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Volume of leaves that overlap."""

import math

import numpy as np
import pytest

from collision_monitor.fitting.shapes import union_volume

BALL = 4.0 / 3.0 * math.pi


def ball(x, radius=1.0):
    return [x, 0.0, 0.0, x, 0.0, 0.0, radius]


def test_one_leaf_is_exact():
    assert union_volume(np.array([ball(3.0)])) == pytest.approx(BALL, rel=1e-12)
    capsule = np.array([[0.0, 0, 0, 0, 0, 2.0, 0.5]])
    assert union_volume(capsule) == pytest.approx(math.pi * 0.25 * (2.0 + 2.0 / 3.0), rel=1e-12)


@pytest.mark.parametrize(
    ("rows", "volume"),
    [([ball(0.0), ball(5.0)], 2 * BALL), ([ball(0.0), ball(0.0)], BALL),
     # two balls of radius 1, centres 1 apart: twice a ball less the lens 5 pi / 12
     ([ball(0.0), ball(1.0)], 2 * BALL - 5.0 * math.pi / 12.0)],
)  # fmt: skip
def test_overlaps_count_once(rows, volume):
    assert union_volume(np.array(rows)) == pytest.approx(volume, rel=0.005)
