# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How hard joints brake: by rule, by file, by name."""

import numpy as np
import pytest

from collision_monitor.errors import BehaviourError
from collision_monitor.monitoring.speed_policy.decelerations import braking_decelerations, by_rule

NAMES = ("left_a", "left_b", "right_a", "lift")
LIMITS = np.array([1.0, 100.0, np.inf, 0.1])


def test_the_rule_is_half_a_second_within_bounds():
    assert by_rule(LIMITS).tolist() == [2.0, 10.0, 1.0, 0.5]
    assert by_rule(np.array([0.0, -1.0, np.nan])).tolist() == [1.0, 1.0, 1.0]


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
        ("left_a=", "'' is not a number above 0"),
        ("left_a=0", "'0' is not a number above 0"),
        ("left_a=nan", "nan"),
        ("left_a=-inf", "-inf"),
        ("middle_*=1", "matches no joint; the joints are left_a, left_b, right_a, lift"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_entry(entry, says):
    with pytest.raises(BehaviourError, match="braking_decelerations") as caught:
        braking_decelerations(NAMES, LIMITS, [entry])
    assert says in str(caught.value)
