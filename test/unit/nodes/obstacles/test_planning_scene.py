# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""MoveIt's scenes: objects of the world, their shapes and places."""

import math
import threading

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from support.ros.planning_scene_messages import (  # noqa: E402
    Q,
    Taken,
    at,
    box,
    held,
    mesh,
    primitive,
    scene,
    thing,
)
from support.ros.scene_stub import VALUES, robot, stub_node, until  # noqa: E402

from collision_monitor.errors import FitError  # noqa: E402
from collision_monitor.model.live.live_objects import Bounds  # noqa: E402
from collision_monitor.model.live.live_scene import LiveScene  # noqa: E402
from collision_monitor.monitoring.faults import FaultRegister  # noqa: E402
from collision_monitor.nodes.obstacles import scene_objects  # noqa: E402
from collision_monitor.nodes.obstacles.message_shapes import AT_ONCE, ManyTriangles  # noqa: E402
from collision_monitor.nodes.obstacles.planning_scene import (
    APPEND,
    MOVE,
    REMOVE,
    PlanningSceneTopic,
)
from collision_monitor.nodes.obstacles.scene_topics import SceneTopics

TRIANGLE = np.array([[[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]])


@pytest.fixture
def taken():
    found = Taken()
    yield found
    found.close()


def test_objects_are_added_moved_appended_and_removed(taken):
    taken.process(scene(box("a b"), box("c", y=3.0)))
    assert set(taken.objects) == {"planning_scene/a%20b", "planning_scene/c"}
    np.testing.assert_allclose(taken.centre("c"), [0, 3, 0], atol=1e-9)
    taken.process(scene(thing("c", MOVE, at(0, 4))))
    np.testing.assert_allclose(taken.centre("c"), [0, 4, 0], atol=1e-9)
    before = len(taken.objects["planning_scene/c"].rows)
    more = thing("c", APPEND, at(0, 4), primitives=[primitive(2, 0.1)], primitive_poses=[at(0, 1)])
    taken.process(scene(more))
    assert len(taken.objects["planning_scene/c"].rows) == before + 1
    taken.process(scene(thing("a b", REMOVE)))
    assert set(taken.objects) == {"planning_scene/c"}
    assert taken.fault == ""


def test_an_object_without_a_pose_has_that_of_its_only_shape(taken):
    """MoveIt's tutorials give the shape the pose; the object moves from there, not by it."""
    ball = {"primitives": [primitive(2, 0.1)], "primitive_poses": [at(2.0)]}
    taken.process(scene(thing("a", **ball)))
    np.testing.assert_allclose(taken.centre("a"), [2, 0, 0], atol=1e-9)
    taken.process(scene(thing("a", MOVE, at(0, 3))))
    np.testing.assert_allclose(taken.centre("a"), [0, 3, 0], atol=1e-9)


def test_what_is_appended_does_not_move_what_is_there(taken):
    taken.process(scene(box("a", y=3.0)))
    for pose in (at(), at(0, 9)):
        more = {"primitives": [primitive(2, 0.1)], "primitive_poses": [at(1.0)]}
        taken.process(scene(thing("a", APPEND, pose, **more)))
    places = taken.objects["planning_scene/a"].geometry.solids.places[:, :3, 3]
    where = places + taken.objects["planning_scene/a"].pose[:3, 3]
    np.testing.assert_allclose(where, [[0, 3, 0], [1, 3, 0], [1, 3, 0]], atol=1e-9)


def test_poses_of_shapes_do_not_move_an_object_unnoticed(taken):
    taken.process(scene(box("a", y=3.0)))
    placed = {"primitives": [primitive(1, 0.2, 0.2, 0.2)], "primitive_poses": [at(0, 4)]}
    taken.process(scene(thing("a", MOVE, **placed)))
    assert "a MOVE with poses of its shapes" in taken.fault
    np.testing.assert_allclose(taken.centre("a"), [0, 3, 0], atol=1e-9)


def test_a_whole_scene_replaces_what_was_there_and_a_difference_does_not(taken):
    taken.process(scene(box("a"), box("b")))
    taken.process(scene(box("c")))
    assert len(taken.objects) == 3
    taken.process(scene(box("c"), is_diff=False))
    assert set(taken.objects) == {"planning_scene/c"}


def test_nothing_is_missing_while_a_whole_scene_is_applied(taken):
    """Between two steps joint states are checked."""
    taken.process(scene(box("a"), box("b"), attached=[held(box("c", frame="l3", y=0.3))]))
    both = {f"planning_scene/{name}" for name in "abc"}
    whole = scene(box("a", y=3.0), box("c", y=3.0), box("d"), is_diff=False)
    for k, _ in enumerate(taken.topic.steps(whole)):
        assert both <= set(taken.objects) or k == 3  # b goes last
    assert set(taken.objects) == {f"planning_scene/{name}" for name in "acd"}
    assert taken.keeper.carried() == [] and taken.fault == ""


def test_a_whole_scene_for_which_there_is_no_room_beside_the_other_is_one_step(taken):
    most = taken.keeper.live.bounds.objects
    taken.process(scene(*(box(f"a{k}", y=2.0 + k) for k in range(most))))
    other = {f"planning_scene/b{k}" for k in range(most)}
    steps = taken.topic.steps(scene(*(box(f"b{k}") for k in range(most)), is_diff=False))
    next(steps, None)
    assert set(taken.objects) == other and taken.fault == ""


def test_shapes_are_measured_as_they_are(taken):
    taken.process(scene(box("one"), thing(
        "two", primitives=[primitive(3, 0.4, 0.1)], primitive_poses=[at(0, 0.5)],
        meshes=[mesh(TRIANGLE)], mesh_poses=[at(0, 0, 1)],
    )))  # fmt: skip
    (row,), (place,) = taken.objects["planning_scene/one"].geometry.solids
    np.testing.assert_allclose(row, [0.1, 0.1, 0.1, 0, 0])
    np.testing.assert_allclose(place, np.eye(4))
    both = taken.objects["planning_scene/two"].geometry
    np.testing.assert_allclose(both.solids.rows, [[0.1, 0.1, 0.2, 1, 0]])
    np.testing.assert_allclose(both.solids.places[0, :3, 3], [0, 0.5, 0])
    (triangle,) = both.meshes
    np.testing.assert_allclose(triangle.pose[:3, 3], [0, 0, 1])
    assert sorted(triangle.vertices[triangle.triangles[0]].tolist()) == sorted(TRIANGLE[0].tolist())


def test_shapes_without_a_pose_are_at_that_of_the_object(taken):
    """As MoveIt does: poses are counted for each kind of shape."""
    two = [primitive(2, 0.1), primitive(2, 0.2)]
    solid = thing("a", pose=at(0, 2), primitives=two, primitive_poses=[at(1)],
                  meshes=[mesh(TRIANGLE)], mesh_poses=[at(3)])  # fmt: skip
    taken.process(scene(solid))
    geometry = taken.objects["planning_scene/a"].geometry
    np.testing.assert_allclose(geometry.solids.places[:, :3, 3], [[1, 0, 0], [0, 0, 0]])
    np.testing.assert_allclose(geometry.meshes[0].pose[:3, 3], [3, 0, 0])


def test_an_object_of_the_world_stays_where_its_frame_was(taken):
    """MoveIt fixes it when it gets it: a camera on the hand does not carry what it saw."""
    taken.process(scene(box("a", y=0.5, frame="l3"), box("b", y=0.5, frame="/l3"), box("c")))
    taken.process(scene(thing("c", MOVE, at(0, 0.5), frame="l3")))
    assert taken.fault == ""
    assert taken.keeper.carried() == []
    there = taken.keeper.live.model.link_poses(Q)["l3"] @ np.array([0, 0.5, 0, 1])
    for name in "abc":
        np.testing.assert_allclose(taken.centre(name), there[:3], atol=1e-9)
    taken.process(scene(*(thing(name, REMOVE) for name in "abc")))
    assert not taken.objects


def test_changes_of_a_scene_that_was_not_received_are_remarked(taken):
    """move_group names the robot in its changes; who adds an object to an empty scene does not."""
    change = scene(box("a"))
    taken.process(change)
    assert taken.faults.text("planning_scene", 0.0) == ""
    change.robot_model_name = "toy"
    taken.process(change)
    taken.process(scene(box("b")))
    assert "only changes were received" in taken.faults.text("planning_scene", 0.0)
    taken.process(scene(is_diff=False))
    taken.process(change)
    assert taken.faults.text("planning_scene", 0.0) == ""


def test_an_object_in_a_moving_frame_waits_for_the_pose_of_the_robot():
    taken = Taken(is_heard=False)
    for last in (thing("a", REMOVE), thing("", REMOVE)):
        taken.process(scene(box("a", y=0.5, frame="l3"), box("b", y=0.5)))
        assert "a: to be placed in the world, but the pose of the robot is" in taken.fault
        assert "planning_scene/b" not in taken.fault
        taken.process(scene(last, thing("b", REMOVE)))
        assert not taken.objects
    taken.process(scene(box("a", y=0.5, frame="l3")))
    taken.process(scene(box("a", y=0.5)))
    assert taken.fault == ""
    taken.process(scene(box("a", y=0.5, frame="l3")))
    taken.hear()
    assert taken.fault == ""
    assert taken.keeper.carried() == []
    there = taken.keeper.live.model.link_poses(Q)["l3"] @ np.array([0, 0.5, 0, 1])
    np.testing.assert_allclose(taken.centre("a"), there[:3], atol=1e-9)
    taken.close()


def test_an_object_in_a_frame_of_the_next_robot_stays_where_the_frame_is_then(taken):
    taken.process(scene(box("a", y=0.5, frame="kl3")))
    assert "'kl3' is not a link" in taken.fault
    taken.use_robot("k")
    assert "to be placed in the world" in taken.fault
    taken.hear()
    assert taken.keeper.carried() == [] and taken.fault == ""


def finish(topics):
    """Wait for the worker, and deliver what it made."""
    until(topics, lambda: not topics.objects.jobs.names)


@pytest.fixture
def topics():
    found = SceneTopics(stub_node(), VALUES, lambda: None, FaultRegister())
    found.objects.keeper.use_scene(
        LiveScene(robot(), Bounds(objects=4, leaves_per_object=32, voxels=4))
    )
    most = VALUES["scene_leaves_per_object"]
    topic = PlanningSceneTopic(found.objects, most, FaultRegister())
    found.process = lambda message: list(topic.steps(message))
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
            topic(scene(thing(name, pose=at(0, 2), meshes=[mesh(MANY)], mesh_poses=[at()])))
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
    "1 primitives or meshes and 2 poses": thing(
        primitives=[primitive(2, 1.0)], primitive_poses=[at()] * 2, meshes=[mesh(TRIANGLE)]
    ),
    "it has no shapes": thing(),
    "not finite": thing(primitives=[primitive(2, 1.0)], primitive_poses=[at(math.nan)]),
    "no points": thing(meshes=[mesh(np.zeros((0, 3, 3)))], mesh_poses=[at()]),
    "there is no such object": thing(operation=MOVE),
    "its operation 9": thing(operation=9, primitives=[primitive(2, 1.0)]),
    "is not a link": box(frame="moon"),
}


@pytest.mark.parametrize("why", BAD)
def test_what_cannot_be_watched_is_a_fault(taken, why):
    taken.process(scene(BAD[why]))
    fault = taken.fault
    assert fault.startswith("scene refused: planning_scene/box")
    assert why in fault
    taken.process(scene(thing("box", REMOVE), thing("box box", REMOVE)))
    taken.process(scene(is_diff=False))
    assert taken.fault == ""


def test_an_octomap_is_a_fault_as_long_as_it_is_there(taken):
    for gone in (scene(is_diff=False), scene(octomap_id="cleared")):
        taken.process(scene(octomap=b"123"))
        assert "not supported: publish scenes without octomaps" in taken.fault
        taken.process(scene(thing("", REMOVE)))
        assert taken.fault
        taken.process(gone)
        assert taken.fault == ""
