# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""An adjustment as markers: paths of the nearest points, and the field where it pushes."""

import numpy as np
import pytest
from support.ros.ros_graph import rclpy  # noqa: F401  skips where there is no rclpy

from builtin_interfaces.msg import Time  # isort: skip
from visualization_msgs.msg import Marker  # isort: skip

from support.robots.dual_arm_cases import between_arms  # isort: skip
from support.robots.two_slides import ARMS, JOINTS, RADIUS, distance, model  # isort: skip

from collision_monitor.motion.trajectory import Motion  # isort: skip
from collision_monitor.nodes.markers.path_marker_topic import (  # isort: skip
    ApproachPoints,
    approach_points,
    path_markers,
)

STAMP = Time(sec=5)


def points(*distances):
    """Control points on the x axis, right at the origin, at these distances."""
    found = np.zeros((len(distances), 2, 3))
    found[:, 1, 0] = distances
    found[:, :, 1] = np.arange(len(distances))[:, None]
    return ApproachPoints(found, np.tile([1.0, 0.0, 0.0], (len(distances), 1)), np.array(distances))


def build(before, after, index=(0.0, 0.0)):
    message = path_markers("base", points(*before), points(*after), 0.1, 0.05, index, STAMP)
    first, *markers = message.markers
    assert first.action == Marker.DELETEALL and {m.action for m in markers} == {Marker.ADD}
    assert len({(m.ns, m.id) for m in markers}) == len(markers)
    assert all(m.header.frame_id == "base" and m.header.stamp == STAMP for m in markers)
    return markers


def coordinates(marker):
    return [(p.x, p.y, p.z) for p in marker.points]


def test_paths_of_both_arms_before_and_after():
    markers = build((0.3, 0.2), (0.3, 0.25))
    paths = {(m.ns, m.id): coordinates(m) for m in markers if m.points}
    assert paths == {
        ("before", 0): [(0.0, 0.0, 0.0), (0.0, 1.0, 0.0)],
        ("before", 1): [(0.3, 0.0, 0.0), (0.2, 1.0, 0.0)],
        ("after", 0): [(0.0, 0.0, 0.0), (0.0, 1.0, 0.0)],
        ("after", 1): [(0.3, 0.0, 0.0), (0.25, 1.0, 0.0)],
    }
    assert {m.type for m in markers if m.ns in ("before", "after")} == {Marker.LINE_STRIP}


def test_arrows_push_the_arms_apart_by_what_is_missing():
    markers = build((0.3, 0.08, 0.1), (0.3, 0.1, 0.1))
    arrows = [m for m in markers if m.ns == "field"]
    assert [m.id for m in arrows] == [0, 1]
    right, left = (coordinates(m) for m in arrows)
    assert np.subtract(right[1], right[0]) == pytest.approx([-0.02, 0.0, 0.0])
    assert np.subtract(left[1], left[0]) == pytest.approx([0.02, 0.0, 0.0])
    assert left[0] == pytest.approx((0.08, 1.0, 0.0))


def test_below_the_danger_distance_arrows_are_red():
    markers = build((0.08, 0.02), (0.1, 0.1))
    colours = [m.color for m in markers if m.ns == "field"]
    assert colours[0] == colours[1] != colours[2] == colours[3]
    assert colours[2].r > 0.5 and colours[2].g < 0.1 and colours[2].b < 0.1


def test_the_zones_of_the_field_are_where_the_arms_come_nearest_and_the_index_is_told():
    markers = build((0.08, 0.02), (0.1, 0.1), index=(np.inf, 0.0))
    markers = {(m.ns, m.id): m for m in markers}
    danger, safe, text = (markers[key] for key in (("zone", 0), ("zone", 1), ("index", 0)))
    assert (danger.scale.x, safe.scale.x) == (0.1, 0.2)  # diameters
    assert danger.pose.position == safe.pose.position and danger.pose.position.y == 1.0
    assert text.text == "F = inf m before, 0 m after"
    assert not [m for m in build((0.3,), (0.3,)) if m.ns == "zone"]


# -- the nearest points of two arms along a motion --


HELD = {**dict.fromkeys(JOINTS, 0.0), "mast_joint": 0.0}


@pytest.fixture(scope="module")
def slides():
    return between_arms(model(), ARMS)


def motion(names, rows):
    return Motion(tuple(names), np.arange(float(len(rows))), np.array(rows))


def test_points_lie_on_the_balls_on_the_line_of_their_centres(slides):
    rows = np.random.default_rng(0).uniform(-0.3, 0.3, (20, 4))
    found = approach_points(slides, ARMS[0].links, motion(JOINTS, rows), HELD)
    for k, (r_x, r_y, l_x, l_y) in enumerate(rows):
        right, left = np.array([r_x - 0.5, r_y, 0.0]), np.array([l_x + 0.5, l_y, 0.0])
        along = (left - right) / np.linalg.norm(left - right)
        assert found.directions[k] == pytest.approx(along)
        assert found.points[k, 0] == pytest.approx(right + RADIUS * along)
        assert found.points[k, 1] == pytest.approx(left - RADIUS * along)
        assert found.distances[k] == pytest.approx(distance(r_x, r_y, l_x, l_y))


@pytest.mark.parametrize("count", [1, 2, 7, 8, 1000])
def test_of_many_waypoints_a_few_are_taken_and_both_ends(slides, count):
    rows = np.linspace(0.0, 0.3, count)[:, None]
    found = approach_points(slides, ARMS[0].links, motion(["r_x"], rows), HELD, most=7)
    assert len(found.distances) == min(count, 7)
    assert found.distances[0] == pytest.approx(0.8 - rows[0, 0])
    assert found.distances[-1] == pytest.approx(0.8 - rows[-1, 0])
