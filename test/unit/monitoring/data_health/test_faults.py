# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The register of faults: what is raised stands until it is cleared, or its time is over."""

from collision_monitor.monitoring.faults import FaultRegister, Level


def test_a_fault_stands_until_it_is_cleared_or_its_time_is_over():
    faults = FaultRegister()
    assert not faults.raised and faults.text("cloud", 0.0) == ""
    faults.put("cloud", Level.ERROR, "scene", "no cloud")
    faults.put("clock", Level.WARN, "clock", "was set", until=2.0)
    assert (faults.text("cloud", 1e9), faults.text("clock", 1.9)) == ("no cloud", "was set")
    assert faults.text("clock", 2.0) == ""
    faults.put("cloud", Level.ERROR, "scene", "")  # an empty text is none
    assert faults.text("cloud", 0.0) == ""
    faults.expire(1.9)
    assert faults.raised
    faults.expire(2.0)
    assert not faults.raised


def test_the_first_source_decides_among_those_of_a_level():
    faults = FaultRegister()
    faults.put("position", Level.WARN, "position", "beyond a limit")
    faults.put("cloud", Level.ERROR, "scene", "no cloud")
    faults.put("robot", Level.ERROR, "scene", "lost", until=1.0)
    order = ("position", "robot", "cloud")
    assert faults.first(order, 0.0).text == "beyond a limit"
    assert faults.first(order, 0.0, Level.ERROR).text == "lost"
    assert faults.first(order, 1.0, Level.ERROR).text == "no cloud"
    faults.clear("robot", "cloud", "none")
    assert faults.first(order, 0.0, Level.ERROR) is None
