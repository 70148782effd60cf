# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Markers: where the leaves are, in the colour of their clearance."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from toys import joint, link, robot

pytest.importorskip("rclpy", reason="rclpy is not installed")

from builtin_interfaces.msg import Time  # noqa: E402
from visualization_msgs.msg import Marker  # noqa: E402

from collision_monitor import CollisionModel  # noqa: E402
from collision_monitor.monitor import Level, MonitorState  # noqa: E402
from collision_monitor.nodes.markers import MarkerBuilder  # noqa: E402

TUBE = '<capsule radius="0.05" length="0.4"/>'


@pytest.fixture(scope="module")
def model():
    """Three tubes in a row, and a ball."""
    parts = [link(name, TUBE, "0 0 0.3") for name in "abc"]
    joints = [joint("j1", "a", "b", xyz="0 0 0.6"), joint("j2", "b", "c", xyz="0 0 0.6")]
    scene = {"obstacles": [
        {"name": "ball", "type": "sphere", "radius": 0.1, "position": [3, 0, 0]}
    ]}  # fmt: skip
    return CollisionModel.from_urdf(robot(*parts, *joints), scene=scene)


def known(model, q):
    return MonitorState(Level.OK, clearance=model.distance(q))


def by_place(message):
    return {(marker.ns, marker.id): marker for marker in message.markers}


@pytest.mark.parametrize("seed", range(10))
def test_cylinders_lie_between_the_ends_of_their_leaves(model, seed):
    q = model.random_configurations(1, seed=seed)[0]
    message = MarkerBuilder(model, 1.0).build(q, known(model, q), Time(sec=3), 0.1, 0.02)
    markers = by_place(message)
    for k, (leaf, (p0, p1)) in enumerate(zip(model.leaves, model.leaf_segments(q), strict=True)):
        spheres = markers["obstacles" if leaf.link == "ball" else "leaves", k]
        assert spheres.type == Marker.SPHERE_LIST and spheres.scale.x == 2.0 * leaf.radius
        ends = np.array([[p.x, p.y, p.z] for p in spheres.points])
        assert ends == pytest.approx(np.array([p0, p1])[: len(ends)], abs=1e-12)
        if leaf.kind == "sphere":
            assert len(ends) == 1
            continue
        tube = markers["leaves/cylinders", k]
        o, p = tube.pose.orientation, tube.pose.position
        turn = Rotation.from_quat([o.x, o.y, o.z, o.w])
        half = turn.apply([0.0, 0.0, 0.5 * tube.scale.z])
        middle = np.array([p.x, p.y, p.z])
        assert middle + half == pytest.approx(p1, abs=1e-9)
        assert middle - half == pytest.approx(p0, abs=1e-9)


def test_frames_stamps_lifetimes_and_places_are_stable(model):
    builder, q = MarkerBuilder(model, 1.5), np.zeros(2)
    first = builder.build(q, known(model, q), Time(sec=3), 0.1, 0.02)
    places = [(m.ns, m.id) for m in first.markers]
    assert len(set(places)) == len(places)
    for marker in first.markers:
        assert marker.header.frame_id == model.root
        assert marker.header.stamp.sec == 3
        assert (marker.lifetime.sec, marker.lifetime.nanosec) == (1, 500_000_000)
    second = builder.build(q + 0.1, known(model, q + 0.1), Time(sec=4), 0.1, 0.02)
    assert [(m.ns, m.id) for m in second.markers] == places


def test_the_nearest_pair_is_a_line_with_its_distance(model):
    q = np.array([0.3, -0.8])
    clearance = model.distance(q)
    markers = by_place(MarkerBuilder(model, 1.0).build(q, known(model, q), Time(), 0.1, 0.02))
    line, text = markers["nearest", 0], markers["nearest", 1]
    points = np.array([[p.x, p.y, p.z] for p in line.points])
    assert points == pytest.approx(clearance.points, abs=1e-12)
    assert text.text == f"{clearance.distance:.3f} m"
    assert line.action == text.action == Marker.ADD


def test_what_is_not_known_is_grey_and_has_no_line(model):
    unknown = MonitorState(Level.STALE, "waiting", "waiting")
    markers = by_place(MarkerBuilder(model, 1.0).build(np.zeros(2), unknown, Time(), 0.1, 0.02))
    colours = {(m.color.r, m.color.g, m.color.b) for (ns, _), m in markers.items()
               if ns != "nearest"}  # fmt: skip
    assert len(colours) == 1
    ((r, g, b),) = colours
    assert max(r, g, b) - min(r, g, b) < 0.1
    assert markers["nearest", 0].action == markers["nearest", 1].action == Marker.DELETE


def test_only_links_that_are_near_are_red(model):
    straight = model.distance(np.zeros(2)).distance
    message = MarkerBuilder(model, 1.0).build(
        np.zeros(2), known(model, np.zeros(2)), Time(), straight + 2e-3, straight + 1e-3
    )
    nearest = set(model.distance(np.zeros(2)).links)
    for (ns, k), marker in by_place(message).items():
        if ns.startswith(("leaves", "obstacles")):
            red = marker.color.r > marker.color.g
            assert red == (model.leaves[k].link in nearest)


def test_clear_removes_what_was_shown():
    (marker,) = MarkerBuilder.clear().markers
    assert marker.action == Marker.DELETEALL
