# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Motions on the page: of this robot, in its order, at the time that the page says."""

import numpy as np
import pytest

from collision_monitor.errors import MotionError
from collision_monitor.motion.trajectory import Motion
from collision_monitor.viewer.controls import Playback


def motion(*names, end=2.0):
    """From 0 to 1, 2, .. for the joints in the order of ``names``."""
    goal = np.arange(1.0, len(names) + 1.0)
    return Motion(names, np.array([5.0, 5.0 + end]), np.array([0.0 * goal, goal]))


def test_joints_are_put_in_the_order_of_the_robot_and_the_others_rest():
    one = motion("j3", "j1").of_joints(("j1", "j2", "j3"), np.array([9.0, 0.25, 9.0]), "toy")
    assert one.at(1.0).tolist() == [1.0, 0.25, 0.5]
    assert one.at(-1.0).tolist() == [0.0, 0.25, 0.0]
    assert one.at(9.0).tolist() == [2.0, 0.25, 1.0]


def test_a_motion_of_another_robot_is_an_error_that_names_the_joint():
    says = r"far.csv: 'toy' has no joint 'j9'; it has (j[123], ){2}j[123]$"
    with pytest.raises(MotionError, match=says):
        motion("j1", "j9").of_joints(("j1", "j2", "j3"), np.zeros(3), "far.csv: 'toy'")


def test_it_plays_pauses_seeks_and_ends():
    one = motion("j1")
    playback = Playback()
    assert playback.configuration(0.0) is None
    playback.play(one, 10.0)
    assert playback.configuration(11.0)[0] == pytest.approx(0.5)
    playback.pause()
    assert playback.configuration(11.5) is None and playback.time == pytest.approx(1.0)
    playback.play(one, 20.0)  # it goes on where it was
    playback.speed = 0.5
    assert playback.configuration(21.0)[0] == pytest.approx(0.75)
    assert playback.seek(one, 0.4).tolist() == one.at(0.4).tolist()
    assert playback.configuration(21.1) is None and playback.time == 0.4
    assert playback.seek(one, 99.0)[0] == 1.0 and playback.time == 2.0
    playback.play(one, 30.0)  # from the start again
    playback.speed = 1.0
    assert playback.configuration(30.5)[0] == pytest.approx(0.25)
    assert playback.configuration(99.0)[0] == 1.0
    assert playback.configuration(99.1) is None


def test_another_motion_begins_at_its_start():
    one, other = motion("j1"), motion("j1")
    playback = Playback()
    playback.play(one, 0.0)
    playback.configuration(1.0)
    playback.play(other, 1.0)
    assert playback.time == 0.0 and playback.motion is other
