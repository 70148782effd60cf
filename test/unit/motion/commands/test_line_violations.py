# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What is said of a line that is left; on real arms it is asked in test_line_motion.py."""

import math

import numpy as np
import pytest

from collision_monitor.motion.commands.line_motion import OFF, off_the_line
from collision_monitor.motion.violation import Code

TIMES = np.array([0.0, 1.0, 2.0, 3.0])


def test_what_is_on_the_line_is_not_mentioned():
    assert off_the_line(TIMES, np.tile(OFF, (4, 1)), "tool", 1.0) == []


def test_the_first_and_the_worst_instant():
    off = np.array([[0.0, 0.0], [0.5e-4, 0.0], [3e-4, 1e-3], [2e-4, 0.0]])
    metres, radians = off_the_line(TIMES, off, "tool", 1.0)
    assert (metres.code, metres.subject, metres.unit) == (Code.OFF_THE_LINE, "tool", "m")
    assert metres.first == pytest.approx(1.2), "straight between the instants"
    assert (metres.worst, metres.value, metres.limit) == (2.0, 3e-4, 1e-4)
    assert (radians.unit, radians.value) == ("rad", 1e-3)
    assert radians.first == pytest.approx(1.0 + math.radians(0.01) / 1e-3)
    assert "cut off" not in metres.text


def test_a_line_that_is_given_up_is_a_violation_even_if_it_was_not_left():
    (found,) = off_the_line(TIMES, np.zeros((4, 2)), "tool", 0.25)
    assert found.first == found.worst == 3.0
    assert "cannot be followed beyond 25 % of its length, at 3 s" in found.text
