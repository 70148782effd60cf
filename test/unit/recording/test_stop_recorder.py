# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A file for each stop: whole or absent, none overwritten; what fails is told, never raised."""

import json
import os
import struct
import subprocess
import sys
import time

import pytest

pytest.importorskip("mcap", reason="mcap is not installed")
from mcap.reader import make_reader  # noqa: E402

from collision_monitor.errors import MissingDependencyError, RecordingError  # noqa: E402
from collision_monitor.recording import write_mcap  # noqa: E402
from collision_monitor.recording.stop_recorder import (  # noqa: E402
    Channel,
    RecordingSettings,
    StopRecorder,
    check_path,
)

FLOAT = Channel("/value", "std_msgs/msg/Float64", "float64 data\n")
TEXT = Channel("/robot", "std_msgs/msg/String", "string data\n", latched=True, qos="[]")


def cdr(value: float) -> bytes:
    """A std_msgs/Float64."""
    return b"\0\1\0\0" + struct.pack("<d", value)


class Clock:
    """Seconds, as told."""

    now = 50.0

    def __call__(self) -> float:
        return self.now


def recorder(path, **options):
    """(recorder, its clock, numbers of the two channels)."""
    clock = Clock()
    made = StopRecorder(str(path), RecordingSettings(**options), clock)
    return made, clock, made.channel(FLOAT), made.channel(TEXT)


def finish(made, seconds=60.0):
    """What becomes of the file that is due."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if (result := made.update()) is not None:
            return result
        time.sleep(0.02)
    pytest.fail("nothing became of it")


def read(path):
    """(messages by topic, stops, messages in all)."""
    with open(path, "rb") as stream:
        reader = make_reader(stream, validate_crcs=True)
        found = {}
        for schema, channel, message in reader.iter_messages():
            assert schema.encoding == "ros2msg" and channel.message_encoding == "cdr"
            found.setdefault(channel.topic, []).append(message)
        (metadata,) = reader.iter_metadata()
        assert reader.get_header().profile == "ros2"
        count = reader.get_summary().statistics.message_count
    return found, json.loads(metadata.metadata["stops"]), count


def test_two_stops_near_each_other_are_one_file_and_a_later_one_has_its_own(tmp_path):
    made, clock, value, robot = recorder(tmp_path / "a.mcap", record_seconds=60.0, record_after=3.0)
    made.add(robot, b"\0\1\0\0\2\0\0\0r\0")
    for k in range(200):
        clock.now += 0.1
        made.add(value, cdr(k))
        if k in (150, 170):
            made.stopped(f"at {k}")
    assert made.update() is None
    clock.now = 50.0 + 0.1 * 151 + 3.0 + 1.0
    assert made.update() is None, "the second stop makes it longer"
    clock.now += 1.01
    assert finish(made) == (str(tmp_path / "a.mcap"), "")
    found, stops, count = read(tmp_path / "a.mcap")
    assert [struct.unpack_from("<d", m.data, 4)[0] for m in found["/value"]] == list(range(200))
    assert [stop["reason"] for stop in stops] == ["at 150", "at 170"]
    assert count == 201 and len(found["/robot"]) == 1
    before = (tmp_path / "a.mcap").read_bytes()
    made.stopped("again")
    clock.now += 3.0
    assert finish(made) == (str(tmp_path / "a_2.mcap"), "")
    assert (tmp_path / "a.mcap").read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["a.mcap", "a_2.mcap"]
    assert made.text.endswith(f"2 files, last {tmp_path / 'a_2.mcap'}")


def test_stop_upon_stop_ends_while_all_before_the_first_is_still_held(tmp_path):
    made, clock, value, robot = recorder(tmp_path / "a.mcap", record_seconds=10.0, record_after=3.0)
    for k in range(100):
        if k in (0, 10, 90):
            made.add(robot, b"\0\1\0\0\2\0\0\0%d\0" % {0: 1, 10: 2, 90: 3}[k])
        made.add(value, cdr(clock.now) + bytes(200_000))  # so that segments are dropped
        clock.now += 0.5
    first = clock.now
    while clock.now < first + 8.9:
        made.stopped("bump")
        made.add(value, cdr(clock.now))
        assert made.update() is None
        clock.now += 0.5
    clock.now = first + 9.0
    assert finish(made)[1] == ""
    topics, _, _ = read(tmp_path / "a.mcap")
    assert [m.data[8:9] for m in topics["/robot"]] == [b"2", b"3"], "what held when it begins"
    assert topics["/robot"][0].log_time == topics["/value"][0].log_time
    found = topics["/value"]
    times = [struct.unpack_from("<d", m.data, 4)[0] for m in found]
    assert times[-1] == first + 8.5 and first - 12.0 < times[0] <= first - 10.0


def test_what_is_pending_is_written_at_the_end_and_the_oldest_files_go(tmp_path):
    made, clock, value, _ = recorder(tmp_path / "a.mcap", record_after=3.0, record_files=2)
    for k in range(3):
        made.add(value, cdr(k))
        made.stopped("s")
        if k < 2:
            clock.now += 3.0
            assert finish(made)[1] == ""
    assert made.close() == (str(tmp_path / "a_3.mcap"), "")
    assert sorted(os.listdir(tmp_path)) == ["a_2.mcap", "a_3.mcap"]
    assert made.close() is None, "there is nothing more"


def test_a_folder_that_is_gone_is_told_and_the_next_stop_is_tried(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    made, clock, value, _ = recorder(folder / "a.mcap", record_after=1.0)
    made.add(value, cdr(1.0))
    folder.rename(tmp_path / "elsewhere")
    made.stopped("s")
    clock.now += 1.0
    path, error = finish(made)
    assert path == "" and "No such file" in error
    assert made.text.startswith("FAILED: ") and "No such file" in made.text
    folder.mkdir()
    made.stopped("t")
    clock.now += 1.0
    assert finish(made) == (str(folder / "a.mcap"), "")
    assert "FAILED" not in made.text


def test_a_writer_that_ends_without_a_word_is_told(tmp_path, monkeypatch):
    made, clock, _, _ = recorder(tmp_path / "a.mcap", record_after=1.0)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    made.stopped("s")
    clock.now += 1.0
    path, error = finish(made)
    assert path == "" and "code 1 and no message" in error


def test_a_full_disk_leaves_nothing_behind(tmp_path):
    head = {"path": str(tmp_path / "a.mcap"), "metadata": {}, "channels": [
        {"topic": "/v", "kind": "a/msg/B", "definition": "", "qos": ""}]}  # fmt: skip
    text = json.dumps(head).encode()
    body = os.urandom(1 << 20)  # does not get smaller
    data = struct.pack("<Q", len(text)) + text + struct.pack("<qHI", 1, 0, len(body)) + body
    limit = "import resource, signal, runpy, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);" \
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000));" \
        "sys.argv = [sys.argv[1]]; runpy.run_path(sys.argv[0], run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", limit, write_mcap.__file__], input=data, capture_output=True,
        timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert "too large" in json.loads(done.stdout)["error"]
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("path", "options", "says"),
    [
        ("a.bag", {}, r"'.*a\.bag': the name must end in \.mcap"),
        ("no/a.mcap", {}, r"no: cannot be written to: No such file"),
        ("a.mcap", {"record_seconds": 0.5}, r"record_seconds: 0\.5 is not .* from 1 to 3600"),
        ("a.mcap", {"record_seconds": float("nan")}, "record_seconds: nan"),
        ("a.mcap", {"record_files": 0}, "record_files: 0"),
    ],
)
def test_what_cannot_be_is_refused_at_the_start(tmp_path, path, options, says):
    with pytest.raises(RecordingError, match=says):
        StopRecorder(str(tmp_path / path), RecordingSettings(**options))
    assert os.listdir(tmp_path) == []


def test_a_disk_without_room_is_refused(tmp_path):
    with pytest.raises(RecordingError, match="MB are free, a recording may take 1099511627776 MB"):
        check_path(str(tmp_path / "a.mcap"), 1 << 60)


def test_without_mcap_the_command_that_installs_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcap", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'mcap>="):
        StopRecorder(str(tmp_path / "a.mcap"), RecordingSettings())


class Scene:
    """Numbers that are told by their changes alone."""

    def __init__(self, channel):
        self.channel, self.now = channel, 0.0

    def held(self):
        message = self.channel, cdr(self.now)
        return lambda: [message], 8

    def at_stop(self):
        scene = {"obstacles": [self.now]}
        return lambda: scene


def test_a_file_begins_with_what_held_and_knows_what_was_there_at_its_first_stop(tmp_path):
    made, clock, value, _ = recorder(tmp_path / "a.mcap", record_seconds=10.0, record_after=1.0)
    change = made.channel(Channel("/scene", "std_msgs/msg/Float64", "float64 data\n"))
    made.follow(scene := Scene(change))
    for k in range(100):
        made.add(value, cdr(k) + bytes(200_000))  # so that segments are dropped
        made.add(change, cdr(k))
        scene.now = k
        clock.now += 0.5
    made.stopped("bump")
    scene.now = 1000.0
    made.stopped("again")
    clock.now += 1.0
    assert finish(made)[1] == ""
    found, _, _ = read(tmp_path / "a.mcap")
    held, *changes = (struct.unpack_from("<d", m.data, 4)[0] for m in found["/scene"])
    first = struct.unpack_from("<d", found["/value"][0].data, 4)[0]
    assert first > 60.0 and held == first - 1.0, "as it was before the first message"
    assert changes == list(range(int(first), 100))
    assert found["/scene"][0].log_time == found["/value"][0].log_time
    with open(tmp_path / "a.mcap", "rb") as stream:
        (metadata,) = make_reader(stream).iter_metadata()
    assert json.loads(metadata.metadata["scene_at_stop"]) == {"obstacles": [99]}


def test_large_messages_have_a_part_of_the_room(tmp_path):
    made, clock, value, robot = recorder(
        tmp_path / "a.mcap", record_seconds=100.0, record_after=0.0, record_megabytes=8
    )
    for k in range(1000):
        made.add_if_affordable(robot, b"\0\1\0\0" + bytes(99_996))
        made.add(value, cdr(k))
        clock.now += 0.1
    made.stopped("s")
    assert finish(made)[1] == ""
    found, _, _ = read(tmp_path / "a.mcap")
    assert [struct.unpack_from("<d", m.data, 4)[0] for m in found["/value"]] == list(range(1000))
    assert 20 <= len(found["/robot"]) <= 33
    with open(tmp_path / "a.mcap", "rb") as stream:
        (metadata,) = make_reader(stream).iter_metadata()
    assert int(metadata.metadata["clouds_left_out"]) == 1000 - len(found["/robot"])
