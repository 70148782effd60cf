# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Bounds from samples."""

import pytest
from scipy.stats import binom, binomtest

from collision_monitor.acm.pair_verdict import share_bounds


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.999])
@pytest.mark.parametrize(("meets", "samples"), [(0, 10), (3, 10), (10, 10), (1, 2000), (500, 501)])
def test_bounds_are_those_of_the_exact_test(meets, samples, confidence):
    low, high = share_bounds(meets, samples, confidence)
    one_sided = binomtest(meets, samples)
    expected = one_sided.proportion_ci(2.0 * confidence - 1.0, method="exact")
    assert (low, high) == pytest.approx((expected.low, expected.high))


def test_none_seen_is_the_rule_of_three():
    for samples in (100, 2000, 10**6):
        assert share_bounds(0, samples, 0.95)[1] == pytest.approx(3.0 / samples, rel=0.02)
    assert share_bounds(0, 2000, 0.95)[0] == 0.0
    assert share_bounds(2000, 2000, 0.95)[1] == 1.0


def test_the_truth_is_within_as_often_as_said():
    share, samples = 0.013, 400
    missed = sum(
        binom.pmf(k, samples, share)
        for k in range(samples + 1)
        if share_bounds(k, samples, 0.95)[1] < share
    )
    assert missed <= 0.05
