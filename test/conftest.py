# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What all tests share: the settings of property tests, and a colcon workspace built once."""

import gc
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import settings

# A slow machine is no fault of the code, and what fails is to fail again when it is looked at.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")

ROOT = Path(__file__).resolve().parents[1]
_MARKERS = {"ros": "ros", "integration": "robots"}  # of all tests in a folder
# A test module that imports one of these, or a function of it, loads vendor robots.
_VENDOR_ROBOTS = {"support.robots.robots", "support.robots.vendor_robots"}
# They begin, one in each worker: the demo compiles kernels that most tests need, and the other two
# have caches of their own.
_FIRST = ("system/test_demo.py", "unit/common/test_compiled.py", "system/test_package.py")
_COLCON = "import sys; from colcon_core.command import main; sys.exit(main())"


@dataclass(frozen=True)
class Workspace:
    """A built workspace; ``environment`` is that of a shell which has sourced it."""

    prefix: Path
    environment: dict[str, str]

    @property
    def share(self) -> Path:
        """The package's share folder."""
        return self.prefix / "share" / "collision_monitor"

    @property
    def executable(self) -> Path:
        """The node, where ``ros2 run`` finds it."""
        return self.prefix / "lib" / "collision_monitor" / "collision_monitor"


def _python(folder: Path) -> str:
    """This interpreter; colcon writes its path into scripts, where no space may be in it."""
    if " " not in sys.executable:
        return sys.executable
    (folder / "python").symlink_to(sys.prefix)
    return os.fspath(folder / "python" / "bin" / Path(sys.executable).name)


def _sourced(setup: Path) -> dict[str, str]:
    command = ["bash", "-c", 'source "$0" >&2 && env -0', str(setup)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return dict(item.split("=", 1) for item in output.split("\0") if item)


@pytest.fixture(scope="session")
def workspace(tmp_path_factory) -> Workspace:
    """This tree, built with colcon in a folder of its own and sourced."""
    pytest.importorskip("colcon_core", reason="colcon is not installed")
    folder = tmp_path_factory.mktemp("workspace")
    unwanted = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "install", "log")
    shutil.copytree(ROOT, folder / "src" / "collision_monitor", ignore=unwanted)
    command = [_python(folder), "-c", _COLCON, "build", "--base-paths", "src", "--merge-install"]
    build = subprocess.run(
        [*command, "--event-handlers", "console_direct+"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600,
    )  # fmt: skip
    assert build.returncode == 0, build.stdout
    return Workspace(folder / "install", _sourced(folder / "install" / "setup.bash"))


@cache
def _loads_vendor_robots(module: ModuleType) -> bool:
    names = (getattr(value, "__module__", "") for value in vars(module).values() if callable(value))
    modules = (value.__name__ for value in vars(module).values() if isinstance(value, ModuleType))
    return not _VENDOR_ROBOTS.isdisjoint((*names, *modules))


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect tests without looking for garbage: modules and tests stay until the end."""
    gc.disable()
    result = yield
    gc.freeze()
    gc.enable()
    return result


def pytest_collection_modifyitems(items) -> None:
    """Mark the tests of some folders and imports, and begin with those that take long."""
    for item in items:
        folder = item.path.relative_to(ROOT / "test").parts[0]
        if folder in _MARKERS:
            item.add_marker(_MARKERS[folder])
        if _loads_vendor_robots(item.module):
            item.add_marker("robots")
    # No worker is to wait at the end for a module of few and long tests.
    items.sort(key=lambda item: (_place(item.path), item.get_closest_marker("early") is None))


def _place(path: Path) -> int:
    name = path.relative_to(ROOT / "test").as_posix()
    return _FIRST.index(name) if name in _FIRST else len(_FIRST)


@pytest.fixture
def written(tmp_path):
    """Write a text to a file of this name; returns its path."""

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.fixture(scope="module")
def domain():
    """A ROS domain of its own."""
    from support.ros.ros_domains import Domain

    with Domain() as held:
        yield held


@pytest.fixture
def graph():
    """A ROS graph of its own for one test."""
    from support.ros.ros_graph import Graph  # skips where there is no rclpy

    graph = Graph()
    yield graph
    graph.close()


@pytest.fixture(scope="module")
def slides_file(tmp_path_factory):
    """The robot of four slides in a file."""
    from support.robots.two_slides import URDF

    path = tmp_path_factory.mktemp("slides") / "robot.urdf"
    path.write_text(URDF)
    return path
