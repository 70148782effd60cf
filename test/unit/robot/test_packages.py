# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Files are found where ROS users put them, and the error lists every place looked at."""

from __future__ import annotations

import logging
import os
import sys

import pytest

from collision_monitor.errors import MeshError, SceneError
from collision_monitor.robot.packages import FileFinder, find_packages

URI = "package://arm/meshes/a%20b.stl"


@pytest.fixture(autouse=True)
def _no_ros_around(monkeypatch, tmp_path):
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    monkeypatch.delenv("ROS_PACKAGE_PATH", raising=False)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "prefix"))


def _package(folder, name="a b.stl"):
    path = folder / "meshes" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    return path


def test_package_dirs_hold_the_package(tmp_path):
    path = _package(tmp_path / "src" / "arm")
    assert FileFinder([tmp_path / "src"]).find(URI, "link 'a'") == path
    assert FileFinder(str(tmp_path / "src")).find(URI, "link 'a'") == path


def test_package_dir_is_the_package(tmp_path):
    path = _package(tmp_path / "arm")
    assert FileFinder([tmp_path / "arm"]).find(URI, "x") == path
    assert FileFinder([str(tmp_path / "arm") + "/"]).find(URI, "x") == path


def test_package_dir_is_the_package_by_its_manifest(tmp_path):
    path = _package(tmp_path / "arm_checkout-1.2")
    finder = [tmp_path / "arm_checkout-1.2"]
    with pytest.raises(MeshError):
        FileFinder(finder).find(URI, "x")
    manifest = tmp_path / "arm_checkout-1.2" / "package.xml"
    manifest.write_text("<package format='3'><name> arm </name></package>")
    assert FileFinder(finder).find(URI, "x") == path
    manifest.write_text("<package")
    with pytest.raises(MeshError, match="no file"):
        FileFinder(finder).find(URI, "x")


def _checkout(folder, name="arm"):
    """A package whose folder has another name, as in a checked-out repository."""
    path = _package(folder)
    (folder / "package.xml").write_text(f"<package format='3'><name>{name}</name></package>")
    return path


@pytest.mark.parametrize("place", ["Arm_ROS2", "vendor/Arm_ROS2", "a/b/c/d/e/f/g/Arm_ROS2"])
def test_packages_are_found_by_their_manifest_at_any_depth(tmp_path, monkeypatch, place):
    path = _checkout(tmp_path / "src" / place)
    _checkout(tmp_path / "src" / "another", "other")
    assert FileFinder([tmp_path / "src"]).find(URI, "x") == path
    assert FileFinder([tmp_path]).find(URI, "x") == path
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path))
    assert FileFinder().find(URI, "x") == path


@pytest.mark.parametrize("marker", ["COLCON_IGNORE", "AMENT_IGNORE", "CATKIN_IGNORE"])
def test_ignored_folders_are_not_searched(tmp_path, marker):
    _checkout(tmp_path / "old" / "Arm_ROS2")
    (tmp_path / "old" / marker).touch()
    _checkout(tmp_path / ".hidden" / "Arm_ROS2")
    _checkout(tmp_path / "outer", "outer")
    _checkout(tmp_path / "outer" / "inside")  # colcon finds no package in a package
    with pytest.raises(MeshError, match=f"{tmp_path}: none of its 1 packages is named 'arm'"):
        FileFinder([tmp_path]).find(URI, "x")
    # A folder that is asked for by name is searched all the same.
    assert FileFinder([tmp_path / "old"]).find(URI, "x").is_file()


def test_links_are_followed_and_circles_end(tmp_path):
    path = _checkout(tmp_path / "elsewhere" / "Arm_ROS2")
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "src" / "deep" / "up").symlink_to(tmp_path / "src")
    (tmp_path / "src" / "self").symlink_to("self")
    (tmp_path / "src" / "linked").symlink_to(tmp_path / "elsewhere")
    found = FileFinder([tmp_path / "src"]).find(URI, "x")
    assert found.samefile(path)
    assert list(find_packages(tmp_path / "src").folders) == ["arm"]


def test_broken_manifests_and_unreadable_folders_are_passed_over(tmp_path):
    (tmp_path / "a" / "package.xml").mkdir(parents=True)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "package.xml").write_text("<package")
    locked = tmp_path / "c"
    locked.mkdir(mode=0)
    path = _checkout(tmp_path / "d" / "Arm_ROS2")
    try:
        assert FileFinder([tmp_path]).find(URI, "x") == path
    finally:
        locked.chmod(0o700)


def test_a_package_that_is_there_twice_is_warned_of_once(tmp_path, caplog):
    first = _checkout(tmp_path / "b")
    second = _checkout(tmp_path / "a" / "copy")
    finder = FileFinder([tmp_path])
    with caplog.at_level(logging.WARNING):
        assert finder.find(URI, "x") == first, "the one nearer to the top"
        assert finder.find(URI, "y") == first
    (record,) = caplog.records
    assert f"'arm' is taken from {tmp_path / 'b'}; it is in {second.parents[1]}" in record.message


def test_the_search_is_bounded_and_the_error_says_so(tmp_path, monkeypatch):
    for k in range(10):
        (tmp_path / f"{k}").mkdir()
    _checkout(tmp_path / "z" / "Arm_ROS2")
    assert find_packages(tmp_path).complete
    assert not find_packages(tmp_path, most_folders=10).complete
    monkeypatch.setattr("collision_monitor.robot.packages._MOST_FOLDERS", 10)
    with pytest.raises(MeshError, match="only the first 10 folders were searched"):
        FileFinder([tmp_path]).find(URI, "x")


def test_folders_are_searched_once_and_only_if_the_file_is_not_where_it_should_be(
    tmp_path, monkeypatch
):
    _package(tmp_path / "arm")
    path = _checkout(tmp_path / "deep" / "Hand_ROS2", "hand")
    looked = []
    scan = os.scandir
    monkeypatch.setattr(os, "scandir", lambda folder: looked.append(folder) or scan(folder))
    finder = FileFinder([tmp_path])
    finder.find(URI, "x")
    assert not looked
    for _ in range(2):
        assert finder.find(URI.replace("arm", "hand"), "x") == path
    assert len(looked) == len(set(looked)) > 0


def test_package_dir_is_a_prefix(tmp_path):
    path = _package(tmp_path / "install" / "share" / "arm")
    assert FileFinder([tmp_path / "install"]).find(URI, "x") == path


def test_environment_and_own_prefix(tmp_path, monkeypatch):
    own = _package(tmp_path / "prefix" / "share" / "arm")
    assert FileFinder().find(URI, "x") == own
    ros1 = _package(tmp_path / "ros1" / "arm")
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"/nowhere:{tmp_path / 'ros1'}")
    assert FileFinder().find(URI, "x") == ros1
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "ros1" / "arm"))
    assert FileFinder().find(URI, "x") == ros1
    ament = _package(tmp_path / "ament" / "share" / "arm")
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere:{tmp_path / 'ament'}")
    assert FileFinder().find(URI, "x") == ament
    given = _package(tmp_path / "given" / "arm")
    assert FileFinder([tmp_path / "given"]).find(URI, "x") == given


def test_folders_above_the_description(tmp_path):
    path = _package(tmp_path / "arm")
    document = tmp_path / "arm" / "urdf" / "arm.urdf"
    assert FileFinder((), document).find(URI, "x") == path
    renamed = _package(tmp_path / "checkout")
    (tmp_path / "checkout" / "package.xml").write_text("<package><name>arm</name></package>")
    assert FileFinder((), tmp_path / "checkout" / "urdf" / "a.urdf").find(URI, "x") == renamed


def test_a_package_that_lacks_the_file_does_not_hide_one_that_has_it(tmp_path):
    (tmp_path / "first" / "arm").mkdir(parents=True)
    path = _package(tmp_path / "second" / "arm")
    assert FileFinder([tmp_path / "first", tmp_path / "second"]).find(URI, "x") == path


def test_relative_paths(tmp_path, monkeypatch):
    path = _package(tmp_path / "arm")
    document = tmp_path / "arm" / "arm.urdf"
    assert FileFinder((), document).find("meshes/a b.stl", "x") == path
    assert FileFinder((), document).find("meshes/a%20b.stl", "x") == path
    assert FileFinder([tmp_path / "arm"]).find("meshes/a b.stl", "x") == path
    monkeypatch.chdir(tmp_path / "arm")
    assert FileFinder().find("meshes/a b.stl", "x") == path
    assert FileFinder((), "arm.urdf").find("meshes/a b.stl", "x") == path


def test_a_percent_sign_in_a_name_is_no_escape_where_the_file_exists(tmp_path):
    path = _package(tmp_path / "arm", "a%20b.stl")
    _package(tmp_path / "arm", "a b.stl")
    assert FileFinder([tmp_path]).find(URI, "x") == path


@pytest.mark.parametrize("start", ["file://", "file://localhost", "file:", ""])
def test_absolute_paths(tmp_path, start):
    path = _package(tmp_path)
    assert FileFinder().find(start + str(path), "x") == path
    assert FileFinder().find(start + str(path).replace(" ", "%20"), "x") == path


def test_file_of_another_host(tmp_path):
    with pytest.raises(MeshError, match="host 'server'.*file:///absolute"):
        FileFinder().find("file://server/a.stl", "x")


@pytest.mark.parametrize("scheme", ["http", "https", "ftp", "model"])
def test_schemes_that_are_not_supported(scheme):
    with pytest.raises(MeshError, match=f"link 'a'.*'{scheme}' is not supported.*package://"):
        FileFinder().find(f"{scheme}://somewhere/a.stl", "link 'a'")


@pytest.mark.parametrize("uri", ["package://", "package://arm", "package://arm/", "package://../a"])
def test_incomplete_package_uri(uri):
    with pytest.raises(MeshError, match="package://<package>/<path>"):
        FileFinder().find(uri, "x")


@pytest.mark.parametrize("uri", ["", "  ", "a\0b", "package://arm/%00"])
def test_odd_names(uri):
    with pytest.raises(MeshError, match="link 'a'"):
        FileFinder().find(uri, "link 'a'")


def test_name_too_long_for_the_file_system():
    with pytest.raises(MeshError, match="no file"):
        FileFinder().find("a" * 5000, "x")


def test_error_names_uri_user_and_every_place(tmp_path, monkeypatch):
    monkeypatch.setenv("AMENT_PREFIX_PATH", "/ament_a:/ament_b")
    monkeypatch.setenv("ROS_PACKAGE_PATH", "/ros1")
    document = tmp_path / "arm" / "urdf" / "arm.urdf"
    with pytest.raises(SceneError) as caught:
        FileFinder(["/given"], document).find("package://arm/m.stl", "link 'hand'", SceneError)
    message = str(caught.value)
    assert "link 'hand'" in message
    assert "'package://arm/m.stl'" in message
    assert "/given: no such folder" in message
    assert "a folder that holds the package 'arm', at any depth, to package_dirs" in message
    places = [
        "/given/arm/m.stl",
        "/given/share/arm/m.stl",
        "/ament_a/share/arm/m.stl",
        "/ament_b/share/arm/m.stl",
        "/ros1/arm/m.stl",
        str(tmp_path / "arm" / "m.stl"),
        str(tmp_path / "prefix" / "share" / "arm" / "m.stl"),
    ]
    positions = [message.index(place) for place in places]
    assert positions == sorted(positions)
