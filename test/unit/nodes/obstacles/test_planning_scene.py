# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""MoveIt's scenes, as messages with the fields of moveit_msgs and shape_msgs."""

import math
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from support.robots.toys import chain

pytest.importorskip("rclpy", reason="rclpy is not installed")

from geometry_msgs.msg import Point, Pose  # noqa: E402
from std_msgs.msg import Header  # noqa: E402
from support.ros.scene_stub import VALUES, stub_node, until  # noqa: E402

from collision_monitor import CollisionModel  # noqa: E402
from collision_monitor.errors import FitError  # noqa: E402
from collision_monitor.model.live.desired_scene import DesiredScene  # noqa: E402
from collision_monitor.model.live.live_objects import Bounds  # noqa: E402
from collision_monitor.model.live.live_scene import LiveScene  # noqa: E402
from collision_monitor.nodes.obstacles import scene_objects  # noqa: E402
from collision_monitor.nodes.obstacles.message_shapes import AT_ONCE, ManyTriangles  # noqa: E402
from collision_monitor.nodes.obstacles.planning_scene import (
    ADD,
    APPEND,
    MOVE,
    REMOVE,
    PlanningSceneTopic,
)
from collision_monitor.nodes.obstacles.scene_topics import SceneTopics

Q = np.array([0.5, 0.5, 0.3])
TRIANGLE = np.array([[[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]])


def at(x=0.0, y=0.0, z=0.0):
    pose = Pose()
    pose.position.x, pose.position.y, pose.position.z = float(x), float(y), float(z)
    return pose


def primitive(kind, *dimensions):
    return SimpleNamespace(type=kind, dimensions=list(dimensions))


def mesh(corners):
    points = [Point(x=x, y=y, z=z) for x, y, z in corners.reshape(-1, 3).tolist()]
    triangles = [
        SimpleNamespace(vertex_indices=np.array([3 * k, 3 * k + 1, 3 * k + 2], dtype=np.uint32))
        for k in range(len(corners))
    ]
    return SimpleNamespace(vertices=points, triangles=triangles)


def thing(name="box", operation=ADD, pose=None, frame="l0", **shapes):
    fields = {
        key: []
        for key in ("primitives", "primitive_poses", "meshes", "mesh_poses", "planes")
    }
    return SimpleNamespace(
        id=name, operation=bytes([operation]), pose=pose or at(), header=Header(frame_id=frame),
        **(fields | shapes),
    )  # fmt: skip


def box(name="box", *, y=2.0, **more):
    return thing(name, pose=at(0, y), primitives=[primitive(1, 0.2, 0.2, 0.2)],
                 primitive_poses=[at()], **more)  # fmt: skip


def scene(*things, attached=(), is_diff=True, octomap=b""):
    return SimpleNamespace(
        is_diff=is_diff,
        robot_state=SimpleNamespace(attached_collision_objects=list(attached)),
        world=SimpleNamespace(
            collision_objects=list(things),
            octomap=SimpleNamespace(octomap=SimpleNamespace(data=list(octomap))),
        ),
    )


def held(message, link="l3", touch=("l2",)):
    return SimpleNamespace(object=message, link_name=link, touch_links=list(touch))


class Taken:
    """What the node would do with shapes, without threads."""

    def __init__(self):
        model = CollisionModel.from_urdf(chain(4))
        self.keeper = DesiredScene()
        self.keeper.use_scene(LiveScene(model, Bounds(objects=4, leaves_per_object=8, voxels=4)))
        self.q = Q

    def request(self, request, shape):
        from dataclasses import replace

        self.keeper.request(
            replace(request, shape=shape.coarse if isinstance(shape, ManyTriangles) else shape)
        )

    def drop(self, name):
        self.keeper.drop(name)

    def unmade(self, name):
        return None

    @property
    def objects(self):
        return self.keeper.live.objects


@pytest.fixture(scope="module")
def only():
    return Taken()


@pytest.fixture
def taken(only):
    only.keeper.drop_all()
    only.q = Q
    return only, PlanningSceneTopic(only, 8)


def centre(found, name):
    ends, _ = found.keeper.live.segments(Q)[name]
    return ends.reshape(-1, 3).mean(axis=0)


def test_objects_are_added_moved_appended_and_removed(taken):
    found, topic = taken
    topic.process(scene(box("a b"), box("c", y=3.0)))
    assert set(found.objects) == {"planning_scene/a%20b", "planning_scene/c"}
    np.testing.assert_allclose(centre(found, "planning_scene/c"), [0, 3, 0], atol=1e-9)
    topic.process(scene(thing("c", MOVE, at(0, 4))))
    np.testing.assert_allclose(centre(found, "planning_scene/c"), [0, 4, 0], atol=1e-9)
    before = len(found.objects["planning_scene/c"].rows)
    more = thing("c", APPEND, at(0, 4), primitives=[primitive(2, 0.1)], primitive_poses=[at(0, 1)])
    topic.process(scene(more))
    assert len(found.objects["planning_scene/c"].rows) == before + 1
    topic.process(scene(thing("a b", REMOVE)))
    assert set(found.objects) == {"planning_scene/c"}
    assert found.keeper.fault(0.0) == ""


def test_an_object_without_a_pose_has_that_of_its_only_shape(taken):
    """MoveIt's tutorials give the shape the pose; the object moves from there, not by it."""
    found, topic = taken
    ball = {"primitives": [primitive(2, 0.1)], "primitive_poses": [at(2.0)]}
    topic.process(scene(thing("a", **ball)))
    np.testing.assert_allclose(centre(found, "planning_scene/a"), [2, 0, 0], atol=1e-9)
    topic.process(scene(thing("a", MOVE, at(0, 3))))
    np.testing.assert_allclose(centre(found, "planning_scene/a"), [0, 3, 0], atol=1e-9)


def test_what_is_appended_does_not_move_what_is_there(taken):
    found, topic = taken
    topic.process(scene(box("a", y=3.0)))
    for pose in (at(), at(0, 9)):
        more = {"primitives": [primitive(2, 0.1)], "primitive_poses": [at(1.0)]}
        topic.process(scene(thing("a", APPEND, pose, **more)))
    places = found.objects["planning_scene/a"].geometry.solids.places[:, :3, 3]
    where = places + found.objects["planning_scene/a"].pose[:3, 3]
    np.testing.assert_allclose(where, [[0, 3, 0], [1, 3, 0], [1, 3, 0]], atol=1e-9)


def test_poses_of_shapes_do_not_move_an_object_unnoticed(taken):
    found, topic = taken
    topic.process(scene(box("a", y=3.0)))
    topic.process(scene(thing("a", MOVE, primitive_poses=[at(0, 4)])))
    assert "0 shapes and 1 poses" in found.keeper.fault(0.0)
    np.testing.assert_allclose(centre(found, "planning_scene/a"), [0, 3, 0], atol=1e-9)


def test_an_object_without_an_id_stands_for_all(taken):
    found, topic = taken
    two = [held(box(name, frame="l3", y=0.3)) for name in ("a", "b")]
    topic.process(scene(box("c"), attached=[*two, held(box("d", frame="l2", y=0.3), "l2")]))
    assert len(found.keeper.carried()) == 3
    topic.process(scene(thing("", REMOVE)))
    assert sorted(found.objects) == [f"planning_scene/{name}" for name in "abd"]
    topic.process(scene(attached=[held(thing("", REMOVE), "l3")]))
    assert found.keeper.carried() == ["planning_scene/d"]
    topic.process(scene(attached=[held(thing("", REMOVE), "")]))
    assert found.keeper.carried() == []
    assert len(found.objects) == 3


def test_a_whole_scene_replaces_what_was_there_and_a_difference_does_not(taken):
    found, topic = taken
    topic.process(scene(box("a"), box("b")))
    topic.process(scene(box("c")))
    assert len(found.objects) == 3
    topic.process(scene(box("c"), is_diff=False))
    assert set(found.objects) == {"planning_scene/c"}


def test_what_is_attached_is_carried_and_goes_back_into_the_world(taken):
    found, topic = taken
    topic.process(scene(box("part")))
    topic.process(scene(thing("part", REMOVE), attached=[held(box("part", frame="l3", y=0.3))]))
    assert found.keeper.carried() == ["planning_scene/part"]
    assert found.objects["planning_scene/part"].touch == {"l2"}
    where = centre(found, "planning_scene/part")
    topic.process(scene(attached=[held(thing("part", REMOVE))]))
    assert found.keeper.carried() == []
    np.testing.assert_allclose(centre(found, "planning_scene/part"), where, atol=1e-9)
    topic.process(scene(attached=[held(thing("part"))]))  # by its name alone
    assert found.keeper.carried() == ["planning_scene/part"]


def test_shapes_are_measured_as_they_are(taken):
    found, topic = taken
    topic.process(scene(box("one"), thing(
        "two", primitives=[primitive(3, 0.4, 0.1)], primitive_poses=[at(0, 0.5)],
        meshes=[mesh(TRIANGLE)], mesh_poses=[at(0, 0, 1)],
    )))  # fmt: skip
    (row,), (place,) = found.objects["planning_scene/one"].geometry.solids
    np.testing.assert_allclose(row, [0.1, 0.1, 0.1, 0, 0])
    np.testing.assert_allclose(place, np.eye(4))
    both = found.objects["planning_scene/two"].geometry
    np.testing.assert_allclose(both.solids.rows, [[0.1, 0.1, 0.2, 1, 0]])
    np.testing.assert_allclose(both.solids.places[0, :3, 3], [0, 0.5, 0])
    (triangle,) = both.meshes
    np.testing.assert_allclose(triangle.pose[:3, 3], [0, 0, 1])
    assert sorted(triangle.vertices[triangle.triangles[0]].tolist()) == sorted(TRIANGLE[0].tolist())


def finish(topics):
    """Wait for the worker, and deliver what it made."""
    until(topics, lambda: not topics.objects.jobs.names)


@pytest.fixture
def topics(only):
    found = SceneTopics(stub_node(), VALUES, lambda: None)
    model = only.keeper.live.model
    found.objects.keeper.use_scene(
        LiveScene(model, Bounds(objects=4, leaves_per_object=32, voxels=4))
    )
    found.process = PlanningSceneTopic(found.objects, VALUES["scene_leaves_per_object"]).process
    yield found
    found.destroy()


MANY = np.random.default_rng(1).uniform(-0.1, 0.1, (AT_ONCE + 1, 3, 3))


def test_an_object_that_moves_or_grows_while_its_mesh_is_processed_gets_the_mesh(topics):
    """The worker is held up until both have happened."""
    live, jobs, topic = topics.objects.live, topics.objects.jobs, topics.process
    is_begun, is_free = threading.Event(), threading.Event()

    class Held(tuple):
        """Parts that take long."""

        def __iter__(self):
            is_begun.set()
            is_free.wait()
            return super().__iter__()

    jobs.start("held", ManyTriangles(Held(), None))
    assert is_begun.wait(30.0)

    def geometry(name):
        return live.objects[f"planning_scene/{name}"].geometry

    try:
        for name in ("moved", "grown", "replaced"):
            topic(
                scene(thing(name, pose=at(0, 2), meshes=[mesh(MANY)], mesh_poses=[at()]))
            )
            assert not geometry(name).meshes  # the box around it
        ball = {"primitives": [primitive(2, 0.1)], "primitive_poses": [at()]}
        topic(
            scene(
                thing("moved", MOVE, at(0, 3)), thing("grown", APPEND, at(0, 2), **ball),
                box("replaced"),
            )
        )  # fmt: skip
        assert len(geometry("grown").solids.rows) > 1
        is_free.set()
        jobs.cancel("held")
        finish(topics)
        for name in ("moved", "grown"):
            (found,) = geometry(name).meshes
            assert len(found.triangles) == AT_ONCE + 1
        assert live.objects["planning_scene/moved"].pose[1, 3] == 3.0
        assert len(geometry("grown").solids.rows) == 1
        assert not geometry("replaced").meshes
        assert topics.objects.keeper.fault(0.0) == ""
    finally:
        is_free.set()


def test_the_same_mesh_again_is_measured_as_it_was(topics):
    topic, name = topics.process, "planning_scene/rock"
    topic(scene(thing("rock", meshes=[mesh(MANY)], mesh_poses=[at()])))
    finish(topics)
    made = topics.objects.live.objects[name].geometry
    for y in (2.0, 3.0):
        rock = thing("rock", pose=at(0, y), meshes=[mesh(MANY)], mesh_poses=[at()])
        topic(scene(rock, is_diff=False))
        assert topics.objects.live.objects[name].geometry is made
        assert topics.objects.live.objects[name].pose[1, 3] == y
        topic(scene(thing("rock", MOVE, at(0, 1))))
        assert topics.objects.live.objects[name].geometry is made
    other = thing("rock", meshes=[mesh(MANY + 0.1)], mesh_poses=[at()])
    topic(scene(other))
    assert not topics.objects.live.objects[name].geometry.meshes  # the box around it
    finish(topics)
    assert topics.objects.live.objects[name].geometry.meshes


def test_a_mesh_that_cannot_be_processed_stays_a_fault_when_it_moves(topics, monkeypatch):
    def refuse(*arguments):
        raise FitError("too deep")

    topic, name = topics.process, "planning_scene/rock"
    rock = thing("rock", meshes=[mesh(MANY)], mesh_poses=[at()])
    with monkeypatch.context() as patch:
        patch.setattr(scene_objects, "fitted", refuse)
        topic(scene(rock))
        finish(topics)
        for _ in range(2):
            assert "planning_scene/rock: too deep" in topics.objects.keeper.fault(0.0)
            assert name in topics.objects.live.objects  # the box around it
            topic(scene(thing("rock", MOVE, at(0, 1))))
            finish(topics)
    topic(scene(thing("rock", MOVE, at(0, 2))))
    finish(topics)
    assert topics.objects.keeper.fault(0.0) == ""
    assert topics.objects.live.objects[name].geometry.meshes


BAD = {
    "it has a plane": thing(planes=[object()]),
    "primitive type 9": thing(primitives=[primitive(9, 1.0)], primitive_poses=[at()]),
    "the dimensions": thing(primitives=[primitive(1, 1.0, -1.0, 1.0)], primitive_poses=[at()]),
    "2 shapes and 1 poses": thing(
        primitives=[primitive(2, 1.0)] * 2, primitive_poses=[at()]
    ),
    "not finite": thing(primitives=[primitive(2, 1.0)], primitive_poses=[at(math.nan)]),
    "no points": thing(meshes=[mesh(np.zeros((0, 3, 3)))], mesh_poses=[at()]),
    "there is no such object": thing(operation=MOVE),
    "its operation 9": thing(operation=9, primitives=[primitive(2, 1.0)]),
    "is not a link": box(frame="moon"),
}


@pytest.mark.parametrize("why", BAD)
def test_what_cannot_be_watched_is_a_fault(taken, why):
    found, topic = taken
    topic.process(scene(BAD[why]))
    fault = found.keeper.fault(0.0)
    assert fault.startswith("scene refused: planning_scene/box")
    assert why in fault
    topic.process(scene(thing("box", REMOVE), thing("box box", REMOVE)))
    topic.process(scene(is_diff=False))
    assert found.keeper.fault(0.0) == ""


def test_an_octomap_is_a_fault_as_long_as_it_is_there(taken):
    found, topic = taken
    topic.process(scene(octomap=b"123"))
    assert "octomaps are not supported" in found.keeper.fault(0.0)
    topic.process(scene())
    assert found.keeper.fault(0.0)
    topic.process(scene(is_diff=False))
    assert found.keeper.fault(0.0) == ""
