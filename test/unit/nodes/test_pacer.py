# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Simulated time tied to the clock on the wall."""

import pytest

from collision_monitor.nodes.simulation import Pacer


def test_what_is_due_follows_the_clock_by_the_factor():
    pacer = Pacer(3.0)
    assert pacer.due(5.0, 100.0) == 5.0
    assert pacer.due(5.0, 100.1) == pytest.approx(5.3)
    assert pacer.due(5.3, 100.1) == pytest.approx(5.3)


def test_a_little_behind_is_caught_up_with_and_much_is_given_up():
    pacer = Pacer(1.0)
    pacer.due(0.0, 0.0)
    assert pacer.due(0.0, 0.15) == pytest.approx(0.15)
    assert pacer.due(0.1, 2.0) == pytest.approx(0.1)  # starts anew from here
    assert pacer.due(0.1, 2.1) == pytest.approx(0.2)


def test_another_factor_counts_from_now_on():
    pacer = Pacer(1.0)
    pacer.due(0.0, 0.0)
    pacer.due(10.0, 10.0)
    pacer.factor = 2.0
    assert pacer.due(10.0, 10.05) == 10.0
    assert pacer.due(10.0, 10.1) == pytest.approx(10.1)


def test_the_pace_that_is_kept_is_measured():
    pacer = Pacer(10.0)
    for k in range(101):
        pacer.due(0.02 * k, 0.01 * k)  # twice as fast as the wall, where ten times is wanted
    assert pacer.achieved == pytest.approx(2.0, rel=0.05)
