# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A clearance on the page: its colour, its level and text, its curve."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collision_monitor.hierarchy.query import Clearance
from collision_monitor.viewer.clearance_display import (
    CLEAR,
    CONTACT,
    NEAR,
    SECONDS,
    ClearanceCurve,
    NodeReport,
    clearance_colour,
    level,
    status_html,
)


@pytest.mark.parametrize(
    ("distance", "colour", "expected"),
    [
        (0.1000001, CLEAR, "OK"), (0.1, NEAR, "WARN"), (0.02, CONTACT, "ERROR"),
        (-1.0, CONTACT, "ERROR"), (math.nan, CONTACT, "ERROR"), (math.inf, CLEAR, "OK"),
    ],
)  # fmt: skip
def test_colours_and_levels_at_the_borders(distance, colour, expected):
    assert clearance_colour(distance, 0.1, 0.02) == pytest.approx(colour)
    assert level(distance, 0.1, 0.02) == expected


def test_between_stop_and_warn_it_is_a_mixture():
    middle = clearance_colour(0.06, 0.1, 0.02)
    assert middle == pytest.approx([(a + b) / 2 for a, b in zip(NEAR, CONTACT, strict=True)])


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
