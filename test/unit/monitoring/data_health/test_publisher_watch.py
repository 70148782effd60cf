# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Publishers: all gone, one gone, none yet."""

import pytest

from collision_monitor.monitoring.publisher_watch import Publisher, PublisherWatch

GONE = "the publisher of the joint states is gone"


def watch(*counts, message=0.0, topic="joint_states"):
    """A watch with these counts every 50 ms, and the last message at this time."""
    found = PublisherWatch()
    if message is not None:
        found.report_message(topic, message)
    for k, count in enumerate(counts):
        found.update(topic, count, 0.05 * k)
    return found


def test_the_last_publisher_is_reported_as_gone_until_another_one_comes():
    found = watch(1, 1, 0, message=0.06)
    assert found.gone() == GONE
    found.report_message("joint_states", 0.12)  # it was on its way
    assert found.gone() == GONE
    found.update("joint_states", 1, 0.3)
    assert found.gone() == ""
    assert watch(2, 0).gone() == "the publishers of the joint states are gone"


def test_a_publisher_whose_messages_arrive_is_there_whatever_the_count():
    assert watch(1, 0, message=5.0).gone() == ""


@pytest.mark.parametrize(("counts", "says"), [((0,), "no publisher"), ((0, 1), "")])
def test_before_the_first_message_it_is_reported_that_there_is_no_publisher(counts, says):
    found = watch(*counts, message=None)
    assert (found.no_publisher(), found.gone()) == (says, "")


def test_one_of_several_is_reported_for_a_second():
    found = watch(3, 2)
    assert found.remark(0.1) == "1 of 3 publishers of joint states is gone"
    assert found.gone() == ""
    assert found.remark(1.2) == ""
    assert watch(3, 1).remark(0.1) == "2 of 3 publishers of joint states are gone"
    assert watch(3, 2, 3).remark(0.2) == ""
    assert watch(3, 2, 3, 1, 0).lost == 4


def test_what_is_forgotten_is_not_gone_but_still_counted():
    found = watch(1, 0)
    found.forget()
    assert found.gone() == ""
    found.update("joint_states", 1, 10.0)
    assert (found.gone(), found.lost) == ("", 1)


def test_of_several_topics_the_one_without_a_publisher_is_named_though_the_other_goes_on():
    found = watch(1, topic="left", message=0.5)
    found.update("right", 2, 0.0)
    found.report_message("right", 0.5)
    assert (found.count, found.lost, found.is_single) == (3, 0, False)
    assert found.gone() == "" and found.no_publisher() == ""
    found.update("left", 0, 1.0)
    found.report_message("right", 5.0)
    assert found.gone() == f"left: {GONE}"
    assert (found.count, found.lost, found.is_single) == (2, 1, False)
    found.update("left", 1, 6.0)
    assert found.gone() == ""
    found.update("right", 1, 6.0)
    assert found.remark(6.5) == "right: 1 of 2 publishers of joint states is gone"
    assert found.is_single and found.lost == 2
    found.forget()
    assert (found.count, found.lost, found.is_single) == (None, 2, False)


def test_other_publishers_are_seen_by_their_number_and_by_their_identifiers():
    found = PublisherWatch()
    old, new = (Publisher((k,), "/driver") for k in (1, 2))
    assert [found.update("joint_states", count, 0.0) for count in (1, 1, 2, 1)] == [
        False, False, True, True,
    ]  # fmt: skip
    assert [found.identify("joint_states", each, 0.0) for each in ([old], [old], [new], [new])] == [
        False, False, True, False,
    ]  # fmt: skip


def several(*lists, publishers=2, now=5.0):
    """The remark at 5 s of publishers that appeared at 1 s, after these lists of names."""
    found = PublisherWatch()
    nodes = [Publisher((k,), f"/node_{k}") for k in range(publishers)]
    found.update("joint_states", publishers, 1.0)
    found.identify("joint_states", nodes, 1.0)
    for names in lists:
        found.report_message("joint_states", now, names)
    return found.remark(now)


SEVERAL = "2 publishers of joint states may have the same joints: /node_0 and /node_1"


def test_publishers_of_joints_of_their_own_are_no_remark():
    assert several(["a", "b"], ["c"]) == ""
    assert several(["a"], ["b", "c"], ["d"], ["d", "a"], publishers=2) == ""
    assert several(["a"], publishers=1) == ""


@pytest.mark.parametrize(
    "lists", [[["a", "b"]], [["a", "b"], ["b", "c"]], [["a"], ["b"], ["b", "a"]], []]
)
def test_publishers_that_may_have_the_same_joints_are_named_after_a_second(lists):
    assert several(*lists) == SEVERAL
    assert several(*lists, now=1.9) == ""


def test_a_node_that_is_there_twice_is_named_with_its_number():
    """As one that was killed and started again, until the middleware forgets the first."""
    found = PublisherWatch()
    found.update("joint_states", 3, 1.0)
    nodes = [Publisher((k,), node) for k, node in enumerate(("/driver", "/gui", "/driver"))]
    found.identify("joint_states", nodes, 1.0)
    found.report_message("joint_states", 5.0, ["a"])
    assert found.remark(5.0).endswith("may have the same joints: /driver (2 times) and /gui")


def test_what_was_heard_of_other_publishers_does_not_count():
    found = PublisherWatch()
    found.update("joint_states", 2, 0.0)
    nodes = [Publisher((k,), f"/node_{k}") for k in range(3)]
    found.identify("joint_states", nodes[:2], 0.0)
    for names in (["a"], ["b"]):
        found.report_message("joint_states", 0.5, names)
    found.identify("joint_states", nodes[1:], 1.0)
    found.report_message("joint_states", 1.5, ["a"])
    assert "/node_1 and /node_2" in found.remark(3.0)
    found.report_message("joint_states", 3.1, ["b"])
    assert found.remark(3.1) == ""


def test_ever_new_lists_of_names_do_not_fill_the_memory():
    assert several(*(["a", f"x{k}"] for k in range(1000))) == SEVERAL
