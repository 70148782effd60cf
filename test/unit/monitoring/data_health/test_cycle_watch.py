# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Cycles: figures of the last moments, late ones said for a while, a backlog noticed."""


import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collision_monitor.monitoring.watchdogs import CycleWatch


@given(st.lists(st.tuples(st.floats(1e-5, 0.02), st.floats(0.0, 0.1)), min_size=1, max_size=300))
@settings(deadline=None)
def test_figures_are_those_of_numpy_over_all_cycles(cycles):
    watch, now = CycleWatch(), 0.0
    for seconds, lag in cycles:
        watch.add(now, now + seconds, lag)
        now += 0.03
    figures = watch.figures(now)
    taken, late = np.array(cycles).T
    assert figures.mean == pytest.approx(taken.mean())
    assert figures.p99 == pytest.approx(np.percentile(taken, 99))
    assert figures.most == pytest.approx(taken.max())
    assert figures.latency_mean == pytest.approx((taken + late).mean())
    assert figures.latency_most == pytest.approx((taken + late).max())
    assert figures.rate == pytest.approx(len(cycles) / max(now, 1.0))


def test_figures_forget_after_ten_seconds():
    watch = CycleWatch(deadline=1.0)
    watch.add(0.0, 0.5)
    for k in range(1000):
        watch.add(1.0 + 0.02 * k, 1.001 + 0.02 * k, 0.0)
    figures = watch.figures(21.0)
    assert figures.most == pytest.approx(0.001)
    assert figures.rate == pytest.approx(50.0, rel=0.01)
    assert watch.figures(100.0).rate == 0.0


def test_memory_is_bounded_and_the_rate_right_all_the_same():
    watch = CycleWatch(deadline=1.0)
    watch.add(0.0, 0.5)
    for k in range(50_000):
        watch.add(1e-4 * k, 1e-4 * k + 5e-5)
    figures = watch.figures(5.0)
    assert figures.rate == pytest.approx(10_000.0, rel=0.01)
    assert figures.most < 1e-3  # the first, 5 s ago, is not among those that are kept


def test_a_late_cycle_is_said_for_half_a_second_with_its_figures():
    watch = CycleWatch(deadline=0.02)
    watch.skipped = 7
    assert not watch.add(0.0, 0.019)
    assert watch.faults.text("overrun", 0.02) == ""
    assert watch.add(1.0, 1.063)
    said = watch.faults.text("overrun", 1.1)
    assert "a cycle took 63 ms, 20 ms are allowed" in said and "7 joint states skipped" in said
    assert watch.faults.text("overrun", 1.7) == ""
    assert watch.overruns == 1


def test_a_late_timer_is_reported_as_a_delay_of_the_node():
    watch = CycleWatch(deadline=0.05)
    for k in range(10):
        watch.report_timer(0.05 * k, 0.05)
    assert watch.overruns == 0
    watch.report_timer(0.45 + 0.3, 0.05)
    assert "the node was delayed by 250 ms" in watch.faults.text("overrun", 0.76)
    assert watch.overruns == 1


def test_neither_a_late_cycle_nor_loading_is_counted_again_for_the_timer_it_held_up():
    watch = CycleWatch(deadline=0.05)
    watch.report_timer(0.0, 0.05)
    watch.add(0.01, 0.3)
    watch.report_timer(0.3001, 0.05)
    assert watch.overruns == 1
    watch.expect_delay()
    watch.report_timer(20.0, 0.05)
    assert watch.overruns == 1


def work(watch, cycle, period, seconds, other=0.0, gap=1e-5):
    """Cycles of this length on messages of this period; (latencies, messages skipped).

    ``other``: seconds of other work after each; ``gap``: of the executor before each.
    """
    now, next_message, latencies, skipped = 0.0, 0.0, [], 0
    while now < seconds:
        now = max(now + gap, next_message)
        start, arrived = now, next_message
        next_message += period
        if watch.is_behind(start):
            while next_message <= now:
                arrived = next_message
                next_message += period
                skipped += 1
        now = start + cycle
        watch.add(start, now)
        latencies.append(now - arrived)
        if other:
            watch.report_other_work(now + 1e-5, now + 1e-5 + other)
            now += 1e-5 + other
    return latencies, skipped


@pytest.mark.parametrize(
    ("cycle", "period", "other", "gap"),
    [
        *((cycle, 0.001, 0.0, 1e-5) for cycle in (0.0011, 0.003, 0.015, 0.1)),
        (0.003, 0.001, 0.002, 1e-5),  # other work between cycles is no pause
        (0.04, 0.004, 0.0, 0.002),  # nor is the executor's work between long cycles
    ],
)
def test_cycles_longer_than_the_period_skip_and_never_pile_up_latency(cycle, period, other, gap):
    latencies, skipped = work(CycleWatch(), cycle, period, 20.0, other, gap)
    assert skipped > 0
    # The run that is tolerated, and two cycles: one that was under way, and its own.
    assert max(latencies) <= 0.005 + 2 * (cycle + other + gap) + period + 0.002


def test_other_work_of_a_node_that_was_idle_is_a_pause_all_the_same():
    watch = CycleWatch()
    now = 1.0
    for _ in range(50):
        assert not watch.is_behind(now)
        watch.add(now, now + 0.0001)
        watch.report_other_work(now + 0.0007, now + 0.00095)
        now += 0.001


def test_a_short_burst_is_worked_through():
    watch = CycleWatch()
    now = 1.0
    for _ in range(4):
        assert not watch.is_behind(now)
        watch.add(now, now + 0.0004)
        now += 0.00045
