# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Long computations one after the other in a thread that does not keep the program alive."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


class BackgroundWorker:
    """An executor of `concurrent.futures` with a single daemon thread.

    A ThreadPoolExecutor would let the program end only after its last computation.
    """

    def __init__(self) -> None:
        """Start the thread."""
        self._jobs: queue.SimpleQueue[tuple[Future, Callable, tuple] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="adjusting", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future:
        """The future of ``work(*arguments)``; cancelling it has no effect once it is running."""
        future: Future = Future()
        self._jobs.put((future, work, arguments))
        return future

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            future, work, arguments = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(work(*arguments))
            except Exception as error:  # whatever it is, the caller has to learn of it
                future.set_exception(error)

    def end(self) -> None:
        """End the thread once what was submitted is done; does not wait for it."""
        self._jobs.put(None)
