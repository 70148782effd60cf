# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Bags become motions of a robot."""

import numpy as np
import pytest
from support.files.made_bags import command, state, write_bag
from support.robots.toys import chain

from collision_monitor.errors import MotionError
from collision_monitor.motion.motion_files import load_trajectory
from collision_monitor.robot.urdf import load_robot

ROBOT = load_robot(chain())


def test_two_controllers_topics_are_one_motion(tmp_path):
    go = [(0, [0.0], [0.0]), (2, [1.0], [0.0])]
    later = [(0.5, [0.0], [0.0]), (2.5, [1.0], [0.0])]
    path = write_bag(
        tmp_path / "bag",
        [
            ("/left/joint_trajectory", 100.0, command(0, ["j1"], go)),
            ("/right/joint_trajectory", 99.0, command(100.5, ["j3"], later)),
        ],
    )
    loaded = load_trajectory(
        path, ROBOT, topic=["/left/joint_trajectory", "/right/joint_trajectory"]
    )
    assert loaded.trajectory.positions([0, 1, 2, 3]) == pytest.approx(
        np.array([[0, 0, 0], [0.5, 0, 0], [1, 0, 0.5], [1, 0, 1]])
    )
    assert loaded.begin == 100.0
    texts = " ".join(loaded.warnings)
    assert "no positions of j3 in the first 1 s: held" in texts
    assert "no positions of j1 in the last 1 s: held" in texts
    assert "/right/joint_trajectory: the first point is at 0.500 s" in texts


@pytest.mark.parametrize(
    ("messages", "options", "says"),
    [
        ([("/s", 1, state(1, ["j9"], [0]))], {}, "no joint 'j9'"),
        ([("/s", 1, state(1, ["j1"], [0]))], {"stamps": "sent"}, "stamps: 'sent' is not"),
        (
            [("/s", 1, state(1, ["j1"], [0])), ("/c", 1, command(1, ["j1"], [(1, [0.0])]))],
            {"topic": ["/s", "/c"]},
            "names joint 'j1' twice",
        ),
        ([("/c", k, command(0, ["j1"], [(1, [0.0])])) for k in (1, 2)], {}, "/c: has 2 trajec"),
        ([("/c", 9e8, command(12, ["j1"], [(1, [0])]))], {}, "two clocks; stamps='receive'"),
        ([("/s", 1, state(1, ["j1"], [1e308])), ("/s", 1, state(1.1, ["j1"], [-1e308]))], {},
         "positions too large"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_motion(tmp_path, messages, options, says):
    path = write_bag(tmp_path / "bag", messages)
    with pytest.raises(MotionError, match=says) as caught:
        load_trajectory(path, ROBOT, **options)
    assert str(path) in str(caught.value)
