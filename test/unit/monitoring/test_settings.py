# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Settings: values out of range, decelerations and per-pair thresholds."""

import math

import numpy as np
import pytest

from collision_monitor.errors import BehaviourError, ThresholdsError
from collision_monitor.model.thresholds import Rule, Thresholds
from collision_monitor.monitoring.settings import (
    SpeedSettings,
    braking_decelerations,
    default_decelerations,
    parse_pair_thresholds,
)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"reaction_time": -0.1}, "reaction_time: -0.1"),
        ({"reaction_time": math.nan}, "reaction_time: nan"),
        ({"escape_scale": 1.5}, "escape_scale: 1.5 is not a finite number from 0 to 1"),
        ({"release_cycles": 0}, "release_cycles: 0 is not an integer from 1 to 100"),
        ({"release_cycles": 101}, "101"),
        ({"velocity_window": 0.0}, "velocity_window: 0 is not allowed"),
        ({"resolution": 0.0}, "resolution"),
    ],
)
def test_what_means_nothing_is_refused_by_name(given, says):
    with pytest.raises(BehaviourError, match=says):
        SpeedSettings(**given)


NAMES = ("left_a", "left_b", "right_a", "lift")
LIMITS = np.array([1.0, 100.0, np.inf, 0.1])


def test_the_rule_is_half_a_second_within_bounds():
    assert default_decelerations(LIMITS).tolist() == [2.0, 10.0, 1.0, 0.5]


def test_names_count_more_than_the_file_and_a_later_one_most():
    found = braking_decelerations(
        NAMES, LIMITS, ["left_*=3", "left_b = 4.5"], {"left_a": 9.0, "lift": 0.7, "lid": 1.0}
    )
    assert found.tolist() == [3.0, 4.5, 1.0, 0.7]
    assert braking_decelerations(NAMES, LIMITS, (), {"lift": np.inf})[3] == 0.5


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("left_a", "'left_a' is not of the form joint=value"),
        ("=3", "not of the form"),
        ("left_a=", "'' is not a number from 0.001 to 1e+09"),
        ("left_a=0", "'0' is not a number from 0.001 to 1e+09"),
        ("left_a=nan", "nan"),
        ("left_a=-inf", "-inf"),
        ("middle_*=1", "matches no joint; the joints are left_a, left_b, right_a, lift"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_entry(entry, says):
    with pytest.raises(BehaviourError, match="braking_decelerations") as caught:
        braking_decelerations(NAMES, LIMITS, [entry])
    assert says in str(caught.value)


@pytest.mark.parametrize("value", [1e-9, 1e150])
def test_an_acceleration_that_no_robot_brakes_with_is_refused(value):
    with pytest.raises(BehaviourError, match="joint_limits: max_acceleration of lift is 1e.*0.001"):
        braking_decelerations(NAMES, LIMITS, (), {"lift": value})


def test_a_line_is_two_patterns_and_distances():
    assert parse_pair_thresholds(["left_* right_* warn=0.2 stop=0.05", "", " a  b stop=1e-3 "]) == (
        Rule("left_* right_*", 0.2, 0.05),
        Rule("a b", None, 0.001),
    )
    assert parse_pair_thresholds(["a b check=false", "a c check=true warn=0.1"]) == (
        Rule("a b", check=False), Rule("a c", 0.1),
    )  # fmt: skip
    assert parse_pair_thresholds([""]) == ()


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("left_*", "two names"),
        ("left_* warn=0.2", "two names"),
        ("a b c", "'c' is not warn=..., stop=... or check=..."),
        ("a b warn=near", "'near' is not a number of metres"),
        ("a b warn=0.1 warn=0.2", "'warn=0.2' is not warn"),
        ("a b warning=0.1", "'warning=0.1' is not warn"),
        ("a b check=no", "'no' is neither true nor false"),
        ("a b check=false warn=0.1", "a pair that is not checked has neither warn nor stop"),
    ],
)
def test_other_lines_are_refused_with_the_line(entry, says):
    with pytest.raises(ThresholdsError, match="pair_thresholds") as caught:
        parse_pair_thresholds([entry])
    assert says in str(caught.value)
    assert repr(entry) in str(caught.value)


@pytest.mark.parametrize("text", ["nan", "inf", "-0.1"])
def test_numbers_that_are_no_distance_are_refused_when_they_are_used(text):
    with pytest.raises(ThresholdsError):
        Thresholds(0.1, 0.02, parse_pair_thresholds([f"a b warn={text}"])).of([("a", "b")])
