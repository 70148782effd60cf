# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels are compiled in advance: by another process, and before joint states arrive."""

import os
import subprocess
import sys

import pytest
from support.paths import ROOT

pytestmark = pytest.mark.early

PROGRAM = """
import sys
from numba.core import event
from collision_monitor.monitoring.compile_ahead import KERNELS, compile_ahead, is_compiled

which = sys.argv[1]
assert not is_compiled(which)
compile_ahead(which).wait()
assert is_compiled(which)
assert compile_ahead(which) is None
with event.install_recorder("numba:compile") as compiled:
    KERNELS[which][0]()
assert not compiled.buffer
"""


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


# The sets of the node take half a minute to compile.
@pytest.mark.parametrize(
    ("program", "which"),
    [
        (QUICK, ""),
        pytest.param(PROGRAM, "monitor", marks=pytest.mark.slow),
        pytest.param(PROGRAM, "exact", marks=pytest.mark.slow),
    ],
)
def test_what_another_process_compiles_is_not_compiled_again(program, which, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", program, which],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


NODE = """
from numba.core import event
from support.robots.two_slides import model
from collision_monitor.model.live_scene import LiveScene
from collision_monitor.monitoring.compile_ahead import compile_ahead
from collision_monitor.monitoring.monitor import Monitor

robot = model()
for process in [compile_ahead("monitor"), compile_ahead("exact")]:
    process.wait()
with event.install_recorder("numba:compile") as compiled:
    robot.prepare_exact(depths=False)
    Monitor(robot, live=LiveScene(robot))
names = [found[1].data["dispatcher"].py_func.__qualname__ for found in compiled.buffer]
assert not names, names
"""


@pytest.mark.slow
def test_a_node_compiles_nothing_itself_after_two_processes_have(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", NODE], cwd=ROOT / "test", timeout=600, check=False,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]


CODE = """
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


def test_the_first_contact_finds_everything_compiled():
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=ROOT / "test", capture_output=True, text=True,
        timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
