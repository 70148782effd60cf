# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Levels of boxes: which ones are shown, where, and how many at most."""

import numpy as np
import pytest
from support.robots.toys import chain

from collision_monitor import CollisionModel
from collision_monitor.errors import ConfigurationError

pytest.importorskip("rclpy", reason="rclpy is not installed")

from builtin_interfaces.msg import Time  # noqa: E402
from support.ros.rviz_twin import RvizTwin, markers_of  # noqa: E402
from visualization_msgs.msg import Marker  # noqa: E402

from collision_monitor.nodes.markers.markers import AABB, AabbLevels, LineMarkers  # noqa: E402
from collision_monitor.nodes.parameters.parameter import ALL, levels_of  # noqa: E402


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("", set()), ("  ", set()), ("3", {3}), ("0-2", {0, 1, 2}), (" 0 - 1 , 5,", {0, 1, 5}),
        ("2,2-3", {2, 3}),
    ],
)  # fmt: skip
def test_levels_are_numbers_and_ranges(text, levels):
    assert levels_of(text) == levels
    assert levels_of("all") is ALL


@pytest.mark.parametrize("text", ["-1", "2-1", "a", "1.5", "1;2", "All", "1--2", "0-999", "9" * 30])
def test_what_is_no_level_is_refused_by_name(text):
    with pytest.raises(ConfigurationError, match="show_aabb_levels") as caught:
        levels_of(text)
    assert repr(text) in str(caught.value)


def test_lines_of_a_level_are_around_all_leaves_below_it():
    model = CollisionModel.from_urdf(chain(6))
    q = model.random_configurations(1)[0]
    segments = model.leaf_segments(q)
    found = AabbLevels(model, ALL)
    shown = LineMarkers(model.root, AABB, 1.0, 0.01)
    messages = list(shown.messages(Time(sec=3), found.lines(q)))
    RvizTwin().take(*messages)
    markers = markers_of(messages)
    assert [m.id for m in markers] == list(range(len(markers)))
    assert {(m.ns, m.type) for m in markers} == {("aabb", Marker.LINE_LIST)}
    radii = np.array([leaf.radius for leaf in model.leaves])
    moving = [k for k, leaf in enumerate(model.leaves) if leaf.link != "l0"]
    top = np.array([[p.x, p.y, p.z] for p in markers[0].points]).reshape(-1, 24, 3)[0]
    low = (segments[moving].min(axis=1) - radii[moving, None]).min(axis=0)
    high = (segments[moving].max(axis=1) + radii[moving, None]).max(axis=0)
    assert top.min(axis=0) == pytest.approx(low) and top.max(axis=0) == pytest.approx(high)
    assert len({(m.color.r, m.color.g, m.color.b) for m in markers}) == len(markers)


def test_levels_that_would_be_too_much_are_left_out_with_a_word():
    model = CollisionModel.from_urdf(chain(9))
    q = np.zeros(8)
    everything = AabbLevels(model, ALL)
    assert everything.remark == ""
    levels = list(everything.lines(q))
    some = AabbLevels(model, ALL, most=8)
    lines = some.lines(q)
    assert list(lines) == levels[: len(lines)] != levels
    assert 0 < sum(points.size for _, points in lines.values()) <= 8 * 24 * 3
    assert "too many boxes to show: the limit is 8" in some.remark
    assert str(levels[-1]) in some.remark


def test_levels_that_do_not_exist_are_remarked():
    model = CollisionModel.from_urdf(chain(3))
    found = AabbLevels(model, frozenset({0, 40}))
    assert list(found.lines(np.zeros(2))) == [0]
    assert found.remark == "show_aabb_levels: the deepest level is 1"
