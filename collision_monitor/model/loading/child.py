# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The process that loads a model for another one; `LoadingProcess` starts it.

A recipe comes in on standard input, an `Answer` goes out on standard output, both pickled: each end
is this package. When standard input ends, whoever asked is gone, and so is this process.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import sys
import threading
from typing import NamedTuple

from collision_monitor.errors import CollisionMonitorError
from collision_monitor.model.loading.recipe import Recipe

# Whoever asked watches a robot meanwhile, and goes first.
_NICE = 10


class Answer(NamedTuple):
    """What came of a recipe.

    Attributes:
        loaded: a pickled `Loaded`; empty where there is none.
        error: why there is none.
        log: what the library said, (level of `logging`, text).
        is_lost: whether the process ended without an answer; then ``error`` says how.
    """

    loaded: bytes = b""
    error: str = ""
    log: tuple[tuple[int, str], ...] = ()
    is_lost: bool = False


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
    try:
        loaded, error = pickle.dumps(recipe.load(), protocol=5), ""
    except CollisionMonitorError as problem:
        loaded, error = b"", str(problem)
    except Exception as problem:  # whoever asked must not wait for an answer in vain
        loaded, error = b"", f"internal error, {type(problem).__name__}: {problem}"
    finally:
        library.removeHandler(collector)
    return Answer(loaded, error, tuple(collector.said))


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
