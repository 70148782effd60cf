# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What a scene held, said again, makes the same scene."""

import math
from dataclasses import replace

import numpy as np
import pytest
from support.robots.toys import chain
from support.ros.live_cases import pose_of as random_pose

from collision_monitor import CollisionModel
from collision_monitor.model.live.desired_scene import DesiredScene, ObjectRequest
from collision_monitor.model.live.live_objects import Bounds
from collision_monitor.model.live.live_scene import LiveScene

pytest.importorskip("rclpy", reason="rclpy is not installed")

from geometry_msgs.msg import Point  # noqa: E402
from rclpy.serialization import deserialize_message  # noqa: E402
from support.ros.obstacle_messages import marker  # noqa: E402
from visualization_msgs.msg import Marker, MarkerArray  # noqa: E402

from collision_monitor.nodes.obstacles.message_shapes import marker_name, marker_shape, pose_of
from collision_monitor.nodes.recorder import SceneMessages  # noqa: E402

MODEL = CollisionModel.from_urdf(chain(4))
Q = np.array([0.5, 0.5, 0.3])
SCENE, ATTACH = 3, 4  # numbers of channels


def put(keeper, message):
    """As the node does."""
    shape, frame = marker_shape(message, 8), message.header.frame_id
    touch = frozenset(message.text.split())
    pose = pose_of(message.pose)
    keeper.request(ObjectRequest(marker_name(message), shape, frame, pose, touch, source=message))


def make(number, kind, rng, frame="l0", **more):
    at = random_pose(rng, 2.0)[:3, 3]
    found = marker(number, kind, at, frame, (0.2, 0.3, 0.4), **more)
    o = found.pose.orientation
    o.x, o.y, o.z, o.w = (0.5, 0.5, -0.5, 0.5) if number % 2 else (0.0, 0.0, 0.0, 0.0)
    return found


@pytest.fixture
def keeper():
    rng = np.random.default_rng(2)
    found = DesiredScene()
    found.use_scene(LiveScene(MODEL, Bounds(objects=60, leaves_per_object=8)))
    points = [Point(x=float(x), y=0.5 * x, z=0.0) for x in range(3)]
    for k, kind in enumerate((Marker.CUBE, Marker.SPHERE, Marker.CYLINDER) * 15):
        put(found, make(k, kind, rng))
    put(found, make(90, Marker.SPHERE_LIST, rng, points=points))
    put(found, make(91, Marker.TRIANGLE_LIST, rng, points=[*points[:2], Point(z=1.0)]))
    put(found, make(92, Marker.CUBE, rng, "l3", text="l2 cell/1"))
    for name, link in (("cell/0", "l3"), ("cell/91", "l2")):
        assert found.attach(name, link, Q, ["l1"] if name == "cell/0" else [])
    return found


def test_the_same_messages_make_the_same_scene(keeper):
    source = SceneMessages(keeper, SCENE, ATTACH)
    held, size = source.held()
    assert size > 4000 * 48 and source.held()[1] < 1000, "nothing is new the second time"
    said = held()
    again = DesiredScene()
    again.use_scene(LiveScene(MODEL, keeper.live.bounds))
    for channel, data in said:
        markers = deserialize_message(data, MarkerArray).markers
        assert 0 < len(markers) <= 20
        for each in markers:
            assert (channel == ATTACH) == bool(each.text)
            put(again, each)
    assert again.live.objects.keys() == keeper.live.objects.keys()
    pairs = {frozenset(pair): k for k, pair in enumerate(again.live.pairs)}
    order = [pairs[frozenset(pair)] for pair in keeper.live.pairs]
    assert len(order) == len(pairs)
    for q in MODEL.random_configurations(10, 1):
        np.testing.assert_allclose(
            again.live.distances(q)[order], keeper.live.distances(q), atol=1e-9
        )


def test_what_goes_on_changing_does_not_change_what_was_held(keeper):
    source = SceneMessages(keeper, SCENE, ATTACH)
    held, _ = source.held()
    before = [data for _, data in held()]
    put(keeper, make(3, Marker.CUBE, np.random.default_rng(9)))
    keeper.drop("cell/4")
    assert len([data for _, data in held()]) == len(before)
    names = {marker_name(m) for _, data in held()
             for m in deserialize_message(data, MarkerArray).markers}  # fmt: skip
    assert "cell/4" in names


def test_what_expires_has_the_rest_of_its_life_and_what_has_no_marker_is_left_out(keeper):
    request = keeper.requests["cell/7"]
    requests = (
        replace(request, expires=9.0), replace(keeper.requests["cell/8"], expires=12.5),
        keeper.requests["cell/6"], replace(request, name="planning_scene/x", source=None),
    )  # fmt: skip
    ((_, data),) = SceneMessages(keeper, SCENE, ATTACH).messages(10.0, requests)
    markers = {m.id: m for m in deserialize_message(data, MarkerArray).markers}
    seconds = {k: m.lifetime.sec + 1e-9 * m.lifetime.nanosec for k, m in markers.items()}
    assert seconds == {8: 2.5, 6: 0.0} and math.isinf(keeper.requests["cell/6"].expires)


def test_at_a_stop_it_is_what_is_watched(keeper):
    found = SceneMessages(keeper, SCENE, ATTACH).at_stop()()
    assert {one["name"].split("#")[0] for one in found["obstacles"]} == set(keeper.live.objects)
    empty = SceneMessages(DesiredScene(), SCENE, ATTACH).at_stop()()
    assert empty == {"obstacles": [], "ignore": []}
