# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Weights of the braking check by kinds of pairs: the same numbers, in bounded memory."""

import numpy as np
import pytest

from collision_monitor.errors import LoadingLimitError
from collision_monitor.monitoring.speed_policy.braking_paths import distinct_weights
from collision_monitor.robot.bodies import relative_reach


def test_each_pair_has_the_weights_of_its_two_links():
    rng = np.random.default_rng(0)
    reach = rng.integers(0, 3, (12, 4)).astype(float)
    ends = np.array([(a, b) for a in range(12) for b in range(a)])
    weights, kinds = distinct_weights(reach, ends, "toy")
    np.testing.assert_array_equal(
        weights[kinds], relative_reach(reach[ends[:, 0]], reach[ends[:, 1]])
    )
    assert len(np.unique(weights, axis=0)) == len(weights) < len(ends)


def test_without_joints_or_pairs():
    for reach, ends in ((np.zeros((2, 0)), [[0, 1]]), (np.ones((2, 3)), np.empty((0, 2), int))):
        weights, kinds = distinct_weights(reach, np.array(ends), "toy")
        assert weights[kinds].shape == (len(ends), reach.shape[1])


def test_more_than_fit_into_memory_are_refused():
    reach = np.tril(np.ones((500, 500)))
    ends = np.array([(a, b) for a in range(500) for b in range(a)])
    with pytest.raises(LoadingLimitError, match="124750 kinds of pairs times 500 joints"):
        distinct_weights(reach, ends, "toy")
