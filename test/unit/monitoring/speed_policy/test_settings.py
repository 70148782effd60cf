# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Settings of a behaviour refuse what means nothing."""

import math

import pytest

from collision_monitor.errors import BehaviourError
from collision_monitor.monitoring.speed_policy.settings import Settings


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"reaction_time": -0.1}, "reaction_time: -0.1"),
        ({"reaction_time": math.nan}, "reaction_time: nan"),
        ({"escape_scale": 1.5}, "escape_scale: 1.5 is above 1"),
        ({"release_cycles": 0}, "release_cycles: 0 is not from 1 to 100"),
        ({"release_cycles": 101}, "101"),
        ({"velocity_window": 0.0}, "velocity_window"),
        ({"resolution": 0.0}, "resolution"),
    ],
)
def test_what_means_nothing_is_refused_by_name(given, says):
    with pytest.raises(BehaviourError, match=says):
        Settings(**given)


def test_bounds_themselves_are_allowed():
    Settings(reaction_time=0.0, escape_scale=1.0, release_cycles=100, release_distance=0.0)
