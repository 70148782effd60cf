# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Files are found where ROS users put them, and the error lists every place looked at."""

import logging
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from support.paths import ROOT

from collision_monitor.errors import MeshError, RobotDescriptionError, SceneError
from collision_monitor.robot.packages import FileFinder, find_packages, publishable
from collision_monitor.robot.urdf import load_robot

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


@pytest.mark.parametrize(
    ("given", "package"), [("src", "src/arm"), ("arm", "arm"), ("install", "install/share/arm")]
)
def test_a_package_dir_holds_the_package_or_is_it_or_is_a_prefix(tmp_path, given, package):
    path = _package(tmp_path / package)
    assert FileFinder([tmp_path / given]).find(URI, "link 'a'") == path
    assert FileFinder(f"{tmp_path / given}/").find(URI, "link 'a'") == path


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
    assert FileFinder([tmp_path / "src" / place]).find(URI, "x") == path
    assert FileFinder([tmp_path]).find(URI, "x") == path
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path))
    assert FileFinder().find(URI, "x") == path


def test_a_package_without_a_name_is_called_as_its_folder(tmp_path):
    path = _checkout(tmp_path / "vendor" / "models" / "arm", name="")
    _checkout(tmp_path / "vendor" / "models" / "hand", name=" ")
    assert FileFinder([tmp_path]).find(URI, "x") == path


@pytest.mark.parametrize("marker", ["COLCON_IGNORE", "AMENT_IGNORE", "CATKIN_IGNORE"])
def test_ignored_folders_are_not_searched(tmp_path, marker):
    _checkout(tmp_path / "old" / "Arm_ROS2")
    (tmp_path / "old" / marker).touch()
    _checkout(tmp_path / ".hidden" / "Arm_ROS2")
    _checkout(tmp_path / "outer", "outer")
    _checkout(tmp_path / "outer" / "inside")  # colcon finds no package in a package
    with pytest.raises(MeshError, match=f"{tmp_path}: none of its 1 packages is named 'arm'") as e:
        FileFinder([tmp_path]).find(URI, "x")
    assert f"\n{tmp_path}/old/{marker}: this folder is skipped\n" in str(e.value)
    # A folder that is asked for by name is searched all the same.
    assert FileFinder([tmp_path / "old"]).find(URI, "x").is_file()


def test_the_message_says_whether_the_package_or_only_the_file_is_missing(tmp_path):
    _checkout(tmp_path / "src" / "Arm_ROS2")
    (tmp_path / "bare").mkdir()
    there = f"{tmp_path}/src/Arm_ROS2: the package 'arm' is there, the file is not"
    with pytest.raises(MeshError, match=there) as error:
        FileFinder([tmp_path]).find("package://arm/meshes/other.stl", "x")
    assert "add a folder" not in str(error.value)
    bare = f"{tmp_path}/bare: not a package, as it has no package.xml\nadd a folder"
    with pytest.raises(MeshError, match=bare):
        FileFinder([tmp_path]).find("package://bare/part.stl", "x")
    with pytest.raises(MeshError, match="none of its 1 packages is named 'aaa"):
        FileFinder([tmp_path]).find(f"package://{'a' * 300}/part.stl", "x")


@pytest.mark.parametrize("why", ["another name", "COLCON_IGNORE"])
def test_a_folder_of_the_name_is_no_package_if_its_manifest_or_a_marker_says_so(tmp_path, why):
    path = _checkout(tmp_path / "vendor" / "Arm_ROS2")
    _checkout(tmp_path / "arm", "old_fork" if why == "another name" else "arm")
    if why == "COLCON_IGNORE":
        (tmp_path / "arm" / why).touch()
    assert FileFinder([tmp_path]).find(URI, "x") == path


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
    text = f"'arm' is taken from {tmp_path / 'b'}; it is also in {second.parents[1]}"
    assert text in record.message


def test_the_search_is_bounded_and_the_error_says_so(tmp_path):
    for k in range(10):
        (tmp_path / f"{k}").mkdir()
    _checkout(tmp_path / "z" / "Arm_ROS2")
    assert find_packages(tmp_path).complete
    assert not find_packages(tmp_path, most_folders=10).complete
    with pytest.raises(MeshError, match="only the first 10 folders were searched"):
        FileFinder([tmp_path], most_folders=10).find(URI, "x")


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


@pytest.mark.parametrize(
    ("uri", "says"),
    [
        ("file://server/a.stl", "host 'server'.*file:///absolute"),
        ("http://somewhere/a.stl", "'http' is not supported.*package://"),
        ("model://somewhere/a.stl", "'model' is not supported.*package://"),
        ("package://", "package://<package>/<path>"),
        ("package://arm", "package://<package>/<path>"),
        ("package://arm/", "package://<package>/<path>"),
        ("package://../a", "package://<package>/<path>"),
        ("  ", "is empty"),
        ("a\0b", "holds a zero character"),
        ("package://arm/%00", "no file"),
        ("a" * 5000, "no file"),  # too long for the file system
    ],
)
def test_names_that_cannot_be_used(uri, says):
    with pytest.raises(MeshError, match=f"link 'a'.*{says}"):
        FileFinder().find(uri, "link 'a'")


OUTSIDE = [
    "package://arm/../secret.stl", "package://arm/meshes/../../secret.stl",
    "package://arm/%2e%2e/secret.stl", "package://arm/meshes/leak.stl",
    "package://arm/out/secret.stl", "file://{top}/secret.stl", "{top}/secret.stl",
    "{top}/src/../secret.stl", "../secret.stl", "{top}/src/arm/meshes/leak.stl",
    "{top}/src2/secret.stl", "arm/meshes/leak.stl",
]  # fmt: skip


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("uri", OUTSIDE)
def test_files_outside_of_packages_named_on_topics_are_rejected(tmp_path, uri, exists):
    path = _package(tmp_path / "src" / "arm")
    if exists:
        (tmp_path / "secret.stl").write_text("x")
    (tmp_path / "src" / "arm" / "meshes" / "leak.stl").symlink_to(tmp_path / "secret.stl")
    (tmp_path / "src" / "arm" / "out").symlink_to(tmp_path)
    finder = FileFinder([tmp_path / "src"], is_received=True)
    assert finder.find(URI, "x") == path
    with pytest.raises(MeshError, match="refused") as caught:
        finder.find(uri.format(top=tmp_path), "x")
    assert "no file" not in str(caught.value)


def test_what_a_topic_names_is_not_looked_for_behind_links_nor_in_the_working_directory(
    tmp_path, monkeypatch
):
    _package(tmp_path / "src" / "arm")
    (tmp_path / "away" / "deep").mkdir(parents=True)
    (tmp_path / "secret.stl").write_text("x")
    (tmp_path / "away" / "secret.stl").write_text("x")
    (tmp_path / "src" / "arm" / "out").symlink_to(tmp_path / "away" / "deep")
    monkeypatch.chdir(tmp_path)
    finder = FileFinder([tmp_path / "src"], is_received=True)
    for uri in ("secret.stl", "package://arm/out/../secret.stl"):
        with pytest.raises(MeshError, match="no file"):
            finder.find(uri, "x")


def test_what_a_topic_names_inside_of_packages_and_given_folders_is_found(tmp_path, monkeypatch):
    path = _package(tmp_path / "src" / "arm")
    (tmp_path / "src" / "arm" / "package.xml").write_text("<package><name>arm</name></package>")
    finder = FileFinder([tmp_path / "src"], is_received=True)
    for uri in (f"file://{path}", str(path), "arm/meshes/a b.stl",
                "package://arm/urdf/../meshes/a b.stl"):  # fmt: skip
        assert finder.find(uri, "x") == path
    with pytest.raises(MeshError, match="no file"):
        finder.find(f"file://{path.parent}/b.stl", "x")
    # As colcon build --symlink-install leaves it.
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "install"))
    link = tmp_path / "install" / "share" / "arm" / "meshes" / "a b.stl"
    link.parent.mkdir(parents=True)
    link.symlink_to(path)
    assert FileFinder(is_received=True).find(URI, "x") == link
    with pytest.raises(MeshError, match="package_dirs"):
        FileFinder(is_received=True).find(f"file://{link}", "x")


@pytest.mark.parametrize("exists", [True, False])
def test_a_topic_may_name_files_of_installed_packages_by_file(tmp_path, monkeypatch, exists):
    """file://$(find arm) is what Gazebo needs."""
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{tmp_path / 'empty'}:{tmp_path / 'install'}")
    share = tmp_path / "install" / "share"
    path = _package(share / "arm")
    _checkout(share / "arm")
    (share / "arm" / "out").symlink_to(tmp_path)
    if exists:
        for name in ("secret.stl", "install/share/secret.stl", "install/share/bare/secret.stl"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text("x")
    finder = FileFinder(is_received=True)
    for uri in (f"file://{path}", f"file://{share}/arm/urdf/../meshes/a%20b.stl"):
        assert finder.find(uri, "x") == path
    with pytest.raises(MeshError, match="no file"):
        finder.find(f"file://{share}/arm/other.stl", "x")
    for uri in ("{}/arm/../secret.stl", "{}/arm/../../../secret.stl", "{}/arm/out/secret.stl",
                "{}/secret.stl", "{}/bare/secret.stl"):  # fmt: skip
        with pytest.raises(MeshError, match="is refused"):
            finder.find("file://" + uri.format(share), "x")
    with pytest.raises(MeshError, match="is refused"):
        finder.find(str(path), "x")


@pytest.mark.parametrize(
    ("uri", "meant"),
    [
        ("package://arm/meshes/Link_1.STL", "Link_1.stl"),
        ("package://arm/Meshes/LINK_1.stl", "Link_1.stl"),
        ("meshes/link1.stl", "Link_1.stl"),
    ],
)
def test_a_similar_name_is_suggested(tmp_path, uri, meant):
    path = _package(tmp_path / "arm", meant)
    with pytest.raises(MeshError, match=f"did you mean '{path}'"):
        FileFinder([tmp_path], tmp_path / "arm" / "arm.urdf").find(uri, "x")
    for other in ("base.stl", "Link_2.stl", "Link_1.mtl"):  # they may be of another link
        with pytest.raises(MeshError) as caught:
            FileFinder([tmp_path]).find(f"package://arm/meshes/{other}", "x")
        assert "did you mean" not in str(caught.value)


def test_an_expression_of_xacro_is_not_a_name():
    for uri in ("file://$(find arm)/a.stl", "package://${name}/a.stl"):
        with pytest.raises(MeshError, match="is not expanded; run xacro first"):
            FileFinder().find(uri, "x")


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


URDF = (
    '<robot name="r"><link name="{root}"><visual><geometry><mesh filename="{uri}"/></geometry>'
    '</visual></link><link name="tip"/><joint name="j" type="fixed"><parent link="{root}"/>'
    '<child link="tip"/></joint></robot>'
)


def written(folder, uri, root="pedestal"):
    (folder / "urdf").mkdir(parents=True)
    (folder / "meshes").mkdir()
    (folder / "meshes" / "a b.stl").write_text("x")
    path = folder / "urdf" / "arm.urdf"
    path.write_text(URDF.format(uri=uri, root=root))
    return path


def mesh_of(text):
    return ElementTree.fromstring(text).find("link/visual/geometry/mesh").get("filename")


def test_the_root_link_is_found_and_the_text_is_whole():
    text, root = publishable(ROOT / "urdf/dual_arm.urdf")
    assert root == load_robot(ROOT / "urdf/dual_arm.urdf").root == "base_link"
    ours = ElementTree.parse(ROOT / "urdf/dual_arm.urdf").getroot()
    assert [e.tag for e in ElementTree.fromstring(text).iter()] == [e.tag for e in ours.iter()]
    assert publishable(text)[1] == "base_link"


@pytest.mark.parametrize("uri", ["../meshes/a b.stl", "../meshes/a%20b.stl"])
def test_a_path_becomes_one_that_rviz_finds(tmp_path, uri):
    text, root = publishable(written(tmp_path / "arm", uri))
    assert root == "pedestal"
    assert mesh_of(text) == (tmp_path / "arm/meshes/a b.stl").as_uri()


def test_a_package_that_rviz_finds_stays_and_another_one_is_named_by_its_place(
    tmp_path, monkeypatch
):
    uri = "package://arm/meshes/a%20b.stl"
    path = written(tmp_path / "share" / "arm", uri)
    assert mesh_of(publishable(path)[0]) == (tmp_path / "share/arm/meshes/a b.stl").as_uri()
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    assert mesh_of(publishable(path)[0]) == uri
    text = path.read_text()
    monkeypatch.delenv("AMENT_PREFIX_PATH")
    assert mesh_of(publishable(text, [tmp_path])[0]).startswith("file:///")


@pytest.mark.parametrize("uri", ["nowhere.stl", "package://nowhere/a.stl", "http://a/b.stl", ""])
def test_what_is_not_found_stays_as_it_is(tmp_path, uri):
    assert mesh_of(publishable(written(tmp_path / "arm", uri))[0]) == uri


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("<robot", "arm.urdf:1: not XML"),
        ("<robot/>", "arm.urdf: 0 root links"),
        ("<robot><link name='a'/><link name='b'/></robot>", "2 root links.*'a', 'b'"),
    ],
)
def test_what_is_no_robot_is_refused(tmp_path, text, says):
    path = tmp_path / "arm.urdf"
    path.write_text(text)
    with pytest.raises(RobotDescriptionError, match=says):
        publishable(path)
    with pytest.raises(RobotDescriptionError, match="nowhere.urdf"):
        publishable(tmp_path / "nowhere.urdf")
