# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels are compiled in advance: by another process, and before joint states arrive."""

import os
import subprocess
import sys

import pytest
from support.paths import ROOT

pytestmark = pytest.mark.early

QUICK = """
from numba.core import event
from collision_monitor.common.compiled import is_on_disk
from collision_monitor.common.compiling_process import CompilingProcess
from collision_monitor.model.point_cloud import voxel_centres, warm_up

assert not is_on_disk(voxel_centres)
CompilingProcess("clouds", "collision_monitor.model.point_cloud:warm_up").wait()
assert is_on_disk(voxel_centres)
with event.install_recorder("numba:compile") as compiled:
    warm_up()
assert not compiled.buffer
"""
NODE = """
from numba.core import event
from support.robots.two_slides import model
from collision_monitor.model.live_scene import LiveScene
from collision_monitor.monitoring.compile_ahead import KERNELS, compile_ahead, is_compiled
from collision_monitor.monitoring.monitor import Monitor

robot, sets = model(), ("monitor", "exact")
assert not any(map(is_compiled, sets))
for process in [compile_ahead(which) for which in sets]:
    process.wait()
for which in sets:
    assert is_compiled(which) and compile_ahead(which) is None
with event.install_recorder("numba:compile") as compiled:
    robot.prepare_exact(crossings=True)
    Monitor(robot, live=LiveScene(robot))
    for which in sets:
        KERNELS[which][0]()
names = [found[1].data["dispatcher"].py_func.__qualname__ for found in compiled.buffer]
assert not names, names
"""
CONTACT = """
import gc
from numba.core.dispatcher import Dispatcher
from support.robots.two_slides import JOINTS, apart, model
from collision_monitor.monitoring.speed_policy.speed_policy import SpeedPolicy
from collision_monitor.monitoring.monitor import Monitor

def versions():
    return {d.py_func.__qualname__: len(d.signatures)
            for d in gc.get_objects() if isinstance(d, Dispatcher)}

robot = model()
behaviour = SpeedPolicy(robot)
monitor = Monitor(robot, 0.1, 0.02, behaviour=behaviour)
before = versions()
assert sum(before.values()) > 10
assert not before["list_crossings"]  # only markers need them
for k in range(40):
    now = 50.0 + 0.01 * k
    state = monitor.update([*JOINTS, "mast_joint"], (*apart(0.2 - 0.01 * k), 0.3), now, now)
    behaviour.time_to_collision(monitor.buffer.q)
    monitor.distances()
    behaviour.escape_direction(monitor.buffer.q)
assert state.clearance.distance < 0.0 and state.action == "stop"
after = versions()
assert after == before, {name: n for name, n in after.items() if before.get(name) != n}
"""


def run(program, **environment):
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT / "test", env={**os.environ, **environment},
        capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]


# The sets of the node take half a minute to compile.
@pytest.mark.parametrize("program", [QUICK, pytest.param(NODE, marks=pytest.mark.slow)])
def test_what_another_process_compiles_is_not_compiled_again(program, tmp_path):
    run(program, NUMBA_CACHE_DIR=str(tmp_path))


def test_the_first_contact_finds_everything_compiled():
    run(CONTACT)
