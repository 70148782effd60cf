# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Long computations one at a time beside everything else; of those that wait, the newest."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")


class Outcome(NamedTuple, Generic[Job, Result]):
    """What came of one job: ``error`` is None, or why there is no ``result``."""

    job: Job
    result: Result | None
    error: Exception | None


class LatestWins(Generic[Job, Result]):
    """A thread that does jobs. A newer job takes the place of every older one.

    A job that waits is dropped when a newer one comes; one that is being computed
    cannot be interrupted, but its outcome is dropped. So `submit` never waits.
    """

    def __init__(
        self,
        work: Callable[[Job], Result],
        done: Callable[[Outcome[Job, Result]], None],
    ) -> None:
        """Start the thread; ``done`` is called in it with the outcome of jobs not replaced."""
        self._work = work
        self._done = done
        self._condition = threading.Condition()
        self._waiting: tuple[int, Job] | None = None
        self._newest = 0
        self._busy = False
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="adjusting", daemon=True)
        self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether a job that still counts waits or is being computed."""
        with self._condition:
            return self._busy or self._waiting is not None

    def submit(self, job: Job) -> bool:
        """Do this, and nothing older; whether something older was replaced."""
        with self._condition:
            replaced = self._forget()
            self._waiting = (self._newest, job)
            self._condition.notify()
            return replaced

    def cancel(self) -> bool:
        """Do nothing any more until the next job; whether there was something to drop."""
        with self._condition:
            return self._forget()

    def _forget(self) -> bool:
        there = self._busy or self._waiting is not None
        self._newest += 1
        self._waiting, self._busy = None, False
        return there

    def _run(self) -> None:
        while True:
            with self._condition:
                while self._waiting is None and not self._ended:
                    self._condition.wait()
                if self._ended:
                    return
                number, job = self._waiting
                self._waiting, self._busy = None, True
            result, error = None, None
            try:
                result = self._work(job)
            except Exception as fault:  # whatever it is, whoever waits must hear of it
                error = fault
            with self._condition:
                if number != self._newest or self._ended:
                    continue
                self._busy = False
            self._done(Outcome(job, result, error))

    def end(self, seconds: float = 0.0) -> None:
        """Begin nothing more, and wait so long at most for what is being computed."""
        with self._condition:
            self._ended = True
            self._forget()
            self._condition.notify()
        self._thread.join(seconds)
