# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Compiles kernels in another process; this process then loads them from the cache on disk.

Numba holds the GIL and a lock of its own while it compiles, so threads of this process would wait.
If both processes need the same kernels, one waits for the other (`common/compiled.py`).
"""

from __future__ import annotations

import atexit
import logging
import os
import subprocess
import sys
import threading
import time
from importlib import import_module

from collision_monitor.common.compiled import log_compiling

_PROGRAM = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); sys.path[:] = sys.argv[4:]; "
    "from collision_monitor.common import compiling_process as it; it.main(*sys.argv[1:4])"
)


class CompilingProcess:
    """Calls a function that compiles kernels; it ends with this process at the latest."""

    def __init__(self, name: str, function: str, nice: int = 0) -> None:
        """Start the process.

        Args:
            name: what it compiles for, in the log; without one it does not log.
            function: module and name, as ``package.module:function``; it is called without
                arguments.
            nice: how much lower its priority is than that of this process.
        """
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, name, function, str(nice), *sys.path],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
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


def main(name: str, function: str, nice: str) -> None:
    """Compile; the entry point of the process."""
    parent = os.getppid()
    os.nice(int(nice))
    if name:
        logging.basicConfig(format=f"compiling for {name}: %(message)s", level=logging.INFO)
        log_compiling()

    def end_with_parent() -> None:
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
    module, _, attribute = function.partition(":")
    getattr(import_module(module), attribute)()
    os._exit(0)
