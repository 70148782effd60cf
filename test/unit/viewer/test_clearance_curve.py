# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The curve of clearance: what is nearest is kept, and what is old goes."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from collision_monitor.viewer.clearance_display import SECONDS, ClearanceCurve, chart_data

STEPS = st.lists(st.tuples(st.floats(0.001, 3.0), st.floats(-1.0, 5.0)), min_size=1, max_size=60)


@settings(deadline=None)
@given(STEPS)
def test_it_is_in_order_no_older_than_it_shows_and_has_the_least_of_all(steps):
    curve, now, kept = ClearanceCurve(), 100.0, []
    for seconds, distance in steps:
        now += seconds
        curve.add(now, distance)
        kept.append((now, distance))
    times, distances = curve.arrays(now)
    assert (np.diff(times) > 0.0).all()
    assert times[0] >= -SECONDS - 1e-9 and times[-1] <= 0.0
    # A point stands for at most 50 ms, so nothing nearer within the window is lost.
    recent = [d for when, d in kept if now - when <= SECONDS - 0.1]
    assert distances.min() <= min(recent)
    assert distances.min() >= min(d for _, d in kept)


def test_a_short_dip_between_two_points_is_kept():
    curve = ClearanceCurve()
    for now, distance in ((0.0, 1.0), (0.5, 1.0), (0.51, -0.2), (0.52, 1.0), (1.0, 1.0)):
        curve.add(now, distance)
    times, distances = curve.arrays(1.0)
    assert times.tolist() == [-1.0, -0.5, 0.0]
    assert distances.tolist() == [1.0, -0.2, 1.0]


def test_nothing_yet_is_no_point():
    assert [len(part) for part in ClearanceCurve().arrays(3.0)] == [0, 0]


def test_a_chart_has_thresholds_as_long_as_its_curves():
    times = np.array([0.0, 1.0, 2.0])
    data = chart_data(times, 0.1, 0.02, np.array([1.0, 2.0, 3.0]))
    assert [array.tolist() for array in data] == [
        [0.0, 1.0, 2.0], [0.1, 0.1, 0.1], [0.02, 0.02, 0.02], [1.0, 2.0, 3.0],
    ]  # fmt: skip
    assert all(array.dtype == np.float64 for array in data)
