# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Loads a model in a process of its own.

Fitting leaves and compiling hold Python's lock for long: in a thread they would stop whatever else
a process does. What comes back is unpickled in milliseconds; machine code comes over the cache on
disk, or is there already.

A recipe goes to the child's standard input, an `Answer` comes from its standard output, both
pickled: each end is this package. When standard input ends, the parent is gone, and the child ends.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import pickle
import subprocess
import sys
import threading
import time
from typing import NamedTuple

from collision_monitor.errors import CollisionMonitorError
from collision_monitor.model.loading.recipe import Recipe

# The child finds modules where this process does, and not in the folder it was started in.
_PROGRAM = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); sys.path[:] = sys.argv[1:]; "
    "from collision_monitor.model.loading.process import main; main()"
)
_NICE = 10  # of the child: the parent monitors a robot meanwhile


class Answer(NamedTuple):
    """What came of a recipe.

    Attributes:
        loaded: a pickled `Loaded`; empty where there is none.
        error: why there is none.
        log: what the library said, (level of `logging`, text).
        is_lost: whether the process ended without an answer; then ``error`` says how.
        pairs: number of pairs to check.
    """

    loaded: bytes = b""
    error: str = ""
    log: tuple[tuple[int, str], ...] = ()
    is_lost: bool = False
    pairs: int = 0


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


# -- in the child --


class _Collector(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.said: list[tuple[int, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append((record.levelno, self.format(record)))


def answer(recipe: Recipe) -> Answer:
    """Load a model, or say why it cannot be loaded."""
    collector = _Collector()
    library = logging.getLogger("collision_monitor")
    library.addHandler(collector)
    library.setLevel(logging.INFO)
    library.propagate = False
    pairs = 0
    try:
        robot = recipe.load()
        loaded, error, pairs = pickle.dumps(robot, protocol=5), "", len(robot.model.pairs)
    except CollisionMonitorError as problem:
        loaded, error = b"", str(problem)
    except Exception as problem:  # whoever asked must not wait for an answer in vain
        loaded, error = b"", f"internal error, {type(problem).__name__}: {problem}"
    finally:
        library.removeHandler(collector)
    return Answer(loaded, error, tuple(collector.said), pairs=pairs)


def _end_with_parent() -> None:
    sys.stdin.buffer.read(1)
    os._exit(1)


def main() -> None:
    """Answer one recipe."""
    with contextlib.suppress(OSError):
        os.nice(_NICE)
    # What a library prints must not get into the answer.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    recipe = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with out:
        pickle.dump(answer(recipe), out, protocol=5)
    os._exit(0)  # not waiting for a compiler whose work nobody needs
