# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Types of options: paths of files to read and to write."""

import argparse
import os
import re

import pytest

from collision_monitor.__main__ import main
from collision_monitor.cli.options import output_path, png_path, timed_motion


@pytest.mark.parametrize("check", [output_path, png_path])
def test_a_path_that_can_be_written_comes_back_and_nothing_is_made(check, tmp_path, monkeypatch):
    for name in (tmp_path / "a file.png", tmp_path / "b.PNG"):
        assert check(os.fspath(name)) == name
        assert not name.exists()
    monkeypatch.chdir(tmp_path)
    assert str(check("here.png")) == "here.png"
    (tmp_path / "there.png").write_text("x")
    assert check(os.fspath(tmp_path / "there.png")).read_text() == "x"


@pytest.mark.parametrize("when", ["soon", "nan", "inf", "-inf"])
def test_a_start_is_a_finite_time(when):
    with pytest.raises(argparse.ArgumentTypeError, match=f"'{when}' is not seconds"):
        timed_motion(f"run@{when}")


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


@pytest.mark.parametrize(
    ("command", "options"),
    [
        (["distance"], "--srdf --scene --leaves --package-dir"),
        (["verify", "m.csv"], "--limits --thresholds --drives --beside --measured --other"),
        (["adjust", "m.csv"], "--limits"),
        (["thresholds"], "--thresholds --motion"),
        (["acm"], "--srdf --audit"),
        (["fit"], "--thresholds"),
        (["view"], "--motion"),
    ],
)
def test_a_file_without_a_name_is_not_left_out_in_silence(command, options, capsys):
    """As from a variable of a shell that is not set."""
    for option in options.split():
        with pytest.raises(SystemExit):
            main([*command, "r.urdf", option, ""])
        assert re.search(f"argument {option}: a (path|value) is needed", capsys.readouterr().err)


@pytest.mark.parametrize("command", ["verify", "adjust"])
def test_a_motion_without_a_name_is_not_the_present_folder(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "r.urdf", ""])
    assert "argument motion: a path is needed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "values"),
    [("--q", ("a=1", "b=2")), ("--scene", ("cell.yaml", "table.yaml")), ("--max-leaves", "34")],
)
def test_an_option_with_one_value_is_not_given_twice(option, values, capsys):
    """The first scene, or the first positions, would be left out in silence."""
    with pytest.raises(SystemExit):
        main(["distance", "r.urdf", option, values[0], option, values[1]])
    assert f"argument {option}: is given twice ({values[1]}); it takes" in capsys.readouterr().err
