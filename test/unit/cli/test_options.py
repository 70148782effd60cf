# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Types of options: numbers in their range, and paths of files to write."""

import argparse
import os

import pytest

from collision_monitor.__main__ import main
from collision_monitor.cli.options import output_path, png_path, value_of
from collision_monitor.common.settings import Setting


def test_a_number_is_read_as_python_does_and_has_its_range():
    share = value_of(Setting("share", 0.5, "", most=1.0))
    assert share(" 2.5e-3 ") == 0.0025
    for text in ("-1", "nan", "1.1"):
        why = f"{text}.* is not a finite number from 0 to 1"
        with pytest.raises(argparse.ArgumentTypeError, match=why):
            share(text)


@pytest.mark.parametrize(
    "words",
    [
        ["acm", "r.urdf", "--always", "x"],
        ["verify", "r.urdf", "m.csv", "--gravity", "0,0,x"],
        ["view", "r.urdf", "--port", "80.5"],
    ],
    ids=lambda words: " ".join(words[:1] + words[-2:]),
)
def test_what_is_no_number_is_named_and_no_function_of_the_program(words, capsys):
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert repr(words[-1]) in line or words[-1] in line
    assert " value: " not in line


@pytest.mark.parametrize("check", [output_path, png_path])
def test_a_path_that_can_be_written_comes_back_and_nothing_is_made(check, tmp_path, monkeypatch):
    for name in (tmp_path / "a file.png", tmp_path / "b.PNG"):
        assert check(os.fspath(name)) == name
        assert not name.exists()
    monkeypatch.chdir(tmp_path)
    assert str(check("here.png")) == "here.png"
    (tmp_path / "there.png").write_text("x")
    assert check(os.fspath(tmp_path / "there.png")).read_text() == "x"


@pytest.mark.parametrize("check", [output_path, png_path])
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("", "'' is not the path of a file"),
        ("folder.png", "'folder.png' is not the path of a file"),
        ("none/a.png", "none/a.png: there is no folder none"),
        ("file/a.png", "file/a.png: there is no folder file"),
    ],
)
def test_what_cannot_be_written_is_named(check, name, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "file").write_text("x")
    with pytest.raises(argparse.ArgumentTypeError) as caught:
        check(name)
    assert says in str(caught.value)


@pytest.mark.parametrize("name", ["a.gif", "a", "a.png.txt", "png"])
def test_a_picture_is_a_png(name, tmp_path):
    with pytest.raises(argparse.ArgumentTypeError, match="pictures are PNG"):
        png_path(os.fspath(tmp_path / name))
    assert output_path(os.fspath(tmp_path / name)).name == name


@pytest.mark.parametrize("option", ["--srdf", "--scene", "--leaves"])
def test_a_file_without_a_name_is_not_left_out_in_silence(option, capsys):
    with pytest.raises(SystemExit):
        main(["distance", "r.urdf", option, ""])
    assert f"argument {option}: " in capsys.readouterr().err
