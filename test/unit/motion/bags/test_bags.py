# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Bags are read without ROS; what cannot be used is refused by topic and message."""

import sqlite3
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.files.made_bags import KINDS, bag_file, command, state, text, write_bag

from collision_monitor.errors import MissingDependencyError, MotionError
from collision_monitor.motion.bags import COMMANDS, STATES, is_bag, read_topics, topic_names

STATE_MESSAGES = [
    ("/joint_states", 50.0 + k, state(10.0 + k, ["b", "a"], [0.1 * k, -k])) for k in range(4)
]
POINT = (1.0, [1, 2], [3, 4], [5, 6])
OTHERS = [("/chatter", 51.5, text("hello"))]


@pytest.mark.parametrize("storage", KINDS)
def test_joint_states_come_as_they_were_recorded(tmp_path, storage):
    folder = write_bag(tmp_path / "bag", [*STATE_MESSAGES, *OTHERS], storage)
    for path in (folder, bag_file(folder), folder / "metadata.yaml"):
        assert is_bag(path)
        (topic,) = read_topics(path)
        assert (topic.name, topic.kind, topic.warnings) == ("/joint_states", STATES, ())
        assert [m.received for m in topic.messages] == [(50 + k) * 10**9 for k in range(4)]
        assert [m.stamp for m in topic.messages] == [(10 + k) * 10**9 for k in range(4)]
        assert topic.messages[3].names == ("b", "a")
        assert topic.messages[3].positions.tolist() == [pytest.approx(0.3), -3.0]


@pytest.mark.parametrize("storage", KINDS)
def test_trajectories_come_with_their_rates(tmp_path, storage):
    points = [(0.5, [0, 0]), POINT]
    folder = write_bag(tmp_path / "bag", [("/go", 7.0, command(0.0, "ab", points))], storage)
    (topic,) = read_topics(folder, ["go"])
    (message,) = topic.messages
    assert (topic.kind, message.stamp) == (COMMANDS, 0)
    assert message.points.joint_names == ("a", "b")
    assert message.points.times.tolist() == [0.5, 1.0]
    assert np.isnan(message.points.rows[1:, 0]).all()
    assert message.points.rows[:, 1].tolist() == [[1, 2], [3, 4], [5, 6]]


def test_a_folder_that_lost_its_metadata_is_read_all_the_same(tmp_path):
    folder = write_bag(tmp_path / "bag", STATE_MESSAGES)
    (folder / "metadata.yaml").unlink()
    assert len(read_topics(folder)[0].messages) == 4
    (folder / "other.mcap").write_bytes(b"")
    with pytest.raises(MotionError, match=r"no metadata\.yaml, and 2 files"):
        read_topics(folder)


def test_messages_without_positions_are_counted(tmp_path):
    none = ("/joint_states", 60.0, state(9, [], []))
    folder = write_bag(tmp_path / "bag", [*STATE_MESSAGES, none])
    assert read_topics(folder)[0].warnings == (
        f"{folder}: /joint_states: 1 of 5 messages are without positions",
    )


def test_topics_to_choose_from_are_listed(tmp_path):
    folder = write_bag(
        tmp_path / "bag", [*STATE_MESSAGES, *OTHERS, ("/go", 7.0, command(0.0, "ab", [POINT]))]
    )
    listed = (
        r"there are: /go \(trajectory_msgs/msg/JointTrajectory, 1 messages\); "
        r"/joint_states \(sensor_msgs/msg/JointState, 4 messages\)"
    )
    with pytest.raises(MotionError, match=r"bag: choose a topic \(--topic\); " + listed):
        read_topics(folder)
    with pytest.raises(MotionError, match=r"topic '/no' does not exist with type .*; " + listed):
        read_topics(folder, ["/no"])
    with pytest.raises(MotionError, match=r"'chatter' is of type std_msgs/msg/String, not .*"):
        read_topics(folder, ["chatter"])
    both = read_topics(folder, ["/go", "joint_states"])
    assert [topic.name for topic in both] == ["/go", "/joint_states"]


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        (OTHERS, "no JointState and no JointTrajectory: no topic has these types"),
        ([("/s", 1, state(1, ["a"], []))], "'/s': none of its 1 messages has positions"),
        ([("/s", 1, state(1, ["a"], [1, 2]))], "/s: message 1: positions: 2 values for 1"),
        (
            [("/s", 1, state(1, ["a"], [0])), ("/s", 2, state(2, ["a"], [np.nan]))],
            "/s: message 2: positions: nan of 'a' is not a finite number",
        ),
        ([("/c", 1, command(1, "a", []))], "'/c': none of its 1 messages has positions"),
        (
            [("/c", 1, command(1, "a", [(-1, [1]), (1, [1])]))],
            r"/c: message 1: points\[0\]: time_from_start -1 s is negative",
        ),
    ],
)
def test_messages_that_cannot_be_used_are_refused_by_number(tmp_path, messages, says):
    folder = write_bag(tmp_path / "bag", messages)
    with pytest.raises(MotionError, match=says) as caught:
        read_topics(folder)
    assert str(folder) in str(caught.value)


def test_a_joint_that_nobody_needs_may_be_nan(tmp_path):
    """A driver sends NaN for a gripper without a sensor, or for a fixed joint."""
    messages = [
        ("/s", k, state(k, ["gripper", "a"], [np.nan if k == 2 else 0.0, 0.1 * k])) for k in (1, 2)
    ]
    folder = write_bag(tmp_path / "bag", [*messages, ("/s", 3, state(3, ["gripper"], [np.nan]))])
    (topic,) = read_topics(folder, unneeded=lambda joint: joint == "gripper")
    assert [message.names for message in topic.messages] == [("gripper", "a"), ("a",)]
    with pytest.raises(MotionError, match="nan of 'gripper' is .*; --ignore JOINT leaves out"):
        read_topics(folder)


def forget(folder, second):
    """Delete the message of this second from a database."""
    with sqlite3.connect(bag_file(folder)) as database:
        database.execute(f"DELETE FROM messages WHERE timestamp = {second}000000000")
    database.close()


def test_a_topic_that_nobody_published_on(tmp_path):
    messages = [*STATE_MESSAGES, ("/empty", 9, state(1, ["a"], [0]))]
    folder = write_bag(tmp_path / "bag", messages, "sqlite3")
    forget(folder, 9)
    with pytest.raises(MotionError, match="topic '/empty': has no messages"):
        read_topics(bag_file(folder), ["/empty"])


def test_messages_that_are_lost_are_missed(tmp_path):
    folder = write_bag(tmp_path / "bag", STATE_MESSAGES, "sqlite3")
    forget(folder, 51)
    with pytest.raises(MotionError, match="'/joint_states': 3 of 4 messages: the others are lost"):
        read_topics(folder)


@pytest.mark.parametrize("storage", KINDS)
def test_a_recording_that_was_cut_off(tmp_path, storage):
    messages = [("/s", 1 + k, state(1 + k, ["a"], [k])) for k in range(600)]
    path = bag_file(write_bag(tmp_path / "bag", messages, storage))
    data = path.read_bytes()
    for part in (0, 3, 100, len(data) // 2, len(data) - 3):
        path.write_bytes(data[:part])
        try:
            (topic,) = read_topics(path)
        except MotionError as error:
            assert f"{path}: cannot be read as a ROS 2 bag" in str(error)
            assert "truncated recording can be repaired" in str(error) and ".. " not in str(error)
        else:  # the last bytes of a database may be of no use
            assert part > len(data) // 2
            assert [m.positions[0] for m in topic.messages] == list(range(600))


def test_what_is_no_bag(tmp_path):
    for name in ("none", "none.mcap"):
        with pytest.raises(MotionError, match=f"{name}: no such bag"):
            read_topics(tmp_path / name)
    with pytest.raises(MotionError, match="and 0 files"):
        read_topics(tmp_path)
    assert not is_bag(tmp_path / "motion.yaml")


def test_a_database_that_was_not_closed(tmp_path):
    path = bag_file(write_bag(tmp_path / "bag", STATE_MESSAGES, "sqlite3"))
    path.with_name(path.name + "-wal").write_bytes(b"something")
    with pytest.raises(MotionError, match="was not closed: bag.db3-wal has messages"):
        read_topics(path)


def test_without_rosbags_the_command_that_installs_it_is_named(tmp_path, monkeypatch):
    folder = write_bag(tmp_path / "bag", STATE_MESSAGES)
    for name in [name for name in sys.modules if name.split(".")[0] == "rosbags"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingDependencyError, match=r"pip install .*'rosbags>="):
        read_topics(folder)


def test_one_topic_or_several():
    assert topic_names(None) == ()
    assert topic_names("/a") == ("/a",)
    assert topic_names(["/a", "/b"]) == ("/a", "/b")


SOUND: dict[str, bytes] = {}


@settings(
    deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.sampled_from(sorted(KINDS)), st.data())
def test_damaged_bags_give_messages_or_the_packages_own_error(tmp_path, storage, data):
    if storage not in SOUND:
        go = [("/go", 7.0 + k, command(0.0, "ab", [(0.5, [0, 0]), POINT])) for k in range(3)]
        SOUND[storage] = bag_file(
            write_bag(tmp_path / storage, [*STATE_MESSAGES, *go], storage)
        ).read_bytes()
    damaged = bytearray(SOUND[storage])
    for _ in range(data.draw(st.integers(1, 8))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        damaged[place] = data.draw(st.sampled_from([0, 1, 127, 255, damaged[place] ^ 64]))
    if data.draw(st.booleans()):
        del damaged[data.draw(st.integers(0, len(damaged))) :]
    path = tmp_path / ("bag.mcap" if storage == "mcap" else "bag.db3")
    path.write_bytes(damaged)
    for names in (["/joint_states"], ["/go"]):
        try:
            (topic,) = read_topics(path, names)
        except MotionError as error:
            assert str(path) in str(error)
            continue
        for message in topic.messages:
            values = message.positions if topic.kind == STATES else message.points.rows[0]
            assert np.isfinite(values).all()
