# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The picture of an adjustment: every number in it is one of the adjustment."""

import sys

import numpy as np
import pytest
from support.files.made_adjustment import bent, straight

from collision_monitor.cli.adjust_report import plot, plots_of, require_plot
from collision_monitor.errors import MissingDependencyError, MotionError
from collision_monitor.motion.trajectory import Motion
from collision_monitor.self_collision.arms import Arm

ARMS = (Arm("right_arm", ("r1", "r2"), ("a",), "a"), Arm("left_arm", ("l1",), ("b",), "b"))
UNITS = {"r1": "rad", "r2": "m", "l1": "rad", "neck": "rad"}


@pytest.fixture
def desired():
    """Five waypoints of four joints."""
    pytest.importorskip("matplotlib")
    times = np.arange(5.0)
    return Motion(("neck", "l1", "r1", "r2"), times, np.outer(times, [0.1, 0.2, 0.3, 0.4]))


def test_joints_that_change_are_drawn_before_and_after(desired):
    adjustment = bent(desired, ARMS)
    joints, clearance, index = plots_of(adjustment, 0.1, 0.05, UNITS)
    assert (joints.title, joints.unit) == ("right_arm (right)", "deg")
    (curve,) = joints.curves
    assert curve.label == "r1"
    for (times, values), motion in (
        (curve.other, desired), ((joints.times, curve.values), adjustment.motion)
    ):  # fmt: skip
        assert np.array_equal(times, motion.times)
        assert np.array_equal(values, np.degrees(motion.positions[:, 2]))


def test_clearance_has_both_distances_as_levels(desired):
    adjustment = bent(desired, ARMS)
    clearance = plots_of(adjustment, 0.11, 0.06, UNITS)[1]
    (curve,) = clearance.curves
    assert np.array_equal(curve.values, adjustment.clearance)
    assert np.array_equal(curve.other[1], adjustment.clearance_before)
    # what is kept where the motion itself ends nearer to something than d_saf
    levels = [(0.11, "d_saf 0.11 m"), (0.06, "d_dan 0.06 m"), (0.08, "elsewhere 0.08 m")]
    assert clearance.levels == levels
    assert plots_of(straight(desired, ARMS), 0.11, 0.06, UNITS)[0].levels == levels[:2]


def test_an_infinite_index_is_a_gap_that_is_told(desired):
    index = plots_of(bent(desired, ARMS), 0.1, 0.05, UNITS)[2]
    assert np.isnan(index.curves[0].other[1]).tolist() == [False, False, True, False, False]
    assert index.title == "index F; infinite in gaps"
    assert plots_of(straight(desired, ARMS), 0.1, 0.05, UNITS)[1].title == "index F"


def test_metres_are_drawn_as_metres(desired):
    adjustment = bent(desired, (Arm("right_arm", ("r2", "r1"), ("a",), "a"), ARMS[1]))
    joints = plots_of(adjustment, 0.1, 0.05, UNITS)[0]
    assert np.array_equal(joints.curves[0].values, adjustment.motion.positions[:, 3])
    assert joints.unit == "m"


def test_a_motion_without_a_change_has_no_plot_of_joints(desired):
    clearance, _ = plots_of(straight(desired, ARMS), 0.1, 0.05, UNITS)
    assert clearance.title == "least clearance; no joint is changed"


def test_a_plot_that_cannot_be_written_is_an_error(desired, tmp_path, monkeypatch):
    plot(tmp_path / "x.png", bent(desired, ARMS), 0.1, 0.05, UNITS)
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(MotionError, match=r"x\.png: the plot cannot be written"):
        plot(tmp_path / "nowhere" / "x.png", bent(desired, ARMS), 0.1, 0.05, UNITS)
    with pytest.raises(MotionError, match=r"x\.csv: unsupported format of a plot; .*png"):
        require_plot("x.csv")
    require_plot("x.PNG")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependencyError, match=r"pip install .*'matplotlib>="):
        require_plot("x.png")
