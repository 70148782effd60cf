# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states as they are read from messages, and processed when there are too many."""

import math
import time
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from rclpy.serialization import serialize_message  # noqa: E402
from sensor_msgs.msg import JointState as JointStateMessage  # noqa: E402
from support.ros.scene_stub import stub_node  # noqa: E402

from collision_monitor.errors import JointStateError  # noqa: E402
from collision_monitor.model.loading import RobotSource  # noqa: E402
from collision_monitor.monitoring.watchdogs import Watchdogs  # noqa: E402
from collision_monitor.nodes.joint_states import JointStates, JointStateSource  # noqa: E402
from collision_monitor.nodes.parameters.monitor_parameters import RobotPort  # noqa: E402

NAMES = ["shoulder", "elbow", "wrist"]


def source(prefix=""):
    return JointStateSource(stub_node(), print, prefix=prefix)


def message(names, positions, stamp=(0, 0), velocity=()):
    made = JointStateMessage(name=list(names), position=list(positions), velocity=list(velocity))
    made.header.stamp.sec, made.header.stamp.nanosec = stamp
    return serialize_message(made)


def test_names_positions_stamp_and_velocities_are_those_of_the_message():
    reader = source()
    for k in range(3):
        data = message(NAMES, [0.1 * k, math.inf, -k], (5, k), [k, -math.inf, 0.5])
        assert reader.read(data, 7.0) == (
            NAMES, (0.1 * k, math.inf, -k), 7.0, 5 + 1e-9 * k, 0.0, (k, -math.inf, 0.5),
        )  # fmt: skip


def test_names_that_do_not_change_are_the_same_object():
    reader = source()
    first, again = (reader.read(message(NAMES, [k] * 3), 0.0).names for k in range(2))
    assert first is again
    other = reader.read(message(["shoulder", "elbov", "wrist"], [1.0] * 3), 0.0).names
    assert other[1] == "elbov" and first == NAMES


def test_names_without_as_many_positions_are_left_to_the_monitor():
    state = source().read(message(NAMES, [1.0]), 0.0)
    assert (state.names, state.positions, state.velocities) == (NAMES, (1.0,), ())


def test_a_prefix_goes_before_all_names():
    reader = source("left/")
    for _ in range(2):
        assert reader.read(message(("a", "b"), (1.0, 2.0)), 0.0).names == ["left/a", "left/b"]


@pytest.mark.parametrize("data", [b"", b"\0\1\0\0", b"\0\1\0\0" + b"\xff" * 40])
def test_bytes_that_are_no_joint_state_are_refused(data):
    with pytest.raises(JointStateError, match="unreadable joint state: ") as caught:
        source().read(data, 0.0)
    assert caught.value.kind == "unreadable"


class Taken:
    """Joint states of an elbow, whose cycles take ``seconds``."""

    def __init__(self, seconds):
        self.seconds, self.seen = seconds, []
        self._node, self._watchdogs = stub_node(), Watchdogs()
        self._monitor = SimpleNamespace(
            process=lambda state: self.seen.append(("processed", *state.positions)),
            merge=lambda state: self.seen.append(("merged", *state.positions)),
        )
        self.states = JointStates(self._node, self._watchdogs, self._received)
        self.states.subscribe([RobotPort(RobotSource(""))])

    def _received(self, source, data):
        start = time.monotonic()
        self.states.process(self._monitor, source, data, start, lambda is_behind: None)
        time.sleep(self.seconds)
        self._watchdogs.cycles.add(start, time.monotonic())

    def send(self, position):
        self._node.receive("joint_states", message(["elbow"], [position]))

    def let_wait(self, *positions):
        """Let joint states wait, in the queue of the subscription."""
        waiting = [(message(["elbow"], [position]), {}) for position in positions]
        handle = self._node.subscriptions["joint_states"].handle
        handle.take_message.side_effect = [*waiting, *[None] * 9]


def test_as_many_joint_states_are_passed_over_as_were_taken_and_none_is_left_out():
    """Meanwhile an executor calls other callbacks, which have waited for the cycle."""
    taken = Taken(0.02)
    taken.send(1.0)
    taken.let_wait(3.0, 4.0)
    taken.send(2.0)
    assert taken.seen == [("processed", 1.0), ("merged", 2.0), ("merged", 3.0), ("processed", 4.0)]
    taken.seen.clear()
    taken.send(5.0)
    taken.send(6.0)
    assert not taken.seen
    taken.states.process_kept()
    taken.states.process_kept()
    assert taken.seen == [("merged", 5.0), ("processed", 6.0)]


def test_after_a_cycle_that_was_held_up_joint_states_are_passed_over_for_a_moment_only():
    taken = Taken(0.01)
    taken.send(1.0)
    taken.let_wait(3.0)
    taken.seconds = 1.2
    taken.send(2.0)
    taken.seconds = 0.0
    time.sleep(0.22)
    taken.send(4.0)
    assert taken.seen[-1] == ("processed", 4.0)
