# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Distances in a report: a plot for pairs with the same thresholds, and when they broke them."""

import numpy as np
import pytest
from support.files.made_verifications import model, motion

from collision_monitor.model.thresholds import Rule, Thresholds
from collision_monitor.verification.clearance.clearance_check import check_clearance
from collision_monitor.verification.report.clearance_section import clearance_section


def section(thresholds, ends=(0.0, 3.1, 3.1)):
    """Of the chain that folds onto itself; and the check."""
    check = check_clearance(model(), motion(ends).trajectory, thresholds)
    return clearance_section(check), check


def test_pairs_with_the_same_thresholds_share_a_plot_with_these():
    rules = (Rule("l0 l2", warn=0.3, stop=0.2),)
    found, check = section(Thresholds(warn=0.1, stop=0.05, rules=rules))
    *least, nearest = found.plots
    assert [plot.levels for plot in least] == [
        [(0.0, "collision"), (0.05, "stop"), (0.1, "warn")],
        [(0.0, "collision"), (0.2, "stop"), (0.3, "warn")],
    ]
    assert nearest.levels == [(0.0, "collision")]
    assert "2 pairs (stop 0.05 m, warn 0.1 m)" in least[0].title
    assert "l2 - l0" in least[1].title or "l0 - l2" in least[1].title
    rule = [set(pair) == {"l0", "l2"} for pair in check.series.pairs]
    for plot, columns in zip(least, (np.logical_not(rule), rule), strict=True):
        measured, certain = plot.curves
        assert (measured.values == check.series.upper[:, columns].min(axis=1)).all()
        assert (certain.values == check.series.lower[:, columns].min(axis=1)).all()


def test_a_mark_tells_when_pairs_came_too_near_first():
    found, check = section(Thresholds())
    ((when, label),) = found.plots[0].marks
    assert when == min(v.first for v in check.violations)
    assert label == f"collision from {when:.3f} s"
    assert section(Thresholds(warn=5.0), (0.1, 0.1, 0.1))[0].plots[0].marks == []


def test_of_many_kinds_of_thresholds_the_rarest_share_a_plot():
    pairs = model().pairs
    if len(pairs) < 3:
        pytest.fail("the chain has three pairs")
    rules = tuple(Rule(f"{a} {b}", stop=0.01 * (k + 1)) for k, (a, b) in enumerate(pairs))
    found, _ = section(Thresholds(rules=rules))
    assert len(found.plots) == min(len(pairs), 5) + 1
