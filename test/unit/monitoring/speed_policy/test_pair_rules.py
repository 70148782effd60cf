# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Thresholds of single pairs as a parameter has them."""

import pytest

from collision_monitor.errors import ThresholdsError
from collision_monitor.model.thresholds import Rule, Thresholds
from collision_monitor.monitoring.speed_policy.pair_rules import rules_of


def test_a_line_is_two_patterns_and_distances():
    assert rules_of(["left_* right_* warn=0.2 stop=0.05", "", " a  b stop=1e-3 "]) == (
        Rule("left_* right_*", 0.2, 0.05),
        Rule("a b", None, 0.001),
    )
    assert rules_of([""]) == ()


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("left_*", "two names"),
        ("left_* right_*", "two names"),
        ("left_* warn=0.2", "two names"),
        ("a b c", "'c' is neither warn=... nor stop=..."),
        ("a b warn=near", "'near' is not a number of metres"),
        ("a b warn=0.1 warn=0.2", "'warn=0.2' is neither"),
        ("a b warning=0.1", "'warning=0.1' is neither"),
    ],
)
def test_other_lines_are_refused_with_the_line(entry, says):
    with pytest.raises(ThresholdsError, match="pair_thresholds") as caught:
        rules_of([entry])
    assert says in str(caught.value)
    assert repr(entry) in str(caught.value)


@pytest.mark.parametrize("text", ["nan", "inf", "-0.1"])
def test_numbers_that_are_no_distance_are_refused_when_they_are_used(text):
    with pytest.raises(ThresholdsError):
        Thresholds(0.1, 0.02, rules_of([f"a b warn={text}"])).of([("a", "b")])
