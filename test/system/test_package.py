# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What a ROS user gets: built with colcon, sourced, run."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from email.parser import Parser
from pathlib import Path

import pytest
import yaml
from support.paths import ROOT

import collision_monitor

pytestmark = pytest.mark.early

SHARED = ("launch", "config", "rviz", "urdf")


def manifest():
    """Return the root element of package.xml."""
    return ElementTree.parse(ROOT / "package.xml").getroot()


def egg_info(workspace) -> Path:
    """Return the folder with what setup.py has said."""
    (folder,) = workspace.prefix.glob("lib/python*/*-packages/collision_monitor-*.egg-info")
    return folder


def test_package_xml_setup_py_and_the_library_agree(workspace):
    package = manifest()
    metadata = Parser().parsestr((egg_info(workspace) / "PKG-INFO").read_text(encoding="utf-8"))
    assert re.sub("[-.]", "_", metadata["Name"]) == package.findtext("name")
    assert metadata["Version"] == package.findtext("version") == collision_monitor.__version__
    license_name = metadata["License-Expression"] or metadata["License"]
    assert license_name == package.findtext("license") == "Apache-2.0"
    maintainer = package.find("maintainer")
    assert metadata["Maintainer-email"] == maintainer.get("email")
    assert package.find("export/build_type").text == "ament_python"


def test_share_holds_every_file_of_the_tree(workspace):
    tracked = [
        path.relative_to(ROOT)
        for folder in SHARED
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith(".")
    ]
    assert {path.parts[0] for path in tracked} == set(SHARED)
    for path in [*tracked, Path("package.xml")]:
        assert (workspace.share / path).read_bytes() == (ROOT / path).read_bytes(), path
    index = workspace.prefix / "share/ament_index/resource_index/packages"
    assert (index / "collision_monitor").is_file()
    assert os.fspath(workspace.prefix) in workspace.environment["AMENT_PREFIX_PATH"].split(":")


def test_only_the_package_and_the_executables_are_installed(workspace):
    packages = egg_info(workspace).parent
    assert [p.name for p in packages.iterdir() if p.suffix != ".egg-info"] == ["collision_monitor"]
    executables = sorted(workspace.executable.parent.iterdir())
    assert [path.name for path in executables] == [
        "collision_monitor", "collision_monitor_lifecycle", "self_collision", "simulation",
    ]  # fmt: skip
    assert all(os.access(path, os.X_OK) for path in executables)


def test_rviz_listens_where_the_node_speaks():
    pytest.importorskip("rclpy", reason="rclpy is not installed")
    from collision_monitor.nodes.markers import bodies, markers, path_marker_topic

    config = yaml.safe_load((ROOT / "rviz/collision_monitor.rviz").read_text(encoding="utf-8"))
    manager = config["Visualization Manager"]
    displays = {display["Class"].split("/")[1]: display for display in manager["Displays"]}
    # Relative names: RViz started in the robot's namespace follows it.
    arrays = [d for d in manager["Displays"] if d["Class"].endswith("/MarkerArray")]
    topics = [display["Topic"] for display in arrays]
    assert [m["Value"] for m in topics] == ["collision_monitor/markers", "self_collision/markers"]
    # what the nodes offer; more hears nothing
    assert all(m["Durability Policy"] == "Volatile" for m in topics)
    assert all(set(display["Namespaces"].values()) == {True} for display in arrays)
    spoken = [
        {
            bodies.LEAVES, bodies.LEAF_CYLINDERS, bodies.OBSTACLES, bodies.OBSTACLE_CYLINDERS,
            bodies.SCENE, bodies.CARRIED, bodies.CLOUDS, markers.AABB, markers.NEAREST,
            markers.TOUCHING,
        },
        {path_marker_topic.BEFORE, path_marker_topic.AFTER, path_marker_topic.FIELD},
    ]
    assert [set(display["Namespaces"]) for display in arrays] == spoken
    description = displays["RobotModel"]["Description Topic"]
    assert description["Value"] == "robot_description"
    assert description["Durability Policy"] == "Transient Local"
    robot = ElementTree.parse(ROOT / "urdf/dual_arm.urdf").getroot()
    links = {link.get("name") for link in robot.iter("link")}
    assert manager["Global Options"]["Fixed Frame"] in links


def test_the_sourced_library_finds_the_installed_robot(workspace, tmp_path):
    code = (
        "import collision_monitor as c; from collision_monitor.cli.demo import package_file\n"
        "print(c.__file__); print(package_file('urdf/dual_arm.urdf'))"
    )
    lines = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=workspace.environment, check=True,
        stdout=subprocess.PIPE, text=True,
    ).stdout.splitlines()  # fmt: skip
    assert workspace.prefix in Path(lines[0]).parents
    assert Path(lines[1]) == workspace.share / "urdf/dual_arm.urdf"


def test_the_installed_executable_loads_the_installed_robot(workspace, graph, tmp_path):
    process = subprocess.Popen(
        [workspace.executable, "--ros-args",
         "--params-file", workspace.share / "config/collision_monitor.yaml",
         "-p", f"robot_description:={workspace.share / 'urdf/dual_arm.urdf'}"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**graph.environment, **workspace.environment, "ROS_DOMAIN_ID": str(graph.domain)},
    )  # fmt: skip
    graph.processes.append(process)
    heard = graph.heard["state"]
    graph.until(lambda: any(m.message.startswith(("loading", "compiling")) for m in heard), 60.0)
    code, output = graph.stop(process)
    assert code == 0, output
    assert "Traceback" not in output
