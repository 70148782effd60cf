# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What a controller takes, and what it refuses with a reason."""

import numpy as np
import pytest

from collision_monitor.errors import TrajectoryError
from collision_monitor.simulation.command import checked_command

JOINTS = ("a", "b", "c")


def command(names=("a", "b"), times=(0.0, 1.0), positions=((0.0, 1.0), (2.0, 3.0)), **more):
    return checked_command(JOINTS, names, times, positions, **more)


def test_a_good_one_comes_as_arrays():
    found = command(velocities=[[0.0, 0.0], [1.0, 1.0]], start=3.0)
    assert found.joint_names == ("a", "b") and found.start == 3.0
    assert np.array_equal(found.positions, [[0.0, 1.0], [2.0, 3.0]])
    assert np.array_equal(found.velocities, [[0.0, 0.0], [1.0, 1.0]])
    assert found.accelerations is None


def test_empty_rows_are_as_good_as_none():
    assert command(velocities=[[], []], accelerations=[(), ()]).velocities is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"names": ()}, "names no joints"),
        ({"names": ("a", "a")}, "names joint 'a' twice"),
        ({"names": ("a", "x")}, "names 'x', which the robot does not move; its joints are a, b, c"),
        ({"positions": (), "times": ()}, "has no points"),
        ({"times": (0.0,)}, "has 1 times for 2 points"),
        ({"times": (0.0, 0.0)}, "has times 0, 0: they must begin at 0 or later, and increase"),
        ({"times": (-1.0, 0.0)}, "has times -1, 0"),
        ({"times": (0.0, np.nan)}, "has times 0, nan"),
        ({"positions": ((0.0,), (1.0, 2.0))}, "point 0 has 1 positions for 2 joints"),
        ({"positions": ((0.0, 1.0), (1.0, np.inf))}, "point 1: positions of joint 'b' are inf"),
        ({"velocities": ((), (1.0, 2.0))}, "point 0 has 0 velocities for 2 joints"),
        ({"accelerations": ((1.0, 1.0), (1.0, 1.0))}, "has accelerations without velocities"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_reason(changes, message):
    with pytest.raises(TrajectoryError) as error:
        command(**changes)
    assert message in str(error.value)
