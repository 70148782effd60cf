# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A URDF as robot_state_publisher and RViz take it."""

import xml.etree.ElementTree as ElementTree

import pytest
from support.paths import ROOT

from collision_monitor.errors import RobotDescriptionError
from collision_monitor.robot.publishable import publishable
from collision_monitor.robot.urdf.urdf import load_robot

URDF = (
    '<robot name="r"><link name="{root}"><visual><geometry><mesh filename="{uri}"/></geometry>'
    '</visual></link><link name="tip"/><joint name="j" type="fixed"><parent link="{root}"/>'
    '<child link="tip"/></joint></robot>'
)


@pytest.fixture(autouse=True)
def _no_ros_around(monkeypatch):
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    monkeypatch.delenv("ROS_PACKAGE_PATH", raising=False)


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
