# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Publishers: all gone, one gone, none yet."""

from collision_monitor.monitoring.data_health.publishers import PublishersOfTopics, PublisherWatch


def watch(*counts, period=0.05):
    """One that has seen these counts."""
    found = PublisherWatch()
    for k, count in enumerate(counts):
        found.look(count, period * k)
    return found


def test_who_has_not_looked_says_nothing():
    found = PublisherWatch()
    assert (found.gone(0.0), found.nobody(), found.remark(0.0)) == ("", "", "")


def test_the_last_one_that_goes_is_missed_until_one_comes():
    found = watch(1, 1, 0)
    assert found.gone(heard=0.06) == "the publisher of the joint states is gone"
    assert found.gone(heard=0.12) != ""  # it had been on its way
    found.look(1, 0.3)
    assert found.gone(heard=0.06) == ""
    assert watch(2, 0).gone(0.0) == "the publishers of the joint states are gone"


def test_who_is_heard_is_there_whatever_the_count():
    assert watch(1, 0).gone(heard=5.0) == ""


def test_before_the_first_it_is_said_that_there_is_none():
    assert watch(0).nobody() == "no publisher"
    assert watch(0).gone(heard=-1.0) == ""
    assert watch(0, 1).nobody() == ""


def test_one_of_several_is_remarked_for_a_second():
    found = watch(3, 2)
    assert found.remark(0.1) == "1 of 3 publishers of joint states is gone"
    assert found.gone(heard=0.0) == ""
    assert found.remark(1.2) == ""
    assert watch(3, 1).remark(0.1) == "2 of 3 publishers of joint states are gone"
    assert watch(3, 2, 3).remark(0.2) == ""
    assert watch(3, 2, 3, 1, 0).lost == 4


def test_who_stops_looking_forgets():
    found = watch(1, 0)
    found.forget()
    assert found.gone(0.0) == ""
    found.look(1, 10.0)
    assert (found.gone(0.0), found.lost) == ("", 1)


def topics(*counts):
    """Two topics on which something has come, with so many publishers."""
    watch = PublishersOfTopics()
    for topic, count in zip(("left", "right"), counts, strict=True):
        watch.look(topic, count, 0.0)
        watch.hear(topic, 0.5)
    return watch


def test_of_several_topics_the_one_that_has_nobody_left_is_named_though_the_other_goes_on():
    watch = topics(1, 2)
    assert (watch.count, watch.lost, watch.is_single) == (3, 0, False)
    assert watch.gone(0.5) == "" and watch.nobody() == ""
    watch.look("left", 0, 1.0)
    watch.hear("right", 5.0)
    assert watch.gone(5.0) == "left: the publisher of the joint states is gone"
    assert (watch.count, watch.lost, watch.is_single) == (2, 1, False)
    watch.look("left", 1, 6.0)
    assert watch.gone(6.0) == ""
    watch.look("right", 1, 6.0)
    assert watch.remark(6.5) == "right: 1 of 2 publishers of joint states is gone"
    assert watch.is_single and watch.lost == 2
    watch.forget()
    assert (watch.count, watch.lost, watch.is_single) == (None, 2, False)


def test_a_topic_of_several_on_which_nothing_came_is_no_loss_but_is_nobody():
    watch = PublishersOfTopics()
    assert (watch.count, watch.is_single, watch.nobody()) == (None, False, "")
    watch.look("left", 1, 0.0)
    watch.look("right", 0, 0.0)
    watch.hear("left", 0.5)
    assert watch.gone(0.5) == ""
    assert watch.nobody() == "no publisher on right"
    assert watch.is_single


def test_one_topic_needs_no_name():
    watch = PublishersOfTopics()
    watch.look("joint_states", 0, 0.0)
    assert watch.nobody() == "no publisher"
    watch.look("joint_states", 2, 1.0)
    watch.hear("joint_states", 1.5)
    watch.look("joint_states", 1, 2.0)
    assert watch.remark(2.1) == "1 of 2 publishers of joint states is gone"
    watch.look("joint_states", 0, 3.0)
    assert watch.gone(0.0) == "the publisher of the joint states is gone"
