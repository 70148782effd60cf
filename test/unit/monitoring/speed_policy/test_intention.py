# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What a robot that stands has been told to do."""

import numpy as np
import pytest

from collision_monitor.monitoring.speed_policy.commanded_direction import Intention

NAMES = ("a", "b", "c")
STILL = np.zeros(3)


def test_a_command_counts_by_name_while_the_robot_stands():
    intention = Intention(NAMES)
    assert intention.direction(STILL, 0.0) is None
    assert intention.update(["c", "other", "a"], [0.3, 9.0, -0.1], 5.0)
    assert intention.direction(STILL, 5.5).tolist() == [-0.1, 0.0, 0.3]
    assert intention.direction(np.array([0.0, 0.02, 0.0]), 5.5) is None
    assert intention.direction(STILL, 6.1) is None


@pytest.mark.parametrize(
    ("names", "velocities"),
    [(["a"], [np.nan]), (["a", "b"], [0.1]), (["x"], [0.1]), ([], []), (["a"], [0.1, 0.2])],
)
def test_what_cannot_be_used_ends_what_was_intended(names, velocities):
    intention = Intention(NAMES)
    intention.update(["a"], [0.1], 5.0)
    assert not intention.update(names, velocities, 5.1)
    assert intention.direction(STILL, 5.2) is None
