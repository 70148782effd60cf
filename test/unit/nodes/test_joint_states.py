# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states as they are read from messages."""

import math

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from rclpy.serialization import serialize_message  # noqa: E402
from sensor_msgs.msg import JointState as JointStateMessage  # noqa: E402
from support.ros.scene_stub import stub_node  # noqa: E402

from collision_monitor.errors import JointStateError  # noqa: E402
from collision_monitor.nodes.robot_topics import JointStateSource  # noqa: E402

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


@pytest.mark.parametrize("velocity", [(), (0.5, -0.25, math.nan)])
@pytest.mark.parametrize("frame", ["", "b", "base", "base_é"])
def test_every_message_is_read_as_the_middleware_reads_it(frame, velocity):
    """The first of its length is deserialized; later ones are unpacked, wherever numbers stand."""
    reader = source()
    for count in (0, 1, 3):
        for k in range(3):
            made = JointStateMessage(name=NAMES[:count], position=[0.1 * k] * count)
            made.velocity, made.effort = list(velocity[:count]), [1.0 * k] * (count // 2)
            made.header.frame_id = frame
            made.header.stamp.sec, made.header.stamp.nanosec = -k, 7 * k
            state = reader.read(serialize_message(made), 1.0)
            assert (state.names, state.positions) == (NAMES[:count], (0.1 * k,) * count)
            assert state.velocities == pytest.approx(velocity[:count], nan_ok=True)
            assert state.stamp == -k + 7e-9 * k


def test_what_differs_in_other_bytes_than_the_numbers_is_not_taken_for_the_same():
    reader = source()
    for _ in range(2):
        reader.read(message(NAMES, [1.0] * 3), 0.0)
    state = reader.read(message([], [*range(7)]), 0.0)  # of the same length, or nearly
    assert (state.names, state.positions) == ([], tuple(range(7)))
    data = bytearray(message(NAMES, [1.0] * 3))
    assert reader.read(bytes(data), 0.0).positions == (1.0,) * 3
    place = data.index(b"elbow")
    data[place : place + 5] = b"wheel"
    assert reader.read(bytes(data), 0.0).names == ["shoulder", "wheel", "wrist"]
    count = data.index(b"wrist") + 6
    count += -count % 4
    data[count : count + 4] = b"\xff" * 4  # of positions: more than there are bytes
    with pytest.raises(JointStateError):
        reader.read(bytes(data), 0.0)
