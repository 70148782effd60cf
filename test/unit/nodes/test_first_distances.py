# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Distances of the leaves before a robot is monitored."""

import pytest
from support.robots.toys import chain

pytest.importorskip("rclpy", reason="rclpy is not installed")

from collision_monitor.errors import JointStateError  # noqa: E402
from collision_monitor.model.loading import Recipe, RobotSource  # noqa: E402
from collision_monitor.monitoring.joint_state_buffer import JointState  # noqa: E402
from collision_monitor.nodes.robot_loader import publish_leaf_distances  # noqa: E402

Q = [0.3, 0.4, 0.5]


class Topics:
    """Subscriptions on which one message after the other is waiting."""

    def __init__(self, *messages):
        self.messages = list(messages)
        self.subscribe_joint_states = self.subscribe_scene_joints = lambda: None

    def waiting(self):
        if self.messages:
            yield self, self.messages.pop(0)

    def read(self, message, now):
        if message is None:
            raise JointStateError("unreadable", "unreadable")
        names, positions = message
        return JointState(names, positions, now, 0.0)


class Compiling:
    """A process that is running in so many looks at it."""

    def __init__(self, looks):
        self.looks = looks

    @property
    def is_running(self):
        self.looks -= 1
        return self.looks >= 0


def published(*messages, looks=4, timeout=10.0, has_objects=False):
    found, loaded = [], Recipe((RobotSource(chain(4)),)).load_leaves()
    arguments = Topics(*messages), loaded, timeout, found.append, [Compiling(looks)]
    publish_leaf_distances(*arguments, lambda: has_objects)
    return found, loaded.model.distance(Q).distance


def test_from_the_first_complete_configuration_on_until_kernels_are_compiled():
    found, expected = published((["j1"], [0.3]), None, (["j3", "j2"], [0.5, 0.4]), looks=5)
    assert found == [expected] * 3


def test_not_without_joint_states_that_are_new_enough():
    assert published()[0] == []
    found, expected = published((["j1", "j2", "j3"], Q), timeout=0.05)
    assert found == [expected]


def test_not_while_there_may_be_objects_that_it_does_not_know():
    assert published((["j1", "j2", "j3"], Q), has_objects=True)[0] == []
