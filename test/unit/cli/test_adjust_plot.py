# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The picture of an adjustment: every number in it is one of the adjustment."""

import sys

import numpy as np
import pytest
from support.files.made_adjustment import bent, straight

from collision_monitor.cli.adjust_report import draw, plot, require_plot
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


def lines(axis):
    """Lines of a panel by their label."""
    return {line.get_label(): line for line in axis.get_lines()}


def test_joints_that_change_are_drawn_before_and_after(desired):
    adjustment = bent(desired, ARMS)
    joints, clearance, index = draw(adjustment, 0.1, 0.05, UNITS).axes
    assert joints.get_title(loc="left") == "right_arm (right)"
    before, after = joints.get_lines()[:2]
    assert np.array_equal(before.get_ydata(), np.degrees(desired.positions[:, 2]))
    assert np.array_equal(before.get_xdata(), desired.times)
    assert np.array_equal(after.get_ydata(), np.degrees(adjustment.motion.positions[:, 2]))
    assert np.array_equal(after.get_xdata(), adjustment.motion.times)
    assert after.get_label() == "r1"
    assert not {"r2", "l1", "neck"} & set(lines(joints))
    assert joints.get_ylabel() == "deg"


def test_clearance_has_both_distances_as_lines(desired):
    adjustment = bent(desired, ARMS)
    clearance = lines(draw(adjustment, 0.11, 0.06, UNITS).axes[1])
    assert np.array_equal(clearance["before"].get_ydata(), adjustment.clearance_before)
    assert np.array_equal(clearance["after"].get_ydata(), adjustment.clearance)
    assert set(clearance["d_saf 0.11 m"].get_ydata()) == {0.11}
    assert set(clearance["d_dan 0.06 m"].get_ydata()) == {0.06}
    # what is kept where the motion itself ends nearer to something than d_saf
    assert set(clearance["not between\nthe arms 0.08 m"].get_ydata()) == {0.08}
    alone = lines(draw(straight(desired, ARMS), 0.11, 0.06, UNITS).axes[0])
    assert not [label for label in alone if "not between" in label]


def test_an_infinite_index_is_marked_and_not_lost(desired):
    figure = draw(bent(desired, ARMS), 0.1, 0.05, UNITS)
    index = lines(figure.axes[2])
    assert np.isnan(index["before"].get_ydata()).tolist() == [False, False, True, False, False]
    assert index["before: infinite"].get_xdata().tolist() == [2.0]
    assert "after: infinite" not in index
    assert "takes 4 s longer" in figure.axes[2].get_xlabel()


def test_metres_are_drawn_as_metres(desired):
    adjustment = bent(desired, (Arm("right_arm", ("r2", "r1"), ("a",), "a"), ARMS[1]))
    joints = draw(adjustment, 0.1, 0.05, UNITS).axes[0]
    assert np.array_equal(lines(joints)["r2"].get_ydata(), adjustment.motion.positions[:, 3])
    assert joints.get_ylabel() == "m"


def test_a_motion_without_a_change_has_no_panel_of_joints(desired):
    figure = draw(straight(desired, ARMS), 0.1, 0.05, UNITS)
    assert len(figure.axes) == 2
    assert figure.axes[0].get_title(loc="left") == "no joint is changed"
    assert figure.axes[1].get_xlabel() == "time, s"


def test_a_plot_that_cannot_be_written_is_an_error(desired, tmp_path, monkeypatch):
    with pytest.raises(MotionError, match=r"x\.png: the plot cannot be written"):
        plot(tmp_path / "nowhere" / "x.png", bent(desired, ARMS), 0.1, 0.05, UNITS)
    with pytest.raises(MotionError, match=r"x\.csv: unsupported format of a plot; .*png"):
        require_plot("x.csv")
    require_plot("x.PNG")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependencyError, match=r"pip install .*'matplotlib>="):
        require_plot("x.png")
