# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Loads a model in a process of its own.

Fitting leaves and compiling hold Python's lock for long: in a thread they would stop whatever else
a process does. What comes back is unpickled in milliseconds; machine code comes over the cache on
disk, or is there already.
"""

from __future__ import annotations

import atexit
import contextlib
import pickle
import subprocess
import sys
import threading
import time

from collision_monitor.model.loading.child import Answer
from collision_monitor.model.loading.recipe import Recipe

# The child finds modules where this process does, and not in the folder it was started in.
_PROGRAM = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); sys.path[:] = sys.argv[1:]; "
    "from collision_monitor.model.loading.child import main; main()"
)


class LoadingProcess:
    """One recipe being loaded. It never blocks, and ends with this process at the latest."""

    def __init__(self, recipe: Recipe) -> None:
        """Start."""
        self.recipe = recipe
        self._began = time.monotonic()
        self._answer: Answer | None = None
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, *sys.path],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        # Pipes are small: what is written waits for a child that is importing.
        self._talk = threading.Thread(target=self._run, name="loading", daemon=True)
        self._talk.start()
        atexit.register(self.cancel)

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self._began

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def poll(self) -> Answer | None:
        """The answer, None before it has come."""
        return self._answer

    def cancel(self) -> None:
        """End it, finished or not, and do not wait for that."""
        atexit.unregister(self.cancel)
        self._process.kill()

    def _run(self) -> None:
        process, found = self._process, b""
        # Broken pipes: it has ended, or is being ended.
        with contextlib.suppress(OSError):
            pickle.dump(self.recipe, process.stdin, protocol=5)
            process.stdin.flush()
        with contextlib.suppress(OSError):
            found = process.stdout.read()
        code = process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()
        try:
            answer = pickle.loads(found)
        except Exception:  # cut short, and what is cut short raises anything
            answer = Answer(error=f"the process that loaded it ended, {_why(code)}", is_lost=True)
        self._answer = answer


def _why(code: int) -> str:
    if code < 0:
        return f"killed by signal {-code}" + (", out of memory?" if code == -9 else "")
    return f"with code {code}"
