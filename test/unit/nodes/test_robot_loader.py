# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Loading beside the monitored robot: over its time, killed, and good again."""

import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.robots.toys import chain

pytest.importorskip("rclpy", reason="rclpy is not installed")

from collision_monitor.common.limits import LoadingLimits  # noqa: E402
from collision_monitor.model.loading import Recipe, RobotSource  # noqa: E402
from collision_monitor.monitoring.faults import FaultRegister  # noqa: E402
from collision_monitor.nodes.robot_loader import RobotLoader  # noqa: E402


@pytest.fixture
def loader():
    log = SimpleNamespace(info=lambda text: None, error=lambda text: None)
    node = SimpleNamespace(
        create_timer=lambda *args, **more: object(), destroy_timer=lambda timer: None,
        get_logger=lambda: log,
    )  # fmt: skip
    ready, announced, faults = [], [], FaultRegister()
    found = RobotLoader(
        node, lambda recipe, loaded: ready.append(recipe), lambda: None,
        lambda: announced.append(len(ready)), faults,
    )  # fmt: skip
    found.ready, found.announced, found.faults = ready, announced, faults
    yield found
    found.cancel()


@pytest.fixture
def endless(tmp_path):
    """The path of a URDF that nobody writes: whoever reads it waits."""
    os.mkfifo(tmp_path / "robot.urdf")
    return str(tmp_path / "robot.urdf")


def poll(loader, seconds=60.0):
    end = time.monotonic() + seconds
    while loader._process is not None:
        assert time.monotonic() < end
        loader._poll()
        time.sleep(0.02)


def until_gone(pid):
    end = time.monotonic() + 10.0
    while Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_load_over_its_time_is_stopped_and_the_robot_before_stays(loader, endless):
    before = loader.current = Recipe((RobotSource(chain(3)),))
    loader.request(Recipe((RobotSource(endless),), limits=LoadingLimits(max_load_seconds=1.0)))
    pid = loader._process.pid
    assert "loading" in loader.values()
    begin = time.monotonic()
    poll(loader)
    assert time.monotonic() - begin < 3.0
    assert "after 1.0 s, the limit max_load_seconds is 1" in loader.refused
    assert "still monitoring the previous one" in loader.faults.text("description", 0.0)
    assert not loader.faults.text("robot", 0.0)
    assert loader.current is before and not loader.ready
    until_gone(pid)


def test_a_loader_that_is_killed_is_a_fault_until_a_description_is_loaded(loader, endless):
    loader.request(Recipe((RobotSource(endless),)))
    os.kill(loader._process.pid, signal.SIGKILL)
    poll(loader)
    assert "killed by signal 9" in loader.refused
    why = f"the new robot description is not monitored: {loader.refused}"
    assert loader.faults.text("robot", 0.0) == why
    good = Recipe((RobotSource(chain(3)),))
    loader.request(good)
    poll(loader)
    assert not loader.refused and not loader.faults and loader.ready == [good]


@pytest.mark.parametrize("many", [2, 3])
def test_a_robot_of_many_pairs_is_announced_before_it_replaces_the_other(loader, monkeypatch, many):
    monkeypatch.setattr("collision_monitor.nodes.robot_loader._MANY_PAIRS", many)
    loader.current = Recipe((RobotSource(chain(3)),))
    loader.request(Recipe((RobotSource(chain(4)),)))  # 3 pairs
    poll(loader)
    assert len(loader.ready) == 1
    assert loader.announced == ([0] if many < 3 else [])
