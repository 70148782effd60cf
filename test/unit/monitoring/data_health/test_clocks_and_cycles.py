# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Watches of clocks and of cycles: clocks that are behind, stand, jump; late cycles."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collision_monitor.monitoring.watchdogs import ClockWatch, CycleWatch

PERIOD = 0.02


class Cell:
    """A node with a watch, a simulation, and time that goes by."""

    def __init__(self, now=1000.0, simulated=0.0):
        self.watch, self.now, self.time = ClockWatch(), now, simulated
        self.heard = 0.0  # what the node has read of /clock

    def run(self, seconds, factor=1.0, hears=True):
        """Joint states with the time of the simulation; what came out as their age."""
        lags = []
        for _ in range(round(seconds / PERIOD)):
            self.now += PERIOD
            self.time += factor * PERIOD
            if hears:
                self.heard = self.time
            lags.append(self.lag(self.time))
        return lags

    def lag(self, stamp):
        return self.watch.lag(stamp, self.heard, self.now, True)


def test_a_real_clock_that_is_behind_disagrees_at_once():
    watch = ClockWatch()
    assert watch.lag(107.0, 100.0, 7.0, False) == pytest.approx(-7.0)
    assert watch.explain(7.0) == "the clocks disagree"


def test_a_node_that_was_held_up_has_a_clock_that_is_behind_and_catches_up():
    cell = Cell()
    cell.run(2.0)
    cell.now, cell.time = cell.now + 20.0, cell.time + 20.0  # the node is busy
    assert cell.run(0.2, hears=False) == [0.0] * 10  # joint states before the ticks
    assert cell.run(2.0) == pytest.approx([0.0] * 100, abs=1e-9)
    assert cell.watch.faults.text("clock", cell.now) == ""
    cell.now, cell.time = cell.now + 20.0, cell.time + 20.0
    cell.heard += PERIOD  # the oldest tick that waits is read before the newest joint state
    assert cell.lag(cell.time) == 0.0


def test_a_clock_that_runs_and_is_another_one_disagrees_at_once():
    cell = Cell()
    cell.run(3.0)
    cell.now += PERIOD
    cell.heard += PERIOD
    assert cell.lag(cell.heard + 50.0) == pytest.approx(-50.0)
    assert "/clock is running" in cell.watch.explain(cell.now)


def test_a_clock_that_never_catches_up_is_given_a_second_only():
    cell = Cell()
    cell.run(2.0)
    cell.now, cell.time = cell.now + 20.0, cell.time + 20.0
    lags = cell.run(3.0, hears=False)
    assert lags[:50] == [0.0] * 50
    assert max(lags[51:]) < -20.0
    assert "/clock is stopped at 2.00 s" in cell.watch.explain(cell.now)


def test_a_clock_that_stands_does_not_excuse_one_of_two_publishers_for_ever():
    cell = Cell()
    cell.run(2.0)
    lags = []
    cell.run(1.0, factor=0.0)
    for _ in range(100):
        cell.now += PERIOD
        assert cell.lag(cell.heard) == 0.0
        lags.append(cell.lag(cell.heard + 30.0))
    assert lags[0] == 0.0 and lags[-1] == pytest.approx(-30.0)


def test_a_clock_that_has_not_been_heard_at_all_is_named():
    cell = Cell(simulated=500.0)
    lags = cell.run(2.0, hears=False)
    assert lags[0] == 0.0
    assert lags[-1] < -400.0
    assert "no time has been received on /clock" in cell.watch.explain(cell.now)
    cell.now += PERIOD
    cell.heard = cell.time
    assert cell.lag(cell.time) == 0.0  # one tick is enough
    assert cell.watch.jumps == 0
    cell.now, cell.time = cell.now + 5.0, cell.time + 5.0
    assert cell.run(0.5, hears=False) == [0.0] * 25


def test_what_was_called_another_clock_stays_so_until_it_has_caught_up():
    cell = Cell()
    cell.run(3.0)
    for _ in range(40):  # it stood just now, and stamps go on from far ahead
        cell.now += PERIOD
        assert cell.lag(cell.heard + 50.0) == pytest.approx(-50.0)
    assert cell.run(1.0) == pytest.approx([0.0] * 50)
    cell.run(1.0, factor=0.0)
    assert cell.lag(cell.heard + 50.0) == 0.0


@pytest.mark.parametrize("factor", [0.01, 30.0])
def test_a_simulation_may_be_slow_or_fast_pause_and_go_on(factor):
    cell = Cell()
    assert cell.run(2.0, factor) == pytest.approx([0.0] * 100)
    cell.run(3.0, factor=0.0)
    assert cell.run(2.0, factor) == pytest.approx([0.0] * 100)
    assert (cell.watch.jumps, cell.watch.faults.text("clock", cell.now)) == (0, "")


@pytest.mark.parametrize(("by", "says"), [(-90.0, "back by 90.0 s"), (200.0, "forward by 200.0 s")])
def test_jumps_of_simulated_time_are_counted_and_said_for_a_while(by, says):
    cell = Cell(simulated=100.0)
    cell.run(2.0)
    cell.time += by
    cell.run(0.1)
    assert "simulated time was set " + says in cell.watch.faults.text("clock", cell.now)
    cell.run(1.0)
    assert (cell.watch.faults.text("clock", cell.now), cell.watch.jumps) == ("", 1)


@pytest.mark.parametrize(("by", "says"), [(-3.0, "back by 3.0 s"), (12.0, "forward by 12.0 s")])
def test_jumps_of_the_real_clock_are_reported(by, says):
    watch, now, offset = ClockWatch(), 50.0, 1.7e9
    for k in range(100):
        now += 0.05 if k != 30 else 40.0  # held up, which is no jump
        if k == 60:
            offset += by
        watch.update(now + offset, now, False)
        said = f"this machine's clock was set {says}" in watch.faults.text("clock", now)
        assert k == 70 or said == (60 <= k < 70)
    assert watch.jumps == 1


def test_a_change_to_simulated_time_is_no_jump():
    watch = ClockWatch()
    watch.update(1.7e9, 10.0, False)
    watch.update(3.0, 10.05, True)
    watch.update(1.7e9, 10.1, False)
    assert watch.jumps == 0


# -- cycles: figures of the last moments, late ones said for a while, a backlog noticed --


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
