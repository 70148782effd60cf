# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What is too much for the braking check: long paths are a stop, too many weights an error."""

import time

import numpy as np
import pytest
from support.robots.toys import chain

from collision_monitor import CollisionModel, Monitor
from collision_monitor.errors import LoadingLimitError
from collision_monitor.monitoring.settings import SpeedSettings, braking_decelerations
from collision_monitor.monitoring.speed_policy.pair_classes import check_size
from collision_monitor.monitoring.speed_policy.speed_policy import SpeedPolicy

MODEL = CollisionModel.from_urdf(chain(6))
NAMES = MODEL.joint_names


@pytest.mark.parametrize("narrow_phase", ["leaf", "auto"])
@pytest.mark.parametrize(
    ("deceleration", "speed"), [("1e-3", 0.2), ("1e-3", 3.0), ("10", 100.0), ("1", 1e9)]
)
def test_a_robot_that_brakes_over_a_long_way_is_stopped(narrow_phase, deceleration, speed):
    decelerations = braking_decelerations(NAMES, MODEL.velocity_limits, [f"*={deceleration}"])
    policy = SpeedPolicy(MODEL, SpeedSettings(), decelerations)
    monitor = Monitor(MODEL, behaviour=policy, narrow_phase=narrow_phase)
    rng, spent = np.random.default_rng(1), []
    for k in range(8):
        q = 0.1 * rng.uniform(-1.0, 1.0, len(NAMES))
        velocities = speed * rng.choice([-1.0, 1.0], len(NAMES))
        begin = time.thread_time()
        state = monitor.update(NAMES, q, now=1.0 + 0.01 * k, velocities=velocities)
        spent.append(time.thread_time() - begin)
    assert state.action == "stop" and not state.safe
    assert max(spent) < 0.1  # seconds; 300 configurations a millisecond


def test_more_weights_than_fit_into_memory_are_refused():
    check_size(40_000, 500, "toy")
    with pytest.raises(LoadingLimitError, match="'toy' .*: 124750 pairs times 500 joints"):
        check_size(124_750, 500, "toy")
