# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Plots: all curves, limits and marks are drawn, and long series keep their extremes."""

import numpy as np
import pytest
from lxml import etree

from collision_monitor.verification.report.plots import Curve, Plot, draw, figure, svg

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure  # noqa: E402

TIMES = np.linspace(0.0, 1.0, 50)


def drawn_on(plot):
    """Axes with all curves of a plot."""
    axis = Figure().subplots()
    draw(axis, plot, plot.curves)
    return axis


def test_a_plot_is_one_svg_element_with_its_labels():
    plot = Plot("angles", "rad", TIMES, [Curve("elbow <1>", np.sin(TIMES), -2.0, 2.0)])
    root = etree.fromstring(svg(figure([plot])).encode())
    assert root.tag.endswith("svg")
    words = " ".join(root.itertext())
    for word in ("angles", "rad", "elbow <1>", "time, s"):
        assert word in words


def test_more_curves_than_fit_go_to_further_panels():
    plot = Plot("many", "m", TIMES, [Curve(f"c{k}", TIMES + k) for k in range(16)])
    panels = etree.fromstring(svg(figure([plot])).encode()).xpath("//*[starts-with(@id, 'axes_')]")
    shown = [{*panel.itertext()} & {f"c{k}" for k in range(16)} for panel in panels]
    assert [len(labels) for labels in shown] == [7, 7, 2]


def test_limits_levels_marks_and_bands_are_drawn():
    plot = Plot(
        "all", "m", TIMES, [Curve("a", TIMES, lower=-1.0, band=0.1)], [(0.5, "hit")],
        [(0.2, "stop")],
    )  # fmt: skip
    axis = drawn_on(plot)
    drawn = {tuple(np.unique(line.get_ydata())) for line in axis.lines}
    assert {(-1.0,), (0.2,)} <= drawn
    assert any((np.asarray(line.get_xdata()) == 0.5).all() for line in axis.lines)
    assert len(axis.collections) == 1


def test_a_peak_of_one_sample_survives_thinning():
    times = np.linspace(0.0, 60.0, 30_000)
    values = np.zeros(30_000)
    values[12_345], values[20_001] = 9.0, -7.0
    plot = Plot("long", "m", times, [Curve("a", values)])
    (line,) = drawn_on(plot).lines
    rows = np.searchsorted(times, line.get_xdata())
    assert (line.get_ydata() == values[rows]).all()
    assert len(rows) < 3_000
    assert {12_345, 20_001} <= set(rows.tolist())
    assert rows[0] == 0 and rows[-1] == 29_999
    assert (np.diff(rows) > 0).all()


def test_limits_far_off_are_told_and_not_drawn():
    near = Plot("near", "m", TIMES, [Curve("a", TIMES, -3.9, 3.9)])
    far = Plot("far", "m", TIMES, [Curve("a", TIMES, -50.0, 4.1), Curve("b", 0.1 * TIMES)])
    assert len(drawn_on(near).lines) == 3
    axis = drawn_on(far)
    assert len(axis.lines) == 2
    (text,) = axis.texts
    assert "4.1 on" in text.get_text()
    assert axis.get_ylim()[1] < 1.5
