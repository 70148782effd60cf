# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Markers: where they are, what colour they have, and that none stays when it should go."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.robots.toy_models import toy_model
from support.robots.toys import chain, joint, link

from collision_monitor import CollisionModel
from collision_monitor.model.proximity import Nearness
from collision_monitor.monitoring.monitor import Level, MonitorState

pytest.importorskip("rclpy", reason="rclpy is not installed")

from builtin_interfaces.msg import Time  # noqa: E402
from support.ros.rviz_twin import RvizTwin, markers_of  # noqa: E402
from visualization_msgs.msg import Marker, MarkerArray  # noqa: E402

from collision_monitor.nodes.markers.markers import (
    ALL,  # noqa: E402
    MarkerBuilder,  # noqa: E402
)

CAPSULE = '<capsule radius="0.05" length="0.6"/>'
SCENE = {
    "obstacles": [{"name": "ball", "type": "sphere", "radius": 0.3, "position": [0.0, 3.0, 0.0]}]
}
STAMP = Time(sec=12, nanosec=34)


@pytest.fixture(scope="module")
def arm():
    """A ball on the floor, a capsule that turns about x, another that slides; an obstacle."""
    return toy_model(
        link("floor"), link("upper", CAPSULE, xyz="0 0 0.4"), link("lower", CAPSULE),
        joint("turn", "floor", "upper", xyz="0 0 0.5", axis="1 0 0"),
        joint("slide", "upper", "lower", "prismatic", xyz="0.5 0 1", axis="0 1 0"),
        scene=SCENE,
    )  # fmt: skip


def build(model, q, warn=0.1, stop=0.02, clearance="known", builder=None, stamp=STAMP):
    """Markers of one moment, copied; by default of a state that knows the nearest pair."""
    if clearance == "known":
        clearance = model.distance(q)
    state = MonitorState(Level.OK, clearance=clearance)
    builder = MarkerBuilder(model, 1.5) if builder is None else builder
    q = np.asarray(q, float)
    thresholds = np.tile([stop, warn], (len(model.pairs), 1))
    nearness = Nearness(model).of_leaves(q, thresholds)
    return markers_of(builder.build(q, state, stamp, nearness))


def rgb(marker):
    """Colour of a marker."""
    return np.array([marker.color.r, marker.color.g, marker.color.b])


def of(markers, *namespaces):
    """Those in the namespaces."""
    return [m for m in markers if m.ns in namespaces]


@pytest.mark.parametrize("turn", [0.0, 0.3, -1.2, math.pi / 2, math.pi - 1e-3, math.pi])
def test_capsules_are_two_balls_and_a_cylinder_along_their_segment(arm, turn):
    q = np.array([turn, 0.7])
    segments = arm.leaf_segments(q)
    markers = build(arm, q)
    by_id = {(m.ns, m.id): m for m in markers}
    cylinders = of(markers, "leaves/cylinders")
    assert [arm.leaves[m.id].link for m in cylinders] == ["upper", "lower"]
    for marker in cylinders:
        p0, p1 = segments[marker.id]
        assert (marker.type, marker.action) == (Marker.CYLINDER, Marker.ADD)
        o, p, size = marker.pose.orientation, marker.pose.position, marker.scale
        assert np.linalg.norm([o.x, o.y, o.z, o.w]) == pytest.approx(1.0, abs=1e-9)
        rotation = Rotation.from_quat([o.x, o.y, o.z, o.w])
        half = rotation.apply([0.0, 0.0, 0.5 * size.z])
        middle = np.array([p.x, p.y, p.z])
        assert middle - half == pytest.approx(p0, abs=1e-9)
        assert middle + half == pytest.approx(p1, abs=1e-9)
        assert (size.x, size.y) == (2 * arm.leaves[marker.id].radius,) * 2
        ends = by_id["leaves", marker.id].points
        assert [[e.x, e.y, e.z] for e in ends] == segments[marker.id].tolist()


def test_colours_at_and_beside_the_borders():
    model = CollisionModel.from_urdf(chain(3))  # stretched: one pair, its two ends
    q = np.zeros(2)
    distance = model.distance(q).distance
    above, below = distance + 1e-9, distance - 1e-9
    assert distance == pytest.approx(1.8)

    def colour(warn, stop):
        first, _, last = (rgb(m) for m in of(build(model, q, warn, stop), "leaves"))
        return first if model.leaves[0].link != "l1" else last

    green, yellow, red = colour(below, 0.1), colour(above, 0.1), colour(9.0, above)
    assert green[1] > 1.5 * max(green[0], green[2])
    assert red[0] > 3.0 * max(red[1], red[2])
    assert min(yellow[0], yellow[1]) > 2.0 * yellow[2]
    assert colour(0.2, 0.1) == pytest.approx(green)
    assert colour(9.0, above) == pytest.approx(red)
    assert colour(distance + 0.4, distance - 0.4) == pytest.approx(0.5 * (red + yellow))
    assert colour(above, above) == pytest.approx(red)
    assert colour(below, below) == pytest.approx(green)


def test_the_nearest_line_ends_at_the_points_and_its_text_is_the_distance(arm):
    q = [0.4, 0.9]
    clearance = arm.distance(q)
    line, text, ends = of(build(arm, q), "nearest")
    assert (line.type, text.type) == (Marker.LINE_LIST, Marker.TEXT_VIEW_FACING)
    assert {m.action for m in (line, text, ends)} == {Marker.ADD}
    for marker in (line, ends):
        assert [[p.x, p.y, p.z] for p in marker.points] == clearance.points.tolist()
    assert text.text == f"{clearance.distance:.3f} m\n{' - '.join(clearance.links)}"
    assert rgb(text).mean() > 0.6  # RViz is dark
    assert rgb(text).argmax() == rgb(line).argmax()  # the colour of the level, lighter
    place = text.pose.position
    middle = clearance.points.mean(axis=0)
    assert np.linalg.norm([place.x, place.y, place.z] - middle) < 0.1


def test_what_is_not_known_is_grey_and_has_no_nearest_line(arm):
    builder = MarkerBuilder(arm, 1.0)
    build(arm, [0.3, 0.2], builder=builder)
    unknown = build(arm, [0.3, 0.2], clearance=None, builder=builder)
    assert {m.action for m in of(unknown, "nearest", "contact")} == {Marker.DELETE}
    shown = [m for m in unknown if m.ns not in ("nearest", "contact")]
    assert {m.action for m in shown} == {Marker.ADD}
    assert all(np.ptp(rgb(m)) < 0.1 for m in shown)
    assert len({tuple(rgb(m)) for m in shown}) == 1
    again = build(arm, [0.3, 0.2], builder=builder)
    assert again == build(arm, [0.3, 0.2], builder=MarkerBuilder(arm, 1.0))


SLIDES = {
    "obstacles": [
        {"name": "can", "type": "cylinder", "radius": 0.1, "length": 0.4, "position": [2, 0, 0]},
        {"name": "stick", "type": "capsule", "radius": 0.1, "length": 0.4, "position": [0, -2, 0]},
    ]
}


def test_nothing_is_left_behind_when_robots_obstacles_leaves_and_levels_go(arm):
    rviz, seconds = RvizTwin(), 12

    def show(model, q, clearance="known", levels=frozenset(), builder=None):
        """What the node does; returns the builder and what ought to be shown."""
        if builder is None:
            builder = MarkerBuilder(model, 1.5, None, levels)
            rviz.take(builder.clear())
        if clearance == "known":
            clearance = model.distance(q)
        state = MonitorState(Level.OK, clearance=clearance)
        nearness = Nearness(model).of_leaves(np.array(q), np.zeros((len(model.pairs), 2)))
        nonlocal seconds  # so that what stands still is sent again
        seconds += 1
        messages = list(builder.build(np.array(q), state, Time(sec=seconds), nearness))
        rviz.take(*messages)
        wanted = {(m.ns, m.id) for m in markers_of(messages) if m.action == Marker.ADD}
        assert set(rviz.shown) == wanted
        return builder

    everything = {"leaves", "leaves/cylinders", "obstacles", "nearest"}
    show(arm, [0.3, 0.2])
    assert rviz.namespaces == everything
    show(arm, [0.3, 0.2], levels=ALL)
    assert rviz.namespaces == {*everything, "aabb"}
    builder = show(arm, [0.3, 0.2], levels=frozenset({1}))
    assert {key for key in rviz.shown if key[0] == "aabb"} == {("aabb", 1)}
    show(arm, [0.3, 0.2], clearance=None, builder=builder)
    assert rviz.namespaces == {*everything, "aabb"} - {"nearest"}
    other = CollisionModel.from_urdf(chain(3), scene=SLIDES)  # fewer leaves, other obstacles
    builder = show(other, [0.3, 0.2])
    assert rviz.namespaces == {"leaves", "obstacles", "obstacles/cylinders", "nearest"}
    show(CollisionModel.from_urdf(chain(3)), [0.3, 0.2])
    assert rviz.namespaces == {"leaves", "nearest"}
    rviz.wait(2.0)  # the node has died
    assert rviz.shown == {}


def test_boxes_over_triangles_are_shown_and_those_that_meet():
    model = toy_model(
        link("rail"), link("arm", ""), link("ball"),
        joint("fix", "rail", "arm", "fixed", xyz="0 0 0"),
        joint("slide", "arm", "ball", "prismatic", xyz="0 0 0", axis="1 0 0"),
        scene={"obstacles": [{"name": "post", "type": "sphere", "radius": 0.1,
        "position": [1.0, 0.0, 0.0]}]},
    )  # fmt: skip
    rviz, builder = RvizTwin(), MarkerBuilder(model, 1.5, mesh_level=0)
    assert builder.remarks == []

    def show(q):
        rviz.take(MarkerArray(markers=build(model, q, builder=builder)))

    show([0.5])
    assert len(rviz.shown["mesh_boxes", 0].points) == 24 * len(model.link_names)
    assert "colliding_boxes" not in rviz.namespaces
    show([0.9])
    assert len(rviz.shown["colliding_boxes", 0].points) == 2 * 24
    show([0.5])
    assert "colliding_boxes" not in rviz.namespaces
    (remark,) = MarkerBuilder(model, 1.5, mesh_level=7).remarks
    assert remark.startswith("show_mesh_level: level 0 is shown")
