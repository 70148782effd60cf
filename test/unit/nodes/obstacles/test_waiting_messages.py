# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Scene messages that wait: the oldest object comes first, and no loss is forgotten."""

import math

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from collision_monitor.nodes.obstacles.waiting_messages import (  # noqa: E402
    PendingMarkers,
    WaitingMessages,
)


@pytest.fixture
def waiting():
    return WaitingMessages()


def apply(waiting):
    waiting.apply(1.0, lambda name: True, lambda marker: None, lambda name: None)


def test_objects_that_are_deleted_and_added_again_all_get_their_turn():
    """Ten times a second all of 100 objects are replaced, of which 40 can be applied."""
    pending, applied = PendingMarkers(), set()
    for cycle in range(6):
        for name in {*applied, *pending.names()}:
            pending.change(name, None, 0.1 * cycle)
        for number in range(100):
            pending.change(f"o{number}", f"o{number}", 0.1 * cycle)
        for _ in range(40):
            pending.apply_one(lambda name: True, applied.add, lambda name: None)
    assert len(applied) == 100
    assert pending.waited(0.6) < 0.35


def test_the_oldest_of_all_counts_as_waiting():
    pending = PendingMarkers()
    assert pending.waited(7.0) == 0.0
    pending.change("b", "b", 1.0)
    pending.change("a", None, 5.0)
    pending.change("b", None, 6.0)
    assert pending.waited(6.0) == 5.0


def test_a_loss_after_a_message_that_clears_all_stays(waiting):
    waiting.lose("scene", 2)
    waiting.receive("scene", 100, lambda: waiting.clear("scene", "attach"))
    assert not waiting.receive("scene", 64 << 20, lambda: None)
    waiting.lose("scene", 1)
    assert "3 on ~/scene" in waiting.fault(0.0, "scene")
    apply(waiting)
    assert "1 on ~/scene" in waiting.fault(0.0, "scene")
    waiting.receive("scene", 100, lambda: waiting.clear("scene", "attach"))
    apply(waiting)
    assert waiting.fault(0.0, "scene") == ""


def test_there_is_room_again_for_what_was_applied(waiting):
    for _ in range(3):
        assert waiting.receive("scene", 40 << 20, lambda: None)
        assert waiting.receive("attach", 20 << 20, lambda: None)
        assert not waiting.receive("scene", 20 << 20, lambda: None)
        apply(waiting)
        assert not waiting


def test_what_cannot_be_read_is_cleared_by_a_message_after_it(waiting):
    waiting.receive("attach", 5, lambda: waiting.lose("attach", 1))
    waiting.receive("scene", 100, lambda: waiting.clear("scene", "attach"))
    apply(waiting)
    assert waiting.fault(0.0, "scene") == ""
    waiting.receive("scene", 100, lambda: waiting.clear("scene", "attach"))
    waiting.receive("attach", 5, lambda: waiting.lose("attach", 1))
    apply(waiting)
    assert "1 on ~/attach" in waiting.fault(0.0, "scene")


def test_a_message_is_applied_in_steps_before_those_after_it(waiting):
    done = []

    def steps():
        for number in range(3):
            done.append(number)
            yield

    waiting.receive("planning_scene", 100, steps)
    waiting.receive("attach", 100, lambda: done.append("attach"))
    for count in (0, 1, 2, 3, 3):  # the first decodes, the last ends
        assert waiting.waited(math.inf) == (math.inf, "planning_scene")
        assert waiting
        waiting.apply(0.0, lambda name: True, lambda marker: None, lambda name: None)
        assert len(done) == count
    apply(waiting)
    assert done == [0, 1, 2, "attach"]
    assert not waiting


def test_a_message_of_which_a_step_fails_is_lost(waiting):
    def steps():
        yield
        raise ValueError("inside")

    waiting.receive("planning_scene", 100, steps)
    with pytest.raises(ValueError, match="inside"):
        apply(waiting)
    assert not waiting
    assert "1 on ~/planning_scene" in waiting.fault(0.0, "")
