# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Loading beside the monitored robot: over its time, killed, and good again."""

import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import trimesh
from support.robots import toys
from support.robots.toys import chain

pytest.importorskip("rclpy", reason="rclpy is not installed")

from collision_monitor.common.limits import LoadingLimits  # noqa: E402
from collision_monitor.model.loading import Recipe, RobotSource  # noqa: E402
from collision_monitor.monitoring.faults import FaultRegister  # noqa: E402
from collision_monitor.nodes.robot_loader import RobotLoader  # noqa: E402


class Timers(list):
    """The callbacks of the timers of a node."""

    def create(self, period, callback, **options):
        self.append(callback)
        return callback


@pytest.fixture
def make_loader():
    loaders = []

    def make(**options):
        log, timers = SimpleNamespace(info=lambda text: None, error=lambda text: None), Timers()
        node = SimpleNamespace(
            create_timer=timers.create, destroy_timer=timers.remove, get_logger=lambda: log
        )
        ready, announced, faults = [], [], FaultRegister()
        found = RobotLoader(
            node, lambda recipe, loaded: ready.append(recipe), lambda: None,
            lambda: announced.append(len(ready)), faults, **options,
        )  # fmt: skip
        found.ready, found.announced, found.faults, found.timers = ready, announced, faults, timers
        loaders.append(found)
        return found

    yield make
    for each in loaders:
        each.cancel()


@pytest.fixture
def loader(make_loader):
    return make_loader()


@pytest.fixture
def endless(tmp_path):
    """The path of a URDF that nobody writes: whoever reads it waits."""
    os.mkfifo(tmp_path / "robot.urdf")
    return str(tmp_path / "robot.urdf")


def poll(loader, seconds=60.0):
    end = time.monotonic() + seconds
    while loader.timers:
        assert time.monotonic() < end
        for call in list(loader.timers):
            call()
        time.sleep(0.02)
    assert "loading" not in loader.values()


def children():
    """The ids of the processes that this one has started, which still run."""
    lists = Path("/proc/self/task").glob("*/children")
    return {int(pid) for path in lists for pid in path.read_text().split()}


def process_of(loader, recipe):
    """Request a recipe; the id of the process that loads it."""
    others = children()
    loader.request(recipe)
    (pid,) = children() - others
    return pid


def until_gone(pid):
    end = time.monotonic() + 10.0
    while Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_load_over_its_time_is_stopped_and_the_robot_before_stays(loader, endless):
    before = loader.current = Recipe((RobotSource(chain(3)),))
    limits = LoadingLimits(max_load_seconds=1.0)
    pid = process_of(loader, Recipe((RobotSource(endless),), limits=limits))
    assert "loading" in loader.values()
    poll(loader, seconds=10.0)
    assert "after 1.0 s, the limit max_load_seconds is 1" in loader.refused
    assert "still monitoring the previous one" in loader.faults.text("description", 0.0)
    assert not loader.faults.text("robot", 0.0)
    assert loader.current is before and not loader.ready
    until_gone(pid)


def test_a_loader_that_is_killed_is_a_fault_until_a_description_is_loaded(loader, endless):
    os.kill(process_of(loader, Recipe((RobotSource(endless),))), signal.SIGKILL)
    poll(loader)
    assert "killed by signal 9" in loader.refused
    why = f"the new robot description is not monitored: {loader.refused}"
    assert loader.faults.text("robot", 0.0) == why
    good = Recipe((RobotSource(chain(3)),))
    loader.request(good)
    poll(loader)
    assert not loader.refused and not loader.faults.raised and loader.ready == [good]


def test_a_robot_is_loaded_again_only_if_one_of_its_meshes_was_written_since(loader, tmp_path):
    mesh, urdf = tmp_path / "tip.stl", tmp_path / "robot.urdf"
    trimesh.creation.box((0.1, 0.1, 0.1)).export(mesh)
    tip = toys.link("l2", f'<mesh filename="{mesh}"/>')
    urdf.write_text(chain(3).replace(toys.link("l2"), tip))
    recipe = Recipe((RobotSource(str(urdf)),))
    loader.load(recipe)
    loader.request(recipe)
    assert not loader.timers
    trimesh.creation.box((0.1, 0.1, 0.9)).export(mesh)
    loader.request(recipe)
    poll(loader)
    assert loader.ready == [recipe, recipe] and not loader.refused
    loader.request(recipe)
    assert not loader.timers


@pytest.mark.parametrize("many", [2, 3])
def test_a_robot_of_many_pairs_is_announced_before_it_replaces_the_other(make_loader, many):
    loader = make_loader(many=many)
    loader.current = Recipe((RobotSource(chain(3)),))
    loader.request(Recipe((RobotSource(chain(4)),)))  # 3 pairs
    poll(loader)
    assert len(loader.ready) == 1
    assert loader.announced == ([0] if many < 3 else [])
