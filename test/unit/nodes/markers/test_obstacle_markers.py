# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Obstacles in RViz: as they are, where they are, and never many at once."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.robots.toys import chain, joint, link, robot

from collision_monitor import CollisionModel

pytest.importorskip("rclpy", reason="rclpy is not installed")

from builtin_interfaces.msg import Time  # noqa: E402
from support.ros.rviz_twin import RvizTwin, markers_of  # noqa: E402
from visualization_msgs.msg import Marker  # noqa: E402

from collision_monitor.nodes.markers import obstacle_markers  # noqa: E402
from collision_monitor.nodes.markers.obstacle_markers import ObstacleMarkers  # noqa: E402

SHAPES = [
    {"name": "box", "type": "box", "size": [0.2, 0.3, 0.4], "position": [1, 2, 3],
     "rpy": [0.1, 0.2, 0.3]},
    {"name": "can", "type": "cylinder", "radius": 0.1, "length": 0.5, "position": [0, 2, 0]},
    {"name": "ball", "type": "sphere", "radius": 0.2, "position": [0, 0, 2]},
    {"name": "stick", "type": "capsule", "radius": 0.1, "length": 0.6, "position": [0, -2, 0]},
]  # fmt: skip
GREEN, RED = (0.18, 0.65, 0.37, 0.35), (0.86, 0.16, 0.16, 0.35)


def make(kind, namespace, number, longer=1.0):
    """A marker in the base frame that lives ``longer`` seconds."""
    marker = Marker(type=kind, ns=namespace, id=number)
    marker.header.frame_id = "l0"
    marker.lifetime.sec = int(longer)
    return marker


def build(markers, model, q, colours=None):
    """Messages at q, each with its markers."""
    if colours is None:
        colours = np.tile(GREEN, (len(model.link_names), 1))
    messages = list(markers.build(np.array(q), model.leaf_segments(q), colours, Time(sec=1)))
    RvizTwin().take(*messages)
    return [markers_of([message]) for message in messages]


def pose(marker):
    """Position and quaternion."""
    p, o = marker.pose.position, marker.pose.orientation
    return [p.x, p.y, p.z], [o.x, o.y, o.z, o.w]


def test_boxes_cans_and_balls_are_shown_as_they_are_and_others_by_their_leaves():
    model = CollisionModel.from_urdf(chain(3), scene={"obstacles": SHAPES})
    (found,) = build(ObstacleMarkers(model, make), model, [0.1, 0.2])
    box, can, ball, ends, middle = found
    assert [m.type for m in found] == [
        Marker.CUBE, Marker.CYLINDER, Marker.SPHERE, Marker.SPHERE_LIST, Marker.CYLINDER,
    ]  # fmt: skip
    assert [(m.scale.x, m.scale.y, m.scale.z) for m in found] == [
        (0.2, 0.3, 0.4), (0.2, 0.2, 0.5), (0.4, 0.4, 0.4), (0.2, 0.2, 0.2), (0.2, 0.2, 0.6),
    ]  # fmt: skip
    place, turn = pose(box)
    assert place == [1.0, 2.0, 3.0]
    assert Rotation.from_quat(turn).as_euler("xyz") == pytest.approx([0.1, 0.2, 0.3])
    assert pose(can)[0] == [0.0, 2.0, 0.0] and pose(ball)[0] == [0.0, 0.0, 2.0]
    assert sorted(p.z for p in ends.points) == pytest.approx([-0.3, 0.3])
    assert pose(middle)[0] == [0.0, -2.0, 0.0]
    assert middle.ns == "obstacles/cylinders" and {m.ns for m in found[:4]} == {"obstacles"}
    assert len({m.id for m in found[:4]}) == 4


def test_an_obstacle_that_a_joint_moves_goes_with_it():
    scene = {"obstacles": [{**SHAPES[0], "link": "hand"}, {**SHAPES[3], "link": "hand"}]}
    model = CollisionModel.from_urdf(
        robot(
            link("l0"), link("arm", xyz="0 0 0.5"), link("hand"),
            joint("turn", "l0", "arm"), joint("slide", "arm", "hand", "prismatic"),
        ),
        scene=scene,
    )  # fmt: skip
    markers = ObstacleMarkers(model, make)
    for q in ([0.0, 0.0], [0.5, 0.3], [-1.0, 0.7]):
        (found,) = build(markers, model, q)
        hand = model.link_poses(q)["hand"]
        expected = hand @ model.scene.obstacles[0].shape.pose
        place, turn = pose(found[0])
        assert place == pytest.approx(expected[:3, 3].tolist())
        assert Rotation.from_quat(turn).as_matrix() == pytest.approx(expected[:3, :3])
        middle = hand @ [0.0, -2.0, 0.0, 1.0]
        assert pose(found[-1])[0] == pytest.approx(middle[:3].tolist())


@pytest.fixture(scope="module")
def crowd():
    """Seventy balls around two joints."""
    obstacles = [
        {"name": f"o{k}", "type": "sphere", "radius": 0.1, "position": [3.0 + k, 0.0, 0.0]}
        for k in range(70)
    ]
    return CollisionModel.from_urdf(chain(3), scene={"obstacles": obstacles})


def test_many_are_sent_a_few_at_a_time_and_all_are_shown(crowd, monkeypatch):
    monkeypatch.setattr(obstacle_markers, "GROUP", 20)
    markers, rviz = ObstacleMarkers(crowd, make), RvizTwin()
    segments = crowd.leaf_segments([0.0, 0.0])
    colours = np.tile(GREEN, (len(crowd.link_names), 1))
    for _ in range(12):
        messages = list(markers.build(np.zeros(2), segments, colours, Time()))
        assert len(messages) <= 2
        assert all(len(markers_of([message])) <= 20 for message in messages)
        rviz.take(*messages)
        rviz.wait(0.9)
    assert len(rviz.shown) == 70  # none has vanished while others had their turn
    assert {m.lifetime.sec for m in rviz.shown.values()} == {4}


def test_the_most_alarming_change_is_shown_at_once(crowd, monkeypatch):
    monkeypatch.setattr(obstacle_markers, "GROUP", 20)
    markers = ObstacleMarkers(crowd, make)
    colours = np.tile(GREEN, (len(crowd.link_names), 1))
    for _ in range(8):
        build(markers, crowd, [0.0, 0.0], colours)
    for number in (3, 33, 65):
        colours[crowd.link_names.index(f"o{number}")] = RED
        found = [m for markers in build(markers, crowd, [0.0, 0.0], colours) for m in markers]
        red = [m for m in found if m.color.r > 0.8]
        assert number + 3.0 in [m.pose.position.x for m in red]


def test_without_obstacles_nothing_is_sent():
    model = CollisionModel.from_urdf(chain(3))
    assert build(ObstacleMarkers(model, make), model, [0.0, 0.0]) == []
