# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What is wanted is kept for the next robot, and what is not watched is said."""

import numpy as np
import pytest
from support.geometry.free_body import at
from support.robots.toys import chain

from collision_monitor import CollisionModel
from collision_monitor.model.live.desired_scene import DesiredScene, ObjectRequest
from collision_monitor.model.live.live_objects import Bounds
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.robot.description import Shape

BALL = Shape("sphere", np.eye(4), (0.1,))
Q = np.array([0.5, 0.5, 0.3])


@pytest.fixture(scope="module")
def scene():
    model = CollisionModel.from_urdf(chain(4))
    return LiveScene(model, Bounds(objects=2, leaves_per_object=4, voxels=4, carried=1))


def drop_all(keeper):
    for name in [*keeper.requests, *keeper.refused]:
        keeper.drop(name)


@pytest.fixture
def keeper(scene):
    scene.clear()
    found = DesiredScene()
    found.use_scene(scene)
    return found


def test_what_was_wanted_before_a_robot_was_known_is_there_when_it_is(scene):
    scene.clear()
    keeper = DesiredScene()
    assert keeper.request(ObjectRequest("c/1", BALL, "l0", at(0, 2, 0)))
    assert keeper.request(ObjectRequest("c/2", BALL, "nowhere", at(0, 2, 0)))
    assert keeper.fault(0.0) == ""
    keeper.use_scene(scene)
    assert set(scene.objects) == {"c/1"}
    assert keeper.fault(0.0) == "scene refused: c/2: 'nowhere' is not a link of 'toy'"
    keeper.drop("c/2")
    assert keeper.fault(0.0) == ""


def test_a_fault_lasts_until_it_is_mended_taken_back_or_expires(keeper):
    keeper.request(ObjectRequest("c/1", BALL, "nowhere", np.eye(4)))
    assert "c/1" in keeper.fault(0.0)
    keeper.request(ObjectRequest("c/1", BALL, "l0", at(0, 2, 0)))
    assert keeper.fault(0.0) == ""
    keeper.refuse("c/2", "a", 5.0)
    keeper.refuse("c/3", "b", 6.0)
    keeper.refuse("c/4", "c")
    assert keeper.fault(4.9) == "scene refused: c/2: a; c/3: b; c/4: c"
    assert keeper.fault(5.0) == "scene refused: c/3: b; c/4: c"
    assert keeper.fault(6.0) == "scene refused: c/4: c"
    keeper.drop("d/1")
    assert keeper.fault(6.0)
    drop_all(keeper)
    assert keeper.fault(6.0) == ""
    assert not keeper.live.objects


def test_faults_beyond_any_number_are_counted_and_not_kept(keeper):
    for k in range(3000):
        keeper.refuse(f"c/{k}", "bad")
    assert len(keeper.refused) <= 1001
    assert "more" in keeper.fault(0.0)
    assert len(keeper.fault(0.0)) < 200
    drop_all(keeper)
    assert keeper.fault(0.0) == ""


def test_what_is_carried_is_carried_by_the_next_robot_as_well(keeper):
    keeper.request(ObjectRequest("c/1", BALL, "l0", at(0, 2, 0)))
    assert keeper.attach("c/1", "l3", Q, ["l2"])
    assert keeper.carried() == ["c/1"]
    held = keeper.live.segments(Q)["c/1"][0]
    other = LiveScene(keeper.live.model, Bounds(objects=3, leaves_per_object=2, voxels=2))
    keeper.use_scene(other)
    np.testing.assert_allclose(other.segments(Q)["c/1"][0], held, atol=1e-12)
    assert keeper.carried() == ["c/1"]
    assert ("l2", "c/1") not in other.pairs
    q = Q + 0.3
    left = other.segments(q)["c/1"][0]
    assert keeper.detach("c/1", q)
    assert keeper.carried() == []
    np.testing.assert_allclose(other.segments(Q)["c/1"][0], left, atol=1e-12)


def test_what_is_detached_before_a_robot_is_known_is_placed_where_it_is_then(scene):
    scene.clear()
    keeper = DesiredScene()
    keeper.request(ObjectRequest("c/1", BALL, "l3", at(0, 0.5, 0)))
    assert not keeper.detach("c/1", None)
    assert "c/1: to be placed in the world, but the pose of the robot is" in keeper.fault(0.0)
    keeper.use_scene(scene)
    keeper.retry(Q)
    assert keeper.fault(0.0) == ""
    assert scene.objects["c/1"].link == "l0"
    there = scene.model.link_poses(Q)["l3"] @ at(0, 0.5, 0)
    np.testing.assert_allclose(scene.objects["c/1"].pose, there, atol=1e-9)


def test_what_cannot_be_attached_is_a_fault(keeper):
    assert not keeper.attach("c/1", "l3", Q)
    assert "there is no such object" in keeper.fault(0.0)
    keeper.request(ObjectRequest("c/1", BALL, "l0", at(0, 2, 0)))
    assert not keeper.attach("c/1", "l3", None)
    assert "the pose of the robot is unknown" in keeper.fault(0.0)
    keeper.retry(None)
    assert keeper.carried() == []
    keeper.retry(Q)
    assert keeper.carried() == ["c/1"]
    assert keeper.fault(0.0) == ""
    assert keeper.detach("c/1", Q)
    assert not keeper.attach("c/1", "nowhere", Q)
    assert "'nowhere' is not a link" in keeper.fault(0.0)
    keeper.use_scene(keeper.live)  # and for the next robot too
    assert "'nowhere' is not a link" in keeper.fault(0.0)
    assert keeper.live.objects["c/1"].link == "l0"
    assert keeper.attach("c/1", "l3", Q)
    assert keeper.fault(0.0) == ""


def test_what_stays_there_stays_for_the_next_robot_and_when_what_was_refused_expires(keeper):
    keeper.request(ObjectRequest("c/1", BALL, "l0", at(0, 2, 0)))
    keeper.request(ObjectRequest("c/1", BALL, "nowhere", at(0, 3, 0), expires=5.0))
    other = LiveScene(keeper.live.model, Bounds(objects=3, leaves_per_object=2, voxels=2))
    keeper.use_scene(other)
    assert "'nowhere' is not a link" in keeper.fault(0.0)
    np.testing.assert_allclose(other.objects["c/1"].pose, at(0, 2, 0))
    keeper.expire(5.0)
    assert keeper.fault(5.0) == ""
    assert "c/1" in other.objects
    another = LiveScene(keeper.live.model, Bounds(objects=3, leaves_per_object=2, voxels=2))
    keeper.use_scene(another)
    np.testing.assert_allclose(another.objects["c/1"].pose, at(0, 2, 0))
    drop_all(keeper)
    assert not another.objects


def test_a_word_that_was_refused_is_not_forgotten_for_another_robot_or_leaves_that_come(keeper):
    keeper.request(ObjectRequest("c/1", BALL, "l0", at(0, 2, 0)))
    keeper.refuse("c/1", "its scale is none")
    keeper.use_scene(keeper.live)
    assert "its scale is none" in keeper.fault(0.0)
    keeper.request(ObjectRequest("c/2", None, "l0", at(0, 3, 0)))
    keeper.refuse("c/2", "its scale is none")
    assert keeper.fill("c/2", np.array([[0.0] * 6 + [0.1]]))
    assert "c/2: its scale is none" in keeper.fault(0.0)
    assert "c/2" in keeper.live.objects
    keeper.request(ObjectRequest("c/1", BALL, "l0", at(0, 2, 0)))
    keeper.request(ObjectRequest("c/2", BALL, "l0", at(0, 2, 0)))
    assert keeper.fault(0.0) == ""


def test_what_is_refused_is_not_mended_by_attaching_what_was_there_before(keeper):
    keeper.request(ObjectRequest("c/1", BALL, "l0", at(0, 2, 0)))
    keeper.request(ObjectRequest("c/1", BALL, "nowhere", at(0, 2, 0)))
    assert keeper.attach("c/1", "l3", Q)
    assert keeper.carried() == ["c/1"]
    assert "'nowhere' is not a link" in keeper.fault(0.0)
    keeper.use_scene(keeper.live)
    assert keeper.carried() == ["c/1"]
    assert keeper.detach("c/1", Q)
    keeper.attach("c/1", "l3", None)
    keeper.use_scene(keeper.live)
    keeper.detach("c/1", None)  # taken back before it happened
    assert "'nowhere' is not a link" in keeper.fault(0.0)


def test_attaching_that_is_taken_back_does_not_happen_later(keeper):
    keeper.request(ObjectRequest("c/1", BALL, "l0", at(0, 2, 0)))
    keeper.attach("c/1", "l3", None)
    assert keeper.is_attached("c/1")
    assert keeper.detach("c/1", None)
    assert keeper.fault(0.0) == ""
    keeper.retry(Q)
    assert keeper.carried() == []
    keeper.attach("c/1", "l3", None)
    keeper.detach_all(None)
    keeper.attach("c/1", "l3", None)
    keeper.request(ObjectRequest("c/1", BALL, "l0", at(0, 3, 0)))  # put there anew
    keeper.retry(Q)
    assert keeper.carried() == []
    assert keeper.fault(0.0) == ""


def test_wishes_without_end_are_not_kept(keeper):
    for k in range(7000):
        keeper.request(ObjectRequest(f"c/{k}", BALL, "l0", at(0, 2, 0)))
    assert len(keeper.requests) <= 5000
    assert len(keeper.live.objects) == 2
    assert keeper.fault(0.0)
    drop_all(keeper)
    assert keeper.fault(0.0) == ""


def test_what_is_wanted_and_not_there_is_said_again_when_a_later_word_expires(keeper):
    keeper.request(ObjectRequest("c/1", BALL, "nowhere", at(0, 2, 0)))
    keeper.refuse("c/1", "its scale is none", 5.0)
    keeper.request(ObjectRequest("c/2", BALL, "l0", at(0, 2, 0)))
    keeper.attach("c/2", "l3", None)
    keeper.refuse("c/2", "its scale is none", 5.0)
    assert "its scale" in keeper.fault(4.9)
    assert "c/1: 'nowhere' is not a link" in keeper.fault(5.0)
    assert "c/2: to be attached to 'l3'" in keeper.fault(5.0)


def test_what_was_refused_takes_no_room_of_what_was_there_when_the_robot_is_another(keeper):
    for k in range(3):
        keeper.request(ObjectRequest(f"c/{k}", BALL, "l0", at(0, 2, 0)))
    keeper.drop("c/0")
    keeper.request(ObjectRequest("c/3", BALL, "l0", at(0, 2, 0)))
    there = set(keeper.live.objects)
    assert there == {"c/1", "c/3"}
    keeper.use_scene(LiveScene(keeper.live.model, keeper.live.bounds))
    assert set(keeper.live.objects) == there
    assert "c/2: no room" in keeper.fault(0.0)


def test_what_never_was_there_is_not_kept_beside_what_is_wanted_now(keeper):
    keeper.request(ObjectRequest("c/1", BALL, "nowhere", at(0, 2, 0)))
    keeper.refuse("c/1", "its scale is none")
    keeper.request(ObjectRequest("c/1", BALL, "l0", np.full((4, 4), np.nan), expires=5.0))
    keeper.expire(5.0)
    assert not keeper.requests and not keeper.live.objects
    assert keeper.fault(5.0) == ""


def test_a_new_robot_clears_only_faults_caused_by_links_of_the_previous_one(keeper):
    """A bad marker of an object that is there stays a fault, whichever robot is around it."""
    keeper.request(ObjectRequest("c/1", BALL, "l0", at(0, 2, 0)))
    keeper.refuse("c/1", "its scale is 0")
    keeper.request(ObjectRequest("c/2", BALL, "k0", at(0, 3, 0)))
    assert keeper.fault(0.0) == (
        "scene refused: c/1: its scale is 0; c/2: 'k0' is not a link of 'toy'"
    )
    model = CollisionModel.from_urdf(chain(4).replace('"l', '"k').replace('"k1"', '"l0"'))
    other = LiveScene(model, Bounds(objects=2, leaves_per_object=4, voxels=4, carried=1))
    keeper.use_scene(other)
    assert set(other.objects) == {"c/1", "c/2"}
    assert keeper.fault(0.0) == "scene refused: c/1: its scale is 0"
    keeper.use_scene(other)
    assert keeper.fault(0.0) == "scene refused: c/1: its scale is 0"
    keeper.request(ObjectRequest("c/1", BALL, "l0", at(0, 2, 0)))
    assert keeper.fault(0.0) == ""


def other_robot(keeper, links):
    """A scene of the same robot, whose links l2 and l3 have these names."""
    text = chain(4)
    for old, new in zip(("l2", "l3"), links, strict=True):
        text = text.replace(f'"{old}"', f'"{new}"')
    return LiveScene(CollisionModel.from_urdf(text), keeper.live.bounds)


def test_an_attachment_waits_for_an_object_that_another_robot_brings_back(keeper):
    """The object must not stay where it was when the robot carries it away."""
    keeper.request(ObjectRequest("c/1", BALL, "k3", at(0, 0.5, 0)))
    assert not keeper.attach("c/1", "l1", Q, ["l2"])
    keeper.retry(Q)
    keeper.use_scene(other_robot(keeper, ("l2", "k3")))
    assert keeper.fault(0.0)
    keeper.retry(Q)
    assert keeper.live.objects["c/1"].link == "l1"
    assert keeper.live.objects["c/1"].touch == {"l2"}
    assert keeper.fault(0.0) == ""


def test_what_replaces_an_attached_object_is_attached_as_well(keeper):
    keeper.request(ObjectRequest("c/1", BALL, "l0", at(0, 2, 0)))
    keeper.request(ObjectRequest("c/1", BALL, "k3", at(0, 0.5, 0)))
    assert keeper.attach("c/1", "l1", Q)  # the previous one, meanwhile
    assert keeper.live.objects["c/1"].link == "l1"
    keeper.use_scene(other_robot(keeper, ("l2", "k3")))
    keeper.retry(Q)
    there = keeper.live.model.link_poses(Q)["k3"] @ at(0, 0.5, 0)
    obj = keeper.live.objects["c/1"]
    assert obj.link == "l1"
    np.testing.assert_allclose(keeper.live.model.link_poses(Q)["l1"] @ obj.pose, there, atol=1e-9)
    assert keeper.fault(0.0) == ""


def test_a_refused_attachment_is_not_forgotten_while_a_robot_lacks_the_link_of_its_object(keeper):
    keeper.request(ObjectRequest("c/1", BALL, "l3", at(0, 0.5, 0)))
    assert not keeper.attach("c/1", "nowhere", Q)
    before = keeper.live
    keeper.use_scene(other_robot(keeper, ("l2", "k3")))
    assert "'l3' is not a link" in keeper.fault(0.0)
    keeper.use_scene(before)
    assert "'nowhere' is not a link" in keeper.fault(0.0)
    assert keeper.attach("c/1", "l2", Q)
    assert keeper.fault(0.0) == ""


def test_an_object_whose_replacement_is_refused_is_attached_until_it_is_detached(keeper):
    keeper.request(ObjectRequest("c/1", BALL, "l0", at(0, 2, 0)))
    assert keeper.attach("c/1", "l3", Q, ["l2"])
    keeper.request(ObjectRequest("c/1", BALL, "nowhere", at(0, 2, 0)))
    assert keeper.attachment("c/1") == ("l3", {"l2"})
    assert keeper.is_attached("c/1")
    assert keeper.detach("c/1", Q)
    assert keeper.attachment("c/1") is None
    assert "'nowhere' is not a link" in keeper.fault(0.0)


def test_what_cannot_be_carried_counts_as_attached_where_it_is_on_the_link(keeper):
    keeper.request(ObjectRequest("c/1", BALL, "l0", at(0, 2, 0)))
    keeper.request(ObjectRequest("c/2", BALL, "l0", at(0, 3, 0)))
    assert keeper.attach("c/1", "l3", Q)
    assert not keeper.attach("c/2", "l2", Q, ["l1"])
    held = np.linalg.inv(keeper.live.model.link_poses(Q)["l2"]) @ at(0, 3, 0)
    full = "scene refused: c/2: no room: links carry 1 objects already"
    keeper.withdraw_refusal("c/2")
    assert keeper.fault(0.0) == full
    assert keeper.attachment("c/2") == ("l2", {"l1"})
    np.testing.assert_allclose(keeper.live.objects["c/2"].pose, at(0, 3, 0))
    keeper.drop("c/1")
    keeper.retry(Q + 0.3)
    assert keeper.carried() == []  # that it fits now changes nothing
    assert keeper.fault(0.0) == full
    assert keeper.attach("c/2", "l2", Q + 0.3, ["l1"])
    assert keeper.fault(0.0) == ""
    np.testing.assert_allclose(keeper.live.objects["c/2"].pose, held, atol=1e-9)


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("all_of", [False, True])
def test_what_cannot_be_carried_is_put_where_the_link_took_it(keeper, all_of, is_late):
    keeper.request(ObjectRequest("c/1", BALL, "l3", at(0, 0.5, 0), is_attached=True))
    keeper.request(ObjectRequest("c/2", BALL, "l0", at(0, 3, 0)))
    keeper.attach("c/2", "l2", Q)
    there, q = np.linalg.inv(keeper.live.model.link_poses(Q)["l2"]) @ at(0, 3, 0), Q + 0.3
    heard = None if is_late else q
    keeper.detach_all(heard) if all_of else keeper.detach("c/2", heard)
    assert bool(keeper.fault(0.0)) == is_late
    keeper.retry(q)
    assert keeper.fault(0.0) == ""
    assert not keeper.is_attached("c/2")
    assert keeper.is_attached("c/1") != all_of
    there = keeper.live.model.link_poses(q)["l2"] @ there
    np.testing.assert_allclose(keeper.live.objects["c/2"].pose, there, atol=1e-9)


def test_an_attachment_that_was_refused_for_its_link_is_not_made_later(keeper):
    keeper.request(ObjectRequest("c/1", BALL, "l0", at(0, 2, 0)))
    assert not keeper.attach("c/1", "k3", Q)
    keeper.use_scene(other_robot(keeper, ("l2", "k3")))
    keeper.retry(Q)
    assert keeper.carried() == []
    assert keeper.attachment("c/1") == ("k3", ())
    assert "'k3' is not a link" in keeper.fault(0.0)
    assert keeper.detach("c/1", Q)
    assert keeper.fault(0.0) == "" and not keeper.is_attached("c/1")
