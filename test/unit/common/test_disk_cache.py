# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The cache on disk: private folders, keys that cannot collide, and no errors, ever."""

import logging
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from support.processes import run_python

from collision_monitor.common import disk_cache
from collision_monitor.common.disk_cache import Store, content_key, private_directory, turn


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """A cache folder of its own."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv(disk_cache.SWITCH, raising=False)
    return tmp_path / "cache" / "collision_monitor"


# -- folders -------------------------------------------------------------------------


def test_a_private_directory_is_the_users_alone(place):
    directory = private_directory("fits")
    assert directory == place / "fits"
    assert directory.stat().st_mode & 0o777 == 0o700
    assert private_directory("fits") == directory


def test_a_directory_that_others_can_write_to_is_passed_over(place, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "second"))
    (place / "fits").mkdir(parents=True)
    (place / "fits").chmod(0o770)
    place.chmod(0o700)
    assert private_directory("fits") == tmp_path / "second" / "collision_monitor" / "fits"


def nowhere(monkeypatch, tmp_path):
    """Let no place be usable."""
    (tmp_path / "file").write_text("not a folder")
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "file"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "file"))


def test_the_last_place_is_the_temporary_folder_and_without_it_there_is_none(tmp_path, monkeypatch):
    nowhere(monkeypatch, tmp_path)
    assert private_directory("fits") is None
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert private_directory("fits").parents[1] == tmp_path


# -- keys ----------------------------------------------------------------------------


def test_equal_content_has_equal_keys():
    grid = np.arange(12.0).reshape(3, 4)
    assert content_key(grid, "a", 1) == content_key(grid.copy(), "a", np.int64(1))
    assert content_key(grid.T) == content_key(np.ascontiguousarray(grid.T))
    assert content_key((1, [2.0, "x"])) == content_key([1, (2.0, "x")])
    assert len(content_key()) == 64


def test_different_content_has_different_keys():
    zeros = np.zeros(4)
    different = [
        (), (None,), ("",), (b"",), (0,), (0.0,), (-0.0,), (False,), ((),), ([[]],),
        ("a", "b"), ("ab",), ("ab", ""), (("a",), "b"), ("a", ("b",)), (("a", "b"),), ("a,b",),
        (zeros,), (zeros.reshape(2, 2),), (zeros.astype(np.float32),), (zeros.astype(int),),
        (zeros[:2], zeros[2:]), (zeros[:3], zeros[3:]), (zeros.tolist(),), (zeros.tobytes(),),
        (np.zeros((0, 3)),), (np.zeros((3, 0)),), (10**30,), ("1",), (1,), (True,), (1.0,),
    ]  # fmt: skip
    assert len({content_key(*parts) for parts in different}) == len(different)


@pytest.mark.parametrize("part", [{1}, object(), np.array([None]), 1j])
def test_what_has_no_key_is_refused(part):
    with pytest.raises(TypeError, match="no key for"):
        content_key(part)


# -- values --------------------------------------------------------------------------


def test_values_outlive_the_store(place):
    value = {"ends": [[0.1, 1e-17, -3.0]], "text": "ä", "none": None, "yes": True}
    store = Store("fits")
    assert store.get("k") is None
    store.set("k", value)
    assert store.get("k") == value
    assert (place / "fits").is_dir()
    again = Store("fits")
    assert again.get("k") == value
    again.set("k", 2)
    again.set("m", "x" * 100_000)
    assert [again.get(key) for key in ("k", "no", "m")] == [2, None, "x" * 100_000]
    assert Store("other").get("k") is None


def test_a_value_is_computed_once():
    computed = []
    for _ in range(2):
        assert Store("fits").kept("k", lambda: computed.append(1) or [7]) == [7]
    assert len(computed) == 1


def test_what_json_cannot_hold_is_a_bug_of_the_caller():
    with pytest.raises(TypeError):
        Store("fits").set("k", np.zeros(3))


def test_it_stays_below_its_size_and_forgets_what_was_not_used(place):
    rng = np.random.default_rng(0)
    store = Store("fits", largest=1_000_000)
    for k in range(40):
        store.set(str(k), rng.bytes(50_000).hex())
        assert store.get("0") is not None
        time.sleep(0.01)
    assert store.get("1") is None
    assert store.get("39") is not None
    total = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
    assert total <= 1_000_000


def test_it_can_be_switched_off(monkeypatch, place, caplog):
    Store("fits").set("k", 1)
    monkeypatch.setenv(disk_cache.SWITCH, "off")
    store = Store("fits")
    store.set("k", 2)
    assert store.get("k") is None
    monkeypatch.delenv(disk_cache.SWITCH)
    assert Store("fits").get("k") == 1
    assert not caplog.records


def test_without_a_directory_it_is_empty(tmp_path, monkeypatch, caplog):
    nowhere(monkeypatch, tmp_path)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            store = Store("fits")
            store.set("k", 1)
            assert store.get("k") is None
            assert store.kept("k", lambda: 2) == 2
    (record,) = caplog.records
    assert "no private, writable directory" in record.message
    assert "computed again" in record.message


@pytest.mark.parametrize("damage", [b"", b"[1, 2", b"\xff\xfe", b"[" * 100_000])
def test_a_damaged_value_is_computed_again(place, caplog, damage):
    store = Store("fits")
    store.set("k", [1, 2, 3])
    (file,) = (place / "fits").iterdir()
    file.write_bytes(damage)
    assert store.get("k") is None
    assert f"{place / 'fits'}" in caplog.text and "computed again" in caplog.text
    assert store.kept("k", lambda: [4]) == [4]
    assert Store("fits").get("k") == [4]


def test_a_folder_that_cannot_be_written_to_is_read(place, caplog):
    store = Store("fits")
    store.set("k", 1)
    (place / "fits").rename(place / "gone")
    store.set("l", 2)
    assert store.get("l") is None
    assert "FileNotFoundError" in caplog.text and "computed again" in caplog.text
    (place / "gone").rename(place / "fits")
    assert store.get("k") == 1


WRITER = """
import sys
import tempfile
from collision_monitor.common.disk_cache import Store
store = Store("fits")
for k in range(100):
    store.set(f"{sys.argv[1]}/{k}", [k] * 50)
    store.set("shared", [sys.argv[1]] * 1000)
    value = store.get("shared")
    assert value is not None and len(set(value)) == 1, value
"""


def test_several_processes_write_at_once():
    with ThreadPoolExecutor(2) as pool:
        for done in pool.map(lambda k: run_python(WRITER, k), range(2)):
            assert done.stderr == ""
    store = Store("fits")
    for writer in range(2):
        assert [store.get(f"{writer}/{k}") for k in range(100)] == [[k] * 50 for k in range(100)]


ENDLESS = """
from collision_monitor.common.disk_cache import Store
store, k = Store("fits"), 0
while True:
    k += 1
    store.set(f"{k % 100}", [k] * 500)
    store.set("shared", [k] * 5000)
    if k == 1:
        print("writing", flush=True)
"""


def test_a_process_killed_during_a_write_leaves_a_usable_cache(caplog):
    writers = [
        subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE) for _ in range(2)
    ]
    for writer in writers:
        assert writer.stdout.readline() == b"writing\n"
    time.sleep(0.1)
    writers[0].kill()
    writers[0].communicate()
    assert writers[1].poll() is None  # the other goes on
    writers[1].kill()
    writers[1].communicate()
    store = Store("fits")
    shared = store.get("shared")
    assert len(shared) == 5000 and len(set(shared)) == 1
    store.set("mine", 1)
    assert store.get("mine") == 1
    assert not caplog.records


# -- turns ---------------------------------------------------------------------------


def test_a_turn_is_waited_for_and_then_taken(tmp_path):
    waiting = []

    def second():
        with turn(tmp_path, "work", patience=60.0) as waited:
            waiting.append(waited)

    thread = threading.Thread(target=second)
    with turn(tmp_path, "work") as waited:
        assert not waited
        thread.start()
        time.sleep(0.1)
        assert waiting == []
    thread.join(timeout=60.0)
    assert waiting == [True]
    with turn(tmp_path, "work") as waited:
        assert not waited
    assert list(tmp_path.iterdir()) == []


def test_other_work_is_not_waited_for_nor_anybody_who_takes_too_long(tmp_path):
    with (
        turn(tmp_path, "work") as first,
        turn(tmp_path, "other", patience=0.0) as other,
        turn(tmp_path, "work", patience=0.1) as same,
    ):
        assert (first, other, same) == (False, False, True)


def test_who_dies_has_no_turn_any_more(tmp_path):
    program = """
import sys
from pathlib import Path
from collision_monitor.common.disk_cache import turn
with turn(Path(sys.argv[1]), "work"):
    print("taken", flush=True)
    sys.stdin.read()
"""
    other = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert other.stdout.readline() == b"taken\n"
    with turn(tmp_path, "work", patience=0.0) as waited:
        assert waited
    other.kill()
    other.communicate()
    with turn(tmp_path, "work") as waited:
        assert not waited


def test_where_nothing_is_kept_nobody_waits(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv(disk_cache.SWITCH, "off")
    store = Store("fits")
    with (
        turn(None, "work") as first,
        turn(None, "work") as second,
        turn(tmp_path / "file", "work") as third,
        store.turn(["a", "b"]) as fourth,
        store.turn(["b", "a"]) as fifth,
    ):
        assert not any((first, second, third, fourth, fifth))


def test_a_store_has_one_turn_for_the_same_keys():
    store = Store("fits")
    with (
        store.turn(["a", "b"]) as first,
        store.turn(["b", "a"], patience=0.1) as same,
        store.turn(["a"]) as other,
    ):
        assert (first, same, other) == (False, True, False)
