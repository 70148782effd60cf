# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Compiles kernels in a process beside this one, which finds them in the cache on disk.

Numba holds Python's lock while it compiles: in a thread it would stop what else a process does, and
two processes compile twice as much at a time. Where both need these kernels one waits for the other
(`common/compiled.py`).
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
import time

from collision_monitor.common.compiled import cache_directory, compiling, is_on_disk
from collision_monitor.hierarchy import object_slots
from collision_monitor.model.live import voxels

_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[2:]; "
    "from collision_monitor.monitoring import compile_ahead; compile_ahead.main(sys.argv[1])"
)
# One link that moves, and no pair: what is compiled is the same for all robots.
_ROBOT = """<robot name="any"><link name="base"/><link name="arm"><collision><geometry>
<sphere radius="0.1"/></geometry></collision></link><joint name="turn" type="revolute">
<parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


class CompilingProcess:
    """Compiles one of `KERNELS`; it ends with this process at the latest."""

    def __init__(self, which: str) -> None:
        """Start."""
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, which, *sys.path],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        # Reaps it.
        threading.Thread(target=self.wait, name="compiling", daemon=True).start()
        atexit.register(self.cancel)

    def wait(self) -> None:
        """Until it has ended, by itself or by `cancel`."""
        self._process.wait()
        atexit.unregister(self.cancel)

    def cancel(self) -> None:
        """End it, finished or not."""
        atexit.unregister(self.cancel)
        self._process.kill()


def compile_ahead(which: str) -> CompilingProcess | None:
    """Start to compile one of `KERNELS`; None if that is done, or nothing is kept on disk."""
    return None if cache_directory() is None or is_compiled(which) else CompilingProcess(which)


def is_compiled(which: str) -> bool:
    """Whether the last of these kernels are on disk."""
    return all(is_on_disk(kernel) for kernel in KERNELS[which][1])


def _monitor() -> None:
    """What a monitor with a live scene runs, but for the queries of the robot itself."""
    from collision_monitor.model import collision_model
    from collision_monitor.model.live.live_scene import LiveScene
    from collision_monitor.monitoring.speed_policy.speed_policy import Behaviour

    # Those are compiled by the process beside, while the robot is loaded.
    collision_model.warm_up = _nothing
    model = collision_model.CollisionModel.from_urdf(_ROBOT)
    with compiling(*KERNELS["monitor"][1]):
        Behaviour(model)
        Behaviour(model, live=LiveScene(model))


def _nothing() -> None:
    pass


def _cloud() -> None:
    from collision_monitor.model.live.point_cloud import warm_up

    warm_up()


# By name: what compiles them, and kernels by which it is known that they are compiled.
KERNELS = {
    "monitor": (_monitor, (object_slots.lay_top,)),
    "cloud": (_cloud, (voxels.voxel_centres,)),
}


def main(which: str) -> None:
    """Compile, in a process of its own."""
    parent = os.getppid()

    def end_with_parent() -> None:
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
    KERNELS[which][0]()
    os._exit(0)
