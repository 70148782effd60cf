# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The thread that adjusts: one job after the other, none that was cancelled before it began."""

import threading

import pytest

from collision_monitor.self_collision.trajectory_filter import BackgroundWorker

SECONDS = 10.0


@pytest.fixture
def worker():
    worker = BackgroundWorker()
    yield worker
    worker.end()
    worker._thread.join(SECONDS)
    assert not worker._thread.is_alive()


def test_jobs_are_done_in_order_beside_everything_else(worker):
    go, done = threading.Event(), []
    first = worker.submit(go.wait, SECONDS)
    others = [worker.submit(done.append, k) for k in range(5)]
    assert not first.done() and done == []
    go.set()
    assert first.result(SECONDS) is True
    for future in others:
        future.result(SECONDS)
    assert done == [0, 1, 2, 3, 4]


def test_an_error_belongs_to_its_job_and_the_next_one_is_done(worker):
    failed, fine = worker.submit(int, "x"), worker.submit(int, "7")
    assert isinstance(failed.exception(SECONDS), ValueError)
    assert fine.result(SECONDS) == 7


def test_a_job_that_waits_can_be_cancelled_and_one_that_runs_cannot(worker):
    begun, go, done = threading.Event(), threading.Event(), []

    def work():
        begun.set()
        return go.wait(SECONDS)

    running = worker.submit(work)
    waiting = worker.submit(done.append, 1)
    last = worker.submit(done.append, 2)
    assert begun.wait(SECONDS)
    assert waiting.cancel() and not running.cancel()
    go.set()
    last.result(SECONDS)
    assert done == [2] and running.result() is True


def test_after_the_end_nothing_begins(worker):
    worker.end()
    worker._thread.join(SECONDS)
    assert not worker.submit(int, "7").running()
    assert worker._jobs.qsize() == 1  # never taken
