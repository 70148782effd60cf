# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states read in place against rclpy's own deserialization."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("rclpy")

from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

from collision_monitor.errors import JointStateError  # noqa: E402
from collision_monitor.nodes.joint_states import joint_state_reader  # noqa: E402
from collision_monitor.nodes.joint_states.joint_state_reader import JointStateReader  # noqa: E402


def message(names, positions, stamp=(0, 0), frame="", velocity=(), effort=()):
    made = JointState(name=list(names), position=list(positions))
    made.velocity, made.effort, made.header.frame_id = list(velocity), list(effort), frame
    made.header.stamp.sec, made.header.stamp.nanosec = stamp
    return serialize_message(made)


def expected(data):
    """(names, positions, stamp, velocities) by rclpy."""
    made = deserialize_message(data, JointState)
    stamp = made.header.stamp
    velocities = tuple(made.velocity) if len(made.velocity) == len(made.position) else ()
    return list(made.name), tuple(made.position), stamp.sec + 1e-9 * stamp.nanosec, velocities


def same(found, wanted):
    """Equal to the last bit; NaN equals NaN."""
    return (
        found[0] == wanted[0]
        and repr(found[1]) == repr(wanted[1])
        and math.isclose(found[2], wanted[2], rel_tol=0.0, abs_tol=0.0)
        and repr(found[3]) == repr(wanted[3])
    )


@pytest.fixture
def count(monkeypatch):
    """How many messages have been deserialized by rclpy."""
    calls = []

    def counted(*arguments):
        calls.append(1)
        return deserialize_message(*arguments)

    monkeypatch.setattr(joint_state_reader, "deserialize_message", counted)
    return calls


numbers = st.floats(allow_nan=True, allow_infinity=True)
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9)


@st.composite
def messages(draw):
    """A few messages; lengths of all lists are free, and often alike."""
    made = []
    for _ in range(draw(st.integers(2, 6))):
        names = draw(st.lists(texts, max_size=4))
        size = draw(st.sampled_from([len(names), len(names), len(names), 0, 2]))
        as_many = st.lists(numbers, min_size=size, max_size=size)
        made.append(
            message(
                names,
                draw(as_many),
                (draw(st.integers(-5, 2**31 - 1)), draw(st.integers(0, 10**9 - 1))),
                draw(texts),
                draw(st.lists(numbers, max_size=2) | as_many),
                draw(st.lists(numbers, max_size=2)),
            )
        )
    return made + made[::-1]


@given(messages())
@settings(deadline=None, max_examples=200)
def test_reads_what_rclpy_reads_whatever_came_before(sequence):
    reader = JointStateReader()
    for data in sequence:
        assert same(reader.read(data), expected(data))


NAMES = ["shoulder", "elbow", "wrist"]


def test_the_second_message_of_a_publisher_is_read_in_place(count):
    reader = JointStateReader()
    for k in range(5):
        data = message(NAMES, [0.1 * k, -k, k], (k, 7 * k), "base", velocity=[k] * 3)
        assert same(reader.read(data), expected(data))
    assert len(count) == 1


def test_names_that_differ_in_one_letter_are_other_names(count):
    reader = JointStateReader()
    reader.read(message(NAMES, [1.0, 2.0, 3.0]))
    names, positions, *_ = reader.read(message(["shoulder", "elbov", "wrist"], [1.0, 2.0, 3.0]))
    assert names[1] == "elbov"
    assert positions == (1.0, 2.0, 3.0)
    assert len(count) == 2


def test_two_publishers_with_messages_of_other_length_do_not_disturb_each_other(count):
    reader = JointStateReader()
    for k in range(6):
        names = NAMES if k % 2 else ["finger"]
        assert reader.read(message(names, [k] * len(names)))[:2] == (names, (k,) * len(names))
    assert len(count) == 2


def test_what_stands_between_the_parts_does_not_matter(count):
    """A writer leaves in the gaps whatever its memory held."""
    reader = JointStateReader()
    data = message(NAMES, [1.0, 2.0, 3.0], frame="base")
    end_of_first = data.index(b"shoulder\0") + len("shoulder\0")
    assert end_of_first % 4 != 0
    for gap in (b"\0", b"j", b"\xff"):
        changed = data[:end_of_first] + gap + data[end_of_first + 1 :]
        assert same(reader.read(changed), expected(data))
    assert len(count) == 1


def test_names_without_as_many_positions_are_left_to_the_monitor():
    reader = JointStateReader()
    for _ in range(2):
        assert reader.read(message(NAMES, [1.0])) == (NAMES, (1.0,), 0.0, ())


def test_velocities_that_begin_and_end_are_read_as_they_are(count):
    reader = JointStateReader()
    for k in range(6):
        velocity = [k, math.nan, -k] if k % 2 else []
        data = message(NAMES, [0.1 * k] * 3, (k, 0), "base", velocity)
        assert same(reader.read(data), expected(data))
    assert len(count) == 2


def test_velocities_of_another_number_are_none():
    reader = JointStateReader()
    for _ in range(2):
        assert reader.read(message(NAMES, [1.0] * 3, velocity=[1.0, 2.0]))[3] == ()


def test_memory_of_layouts_is_limited():
    reader = JointStateReader()
    for k in range(200):
        reader.read(message(["j" * k], [1.0]))
    assert len(reader._layouts) <= 16


def test_bytes_in_another_order_are_never_read_in_place():
    data = message(NAMES, [1.0, 2.0, 3.0])
    big = b"\x00\x00" + data[2:]
    assert joint_state_reader._layout_of(data, NAMES, (1.0, 2.0, 3.0), ()) is not None
    assert joint_state_reader._layout_of(big, NAMES, (1.0, 2.0, 3.0), ()) is None


@pytest.mark.parametrize("end", range(0, 92, 7))
def test_a_message_that_is_cut_off_has_no_layout(end):
    data = message(NAMES, [1.0, 2.0, 3.0])
    assert joint_state_reader._layout_of(data[:end], NAMES, (1.0, 2.0, 3.0), ()) is None


def test_a_prefix_goes_before_all_names_in_place_or_not(count):
    reader = JointStateReader("left/")
    for k in range(3):
        data = message(("a", "b"), (0.1 * k, 2.0), (5, k), "", (1.0, 2.0))
        names, positions, stamp, velocities = reader.read(data)
        assert names == ["left/a", "left/b"]
        assert (positions, velocities) == ((0.1 * k, 2.0), (1.0, 2.0))
        assert stamp == 5 + 1e-9 * k
    assert len(count) == 1


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_bytes_are_read_as_rclpy_does_or_refused(data):
    whole = bytearray(message(["a", "bb"], [1.0, 2.0], (5, 6), "base", [3.0, 4.0]))
    reader = JointStateReader()
    reader.read(bytes(whole))  # so that the ways in place are tried as well
    (layout,) = reader._layouts.values()
    read = layout.values.size  # bytes up to the end of the velocities
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(whole)))
        piece = data.draw(
            st.one_of(
                st.binary(max_size=8),
                st.sampled_from([b"\xff" * 4, b"\xff\xff\xff\x7f", b"\0\0\0@", bytes(8)]),
            )
        )
        whole[at : at + data.draw(st.sampled_from([0, len(piece), 40]))] = piece
    try:
        wanted = expected(bytes(whole))
    except Exception:
        try:
            found = reader.read(bytes(whole))
        except JointStateError as error:
            assert str(error).startswith("unreadable joint state: ")
        else:  # what is wrong is behind all that is read, in the efforts: here are none
            assert same(found, expected(bytes(whole[:read]) + bytes(4)))
    else:
        assert same(reader.read(bytes(whole)), wanted)
