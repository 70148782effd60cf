# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What a monitor says about speed; silence is no consent."""

import math

import pytest

from collision_monitor.simulation.speed_scale import SpeedScale


def test_what_is_not_heeded_is_one():
    scale = SpeedScale(False, 0.5)
    scale.hear(0.0, 0.0)
    assert scale.at(100.0) == 1.0 and scale.reason(100.0) == ""


def test_nothing_heard_is_zero_and_says_so():
    scale = SpeedScale(True, 0.5)
    assert scale.at(0.0) == 0.0
    assert scale.reason(0.0) == "no speed scale has been heard yet"


def test_the_last_word_counts_until_the_timeout():
    scale = SpeedScale(True, 0.5)
    scale.hear(0.3, 1.0)
    assert scale.at(1.5) == 0.3 and scale.reason(1.5) == ""
    assert scale.at(1.6) == 0.0
    assert scale.reason(1.6) == "no speed scale for 0.60 s, 0.5 s are allowed"
    scale.hear(1.0, 1.7)
    assert scale.at(1.7) == 1.0


@pytest.mark.parametrize(
    ("said", "meant"), [(2.0, 1.0), (-1.0, 0.0), (math.nan, 0.0), (math.inf, 0.0), (5e-4, 0.0)]
)
def test_what_is_out_of_range_means_the_safe_end(said, meant):
    scale = SpeedScale(True, 0.5)
    scale.hear(said, 0.0)
    assert scale.at(0.0) == meant
    assert (scale.reason(0.0) == "the speed scale is 0") == (meant == 0.0)
