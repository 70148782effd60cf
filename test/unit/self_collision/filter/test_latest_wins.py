# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The thread that adjusts: one job at a time, and the newest of those that wait."""

import threading

import pytest

from collision_monitor.self_collision.filter.background_worker import LatestWins

SECONDS = 10.0


class Workshop:
    """Jobs take until they are let go; outcomes are collected."""

    def __init__(self):
        self.begun = []
        self.gates = {}
        self.outcomes = []
        self.changed = threading.Condition()
        self.worker = LatestWins(self.work, self.done)

    def work(self, job):
        with self.changed:
            self.begun.append(job)
            gate = self.gates.setdefault(job, threading.Event())
            self.changed.notify_all()
        assert gate.wait(SECONDS)
        if job < 0:
            raise ValueError(f"{job} is negative")
        return 10 * job

    def done(self, outcome):
        with self.changed:
            self.outcomes.append(outcome)
            self.changed.notify_all()

    def until(self, condition):
        with self.changed:
            assert self.changed.wait_for(condition, SECONDS)

    def let_go(self, job):
        with self.changed:
            self.gates.setdefault(job, threading.Event()).set()


@pytest.fixture
def shop():
    shop = Workshop()
    yield shop
    for gate in shop.gates.values():
        gate.set()
    shop.worker.end(SECONDS)
    assert "adjusting" not in [t.name for t in threading.enumerate() if t is shop.worker._thread]


def test_a_job_is_done_beside_everything_else(shop):
    assert shop.worker.submit(1) is False
    shop.until(lambda: shop.begun == [1])
    assert shop.worker.busy and shop.outcomes == []
    shop.let_go(1)
    shop.until(lambda: shop.outcomes)
    assert shop.outcomes == [(1, 10, None)]
    assert not shop.worker.busy


def test_what_goes_wrong_is_an_outcome_and_the_next_job_is_done(shop):
    shop.worker.submit(-1)
    shop.let_go(-1)
    shop.until(lambda: shop.outcomes)
    job, result, error = shop.outcomes[0]
    assert (job, result, str(error)) == (-1, None, "-1 is negative")
    shop.worker.submit(2)
    shop.let_go(2)
    shop.until(lambda: len(shop.outcomes) == 2)
    assert shop.outcomes[1] == (2, 20, None)


def test_of_those_that_wait_the_newest_is_done_and_the_one_being_done_is_forgotten(shop):
    shop.worker.submit(1)
    shop.until(lambda: shop.begun == [1])
    assert [shop.worker.submit(k) for k in (2, 3, 4)] == [True, True, True]
    for k in (1, 2, 3, 4):
        shop.let_go(k)
    shop.until(lambda: shop.outcomes)
    assert shop.begun == [1, 4]
    assert shop.outcomes == [(4, 40, None)]


def test_what_is_cancelled_has_no_outcome(shop):
    assert shop.worker.cancel() is False
    shop.worker.submit(1)
    shop.until(lambda: shop.begun == [1])
    assert shop.worker.cancel() is True
    assert not shop.worker.busy
    shop.worker.submit(2)
    shop.let_go(1)
    shop.let_go(2)
    shop.until(lambda: shop.outcomes)
    assert shop.outcomes == [(2, 20, None)]


def test_after_the_end_nothing_begins(shop):
    shop.worker.end(SECONDS)
    shop.worker.submit(1)
    assert not shop.worker._thread.is_alive()
    assert shop.begun == []
