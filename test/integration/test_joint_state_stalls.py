# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Stalls of the joint-state stream: one trial of each kind of stream, see the benchmark."""

import sys

import pytest
from support.paths import ROOT
from support.robots import robots

sys.path.append(str(ROOT / "benchmarks"))

import joint_state_stalls as stalls  # noqa: E402


@pytest.fixture(scope="module", params=[False, True], ids=["one publisher", "two publishers"])
def table(request):
    robots.require("ur5")
    return stalls.run(30, split=request.param)


def test_no_stop_is_missed_and_with_true_stamps_none_is_false(table):
    assert len(table) == 30 and all(row.trials == 1 for row in table.values())
    assert sum(row.needed for row in table.values()) >= 5
    for (_, stamps, _), row in table.items():
        assert row.missed == 0, row.failures
        assert row.false == 0 or stamps != "true", row.failures


def test_a_monitor_that_stops_always_or_never_is_counted():
    robots.require("ur5")
    number = next(k for k in range(30) if stalls.trial(k, 0)[1].needed)
    assert stalls.trial(number, 0) == stalls.trial(number, 0)
    cell = stalls.cell_of("ur5")
    for stop, name in ((0.0, "missed"), (0.6, "false")):
        monitor = cell.monitor()
        monitor.set_thresholds(stalls.Thresholds(max(stop, 0.001), stop))
        monitor.behaviour.settings = stalls.SpeedSettings(prediction=stop > 0.0)
        row = stalls.trial(number, 0, monitor=monitor)[1]
        assert row.missed if name == "missed" else row.false or row.bound
