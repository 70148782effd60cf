# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Clocks: a simulated one that is merely behind, one that stands, one that is another, jumps."""

import pytest

from collision_monitor.monitoring.watchdogs import ClockWatch

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
