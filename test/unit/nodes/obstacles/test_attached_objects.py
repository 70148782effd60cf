# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""MoveIt's scenes: objects that are attached to the robot."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from support.ros.planning_scene_messages import (  # noqa: E402
    Taken,
    at,
    box,
    held,
    primitive,
    scene,
    thing,
)

from collision_monitor.nodes.obstacles.planning_scene import (  # noqa: E402
    ADD,
    APPEND,
    MOVE,
    REMOVE,
)


@pytest.fixture
def taken():
    found = Taken()
    yield found
    found.close()


def test_an_object_without_an_id_stands_for_all(taken):
    two = [held(box(name, frame="l3", y=0.3)) for name in ("a", "b")]
    taken.process(scene(box("c"), attached=[*two, held(box("d", frame="l2", y=0.3), "l2")]))
    assert len(taken.keeper.carried()) == 3
    taken.process(scene(thing("", REMOVE)))
    assert sorted(taken.objects) == [f"planning_scene/{name}" for name in "abd"]
    taken.process(scene(attached=[held(thing("", REMOVE), "l3")]))
    assert taken.keeper.carried() == ["planning_scene/d"]
    taken.process(scene(attached=[held(thing("", REMOVE), "")]))
    assert taken.keeper.carried() == []
    assert len(taken.objects) == 3


def test_what_is_attached_is_carried_and_goes_back_into_the_world(taken):
    taken.process(scene(box("part")))
    taken.process(scene(thing("part", REMOVE), attached=[held(box("part", frame="l3", y=0.3))]))
    assert taken.keeper.carried() == ["planning_scene/part"]
    assert taken.objects["planning_scene/part"].touch == {"l2"}
    where = taken.centre("part")
    taken.process(scene(attached=[held(thing("part", REMOVE))]))
    assert taken.keeper.carried() == []
    np.testing.assert_allclose(taken.centre("part"), where, atol=1e-9)
    taken.process(scene(attached=[held(thing("part"))]))  # by its name alone
    assert taken.keeper.carried() == ["planning_scene/part"]


@pytest.mark.parametrize("link", ["l3", "l0"])
def test_an_attached_object_is_not_in_the_world(taken, link):
    """MoveIt neither removes it nor moves it; an ADD would make two of it."""
    name = "planning_scene/part"
    taken.process(scene(attached=[held(box("part", frame=link, y=0.3), link)]))
    where = taken.centre("part")
    for message in (thing("part", REMOVE), thing("", REMOVE)):
        taken.process(scene(message))
        assert taken.objects[name].touch == {"l2"}
        assert taken.fault == ""
    for message in (thing("part", MOVE, at(0, 9)), box("part"), box("part", operation=APPEND)):
        taken.process(scene(message))
        assert f"it is attached to {link!r}: detach it" in taken.fault
        np.testing.assert_allclose(taken.centre("part"), where, atol=1e-9)
        assert taken.objects[name].touch == {"l2"}
        taken.process(scene(thing("part", REMOVE)))
        assert taken.fault == ""
    taken.process(scene(thing("part", MOVE, at(0, 9))))
    taken.process(scene(box("part"), attached=[held(thing("part", REMOVE), "")]))
    assert taken.fault == ""
    np.testing.assert_allclose(taken.centre("part"), [0, 2, 0], atol=1e-9)
    taken.process(scene(thing("part", REMOVE)))
    assert not taken.objects


def test_what_the_world_loses_and_the_robot_takes_by_name_is_carried(taken):
    """MoveIt applies the state of the robot before the world."""
    taken.process(scene(box("part")))
    taken.process(scene(thing("part", REMOVE), attached=[held(thing("part"))]))
    assert taken.keeper.carried() == ["planning_scene/part"]
    assert taken.fault == ""


def test_a_whole_state_detaches_what_it_does_not_attach_and_one_without_joints_does_not(taken):
    for diff in (True, False):
        taken.process(scene(attached=[held(box("part", frame="l3", y=0.3))]))
        unstated = scene(is_diff=diff)
        unstated.robot_state.is_diff = False
        unstated.robot_state.joint_state.name = []
        taken.process(unstated)
        taken.process(scene(is_diff=diff, state_is_diff=True))
        assert taken.keeper.carried() == ["planning_scene/part"]
        other = [held(box("other", frame="l3", y=0.3))]
        taken.process(scene(box("part"), attached=other, is_diff=diff, state_is_diff=False))
        assert taken.keeper.carried() == ["planning_scene/other"]
        np.testing.assert_allclose(taken.centre("part"), [0, 2, 0], atol=1e-9)
        assert taken.fault == ""
        taken.process(scene(is_diff=False))


def test_an_attached_object_that_cannot_be_read_is_a_fault_of_a_whole_scene(taken):
    taken.process(scene(attached=[held(thing("part", frame="l3"))], is_diff=False))
    assert "part: to be attached to 'l3', but there is no such object" in taken.fault
    taken.process(scene(attached=[held(thing("part", REMOVE))]))
    assert taken.fault == ""


def test_appending_to_an_attached_object_keeps_what_it_may_touch(taken):
    name = "planning_scene/part"
    taken.process(scene(attached=[held(box("part", frame="l3", y=0.3))]))
    more = thing("part", APPEND, frame="l3", primitives=[primitive(2, 0.1)])
    taken.process(scene(attached=[held(more, touch=["l1"])]))
    assert taken.objects[name].touch == {"l1", "l2"}
    assert len(taken.objects[name].geometry.solids.rows) == 2


def test_what_moveit_does_not_do_to_attached_objects_is_a_fault(taken):
    part = held(box("part", frame="l3", y=0.3))
    cases = {
        "its operation 3 is not one of ADD, REMOVE, APPEND": held(thing("part", MOVE)),
        "it is attached to 'l3', not to 'l1'": held(thing("part", REMOVE), "l1"),
        "it is attached to 'l3' already": held(thing("part"), "l2"),
    }
    for why, message in cases.items():
        taken.process(scene(attached=[part]))
        taken.process(scene(attached=[message]))
        assert why in taken.fault
        assert taken.objects["planning_scene/part"].link == "l3"
    taken.process(scene(attached=[part]))
    late = scene(attached=[held(thing("part", REMOVE))])
    late.robot_state.is_diff = False
    taken.process(late)
    assert "is REMOVE, which MoveIt ignores unless is_diff" in taken.fault
    assert taken.keeper.carried() == ["planning_scene/part"]


@pytest.mark.parametrize("flaw", ["frame", "link"])
@pytest.mark.parametrize("operation", [ADD, APPEND])
def test_a_part_whose_new_shapes_are_refused_stays_attached(taken, operation, flaw):
    """Neither its removal from the world nor an object of the world replaces it unnoticed."""
    taken.process(scene(attached=[held(box("part", frame="l3", y=0.3))]))
    frame, link = ("moon", "l3") if flaw == "frame" else ("l3", "moon")
    bad = box("part", operation=operation, frame=frame, y=0.3)
    taken.process(scene(attached=[held(bad, link, touch=["l1"])]))
    assert "'moon' is not a link" in taken.fault
    for message in (thing("part", REMOVE), box("part"), thing("part", MOVE, at(0, 9))):
        taken.process(scene(message))
        assert taken.keeper.carried() == ["planning_scene/part"]
        assert taken.fault or message.operation == bytes([REMOVE])
    good = thing("part", APPEND, frame="l3", primitives=[primitive(2, 0.1)])
    taken.process(scene(attached=[held(good, touch=["l0"])]))
    assert taken.keeper.carried() == ["planning_scene/part"]
    assert {"l0", "l1" if flaw == "frame" else "l2"} <= taken.objects["planning_scene/part"].touch


@pytest.mark.parametrize("is_known", [True, False])
def test_a_part_that_no_link_has_room_for_is_a_fault_until_it_is_detached(taken, is_known):
    """For MoveIt it is attached: no message about its world removes or replaces it."""
    taken.use_robot(carried=1)
    taken.hear()
    taken.process(scene(attached=[held(box("other", frame="l3", y=0.3))]))
    part = box("part", frame="l3", y=0.3)
    if is_known:
        taken.process(scene(part))
        part = thing("part", frame="l3")
    taken.process(scene(attached=[held(part)]))
    full = "planning_scene/part: no room: links carry 1 objects already"
    assert full in taken.fault
    others = box("part"), box("part", operation=APPEND), thing("part", MOVE, at(0, 9))
    for message in (*others, thing("part", REMOVE), thing("", REMOVE)):
        taken.process(scene(message))
        assert full in taken.fault
        assert ("planning_scene/part" in taken.objects) == is_known
    more = thing("part", APPEND, frame="l3", primitives=[primitive(2, 0.1)])
    taken.process(scene(attached=[held(more, touch=["l1"])]))
    assert full in taken.fault
    assert taken.keeper.attachment("planning_scene/part") == ("l3", {"l1", "l2"})
    taken.process(scene(thing("other", REMOVE), attached=[held(thing("other", REMOVE))]))
    assert full in taken.fault
    assert taken.keeper.carried() == []
    taken.process(scene(attached=[held(thing("part", REMOVE))]))
    assert taken.fault == ""
    assert len(taken.objects["planning_scene/part"].geometry.solids.rows) == 2
    taken.process(scene(thing("part", REMOVE)))
    assert not taken.objects
