# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Publishers: all gone, one gone, none yet."""

from collision_monitor.watchdogs.publishers import PublisherWatch


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
    assert watch(0).nobody() == "nobody publishes them"
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
