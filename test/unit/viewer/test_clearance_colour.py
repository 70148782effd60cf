# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The colour of a clearance."""

import math

import pytest

from collision_monitor.viewer.clearance_display import CLEAR, CONTACT, NEAR, clearance_colour


@pytest.mark.parametrize(
    ("distance", "colour"),
    [(0.2, CLEAR), (0.1000001, CLEAR), (0.1, NEAR), (0.02, CONTACT), (-1.0, CONTACT),
     (math.nan, CONTACT), (math.inf, CLEAR)],
)  # fmt: skip
def test_colours_at_the_borders(distance, colour):
    assert clearance_colour(distance, 0.1, 0.02) == pytest.approx(colour)


def test_between_stop_and_warn_it_is_a_mixture():
    middle = clearance_colour(0.06, 0.1, 0.02)
    assert middle == pytest.approx([(a + b) / 2 for a, b in zip(NEAR, CONTACT, strict=True)])


def test_equal_thresholds_have_no_band():
    assert clearance_colour(0.02, 0.02, 0.02) == CONTACT
    assert clearance_colour(0.021, 0.02, 0.02) == CLEAR
