# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Nothing is compiled, or loaded from disk, while joint states come in: a robot moves then."""

import subprocess
import sys

from support.paths import ROOT

CODE = """
import gc
from numba.core.dispatcher import Dispatcher
from support.robots.two_slides import JOINTS, apart, model
from collision_monitor.monitoring.speed_policy.speed_policy import Behaviour
from collision_monitor.monitoring.monitor import Monitor

def versions():
    return {d.py_func.__qualname__: len(d.signatures)
            for d in gc.get_objects() if isinstance(d, Dispatcher)}

robot = model()
behaviour = Behaviour(robot)
monitor = Monitor(robot, 0.1, 0.02, behaviour=behaviour)
before = versions()
assert sum(before.values()) > 10
for k in range(40):
    now = 50.0 + 0.01 * k
    state = monitor.update([*JOINTS, "mast_joint"], (*apart(0.2 - 0.01 * k), 0.3), now, now)
    behaviour.time_to_collision(monitor.buffer.q)
    monitor.distances()
    behaviour.way_out(monitor.buffer.q)
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
