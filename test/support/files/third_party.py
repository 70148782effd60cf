# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What the package imports and runs that is not its own, and where it comes from."""

import ast
import re
import runpy
import sys
import xml.etree.ElementTree as ElementTree
from functools import cache
from pathlib import Path
from unittest import mock

import setuptools

from support.paths import ROOT

PACKAGE = "collision_monitor"
# ROS packages have the same name as import and as rosdep key, and are not on PyPI by that name.
ROS = {
    "action_msgs", "ament_index_python", "builtin_interfaces", "diagnostic_msgs",
    "geometry_msgs", "launch", "launch_ros", "rcl_interfaces", "rclpy",
    "rosgraph_msgs", "sensor_msgs", "std_msgs", "std_srvs", "tf2_ros", "trajectory_msgs",
    "visualization_msgs",
}  # fmt: skip
# Import -> (key in package.xml, None where rosdep has none or the nodes do not always need it; name
# on PyPI). Every key was looked up
# in rosdistro (rosdep/base.yaml, rosdep/python.yaml, jazzy/distribution.yaml) for Ubuntu 24.04.
THIRD_PARTY = {
    **{name: (name, None) for name in ROS},
    "tf2_ros": ("tf2_ros_py", None),
    "coal": ("coal", "coal"),
    "daqp": (None, "daqp"),
    "distributed": (None, "distributed"),
    "jinja2": (None, "jinja2"),
    "llvmlite": ("python3-numba", "numba"),  # comes with numba, in the version that numba wants
    "lxml": ("python3-lxml", "lxml"),
    "matplotlib": (None, "matplotlib"),
    "mcap": (None, "mcap"),
    "mujoco": (None, "mujoco"),
    "numba": ("python3-numba", "numba"),
    "numpy": ("python3-numpy", "numpy"),
    "PIL": (None, "pyvista"),  # pillow comes with pyvista
    "pinocchio": (None, "pin"),
    "piqp": (None, "piqp"),
    "pyvista": (None, "pyvista"),
    "rosbags": (None, "rosbags"),
    "scipy": ("python3-scipy", "scipy"),
    "toppra": ("python3-toppra-pip", "toppra"),  # the ROS package toppra is C++ alone
    "trimesh": ("python3-trimesh-pip", "trimesh"),
    "urdf_parser_py": ("urdfdom_py", "urdf-parser-py"),
    "viser": (None, "viser"),
    "vtkmodules": (None, "pyvista"),  # vtk comes with pyvista
    "yaml": ("python3-yaml", "pyyaml"),
}
# Declared, though nothing imports or starts it by name.
RUN_TIME_ONLY = {
    "python3-networkx": "trimesh needs it for graphs, and does not ask for it",
    "networkx": "the same on PyPI",
    "setuptools": "builds the package",
    "ros-jazzy-common-interfaces": "messages, several imports",
    "ros-jazzy-rclpy": "rclpy and its messages",
}
# ROS packages that only gazebo.launch.py needs; docs/simulation.md says how to install them.
GAZEBO = {
    "controller_manager", "gz_ros2_control", "joint_state_broadcaster",
    "joint_trajectory_controller", "ros_gz_bridge", "ros_gz_sim",
}  # fmt: skip
# ROS packages of topics and actions that nodes have only where they are installed, and of what a
# launch file starts on request; pages that say how to install them.
OPTIONAL = {
    "control_msgs": "docs/adjust.md", "moveit_msgs": "docs/scene.md", "rviz2": "docs/view.md",
}  # fmt: skip
# Functions that import what they are given, and the places where a name is no constant.
IMPORTERS = {"import_module", "find_spec", "__import__", "_solver", "_library", "missing"}


def sources() -> list[Path]:
    """All Python files that are installed."""
    return [*sorted((ROOT / PACKAGE).rglob("*.py")), *sorted((ROOT / "launch").glob("*.py"))]


@cache
def parsed(path: Path) -> ast.Module:
    """The code of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def imported(tree: ast.AST) -> set[str]:
    """Top-level names that are imported anywhere, in functions and by name too."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(node.module)
        elif isinstance(node, ast.Call) and called(node) in IMPORTERS:
            found |= {
                argument.value
                for argument in node.args
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
            }
    return {name.split(".")[0] for name in found} - set(sys.stdlib_module_names) - {PACKAGE}


def started(tree: ast.AST) -> set[str]:
    """ROS packages that launch files start programs of, or look for files in."""
    found = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        values = [word.value for word in node.keywords if word.arg == "package"]
        if called(node) in ("FindPackageShare", "get_package_share_directory"):
            values += node.args
        found |= {value.value for value in values if isinstance(value, ast.Constant)}
    return found - {PACKAGE}


@cache
def all_imported() -> frozenset[str]:
    """Of all files, without those of `OPTIONAL`."""
    found = frozenset().union(*(imported(parsed(path)) for path in sources()))
    return found - OPTIONAL.keys()


@cache
def all_started() -> frozenset[str]:
    """Of all files, without those of `GAZEBO` and `OPTIONAL`."""
    found = frozenset().union(*(started(parsed(path)) for path in sources()))
    return found - GAZEBO - OPTIONAL.keys()


@cache
def exec_depends() -> frozenset[str]:
    """Keys in package.xml."""
    manifest = ElementTree.parse(ROOT / "package.xml").getroot()
    return frozenset(element.text for element in manifest.findall("exec_depend"))


def _names(requirements: list[str]) -> set[str]:
    return {re.match(r"[\w.-]+", requirement)[0].lower() for requirement in requirements}


@cache
def setup_arguments() -> dict:
    """What setup.py hands to setuptools."""
    with mock.patch.object(setuptools, "setup") as setup:
        runpy.run_path(str(ROOT / "setup.py"))
    return setup.call_args.kwargs


@cache
def on_pypi() -> frozenset[str]:
    """Names in setup.py that the package itself needs: not those of tests and benchmarks."""
    arguments = setup_arguments()
    extras = {k: v for k, v in arguments["extras_require"].items() if k not in ("test", "bench")}
    return frozenset(_names([*arguments["install_requires"], *sum(extras.values(), [])]))


@cache
def pip_line() -> tuple[str, ...]:
    """Names in the one line of the README that installs what rosdep has no keys for."""
    section = (ROOT / "README.md").read_text().split("\n## The node\n")[1].split("\n## ")[0]
    (line,) = re.findall(r"^ {4}pip install ([\w -]+)$", section, re.MULTILINE)
    return tuple(line.split())
