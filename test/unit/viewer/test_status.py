# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The head of the page: the level, in words that come from nobody else's file."""

import math

import pytest

from collision_monitor.hierarchy.clearance import Clearance
from collision_monitor.viewer.clearance_display import NodeReport, level, status_html


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        (0.2, "OK"), (0.1001, "OK"), (0.1, "WARN"), (0.021, "WARN"), (0.02, "ERROR"),
        (-0.5, "ERROR"), (math.nan, "ERROR"), (math.inf, "OK"),
    ],
)  # fmt: skip
def test_the_level_is_that_of_the_monitor(distance, expected):
    assert level(distance, 0.1, 0.02) == expected


def clearance(distance, a="a", b="b"):
    return Clearance(distance, (a, b), (0.0,) * 6, (0.0, 0.0, 1.0))


def test_it_says_what_is_near():
    text = status_html(clearance(0.0512), 0.1, 0.02, 29.7, 4.2)
    for part in (">WARN<", ">0.0512 m<", "a &ndash; b", ">30 Hz<", "warn 0.1 m, stop 0.02 m"):
        assert part in text
    assert "monitor node" not in text


def test_nothing_to_check_is_not_called_clear():
    text = status_html(None, 0.1, 0.02, 30.0, 0.0)
    assert "no pair is checked" in text and "OK" not in text


def test_a_node_and_a_note_are_told_too():
    report = NodeReport("STALE", math.nan, 0.0, "no joint states")
    text = status_html(clearance(1.0), 0.1, 0.02, 30.0, 1.0, report, "choose one first")
    for part in (">STALE<", "nan m", "no joint states", "choose one first"):
        assert part in text


def test_names_from_files_are_text_and_never_markup():
    bad = "<img src=x onerror=alert(1)>"
    report = NodeReport(bad, 0.1, 1.0, bad)
    assert bad not in status_html(clearance(1.0, bad, bad), 0.1, 0.02, 30.0, 1.0, report, bad)
