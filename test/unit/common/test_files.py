# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Files that are there whole or not at all."""

import os
import stat

import pytest

from collision_monitor.common.files import write_text


def test_a_file_is_written_and_replaced_with_nothing_left_beside_it(tmp_path):
    path = tmp_path / "file"
    for text in ("one\r\n", "zw\u00f6lf"):
        write_text(path, text)
        assert path.read_bytes().decode() == text
    assert os.listdir(tmp_path) == ["file"]


def test_it_has_the_rights_that_any_new_file_has_and_keeps_those_it_had(tmp_path):
    new, plain = tmp_path / "new", tmp_path / "plain"
    write_text(new, "")
    plain.write_text("")
    assert stat.S_IMODE(new.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    new.chmod(0o604)
    write_text(new, "again")
    assert stat.S_IMODE(new.stat().st_mode) == 0o604


def test_when_it_fails_the_old_file_is_there_as_it_was(tmp_path, written, monkeypatch):
    path = written("file", "old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_link_is_followed_and_a_device_is_written_to(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    link.symlink_to(real)
    write_text(link, "text")
    assert real.read_text() == "text"
    assert link.is_symlink()
    write_text("/dev/null", "text")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
