# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Compiles kernels in another process; this process then loads them from the cache on disk.

Numba holds the GIL while it compiles, so a thread would block this process. If both processes need
these kernels, one waits for the other (`common/compiled.py`).
"""

from __future__ import annotations

import atexit
import logging
import os
import subprocess
import sys
import threading
import time

from collision_monitor.common.compiled import cache_directory, compiling, is_on_disk, log_compiling
from collision_monitor.hierarchy import object_slots
from collision_monitor.mesh_distance import link_contacts
from collision_monitor.model.live import point_cloud

_NICE = 10  # the parent loads the robot meanwhile, which is needed first
_PROGRAM = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); sys.path[:] = sys.argv[2:]; "
    "from collision_monitor.monitoring import compile_ahead; compile_ahead.main(sys.argv[1])"
)
# One moving link and no pair: the compiled kernels are the same for all robots.
_ROBOT = """<robot name="any"><link name="base"/><link name="arm"><collision><geometry>
<sphere radius="0.1"/></geometry></collision></link><joint name="turn" type="revolute">
<parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


class CompilingProcess:
    """Compiles one set of `KERNELS`; it ends with this process at the latest."""

    def __init__(self, which: str) -> None:
        """Start the process."""
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, which, *sys.path],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        # Collects the exit status.
        threading.Thread(target=self.wait, name="compiling", daemon=True).start()
        atexit.register(self.cancel)

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def wait(self) -> None:
        """Wait until the process has ended."""
        self._process.wait()
        atexit.unregister(self.cancel)

    def cancel(self) -> None:
        """Kill the process."""
        atexit.unregister(self.cancel)
        self._process.kill()


def compile_ahead(which: str) -> CompilingProcess | None:
    """Start to compile one set of `KERNELS`; None if compiled already, or there is no cache."""
    return None if cache_directory() is None or is_compiled(which) else CompilingProcess(which)


def is_compiled(which: str) -> bool:
    """Whether the last kernels of this set are on disk."""
    return all(is_on_disk(kernel) for kernel in KERNELS[which][1])


def _monitor() -> None:
    """Compile the kernels of a monitor with a live scene, except for queries of the robot."""
    from collision_monitor.model import collision_model
    from collision_monitor.model.live.live_scene import LiveScene
    from collision_monitor.monitoring.speed_policy.speed_policy import SpeedPolicy

    # Queries are compiled by the main process, while it loads the robot.
    collision_model.warm_up = _nothing
    model = collision_model.CollisionModel.from_urdf(_ROBOT)
    with compiling(*KERNELS["monitor"][1]):
        SpeedPolicy(model)
        SpeedPolicy(model, live=LiveScene(model))


def _nothing() -> None:
    pass


def _cloud() -> None:
    from collision_monitor.model.live.point_cloud import warm_up

    warm_up()


def _exact() -> None:
    from collision_monitor.mesh_distance.mesh_distance import prepare

    prepare(depths=False)


# By name: a function that compiles the set, and its last kernels.
KERNELS = {
    "monitor": (_monitor, (object_slots.lay_top,)),
    "exact": (_exact, (link_contacts.list_crossings,)),
    "cloud": (_cloud, (point_cloud.voxel_centres,)),
}


def main(which: str) -> None:
    """Compile; the entry point of the process."""
    parent = os.getppid()
    os.nice(_NICE)
    logging.basicConfig(format=f"compiling for {which}: %(message)s", level=logging.INFO)
    log_compiling()

    def end_with_parent() -> None:
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
    KERNELS[which][0]()
    os._exit(0)
